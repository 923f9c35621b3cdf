#!/bin/sh
# $1... devices of fwupd; runs as a unit. Nothing reboots here. Exit code 2 of fwupdmgr: there is nothing to do.

. ./update_note.sh

for device; do
  fwupdmgr update -y --no-reboot-check "$device"
  rc=$?
  if [ $rc -ne 0 ] && [ $rc -ne 2 ]; then echo "fwupdmgr did not take the firmware of $device (exit $rc)" >&2; exit 1; fi
done
note staged
