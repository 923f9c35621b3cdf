"""A release of DGX OS that there is not: it has driver 590, so that a branch moves. All of it is made up.

It comes on top of the repository's state 1 (`offer 1`), which has driver 590 and no module of it. Its recipe has
the form of NVIDIA's; its kernel is the guest's own, with a stand-in of nvidia.ko.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from lab.guest.build import catalogue, repositories
from lab.guest.build.catalogue import NEXT, RELEASES, Package, Release
from tests.lab.guests import Guest

RELEASE = Release("OTA2701", "January 2027", "2027-01-15", NEXT, "7.6.0", catalogue.RELEASE_META, "1.0.19-1")
SOURCE = "deb [trusted=yes] copy:/srv/made ./"
_RENAMED = {"nvidia-driver-580-open": "nvidia-driver-open"} | {
    f"{name}-580": name for name in ("nvidia-kernel-common", "nvidia-utils")
}


def packages(kernel: str) -> list[Package]:
    """What it adds to the repository's state 1. kernel: the guest's own."""
    folder = "opt/nvidia/spark-ota-check/metadata"
    recipes = {**{each.name: catalogue.recipe(each, kernel) for each in RELEASES}, RELEASE.name: _recipe(kernel)}
    files: dict[str, str | bytes] = {
        f"{folder}/spark-ota-{name.removeprefix('OTA')}.json": json.dumps(recipe, indent=2)
        for name, recipe in recipes.items()
    }
    checker = Package("nvidia-spark-ota-check", RELEASE.checker, files=files)
    return [checker, catalogue.modules("open", NEXT, kernel)]


def _recipe(kernel: str) -> dict[str, object]:
    made = catalogue.recipe(RELEASE, kernel)
    for row in cast("list[dict[str, Any]]", made["package"]):
        row["name"] = _RENAMED.get(row["name"], row["name"])
    return made


def offer(guest: Guest, folder: Path) -> None:
    """Let apt on a guest find the release, and the guest know of it. folder: an empty one of this machine."""
    guest.output("sudo /usr/lib/sparkrig-lab/offer 1")
    publish(guest, folder, packages(guest.output("uname -r")))
    guest.output("sudo apt-get -q -y install nvidia-spark-ota-check", timeout=300)


def publish(guest: Guest, folder: Path, packages: Iterable[Package]) -> None:
    """Let apt on a guest find packages, in a repository of theirs. folder: an empty one of this machine."""
    debs = [repositories.build(each, folder) for each in packages]
    index = "\n".join(repositories.index_entry(deb, folder) for deb in debs).encode()
    guest.output("sudo mkdir -p /srv/made")
    for name, content in {"Packages": index, **{deb.name: deb.read_bytes() for deb in debs}}.items():
        text = base64.b64encode(content).decode()
        guest.output(f"echo {text} | base64 -d | sudo tee /srv/made/{name} >/dev/null")
    guest.output(f"echo '{SOURCE}' | sudo tee /etc/apt/sources.list.d/made.list >/dev/null")
    guest.output("sudo apt-get -q update", timeout=300)
