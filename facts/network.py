"""Links, routes, and everything that defines a netdev."""

from sparkrig.facts.noun import PATH_WORD, Noun
from sparkrig.network import netplan, profiles, seen

# Begins a loop over the netdevs, which sets $n (its folder), $port (empty where it is none of the fabric), $driver
# and $pci. The kernel's port name is also the end of the netdev's (enp1s0f0np0); virtual ones have no
# other.
EACH = r"""
for real in $(readlink -f /sys/class/net/*); do
  n=/sys/class/net/${real##*/}
  { read -r port <$n/phys_port_name; } 2>/dev/null ||
    case $n in *f[0-9]np[0-9]) port=p${n##*np} ;; *) port= ;; esac
  driver= pci=
  if [ -e $n/device/uevent ]; then
    while IFS='=' read -r key value; do case $key in DRIVER) driver=$value ;; esac; done <$n/device/uevent
    pci=${real%/net/*}; pci=${pci%/virtio*}; pci=${pci##*/}
  fi
""".strip("\n")

_HUSHED = r"(password|psk|private|shared|secret|pin|key)[0-9]*[\x22\x27]?:[ \t]*"
# Wi-Fi, 802.1X and WireGuard secrets stand in the same files (netplan(5)): those values stay on the host. At the
# start of a line one goes on to its end, within braces to the next comma or brace.
WITHOUT_SECRETS = (
    r"s/^([ \t-]*[A-Za-z0-9_.\x22\x27-]*" + _HUSHED + r")[^ \t].*/\1x/; "
    r"s/([{,][ \t]*[A-Za-z0-9_.\x22\x27-]*" + _HUSHED + r")(\x22[^\x22]*\x22|\x27[^\x27]*\x27|[^,}]*)/\1x/g"
)
# $1...: folders, the first that has a name wins. In UTF-8 `.` stops at a byte that is none of it, and would
# leave the rest of a secret.
NETPLAN = rf"""
{PATH_WORD}
for folder; do for f in "$folder"/*.yaml; do
  if [ -f "$f" ] && [ -r "$f" ]; then
    printf 'netplan %s %s\n' "$(path_word "$f")" "$(LC_ALL=C sed -E '{WITHOUT_SECRETS}' "$f" | base64 -w0)"
  fi
done; done
""".strip("\n")


class Network(Noun[seen.Network]):
    """One look at the kernel, NetworkManager and netplan."""

    parse = staticmethod(seen.parse)
    # sudo drops SSH_CONNECTION, so the first ancestor that has it is asked.
    script = (
        r"""
pid=$$ line=
while [ "${pid:-0}" -gt 1 ]; do
  line="$line /proc/$pid/environ" parent=
  while read -r key value; do case $key in PPid:) parent=$value; break ;; esac; done </proc/$pid/status
  pid=$parent
done
set -- $(cat $line 2>/dev/null | tr '\0' '\n' | sed -n '/^SSH_CONNECTION=./{s/^SSH_CONNECTION=//p;q}')
if [ $# -gt 2 ]; then printf 'ssh %s\n' "$3"; fi
set -f # a line of JSON has no need of its blanks
printf 'addr %s\n' "$(printf '%s ' $(ip -j addr show))"
printf 'route %s\n' "$(printf '%s ' $(ip -4 -j route show table all))"
set +f
"""
        + EACH
        + r"""
  { read -r carrier <$n/carrier; } 2>/dev/null || carrier=
  printf 'port %s %s %s %s %s\n' "${n##*/}" "${port:--}" "$carrier" "${driver##*/}" "$pci"
done
left=60 # a NetworkManager that is just starting is waited for, or still activates what it can after a boot
while :; do
  if devices=$(nmcli -t -f DEVICE,STATE,CON-UUID device 2>/dev/null); then
    case $devices in *:connecting* | *:disconnected* | *:unavailable*) ;; *) break ;; esac
    [ "$(nmcli -t -f STARTUP general 2>/dev/null)" = starting ] || break
    left=$((left - 2))
  else
    case $(systemctl is-active NetworkManager 2>/dev/null) in
    activating) left=$((left - 1)) ;;
    active) left=$((left - 20)) ;; # it came up between the two questions
    *) break ;;
    esac
  fi
  [ $left -gt 0 ] || break
  sleep 1
done
if [ -n "$devices" ]; then
  printf 'nm running\n'
  while IFS= read -r row; do printf 'device %s\n' "$row"; done <<EOF
$devices
EOF
  ids=
  while IFS= read -r row; do
    case ${row%%:*} in '' | *[!0-9A-Za-z-]*) continue ;; esac # what a newline in a file's name left
    case $row in *:802-3-ethernet:*) printf 'profile %s\n' "$row"; ids="$ids ${row%%:*}" ;; esac
  done <<EOF
$(nmcli -t -f UUID,TYPE,FILENAME connection show)
EOF
  if [ -n "$ids" ]; then nmcli -t -f """
        + ",".join(profiles.PROPERTIES)
        + r""" connection show $ids | sed '/^$/d; s/^/property /'; fi
fi
set -- """
        + " ".join(netplan.FOLDERS)
        + f"\n{NETPLAN}\n"
    )
