"""What an owner sends of a host: the tools that `sparkrig explain` reads, journals, and what identifies the host.

Each is one exec of many small programs. What they print comes in base64, for a journal may hold any byte, and each
has an end in time and in size.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from sparkrig.facts.network import EACH
from sparkrig.facts.noun import PREAMBLE, Noun
from sparkrig.redaction import archive

TOOL_S = 20  # of each program
PART_S = 60  # of each part
WHOLE_S = 240  # of all parts of one exec
JOURNAL = "journals"  # what the names of those parts begin with

# run PROGRAM WORD...: as a person types it, for `explain` reads the command line too
RUN = rf"""
run() {{
  printf '$ %s\n' "$*"
  if command -v "$1" >/dev/null; then timeout -k 2 {TOOL_S} "$@" 2>&1 || printf '(exit %s)\n' $?
  else printf '%s: command not found\n' "$1"
  fi
}}
log() {{
  printf '$ journalctl %s\n' "$*"
  timeout -k 2 {TOOL_S} journalctl --no-pager --no-hostname -q -a -o short-iso "$@" 2>&1 ||
    printf '(exit %s)\n' $?
}}
newest() {{ # the last lines, as many as there is room for
  awk -v room={archive.PART_BYTES - 1} '
    {{ row[NR] = $0; room -= length($0) + 1 }}
    {{ while (room < 0) {{ room += length(row[++gone]) + 1; delete row[gone] }} }}
    END {{ for (i = gone + 1; i <= NR; i++) print row[i] }}'
}}
"""

_WORTH = "^[$]|mlx5|nvidia|nvrm|xid|infiniband|rdma|rxe|pcie|aer:|thermal|oom|out of memory|nvlink|cma:"

# Only what explains how containers run. `docker info` as a whole names mirrors, proxies with their logins, labels,
# the swarm and the host [@moby-26115]; `docker version` the context; `docker ps` how a command line begins.
DOCKER = """
        VERSION='client {{.Client.Version}} server {{.Server.Version}} api {{.Server.APIVersion}} {{.Server.Arch}}'
        INFO='Server Version: {{.ServerVersion}}
