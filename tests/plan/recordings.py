"""Sparks put together from what their owners recorded; the rest is what the virtual pair printed.

The recordings are in tests/fixtures/sparks, with their sources.
"""

from __future__ import annotations

import base64
import re

from sparkrig.host import driver
from tests.plan.conftest import ROOT, converged, joined, recorded, sections
from tests.unit import updates

FOLDER = ROOT / "tests" / "fixtures" / "sparks"
DRIVER = "580.173.02"  # what nvidia-smi answers on each of them
# whose /etc/dgx-release stands for a unit that has none recorded
RELEASES = {"sparketa": "sparkjr", "sparkjr": "sparkjr", "sparky": "asus-fr"}
UNITS = tuple(RELEASES)
_RENDERER = "network:\n  version: 2\n  renderer: NetworkManager\n"
_PROFILE = """\
network:
  version: 2
  ethernets:
    NM-{uuid}:
      renderer: NetworkManager
      match:
        name: "{netdev}"
      networkmanager:
        uuid: "{uuid}"
        name: "{name}"
        passthrough:
          connection.interface-name: "{netdev}"
"""


def packages(unit: str) -> dict[str, str]:
    """The recorded packages of a unit: name -> version."""
    rows = (FOLDER / f"{unit}-packages.csv").read_text().splitlines()
    return {name: version for name, _, version in (row.partition(",") for row in rows)}


def fresh(unit: str, letter: str) -> str:
    """What a unit prints before the first deploy, as half `letter` of a pair."""
    return _put_together(recorded(f"fresh-{letter}"), unit, held=set())


def deployed(unit: str, letter: str) -> str:
    """What a unit prints after a deploy."""
    return _put_together(converged(letter), unit, held=set(hold_set(unit)))


def condition(unit: str, letter: str) -> dict[str, str]:
    """What nvidia-smi and the health of a unit print: its driver, its kernels, and the modules of each."""
    seen = sections(recorded(f"fabric-{letter}"))
    listed, release = packages(unit), kernel(unit)
    rows = [row for row in seen["health"].splitlines() if not row.startswith(("kernel ", "modules "))]
    for name in listed:
        if image := re.fullmatch(r"linux-image-(\d.*)", name):
            has = f"linux-modules-nvidia-580-open-{image[1]}" in listed
            rows.append(f"modules {image[1]} {f'yes {DRIVER}' if has else 'no'}")
    gpu = re.sub(r"\b580(\.\d+)+", DRIVER, seen["gpu"])
    return {"health": "\n".join([f"kernel {release}", *rows]), "gpu": gpu}


def kernel(unit: str) -> str:
    """The newest kernel of a unit, which runs."""
    found = driver.kernels(driver.parse([*_rows(unit, set()), "simulated 0"]))
    return found[-1]


def acer(text: str) -> str:
    """A Spark whose netdevs are in the states of a recorded Acer GN100, set up by hand: `compute-fabric`.

    The recording has names of connections and nothing in them; that profile is an ordinary one of its netdev.
    """
    parts = sections(text)
    rows = (FOLDER / "acer-nmcli.txt").read_text().splitlines()[2:]
    theirs = [re.split(r"  +", row.strip()) for row in rows]  # DEVICE TYPE STATE CONNECTION
    ours = [row for row in parts["network"].splitlines() if not row.startswith("device ")]
    own = "5d4f3c8e-0000-4000-8000-000000000001"
    active = {"compute-fabric": own, "--": "", "Wired connection 3": _uuid_of("enP7s7", ours)}
    ours += [f"device {name}:{state}:{active.get(connection, '')}" for name, _, state, connection in theirs]
    ours += [
        f"profile {own}:802-3-ethernet:/run/NetworkManager/system-connections/netplan-NM-{own}.nmconnection",
        f"property connection.uuid:{own}",
        "property connection.id:compute-fabric",
        "property connection.interface-name:enp1s0f0np0",
        "property connection.autoconnect:yes",
        "property connection.autoconnect-priority:0",
    ]
    parts["network"] = "\n".join(ours)
    return joined(parts)


def _uuid_of(netdev: str, rows: list[str]) -> str:
    at = rows.index(f"property connection.interface-name:{netdev}")
    return next(
        row.partition(":")[2] for row in reversed(rows[:at]) if row.startswith("property connection.uuid:")
    )


def hold_set(unit: str) -> list[str]:
    """What a deploy holds of a unit's packages."""
    return driver.hold_set(driver.parse([*_rows(unit, set()), "simulated 0"]), 580)


def _rows(unit: str, held: set[str]) -> list[str]:
    return [
        f"dpkg {'hold' if name in held else 'install'} installed {name} {version}"
        for name, version in packages(unit).items()
    ]


def _put_together(text: str, unit: str, held: set[str]) -> str:
    parts = sections(text)
    listed = packages(unit)
    release = (FOLDER / f"{RELEASES[unit]}-dgx-release.txt").read_text().splitlines()
    other = ("hostname", "release", "kernel", "machine=")
    identity = [row for row in parts["identity"].splitlines() if not row.startswith(other)]
    own = [f"hostname={unit}", "machine=aarch64", f"kernel={kernel(unit)}"]
    parts["identity"] = "\n".join([*own, *identity, *(f"release {row}" for row in release)])
    parts["driver"] = "\n".join([*_rows(unit, held), f"module {DRIVER}", "simulated 0"])
    parts["releases"] = "\n".join(updates.rows(unit))
    parts["network"] = stored_by_netplan(parts["network"])
    if toolkit := listed.get("nvidia-container-toolkit"):
        parts["containers"] = re.sub(r"^toolkit .*$", f"toolkit {toolkit}", parts["containers"], flags=re.M)
    return joined(parts)


def stored_by_netplan(text: str) -> str:
    """What a look at the network prints where NetworkManager keeps its profiles in netplan's folder, as on Ubuntu.

    Each profile is /etc/netplan/90-NM-UUID.yaml, and what netplan renders of it is what NetworkManager lists
    [@netplan-source]; "Wired connection N" of the factory is in no file.
    """
    rows, files = [], {"/usr/lib/netplan/00-network-manager-all.yaml": _RENDERER}
    for row in text.splitlines():
        kept = re.fullmatch(
            r"profile (\S+?):(\S+?):/etc/NetworkManager/system-connections/(.+)\.nmconnection", row
        )
        if kept:
            uuid, kind, name = kept.groups()
            row = f"profile {uuid}:{kind}:/run/NetworkManager/system-connections/netplan-NM-{uuid}.nmconnection"
            files[f"/etc/netplan/90-NM-{uuid}.yaml"] = _PROFILE.format(
                uuid=uuid, name=name, netdev=name.removeprefix("sparkrig-")
            )
        rows.append(row)
    encoded = [f"netplan {path} {base64.b64encode(body.encode()).decode()}" for path, body in files.items()]
    return "\n".join([*rows, *encoded])
