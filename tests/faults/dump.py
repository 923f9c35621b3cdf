"""Prints what a host is, a fact a line: run on it as root by tests/faults/endstate.py, standard library only.

Left out is what two equal hosts may differ in: times, measured figures, past runs' journals.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from pathlib import Path

TREES = ("/etc", "/root", "/home", "/usr/local", "/var/lib/sparkrig")
# journals of past runs; Python's cache; what services and logins of the guest write by themselves
PASSED_OVER = re.compile(
    r"/var/lib/sparkrig/runs/|/__pycache__/|/etc/(?:adjtime|resolv\.conf|[^/]*\.cache|\.pwd\.lock|\.updated)$"
)
TIMES = re.compile(rb'(?m)^(?:timestamp=| "at": ).*\n')  # in a profile, and in what was declared
# all that apt's simulation depends on, by inode and time
INPUTS = re.compile(rb"(?m)^(?:at|until|input) .*\n")
RECORD, SIMULATION = "/var/lib/sparkrig/bandwidth.json", "/var/lib/sparkrig/apt-simulation"


def said(*words: str) -> str:
    """What a command prints; its exit code where it fails."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else f"exit {done.returncode}"


def content(path: Path) -> str:
    """What counts of a file: its bytes, but no figure of a record and no time."""
    if path.is_symlink():
        return f"-> {path.readlink()}"
    data = path.read_bytes()
    if str(path) == RECORD:
        return json.dumps(
            [{key: row[key] for key in ("netdev", "address", "peer", "mtu")} for row in json.loads(data)["rails"]]
        )
    if str(path) == SIMULATION:
        data = INPUTS.sub(b"", data)
    return hashlib.sha256(TIMES.sub(b"", data)).hexdigest()[:12]


def files() -> None:
    for tree in TREES:
        for path in sorted(Path(tree).rglob("*")):
            if PASSED_OVER.search(str(path)) or not (path.is_symlink() or path.is_file()):
                continue
            stat = path.lstat()
            print(
                f"file {path} {stat.st_mode & 0o7777:o} {path.owner() if path.exists() else '-'} {content(path)}"
            )


def packages() -> None:
    for row in said("dpkg-query", "-W", "-f", "${Package} ${Status} ${Version}\n").splitlines():
        print(f"package {row}")


def network() -> None:
    """Profiles that somebody wrote, the links that they are on, and the routes."""
    active = []
    for row in said("nmcli", "-t", "-f", "NAME,UUID,DEVICE,FILENAME", "connection").splitlines():
        name, uuid, device, path = row.split(":", 3)
        # NetworkManager numbers the first as the links come, and gives the others a new UUID at each start
        if not name.startswith("Wired connection") and name not in ("lo", "docker0"):
            print(f"profile {name} {uuid} {device} {path}")
            active += [device] if device else []
    for device in sorted(active):
        for link in json.loads(said("ip", "-j", "-4", "addr", "show", "dev", device)):
            addresses = sorted(f"{each['local']}/{each['prefixlen']}" for each in link["addr_info"])
            print(f"link {device} mtu {link['mtu']} {link['operstate']} {' '.join(addresses)}")
    for route in said("ip", "-4", "route").splitlines():
        print(f"route {route.split(' metric')[0].strip()}")


def docker() -> None:
    print(f"docker {said('systemctl', 'is-active', 'docker')}")
    info = json.loads(said("docker", "info", "-f", "{{json .}}"))
    print(f"docker runtimes {' '.join(sorted(info['Runtimes']))}, {info['ContainersRunning']} containers")


def left_over() -> None:
    """What may stay behind: units and timers of ours, checkpoints, a lock, a guard, processes, temporary files."""
    units = said("systemctl", "list-units", "--all", "--plain", "--no-legend", "sparkrig*", "*-sparkrig*")
    timers = said("systemctl", "list-timers", "--all", "--plain", "--no-legend", "sparkrig*")
    for row in [row.split()[0] for row in (*units.splitlines(), *timers.splitlines())]:
        print(f"unit {row}")
    bus = "org.freedesktop.NetworkManager"
    print(
        "checkpoints", said("busctl", "get-property", bus, "/org/freedesktop/NetworkManager", bus, "Checkpoints")
    )
    places = ("/run/sparkrig/*", "/tmp/*sparkrig*", "/tmp/pyinfra*", "/run/systemd/transient/sparkrig*")
    for place in places:
        folder, pattern = place.rsplit("/", 1)
        for path in sorted(Path(folder).glob(pattern)):
            print(f"left over {path}")
    for program in ("ib_write_bw", "ib_write_lat", "apt-get", "dpkg"):
        if said("pgrep", "-x", program) != "exit 1":
            print(f"running {program}")


for part in (files, packages, network, docker, left_over):
    part()
