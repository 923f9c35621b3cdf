"""Every verb on a pair with one hostile host, and what has to hold of all that it prints."""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from prometheus_client.parser import text_string_to_metric_families

from tests import warm
from tests.attacks.texts import codes
from tests.plan.archives import asked as evidence
from tests.plan.clean import CLEAN
from tests.plan.conftest import JOURNAL, A, B, Host, joined
from tests.plan.examined import examined
from tests.plan.examined import hosts as examinees
from tests.plan.startups import text as started
from tests.unit import updates
from tests.unit.disks import ONE

STARTUP = "start=${start#@}"  # a piece of the look at a served model
LOOK, FORECAST = "#sparkrig:end identity", "Dir::State::Status"  # pieces of a look, and of apt's forecast


# the verbs with an inventory, and what is typed besides
VERBS: dict[str, tuple[str, ...]] = {
    "apply": ("--yes",),
    "bandwidth": ("--quick", "--html", "OUT/page.html"),
    "bench": (),
    "doctor": ("--verbose",),
    "drift": ("--all", "--html", "OUT/page.html", "--junit", "OUT/junit.xml", "--prom", "OUT/metrics.prom"),
    "plan": ("--all",),
    "blackbox": ("--html", "OUT/box.html"),
    "startup": ("--once",),
    "status": (),
    "storage": (),
    "support": ("--yes", "--output", "OUT/evidence.tar.gz"),
    "topology": ("--svg", "OUT/cables.svg"),
    "undo": ("--dry",),
    "unlock": ("--yes",),
    "update": ("--check",),
}


def updating() -> dict[str, str]:
    """What the look of an update has besides, of a recorded Spark."""
    return {
        "firmware": "\n".join(updates.board("sparketa")),
        "repositories": "now 1795600000\nlists 1795596400\nkernel 6.17.0-1029-nvidia initrd module",
    }


BOX = "cd /var/lib/sparkrig/blackbox"  # of the look of `sparkrig blackbox`, and of the doctor's, which comes first


class _Page(HTMLParser):
    """The elements of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)


def harmless(name: str, text: str) -> None:
    """That a text that was made steers nothing, and is whole as what it is. name: of its file."""
    assert not codes(text), f"{name}: {sorted({hex(ord(each)) for each in codes(text)})}"
    if name.endswith((".svg", ".xml")):
        ElementTree.fromstring(text)
    if name.endswith((".svg", ".html")):
        assert "script" not in _Page(text).tags, name
    if name.endswith(".prom"):
        assert len([*text_string_to_metric_families(text)]) > 5


def told(archive: Path) -> set[str]:
    """The names in an archive, which is shown without harm."""
    done = warm.run("sparkrig", "support", "--open", str(archive), env={"PAGER": "cat"})
    assert done.returncode == 0
    harmless("an archive, opened", done.stdout + done.stderr)
    with tarfile.open(archive) as opened:
        return {name.partition("/")[2] for name in opened.getnames()}


def halves() -> list[Host]:
    """A pair in order, which answers all looks."""
    known = "\n".join(updates.rows("sparketa"))
    one, other = examinees(examined("a", releases=known), examined("b", releases=known))
    for host, log in ((one, "pair-head"), (other, "pair-worker")):
        # the first match wins: what the evidence says of a journal would answer for these, too
        own = {JOURNAL: [CLEAN], STARTUP: started(log).split("\n"), FORECAST: ["simulated 0", "bytes 0"]}
        host.first = {**own, **host.first, BOX: ["now 1795230000 +0000"], **evidence()}
        host.first[LOOK] = [*host.first[LOOK], *joined(updating()).splitlines()]
    return [one, other]


# what stands of host A in the document of a verb
IN_FULL: Mapping[str, Callable[[dict[str, Any]], Any]] = {
    "doctor": lambda found: len([row for row in found["hosts"][0]["rows"] if row["status"] == "ok"]) > 25,
    "drift": lambda found: len([row for row in found["hosts"][0]["rows"] if row["status"] == "ok"]) > 25,
    "apply": lambda found: IN_FULL["plan"](found["plan"]),
    "bench": lambda found: found["exit"] == 3 and {each["failed"] for each in found["left"]} == {True},
    "blackbox": lambda found: found["hosts"][A] == {"runs": False, "reset": None, "guard": []},
    "startup": lambda found: found["hosts"][A]["state"] == "serving",
    "status": lambda found: found["hosts"][A]["runs"] == [] and len(found["hosts"][A]["state"]["rails"]) == 2,
    "storage": lambda found: found["hosts"][A]["checkpoints"][0]["name"] == ONE,
    "support": lambda found: len([each for each in found["files"] if each["name"].startswith("machine-1/")]) > 2,
    "topology": lambda found: found["groups"][0]["gids"][A],
    "unlock": lambda found: found["hosts"][A] == "not locked",
    "update": lambda found: {each["name"]: each["behind_by"] for each in found["hosts"]} == {A: 8, B: None},
    # these do nothing to one host of a pair
    "plan": lambda found: (
        [each["held_up_by"] for each in found["hosts"]] == [B, None] and not found["hosts"][0]["refusals"]
    ),
    "bandwidth": lambda found: found["pairs"][0]["hosts"] == [A, B] and B in found["pairs"][0]["refused"],
    "undo": lambda found: found["groups"][0]["hosts"] == [A, B] and B in found["groups"][0]["outcome"],
}
