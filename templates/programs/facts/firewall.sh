#!/bin/sh
# What filters packets on this host: whether nft is there, another's firewall that runs, the ports of sshd, and of the
# table of ours the listing that is live, and the one that our file ($1) would make, which a network namespace of its
# own loads. A table of another's that drops what its rules do not take is `closed`.


sed -n 's/^[[:blank:]]*[Pp]ort[[:blank:]=]*\([0-9]\{1,5\}\)[[:blank:]]*$/sshd \1/p' /etc/ssh/sshd_config \
  /etc/ssh/sshd_config.d/*.conf 2>/dev/null
if [ -e /sys/fs/cgroup/system.slice/firewalld.service ]; then echo 'other firewalld'; fi
if [ -e /etc/ufw/ufw.conf ] && grep -qix 'enabled=yes' /etc/ufw/ufw.conf; then echo 'other ufw'; fi
nft=$(command -v nft) || exit 0
echo nft
timeout -k 2 10 "$nft" list chains | awk '
  $1 == "table" { table = $2 " " $3 }
  $1 == "chain" { chain = $2 }
  / hook input / && /policy drop;/ && table != "inet sparkrig" { print "closed", table, chain }'
timeout -k 2 10 "$nft" list table inet sparkrig 2>/dev/null | sed -n 's/^[[:blank:]]*\(..*\)/live \1/p'
if [ -e "$1" ]; then
  # shellcheck disable=SC2016
  timeout -k 2 10 unshare -n sh -c '"$1" -f "$2" && "$1" list table inet sparkrig' sparkrig "$nft" "$1" |
    sed -n 's/^[[:blank:]]*\(..*\)/file \1/p'
fi
