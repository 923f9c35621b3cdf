#!/bin/sh
# What facts/firmware.py reads: the versions that the board tells of itself, and fwupd's devices. fwupdmgr's get-devices
# asks its daemon alone: it fetches nothing, and with --json asks nothing.

. ./firmware_table.sh
if ! command -v fwupdmgr >/dev/null; then echo 'untold fwupd it is not installed'
else
  if found=$(timeout -k 2 60 fwupdmgr get-devices --json 2>/dev/null); then
    # the list of a Spark has 100 kB with all texts of all releases
    if [ ${#found} -gt 1000000 ]; then echo 'untold fwupd its list of devices has more than 1000000 characters'
    else printf 'fwupd %s\n' "$(printf %s "$found" | base64 -w0)"; fi
  else
    case $? in
    124 | 137) echo 'untold fwupd it did not answer within 60 s' ;;
    *) echo 'untold fwupd its list of devices could not be read' ;;
    esac
  fi
fi
