#!/bin/sh
# Whether sshd goes by the drop-in, as its own test mode says for the user whom that names; nothing where it is gone.

drop_in=/etc/ssh/sshd_config.d/10-sparkrig.conf
[ -e "$drop_in" ] || exit 0
user=root shut='' keys=''
while read -r word value rest; do
  case $word in
    Match) case $value in User) user=$rest ;; esac ;;
    PasswordAuthentication) if [ "$value" = no ]; then shut=1; fi ;; # else by another's hand, which an undo gives back
    AuthorizedKeysFile) keys=${rest##* } ;;
  esac
done <"$drop_in"
told=$(timeout -k 2 10 sshd -T -C "user=$user,host=localhost,addr=127.0.0.1") || exit
has() { printf '%s\n' "$told" | grep -qi -e "$1"; }
if [ -n "$shut" ] && has '^passwordauthentication yes'; then
  echo "sshd takes passwords all the same: another of its files comes first" >&2
  exit 1
fi
if [ -n "$keys" ] && ! has "^authorizedkeysfile .*$keys"; then
  echo "sshd does not read $keys: another of its files comes first" >&2
  exit 1
fi
