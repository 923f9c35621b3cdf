#!/bin/sh
# What sparkrig/resources/login.py reads of sshd: the user of the run, how many keys that user's own files have, whether
# drop-ins are read before the rest, what is effective for the user, the rows of earlier drop-ins that set the same, and
# those by which the user may not get in (sshd_config(5): patterns of users and of groups).

user=${SUDO_USER:-root}
printf 'user %s\n' "$user"
home=/home/$user
while IFS=: read -r name _ _ _ _ folder _; do
  if [ "$name" = "$user" ]; then home=$folder; fi
done </etc/passwd
count=0
for f in "$home/.ssh/authorized_keys" "$home/.ssh/authorized_keys2"; do
  [ -f "$f" ] || continue
  while read -r word _; do
    case $word in '' | '#'*) ;; *) count=$((count + 1)) ;; esac
  done <"$f"
done
printf 'keys %s\n' "$count"
if [ -f /etc/ssh/sshd_config ]; then
  while read -r word path; do
    case $word in '' | '#'*) continue ;; esac
    case $word$path in [Ii]nclude/etc/ssh/sshd_config.d/\*.conf) echo reads ;; esac
    break
  done </etc/ssh/sshd_config
fi
for f in /etc/ssh/sshd_config.d/*.conf; do
  case $f in */10-sparkrig.conf) break ;; esac
  [ -f "$f" ] || continue
  while read -r word rest; do
    case $word in
      [Pp]assword[Aa]uthentication | [Kk]bd[Ii]nteractive[Aa]uthentication | [Aa]uthorized[Kk]eys[Ff]ile | [Mm]atch)
        printf 'before %s: %s %s\n' "$f" "$word" "$rest"
        ;;
    esac
  done <"$f"
done
[ -d /run/sshd ] || exit 0
denyusers='' denygroups='' allowusers='' allowgroups=''
while read -r word rest; do
  case $word in
    passwordauthentication) printf 'password %s\n' "$rest" ;;
    kbdinteractiveauthentication) printf 'keyboard %s\n' "$rest" ;;
    authorizedkeysfile) printf 'files %s\n' "$rest" ;;
    pubkeyauthentication) if [ "$rest" = no ]; then echo "shut $word $rest"; fi ;;
    denyusers) denyusers="$denyusers $rest" ;;
    denygroups) denygroups="$denygroups $rest" ;;
    allowusers) allowusers="$allowusers $rest" ;;
    allowgroups) allowgroups="$allowgroups $rest" ;;
  esac
done <<EOF
$(timeout -k 2 10 sshd -T -C "user=$user,host=localhost,addr=127.0.0.1" 2>/dev/null)
EOF
among() { # PATTERNS NAME...: whether a name fits a pattern, whatever the host behind its @
  set -f
  patterns=$1
  shift
  for pattern in $patterns; do
    for name in "$@"; do
      # shellcheck disable=SC2254
      case $name in ${pattern%@*}) return ;; esac
    done
  done
  return 1
}
groups=''
if [ -n "$denygroups$allowgroups" ]; then groups=$(id -Gn "$user"); fi
# shellcheck disable=SC2086
if among "$denyusers" "$user" || among "$denygroups" $groups; then echo "shut deny$denyusers$denygroups"; fi
if [ -n "$allowusers" ] && ! among "$allowusers" "$user"; then echo "shut allowusers$allowusers"; fi
# shellcheck disable=SC2086
if [ -n "$allowgroups" ] && ! among "$allowgroups" $groups; then echo "shut allowgroups$allowgroups"; fi
