#!/bin/sh
# What facts/update_record.py reads: how far an update of this Spark has come. A row of its steps that a power cut tore
# counts for nothing.

. ../host/update_plan.sh
. ../host/update_machine.sh

printf 'boot %s\nkernel %s\n' "$(cat /proc/sys/kernel/random/boot_id)" "$(uname -r)"
if [ -f $here/plan ] && ! ours; then
  echo another
elif [ -f $here/plan ]; then
  sed 's/^/plan /' $here/plan
  sed -n 's/^[a-z]\{1,20\} [0-9]\{1,12\} [0-9a-f-]\{36\}$/step &/p' $here/steps 2>/dev/null
  field=2
  if leads_back 2>/dev/null; then field=1; fi
  to=$(rows kernel | cut -d ' ' -f $field)
  initrd=-
  if [ -s "/boot/initrd.img-$to" ]; then initrd=initrd; fi
  module=$(modinfo -k "$to" -F version nvidia 2>/dev/null | head -n 1)
  printf 'ready %s %s\n' $initrd "${module:--}"
  printf 'unfinished %s\n' "$(dpkg --audit 2>/dev/null | grep -c '^ ')"
  case $(systemctl show -p SubState --value sparkrig-update 2>/dev/null) in
  running | start* | stop* | final*) echo working ;;
  esac
  find /etc -newer $here/plan \( -name '*.dpkg-dist' -o -name '*.ucf-dist' \) -printf 'conffile %p\n' 2>/dev/null |
    head -n 50
  if [ -f $here/left ]; then sed 's/^/left /' $here/left | head -n 200; fi
fi
