"""Which Debian mirror the guests are built from."""

from __future__ import annotations

from pathlib import Path

from lab.commands import run

DEFAULT = "http://deb.debian.org/debian"
QUERY = ["apt-get", "indextargets", "--format", "$(ORIGIN)|$(LABEL)|$(REPO_URI)", "Created-By: Packages"]


def mirror() -> str:
    """The Debian mirror that apt uses on this machine; Debian's own on any other distribution."""
    if "ID=debian" not in Path("/etc/os-release").read_text().splitlines():
        return DEFAULT
    return pick(run(QUERY, attempt="sparkrig lab up --mirror URL"))


def pick(index_targets: str) -> str:
    """The first web mirror of Debian proper among lines of `ORIGIN|LABEL|URI`."""
    for line in index_targets.splitlines():
        origin, label, uri = line.split("|", 2)
        if (origin, label) == ("Debian", "Debian") and uri.startswith(("http://", "https://")):
            return uri.rstrip("/")
    return DEFAULT
