"""T1: what `sparkrig update --check` sees of a host: recorded Sparks of four releases, and one state each."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests import warm
from tests.plan import recordings
from tests.plan.conftest import ROOT, A, sections
from tests.plan.desk import Desk
from tests.plan.updating import IDLE, NOW, ahead, every, look, pair
from tests.tables import data
from tests.unit import updates

FILE = updates.RECORDED / "units.yaml"
UNITS: dict[str, dict[str, Any]] = data(FILE)
KERNEL, DRIVER = updates.KERNEL.removesuffix("-nvidia"), updates.DRIVER


def unit(row: dict[str, Any], letter: str) -> list[str]:
    """What a look prints of a unit."""
    other: dict[str, Any] = {} if row.get("recipes", True) else {"releases": "folder"}
    text = "\n".join(look("sparketa", letter, *row.get("rows", ()), **other))
    for name, version in row.get("dgx_os", {}).items():
        text = re.sub(rf"(?m)^release {name}=.*\n", "", text)
        text = text.replace("hostname=", f'release {name}="{version}"\nhostname=', 1)
    text = text.replace(KERNEL, row.get("kernel", updates.KERNEL).removesuffix("-nvidia"))
    return text.replace(DRIVER, row.get("driver", DRIVER)).splitlines()


def forecast(row: dict[str, Any]) -> list[str]:
    """apt's forecast of what comes to a unit."""
    comes = dict(row.get("comes", {}))
    if not comes:
        return IDLE
    driver, kernel = comes.pop("driver"), comes.pop("kernel").removesuffix("-nvidia")
    text = "\n".join(ahead("sparketa")).replace("6.17.0-1032", kernel).replace("580.178.04", driver)
    text = text.replace(f"[{DRIVER}", f"[{row['driver']}")
    return [*(f"Inst {name} ({version} NVIDIA [all])" for name, version in comes.items()), *text.splitlines()]


@pytest.mark.parametrize("name", UNITS)
def test_a_recorded_spark_is_told_what_its_owner_saw(desk: Desk, name: str) -> None:
    row = UNITS[name]
    desk.has(pair(unit(row, "a"), unit(row, "b"), forecast(row)))
    done = desk.typed("update", "--check", "--limit", A, "--to", row.get("to", "latest"))
    said = " ".join(done.out.split())
    assert done.code == row["code"], done.out
    assert [words for words in row["says"] if words not in said] == [], done.out
    assert [words for words in row.get("never", ()) if words in said] == [], done.out


NVIDIA, UBUNTU = "https://repo.download.nvidia.com", "http://ports.ubuntu.com/ubuntu-ports"
# rows of what apt's sources and others are, rows of the preflight, and how what is said of them begins
STATES: dict[str, tuple[list[str], str, str]] = {
    "dgx-os-8": (
        ["source - / " + f"{NVIDIA}/baseos/8/ubuntu/noble/arm64"],
        "",
        "is of DGX OS 8, and this Spark has",
    ),
    "resolute": (
        [f"source fetched resolute {UBUNTU}"],
        "",
        "is of resolute, and this Spark is of noble; DGX OS 8 on",
    ),
    "two at once": (
        [f"source fetched jammy {UBUNTU}", f"source fetched jammy-updates {UBUNTU}"],
        "",
        f"apt's source {UBUNTU} jammy (and 1 more) is of jammy",
    ),
    "folder": (
        [f"source fetched / {NVIDIA}/baseos/ubuntu/jammy/arm64"],
        "",
        "arm64 / is of jammy, and this Spark",
    ),
    "cuda": (
        ["source fetched / https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2204/sbsa"],
        "",
        "is of Ubuntu 22.04, and this Spark is of 24.04",
    ),
    "upgrading": (["works 7 do-release-upgr"], "", "a release upgrade of Ubuntu is at work (do-release-upgr"),
    "upgrading by its lock": (
        [],
        "lock /var/lib/apt/lists/lock 7 resolute",
        "release upgrade of Ubuntu is at work (res",
    ),
    "dashboard installs": ([], "lock /var/lib/dpkg/lock-frontend 7 aptd", "NVIDIA's dashboard installs by aptd"),
    "dashboard's firmware": (["works 7 fwupdmgr"], "", "fwupdmgr (process 7) writes firmware"),
    "dashboard reboots": (["works 7 dgx-dashboard-r"], "", "NVIDIA's dashboard (process 7) is about to reboot"),
    "shutdown": ([], "shutdown MODE=reboot\nshutdown USEC=SOON", "a reboot is scheduled in 60 min"),
    "archives": (
        [],
        "room 700 /var/cache/apt/archives",
        "/var/cache/apt/archives has 700 MB of room, and 2924 MB",
    ),
    "usr": ([], "room 700 /usr", "/usr has 700 MB of room, and 2924 MB"),
    "boot": ([], "room 250 /boot", "/boot has 250 MB of room, and 300 MB are expected for two kernels"),
}
RELEASE_UPGRADES = ("dgx-os-8", "resolute", "upgrading", "upgrading by its lock")
NOTES: dict[str, tuple[list[str], str]] = {
    "offer": (["offer 26.04.1 LTS"], "note: do-release-upgrade offers Ubuntu 26.04.1 LTS: leave it; DGX OS 8 on"),
    "dashboard": (
        ['dashboard ssbbs "ready" "2026-12-01T10:00:00+00:00" true true "DGX OS 8"'],
        "note: NVIDIA's dashboard offers DGX OS 8: leave it",
    ),
    "unknown": (
        ['dashboard ssbbs "ready" "2026-12-01T10:00:00+00:00" true true "December 2026"'],
        "note: NVIDIA's dashboard offers December 2026, of which the Spark has no recipe",
    ),
}
FINE = [
    *("codename noble", f"source fetched noble {UBUNTU}", "kho off"),
    f"source fetched / {NVIDIA}/spark/ubuntu/arm64",
    f"source fetched / {NVIDIA}/baseos/ubuntu/noble/arm64",
    "source fetched / https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/sbsa",
    'dashboard ssbbs "ready" "2026-09-05T10:33:15+03:00" true true "July 2026"',
]


