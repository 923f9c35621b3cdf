"""Links, routes, and everything that defines a netdev."""

from facts.noun import Noun
from sparkrig import netplan, network, profiles

# Sets $port (empty where it is no fabric netdev), $driver, and $pci of the netdev whose folder is $n.
# The kernel's port name is also the end of the netdev's (enp1s0f0np0); virtual ones have no other.
PORT = r"""
  { read -r port <$n/phys_port_name; } 2>/dev/null ||
    case $n in *f[0-9]np[0-9]) port=p${n##*np} ;; *) port= ;; esac
  driver=$(readlink $n/device/driver) || driver=
  pci=$(readlink -f $n/device); pci=${pci%/virtio*}; pci=${pci##*/}
""".strip("\n")

_HUSHED = r"(password|psk|private|shared|secret|pin|key)[0-9]*[\x22\x27]?:[ \t]*"
# Wi-Fi, 802.1X and WireGuard secrets stand in the same files (netplan(5)): those values stay on the host. At the
# start of a line one goes on to its end, within braces to the next comma or brace.
WITHOUT_SECRETS = (
    r"s/^([ \t-]*[A-Za-z0-9_.\x22\x27-]*" + _HUSHED + r")[^ \t].*/\1x/; "
    r"s/([{,][ \t]*[A-Za-z0-9_.\x22\x27-]*" + _HUSHED + r")(\x22[^\x22]*\x22|\x27[^\x27]*\x27|[^,}]*)/\1x/g"
)
# $1...: folders, the first that has a name wins
NETPLAN = rf"""
for folder; do for f in "$folder"/*.yaml; do
  if [ -r "$f" ]; then printf 'netplan %s %s\n' "$f" "$(sed -E '{WITHOUT_SECRETS}' "$f" | base64 -w0)"; fi
done; done
""".strip("\n")


class Network(Noun[network.Network]):
    """One look at the kernel, NetworkManager and netplan."""

    parse = staticmethod(network.parse)
    # sudo drops SSH_CONNECTION, so the first ancestor that has it is asked.
    script = (
        r"""
pid=$$
while [ "${pid:-0}" -gt 1 ]; do
  ssh=$(tr '\0' '\n' 2>/dev/null </proc/$pid/environ | sed -n 's/^SSH_CONNECTION=//p') || ssh=
  if [ -n "$ssh" ]; then printf 'ssh %s\n' "$(set -- $ssh; printf %s "$3")"; break; fi
  pid=$(sed -n 's/^PPid:[[:space:]]*//p' /proc/$pid/status)
done
printf 'addr %s\n' "$(ip -j addr show | tr -d "\n")"
printf 'route %s\n' "$(ip -4 -j route show table all | tr -d "\n")"
for n in /sys/class/net/*; do
"""
        + PORT
        + r"""
  { read -r carrier <$n/carrier; } 2>/dev/null || carrier=
  printf 'port %s %s %s %s %s\n' "${n##*/}" "${port:--}" "$carrier" "${driver##*/}" "$pci"
done
left=60 # a NetworkManager that is just starting is waited for
until devices=$(nmcli -t -f DEVICE,STATE,CON-UUID device 2>/dev/null); do
  case $(systemctl is-active NetworkManager 2>/dev/null) in
  activating) left=$((left - 1)) ;;
  active) left=$((left - 20)) ;; # it came up between the two questions
  *) break ;;
  esac
  [ $left -gt 0 ] || break
  sleep 1
done
if [ -n "$devices" ]; then
  printf 'nm running\n'
  printf '%s\n' "$devices" | sed 's/^/device /'
  profiles=$(nmcli -t -f UUID,TYPE,FILENAME connection show | grep ':802-3-ethernet:')
  printf '%s\n' "$profiles" | sed '/./!d; s/^/profile /'
  ids=$(printf '%s\n' "$profiles" | sed 's/:.*//')
  if [ -n "$ids" ]; then nmcli -t -f """
        + ",".join(profiles.PROPERTIES)
        + r""" connection show $ids | sed '/^$/d; s/^/property /'; fi
fi
set -- """
        + " ".join(netplan.FOLDERS)
        + f"\n{NETPLAN}\n"
    )
