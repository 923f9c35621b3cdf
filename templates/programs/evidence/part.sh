#!/bin/sh
# part NAME SCRIPT SECONDS BYTES: runs the script, and prints it as `part NAME BASE64 EXIT`, cut where it takes longer
# or prints more.

part() {
  printf 'part %s ' "$1"
  {
    status=$( {
      { timeout -k 2 "$3" sh -c "$2" 2>&1 </dev/null 3>&- 4>&-; echo $? >&3; } |
        head -c "$4" | base64 -w0 >&4
    } 3>&1 )
  } 4>&1
  printf ' %s\n' "$status"
}
