"""What an owner sends of a host: the tools that `sparkrig explain` reads, journals, and what identifies the host.

Each is one exec of many small programs. What they print comes in base64, for a journal may hold any byte, and each
has an end in time and in size.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from sparkrig import programs
from sparkrig.facts.network import EACH
from sparkrig.facts.noun import PREAMBLE, Noun
from sparkrig.redaction import archive

TOOL_S = 20  # of each program
PART_S = 60  # of each part
WHOLE_S = 240  # of all parts of one exec
JOURNAL = "journals"  # what the names of those parts begin with

RUN = programs.text("facts/evidence_run.sh")

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

IDENTIFIERS = programs.text("facts/evidence_identifiers.sh")


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