Storage Driver: {{.Driver}}
Logging Driver: {{.LoggingDriver}}
Cgroup Driver: {{.CgroupDriver}}
Cgroup Version: {{.CgroupVersion}}
Swarm: {{.Swarm.LocalNodeState}}
Runtimes:{{range $name, $_ := .Runtimes}} {{$name}}{{end}}
Default Runtime: {{.DefaultRuntime}}
Security Options:{{range .SecurityOptions}} {{.}}{{end}}
Kernel Version: {{.KernelVersion}}
Architecture: {{.Architecture}}
CPUs: {{.NCPU}}
Total Memory: {{.MemTotal}}
Containers: {{.Containers}} running {{.ContainersRunning}} stopped {{.ContainersStopped}} images {{.Images}}
Docker Root Dir: {{.DockerRootDir}}
Live Restore Enabled: {{.LiveRestoreEnabled}}'
        CONTAINERS='{{.Image}}\t{{.Status}}\t{{.Names}}\t{{.Ports}}'
        IMAGES='{{.Repository}}\t{{.Tag}}\t{{.ID}}\t{{.CreatedSince}}\t{{.Size}}'"""

# Of a stopped docker nothing is asked: that would start it.
TOOLS: Mapping[str, str] = {
    "system": """
        run uname -srvm; [ ! -f /etc/os-release ] || run cat /etc/os-release
        run cat /proc/cmdline; run uptime; run free -m; run df -hl; run lsmod
        [ ! -f /etc/dgx-release ] || { echo '$ cat /etc/dgx-release'; sed /SERIAL/d /etc/dgx-release; }
        run systemctl --failed --no-pager --plain; run ls /lib/modules
        run sysctl net.ipv4.conf.all.rp_filter net.ipv4.conf.all.arp_ignore net.ipv4.conf.all.arp_announce \\
          net.core.rmem_max net.core.wmem_max vm.swappiness vm.overcommit_memory kernel.numa_balancing""",
    "nvidia-smi": """
        run nvidia-smi; run nvidia-smi -L; run nvidia-smi -q
        run nvidia-smi --query-gpu=name,driver_version,pstate,temperature.gpu,power.draw,clocks.sm --format=csv""",
    "lspci": "run lspci -nn; run lspci -vv -d 15b3:",
    "rdma": """
        run ibdev2netdev -v; run show_gids; run ibv_devinfo -v; run rdma link show; run rdma dev show""",
    "ethtool": EACH
    + """
          case $port:$driver in p[0-9]:?*) ;; *) continue ;; esac
          i=${n##*/}
          run ethtool "$i"; run ethtool -i "$i"; run ethtool -m "$i"; run ethtool -a "$i"
          run ethtool -S "$i" | grep -v ': 0$'
        done""",
    "ip": """
        run ip -d addr show; run ip -s link show; run ip route show table all; run ip -6 route show
        run ip rule show; run ip neigh show""",
    "nmcli": """
        run nmcli general status; run nmcli device status; run nmcli connection show; run nmcli device show
        run ls -l /etc/NetworkManager/system-connections /run/NetworkManager/system-connections /etc/netplan""",
    "packages": """
        echo '$ dpkg -l'; dpkg -l | awk '/^[a-z]/ { print $1, $2, $3, $4 }'; run apt-mark showhold""",
    "docker": DOCKER
    + """
        if systemctl -q is-active docker; then
          run docker version --format "$VERSION"; run docker info --format "$INFO"
          run docker ps -a --format "$CONTAINERS"; run docker images --format "$IMAGES"
        else run systemctl is-active docker
        fi""",
}
JOURNALS: Mapping[str, str] = {
    f"{JOURNAL}/kernel": f"log -k -b 0 -n 20000 | grep -aiE '{_WORTH}' | newest",
    f"{JOURNAL}/kernel-before": f"log -k -b -1 -n 20000 | grep -aiE '{_WORTH}' | newest",
    f"{JOURNAL}/networkmanager": "log -u NetworkManager -u NetworkManager-dispatcher -b 0 -n 2000 | newest",
    f"{JOURNAL}/docker": "log -u docker -u containerd -u nvidia-persistenced -b 0 -n 1000 | newest",
    f"{JOURNAL}/sparkrig": "{ run ls -lR /var/lib/sparkrig; log -u 'sparkrig*' -n 2000; } | newest",
}

# A row for each value: what it is, and the value. What a tool that is not there would tell is `unread`. A USB root
# hub has a PCI address for its serial number.
IDENTIFIERS = rf"""
row() {{ while IFS= read -r value; do if [ -n "$value" ]; then printf '%s %s\n' "$1" "$value"; fi; done; }}
texts() {{ for f; do if [ -f "$f" ] && [ -r "$f" ]; then cat "$f" 2>/dev/null; echo; fi; done; }}
files() {{
  word=$1; shift
  texts "$@" | tr -d '\000' | row "$word"
}}
part() {{ # WORD PROGRAM...: what it prints, or that it could not be asked
  word=$1; shift
  if ! command -v "$1" >/dev/null; then echo "unread $word by $1: not installed"; return; fi
  told=$(timeout -k 2 {TOOL_S} "$@" 2>/dev/null) || echo "unread $word by $1: exit $?"
  printf '%s\n' "$told"
}}
uname -n | row machine
files machine /etc/hostname
texts /etc/machine-info | sed -n 's/^PRETTY_HOSTNAME="\{{0,1\}}\([^"]*\)"\{{0,1\}}/\1/p' | row machine
texts /etc/resolv.conf /run/systemd/resolve/resolv.conf | sed -n 's/^\(search\|domain\)[ \t]*//p' |
  tr '[:blank:]' '\n' | grep -v '^\.$' | row domain
texts /etc/hosts | sed -n 's/#.*//; /^[ \t]*\(127\|::1\|f[ef]0\)/d; s/^[ \t]*[0-9a-fA-F.:]\{{3,\}}[ \t]//p' |
  tr -s '[:blank:]' '\n' | row neighbour
for f in /proc/mounts /etc/fstab; do # of file systems of other machines: a name, or who logs in there
  texts "$f" | sed -n 's,^//\([^/ ]*\)/.*,\1,p; s/^\([^ #/]*\):[^ ]*[ \t].*/\1/p' |
    sed 's/.*@//' | row neighbour
done
part user getent passwd | while IFS=: read -r name why uid _ person home _; do
  case $name in unread*) printf '%s:%s\n' "$name" "$why"; continue ;; esac
  if [ "${{uid:-0}}" -ge 1000 ] && [ "$uid" -lt 60000 ]; then
    printf 'user %s\n' "$name" "${{home##*/}}"; printf '%s\n' "${{person%%,*}}" | row person
  fi
