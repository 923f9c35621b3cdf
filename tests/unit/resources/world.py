"""A Spark to look at on this machine: folders of its own in the place of the system's, and stand-ins for programs.

Its files are those of the recorded virtual pair. A stand-in is one process, as the program that it stands for;
what that one starts by itself is not counted.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sparkrig.facts.files import Files
from sparkrig.files import Found
from sparkrig.network.profiles import terse
from tests.plan.conftest import converged, sections
from tests.unit import manager
from tests.unit.simulated import SimulatedHost

PLACES = (
    "etc",
    "run",
    "sys",
    "boot",
    "var/lib",
    "var/cache",
    "usr/local/lib",
)  # that are others while it is looked at
SIMULATED = "Inst libxnvctrl0 [610.43.02-1ubuntu1] (610.57.04-1ubuntu1 DGX OS:localhost [all])"
# where apt 2.6 keeps its state and configuration by default, as `apt-config shell` prints it
USUAL = (
    *("/var/lib/dpkg/status", "/var/lib/apt/extended_states", "/var/lib/apt/lists/", "/etc/apt/sources.list"),
    *("/etc/apt/sources.list.d/", "/etc/apt/preferences", "/etc/apt/preferences.d/", "/etc/apt/apt.conf"),
    *("/etc/apt/apt.conf.d/", "/var/lib/apt/cdroms.list", "/usr/bin/dpkg"),
)
_SAYS = 'while IFS= read -r row || [ -n "$row" ]; do printf "%s\\n" "$row"; done <<\'#end\'\n{text}\n#end'
_COUNTED = """set -e
tree=$1 look=$2
shift 2
for place in {places}; do mount --bind "$tree/$place" "/$place"; done
while [ $# -gt 0 ]; do mount --bind "$2" "$1"; shift 2; done
set +e
sh -c 'echo $$' >"$tree/first"
sh -c "$look" 2>"$tree/errors"
sh -c 'echo $$' >"$tree/last"
"""


class World(SimulatedHost):
    """One Spark below a folder."""

    def file(self, path: str) -> Path:
        """Where a file of the Spark is; its folder is made."""
        place = self.at(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def says(self, name: str, text: str) -> None:
        """A stand-in that prints a text."""
        self.tool(name, _SAYS.format(text=text.rstrip("\n")))

    def look(
        self, command: str, env: Mapping[str, str] | None = None, over: Mapping[str, Path] | None = None
    ) -> tuple[list[str], int]:
        """What a look prints there, and how many processes it takes: those that its own space of PIDs counts.

        over: files in the place of others of this machine.
        """
        script = _COUNTED.format(places=" ".join(PLACES))
        spaces = ["unshare", "--map-root-user", "--mount", "--pid", "--fork"]
        words = [str(word) for pair in (over or {}).items() for word in pair]
        done = subprocess.run(
            [*spaces, "sh", "-c", script, "sh", str(self.root), command, *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env={**os.environ, "SUDO_USER": "root", **(env or {}), "PATH": f"{self.bin}:{os.environ['PATH']}"},
        )
        assert done.returncode == 0 and (self.root / "last").exists(), done.stderr
        first, last = (int((self.root / name).read_text()) for name in ("first", "last"))
        return done.stdout.splitlines(), last - first - 1


def settled(root: Path, letter: str = "a") -> World:
    """A Spark that is as declared: what `converged` of the virtual pair printed is there to be read."""
    world = World(root)
    parts = {name: text.strip() for name, text in sections(converged(letter)).items()}
    for place in PLACES:
        (root / place).mkdir(parents=True)
    _files(world, Files().process(parts["files"].splitlines()))
    _identity(world)
    _packages(world, parts["driver"].splitlines())
    _network(world, parts["network"].splitlines())
    _rdma(world, parts["rdma"].splitlines())
    _services(world, parts)
    return world


def _files(world: World, found: Mapping[str, Found]) -> None:
    for path, file in found.items():
        world.file(path).write_text(file.content)
        world.file(path).chmod(int(file.mode, 8))


def _identity(world: World) -> None:
    world.file("/etc/machine-id").write_text("0123456789abcdef0123456789abcdef\n")
    world.file("/etc/dgx-release").write_text('DGX_NAME="DGX Spark"\nDGX_SERIAL_NUMBER="1"\n')
    world.file("/etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    world.file("/etc/hostname").write_text("spark-1b3b\n")
    world.file("/etc/hosts").write_text("127.0.0.1 localhost\n127.0.1.1 spark-1b3b\n")
    world.file("/etc/group").write_text("root:x:0:\n")
    world.file("/etc/nsswitch.conf").write_text("passwd: files\ngroup: files\n")
    for kind in ("ecdsa", "ed25519", "rsa"):
        world.file(f"/etc/ssh/ssh_host_{kind}_key.pub").write_text(f"ssh-{kind} AAAA root@spark\n")
    for name, text in (("sys_vendor", "NVIDIA"), ("product_name", "NVIDIA_DGX_Spark")):
        world.file(f"/sys/class/dmi/id/{name}").write_text(f"{text}\n")
    world.says("nvidia-smi", "NVIDIA GB10")


def _packages(world: World, rows: Iterable[str]) -> None:
    """dpkg's rows by the format that is asked for, and what apt simulates."""
    known = [row.split(" ")[1:] for row in rows if row.startswith("dpkg ")]
    lines = [f"{want} {status} {name} {version}" for want, status, name, version in known]
    world.file("/var/lib/dpkg/status").write_text("\n".join([*lines, ""]))
    world.tool(
        "dpkg-query",
        """while read -r want status name version; do
  printf '%s ok %s %s %s %s\\n' "$status" "$want" "$name" "$name" "$version"
done </var/lib/dpkg/status""",
    )
    world.says("apt-get", SIMULATED)
    named = zip("abcdefghijk", USUAL, strict=True)
    world.says("apt-config", "\n".join(f"{name}='{path}'" for name, path in named))
    world.file("/var/lib/apt/lists/localhost_dists_noble_InRelease").write_text("Origin: x\n")
    for name in ("grub.cfg", "grubenv", "custom.cfg"):
        world.file(f"/boot/grub/{name}").write_text("set default=0\n")


def _network(world: World, rows: Iterable[str]) -> None:
    """Links in sysfs, and what ip and nmcli print."""
    told = [row.partition(" ")[::2] for row in rows]
    first = dict(told)
    for word, rest in told:
        if word == "port":
            name, _, carrier, driver, pci = rest.split(" ")
            place = f"/sys/devices/pci/{pci}/virtio0/net/{name}" if pci else f"/sys/devices/virtual/net/{name}"
            world.file(f"{place}/carrier").write_text(f"{carrier}\n")
            if pci:
                world.file(f"{place}/device/uevent").write_text(f"DRIVER={driver}\n")
            link = world.file(f"/sys/class/net/{name}")
            link.symlink_to(os.path.relpath(world.root / place.lstrip("/"), link.parent))
    case = (
        f"case $* in *route*) echo {shlex.quote(first['route'])} ;; *) echo {shlex.quote(first['addr'])} ;; esac"
    )
    world.tool("ip", case)
    by_word = {word: [rest for each, rest in told if each == word] for word, _ in told}
    files = {uuid: file for uuid, _, file in (terse(row, 3) for row in by_word["profile"])}
    blocks = [row.partition(":")[2] for row in by_word["property"] if row.startswith("connection.uuid:")]
    devices = [terse(row, 3) for row in by_word["device"]]
    world.says("busctl", manager.objects(devices, [files[uuid] for uuid in blocks]))
    kind = "connection.type:802-3-ethernet\n"
    world.says("nmcli", "\n".join(kind * row.startswith("connection.uuid:") + row for row in by_word["property"]))


def _rdma(world: World, rows: Sequence[str]) -> None:
    told = [row.partition(" ")[::2] for row in rows]
    mtus = [rest.split(" ") for word, rest in told if word == "mtu"]
    world.says("rdma", dict(told)["links"])
    text = "\n".join(f"hca_id:\t{device}\n\t\t\tactive_mtu:\t\t{mtu} (5)" for device, mtu in mtus)
    world.says("ibv_devinfo", text)
    for row in rows:
        if row.startswith("gid|"):
            _, device, port, slot, address, kind, netdev = row.split("|")
            place = f"/sys/class/infiniband/{device}/ports/{port}"
            world.file(f"{place}/gids/{slot}").write_text(f"{address}\n")
            world.file(f"{place}/gid_attrs/types/{slot}").write_text(f"{kind}\n")
            world.file(f"{place}/gid_attrs/ndevs/{slot}").write_text(f"{netdev}\n")


def _services(world: World, parts: Mapping[str, str]) -> None:
    """Docker and its configuration, systemd, and what D-Bus is asked."""
    first = dict(row.partition(" ")[::2] for row in parts["containers"].splitlines())
    world.says("docker", first["info"])
    world.says("nft", "")
    world.file("/etc/docker/daemon.json").write_text('{"runtimes": {}}\n')
    world.file("/run/docker.pid").write_text("1\n")
    source = "Types: deb\nURIs: https://nvidia.github.io/libnvidia-container/stable/deb\n"
    world.file("/etc/apt/sources.list.d/sparkrig-nvidia-container-toolkit.sources").write_text(source)
    world.file("/run/systemd/timesync/synchronized").write_text("")
    world.tool(
        "systemctl",
        """between=
for word; do
  case $word in show | -* | *,*) continue ;; esac
  printf '%sId=%s\\nLoadState=loaded\\nActiveState=active\\n' "$between" "$word"
  between='
'
done""",
    )
