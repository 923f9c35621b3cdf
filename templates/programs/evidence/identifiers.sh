#!/bin/sh
# A row for each value: what it is, and the value. What a missing tool would print is `unread`. A USB root
# hub has a PCI address for its serial number.


row() { while IFS= read -r value; do if [ -n "$value" ]; then printf '%s %s\n' "$1" "$value"; fi; done; }
texts() { for f; do if [ -f "$f" ] && [ -r "$f" ]; then cat "$f" 2>/dev/null; echo; fi; done; }
files() {
  word=$1; shift
  texts "$@" | tr -d '\000' | row "$word"
}
part() { # WORD PROGRAM...: what it prints, or that it could not be asked
  word=$1; shift
  if ! command -v "$1" >/dev/null; then echo "unread $word by $1: not installed"; return; fi
  told=$(timeout -k 2 20 "$@" 2>/dev/null) || echo "unread $word by $1: exit $?"
  printf '%s\n' "$told"
}
uname -n | row machine
files machine /etc/hostname
texts /etc/machine-info | sed -n 's/^PRETTY_HOSTNAME="\{0,1\}\([^"]*\)"\{0,1\}/\1/p' | row machine
texts /etc/resolv.conf /run/systemd/resolve/resolv.conf | sed -n 's/^\(search\|domain\)[ \t]*//p' |
  tr '[:blank:]' '\n' | grep -v '^\.$' | row domain
texts /etc/hosts | sed -n 's/#.*//; /^[ \t]*\(127\|::1\|f[ef]0\)/d; s/^[ \t]*[0-9a-fA-F.:]\{3,\}[ \t]//p' |
  tr -s '[:blank:]' '\n' | row neighbour
for f in /proc/mounts /etc/fstab; do # of file systems of other machines: a name, or who logs in there
  texts "$f" | sed -n 's,^//\([^/ ]*\)/.*,\1,p; s/^\([^ #/]*\):[^ ]*[ \t].*/\1/p' |
    sed 's/.*@//' | row neighbour
done
part user getent passwd | while IFS=: read -r name why uid _ person home _; do
  case $name in unread*) printf '%s:%s\n' "$name" "$why"; continue ;; esac
  if [ "${uid:-0}" -ge 1000 ] && [ "$uid" -lt 60000 ]; then
    printf 'user %s\n' "$name" "${home##*/}"; printf '%s\n' "${person%%,*}" | row person
  fi
done
if [ -n "${SUDO_USER:-}" ]; then printf 'user %s\n' "$SUDO_USER"; fi
files id /etc/machine-id /var/lib/dbus/machine-id /proc/sys/kernel/random/boot_id /sys/class/dmi/id/product_uuid
files serial /sys/class/dmi/id/*_serial /sys/class/dmi/id/*_asset_tag /proc/device-tree/serial-number \
  /sys/block/*/device/serial /sys/block/*/serial /sys/block/*/wwid /sys/block/*/device/wwid \
  /sys/bus/usb/devices/[0-9]*/serial
texts /etc/dgx-release | sed -n 's/^.*SERIAL[A-Z_]*="\{0,1\}\([^"]*\)"\{0,1\}/\1/p' | row serial
files mac /sys/class/net/*/address /sys/class/bluetooth/*/address /sys/class/ieee80211/*/macaddress
ip -o link show 2>/dev/null | sed -n 's/.* permaddr \([0-9a-f:]*\).*/\1/p' | row mac
files guid /sys/class/infiniband/*/node_guid /sys/class/infiniband/*/sys_image_guid
part serial nvidia-smi -q |
  sed -n '/^unread/p; s/^ *\(Serial Number\|GPU PDI\) *: */serial /p; s/^ *GPU UUID *: *GPU-/id /p'
part serial lspci -vv -d 15b3: | sed -n '/^unread/p; s/^.*\[SN\][^:]*: *//p' | sed '/^unread/!s/^/serial /'
if command -v ethtool >/dev/null; then
  for n in /sys/class/net/*; do
    timeout -k 2 20 ethtool -m "${n##*/}" 2>/dev/null | sed -n 's/^[ \t]*Vendor SN[ \t]*: *//p'
  done | row serial
else echo 'unread serial by ethtool: not installed'
fi
part ssid nmcli -t -f TYPE,NAME connection show |
  sed -n 's/\\:/:/g; /^unread/p; s/^\(802-11-wireless\|vpn\|wireguard\|wifi-p2p\|bluetooth\):/ssid /p'
part ssid nmcli -t -f UUID,TYPE connection show | sed -n 's/:802-11-wireless$//p' | while read -r id; do
  timeout -k 2 20 nmcli -t -g 802-11-wireless.ssid connection show "$id" 2>/dev/null
done | row ssid
texts /etc/NetworkManager/system-connections/* /run/NetworkManager/system-connections/* |
  sed -n 's/^ssid=//p' | row ssid
for f in /etc/ssh/ssh_host_*_key.pub; do
  if [ -f "$f" ] && [ -r "$f" ]; then while read -r _ key _; do printf 'key %s\n' "$key"; done <"$f"; fi
done
# Values of secrets: of ours, and what runs in containers, of which the names are read where this is.
texts /etc/sparkrig/secrets.env /etc/sparkrig/serve*/ray.env | sed -n 's/^[A-Za-z_][A-Za-z0-9_]*=//p' | row secret
if command -v docker >/dev/null && systemctl -q is-active docker; then
  timeout -k 2 20 docker ps -aq | xargs -r timeout -k 2 20 docker inspect \
    --format '{{range .Config.Env}}{{println .}}{{end}}{{json .Args}}' 2>/dev/null | row given
fi
echo end
