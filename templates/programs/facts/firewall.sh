#!/bin/sh
# What filters packets on this host: whether nft is there, another's firewall that runs, the ports in sshd's files, a
# chain of another's that drops what its rules do not take (`closed`), and of our table the listing that is live, and
# the one that our file ($1) would make, which a network namespace of its own loads. Where neither is there, one
# process more than `timeout` (docs/performance.md).


listed() { # its rows behind a word, without the blanks before them
  while read -r row; do if [ -n "$row" ]; then printf '%s %s\n' "$1" "$row"; fi; done
}
for f in /etc/ssh/sshd_config /etc/ssh/sshd_config.d/*.conf; do
  [ -f "$f" ] || continue
  while read -r key value _; do
    case $key in [Pp][Oo][Rr][Tt]) case $value in '' | *[!0-9]*) ;; *) printf 'sshd %s\n' "$value" ;; esac ;; esac
  done <"$f"
done
if [ -e /sys/fs/cgroup/system.slice/firewalld.service ]; then echo 'other firewalld'; fi
if [ -f /etc/ufw/ufw.conf ]; then
  while read -r row; do case $row in ENABLED=[yY][eE][sS]) echo 'other ufw' ;; esac; done </etc/ufw/ufw.conf
fi
nft=$(command -v nft) || exit 0
echo nft
table='' chain='' ours=''
while read -r word name rest; do
  case "$word $name $rest" in
    'table inet sparkrig {') table='' ours=1 ;;
    'table '*) table="$name ${rest% *}" ;;
    'chain '*) chain=$name ;;
    'type filter hook input '*'policy drop;'*) if [ -n "$table" ]; then printf 'closed %s %s\n' "$table" "$chain"; fi ;;
  esac
done <<EOF
$(timeout -k 2 10 "$nft" list chains)
EOF
if [ -n "$ours" ]; then timeout -k 2 10 "$nft" list table inet sparkrig | listed live; fi
if [ -f "$1" ]; then
  # shellcheck disable=SC2016
  timeout -k 2 10 unshare -n sh -c '"$1" -f "$2" && "$1" list table inet sparkrig' sparkrig "$nft" "$1" | listed file
fi