def said(desk: Desk, rows: list[str], preflight: str = "", firmware: str = "") -> str:
    """The screen of a Spark before an upgrade, in one line."""
    text = sections(recordings.deployed("sparketa", "a"))["preflight"]
    clock = next(row for row in text.splitlines() if row.startswith("clock "))
    now = float(clock.partition(" ")[2])
    soon = preflight.replace("SOON", f"{(now + 3600) * 1e6:.0f}")
    other: dict[str, Any] = {"firmware": firmware} if firmware else {}
    seen = look("sparketa", "a", *every("sparketa"), *FINE, *rows, preflight=f"{soon}\n{text}".strip(), **other)
    desk.has(pair(seen, look("sparketa", "b"), ahead("sparketa")))
    done = desk.typed("update", "--check", "--limit", A, "--to", "candidate")
    return " ".join(done.out.split())


def test_a_spark_in_none_of_these_states_is_told_nothing(desk: Desk) -> None:
    text = said(desk, [])
    assert "would not begin" not in text and "note:" not in text, text


@pytest.mark.parametrize("name", STATES)
def test_each_state_stops_an_update_and_alone(desk: Desk, name: str) -> None:
    rows, preflight, words = STATES[name]
    text = said(desk, rows, preflight)
    assert text.count("would not begin:") == 1 and "note:" not in text, text
    assert words in text, text
    assert ("; DGX OS 8 on Ubuntu 26.04: " in text) == (name in RELEASE_UPGRADES), text


@pytest.mark.parametrize("name", NOTES)
def test_each_offer_is_a_note_and_stops_nothing(desk: Desk, name: str) -> None:
    rows, words = NOTES[name]
    text = said(desk, rows)
    assert text.count("note:") == 1 and words in text and "would not begin" not in text, text


def test_a_spark_that_was_taken_to_the_next_dgx_os_already_is_left_to_it(desk: Desk) -> None:
    text = sections(recordings.deployed("sparketa", "a"))["identity"] + '\nrelease DGX_OTA_VERSION="8.0.0"'
    desk.has(pair(look("sparketa", "a", *FINE, identity=text), look("sparketa", "b"), ahead("sparketa")))
    said = " ".join(desk.typed("update", "--check", "--limit", A, "--to", "candidate").out.split())
    assert "would not begin: this Spark is on DGX OS 8.0.0 already; DGX OS 8 on Ubuntu 26.04: " in said, said


def test_firmware_below_a_floor_is_a_note_with_its_bulletin(desk: Desk) -> None:
    board = "\n".join(updates.board("sparketa")).replace("1.110.13", "1.110.12")
    text = said(desk, [], firmware=board)
    assert "note: UEFI 1.110.12 leaves CVE-2026-24262 and 4 more open" in text and "bulletin 5867" in text, text


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_what_refuses_is_first_then_what_warns_and_what_is_fine_is_one_line_at_the_end(
    desk: Desk, columns: int
) -> None:
    rows = [*FINE, "works 7 fwupdmgr", "offer 26.04.1 LTS", "held docker-ce", f"lists {NOW - 2_000_000}"]
    desk.has(pair(look("sparketa", "a", *rows), look("sparketa", "b")))
    done = warm.run(
        "sparkrig", "update", str(desk.inventory), "--check", "--limit", A, cwd=ROOT,
        env={"COLUMNS": str(columns), "NO_COLOR": "1"},
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= columns, done.stdout
    own = lines[1 : lines.index("")]  # its peer comes after it
    heads = [line.split()[0].rstrip(":") for line in own if re.match(r"  [a-z]", line)]
    assert heads == ["would", "note", "lists", "held", "open", "fine"], done.stdout