done
if [ -n "${{SUDO_USER:-}}" ]; then printf 'user %s\n' "$SUDO_USER"; fi
files id /etc/machine-id /var/lib/dbus/machine-id /proc/sys/kernel/random/boot_id /sys/class/dmi/id/product_uuid
files serial /sys/class/dmi/id/*_serial /sys/class/dmi/id/*_asset_tag /proc/device-tree/serial-number \
  /sys/block/*/device/serial /sys/block/*/serial /sys/block/*/wwid /sys/block/*/device/wwid \
  /sys/bus/usb/devices/[0-9]*/serial
texts /etc/dgx-release | sed -n 's/^.*SERIAL[A-Z_]*="\{{0,1\}}\([^"]*\)"\{{0,1\}}/\1/p' | row serial
files mac /sys/class/net/*/address /sys/class/bluetooth/*/address /sys/class/ieee80211/*/macaddress
ip -o link show 2>/dev/null | sed -n 's/.* permaddr \([0-9a-f:]*\).*/\1/p' | row mac
files guid /sys/class/infiniband/*/node_guid /sys/class/infiniband/*/sys_image_guid
part serial nvidia-smi -q |
  sed -n '/^unread/p; s/^ *\(Serial Number\|GPU PDI\) *: */serial /p; s/^ *GPU UUID *: *GPU-/id /p'
part serial lspci -vv -d 15b3: | sed -n '/^unread/p; s/^.*\[SN\][^:]*: *//p' | sed '/^unread/!s/^/serial /'
if command -v ethtool >/dev/null; then
  for n in /sys/class/net/*; do
    timeout -k 2 {TOOL_S} ethtool -m "${{n##*/}}" 2>/dev/null | sed -n 's/^[ \t]*Vendor SN[ \t]*: *//p'
  done | row serial
else echo 'unread serial by ethtool: not installed'
fi
part ssid nmcli -t -f TYPE,NAME connection show |
  sed -n 's/\\:/:/g; /^unread/p; s/^\(802-11-wireless\|vpn\|wireguard\|wifi-p2p\|bluetooth\):/ssid /p'
part ssid nmcli -t -f UUID,TYPE connection show | sed -n 's/:802-11-wireless$//p' | while read -r id; do
  timeout -k 2 {TOOL_S} nmcli -t -g 802-11-wireless.ssid connection show "$id" 2>/dev/null
done | row ssid
texts /etc/NetworkManager/system-connections/* /run/NetworkManager/system-connections/* |
  sed -n 's/^ssid=//p' | row ssid
for f in /etc/ssh/ssh_host_*_key.pub; do
  if [ -f "$f" ] && [ -r "$f" ]; then while read -r _ key _; do printf 'key %s\n' "$key"; done <"$f"; fi
done
echo end
"""


def _command(parts: Mapping[str, str]) -> str:
    """One script that runs each part, and prints it as `part NAME BASE64 EXIT`."""
    calls = "\n".join(f"part {name} {shlex.quote(RUN + text)}" for name, text in parts.items())
    return rf"""{PREAMBLE}
part() {{
  printf 'part %s ' "$1"
  {{
    status=$( {{
      {{ timeout -k 2 {PART_S} sh -c "$2" 2>&1 </dev/null 3>&- 4>&-; echo $? >&3; }} |
        head -c {archive.PART_BYTES + 1} | base64 -w0 >&4
    }} 3>&1 )
  }} 4>&1
  printf ' %s\n' "$status"
}}
{calls}
"""


class Evidence(Noun[dict[str, archive.Part]]):
    """The parts of TOOLS and JOURNALS, by name; those that were not reached in time are not there."""

    parse = staticmethod(archive.parts)
    script = _command({**TOOLS, **JOURNALS})
    limit = (archive.PART_BYTES * 4 // 3 + 200) * (len(TOOLS) + len(JOURNALS))  # in base64

    @staticmethod
    def default() -> dict[str, archive.Part]:
        return {}


class Identifiers(Noun[archive.Identifiers]):
    """What must not be in an archive, as the host has it: it stays in the memory of this machine."""

    parse = staticmethod(archive.identifiers)
    script = _command({"identifiers": IDENTIFIERS})
