#!/bin/sh
# What facts/neighbours.py reads: sends and listens for some seconds, on all hosts of a run at once; needs root.
# $1 seconds in all, $2 seconds to listen, $3 at most, $4 how many hosts a netdev may reach. The program comes on
# standard input, where @PROGRAM@ stands, and writes no file.


if command -v python3 >/dev/null; then
  timeout -k 2 "$1" python3 -I - "$2" "$3" "$4" <<'SPARKRIG_PROBE'
@PROGRAM@
SPARKRIG_PROBE
else
  printf 'trouble python3 is not installed\n'
fi
