"""The firmware of a Spark: recorded boards against a release, hostile output, and the script on its own root."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from pyinfra.api.exceptions import FactProcessError

from sparkrig.facts.firmware import Firmware as Fact
from sparkrig.host.releases import Recipe, find
from sparkrig.update import firmware
from sparkrig.update.firmware import Board, Part, State, Which
from tests.attacks.texts import DEEP, VALUES, WORST, codes
from tests.tables import each_row
from tests.unit import updates
from tests.unit.shells import sh, tool

FE, ASUS = updates.UNITS["sparketa"], updates.UNITS["sparky"]
KNOWN = updates.known("sparketa")
JULY = find("July 2026", KNOWN)
APRIL = find("April 2026", KNOWN)
SOC, EC, PD = (
    "b488217b-3895-4fc0-b1bf-ab7005a2d45a",
    "3d13c989-e6a8-4ead-95ee-921f09868f65",
    "dd1a238a-5f8e-46bd-9401-a88da99c5a96",
)
FAILED = "failed to run update on reboot: expected 0x00000507 and got 0x00000500"  # [@sparkbase-gb10]


def judged(rows: list[str], recipe: Recipe | None = JULY, vendor: str = FE) -> dict[Which, Part]:
    return {part.which: part for part in firmware.judge(firmware.parse(rows), recipe, vendor)}


def states(parts: dict[Which, Part]) -> list[State]:
    return [part.state for part in parts.values()]


# --- the recorded boards


def test_nvidia_s_own_spark() -> None:
    """fwupd offers the USB-PD that is on, at every look: NVIDIA's checker counts it as missing."""
    parts = judged(updates.board("sparketa"))
    assert states(parts) == ["as-released", "as-released", "already-on", "as-released"]
    assert parts["SoC"] == Part(
        "SoC",
        "as-released",
        board="2.155.11",
        wanted="2.155.11",
        fwupd="0x02009b0b",
        older="2.152.15",
        device="0681fd3882fb4fdca996e412ec249365f6e85838",
    )
    assert parts["EC"].older == "3.3.2"
    pd = parts["USB-PD"]
    assert (pd.board, pd.wanted, pd.fwupd, pd.offered, pd.older) == (
        "0.5.22",
        "0.5.22",
        "0x00000001",
        "0.5.22",
        "",
    )
    assert (parts["ConnectX"].board, parts["ConnectX"].fwupd) == ("28.45.4028", "28.45.4028")


def test_an_asus_whose_maker_offers_nothing() -> None:
    parts = judged(updates.board("sparkjr"), vendor=ASUS)
    assert states(parts) == ["waits", "waits", "as-released", "as-released"]
    assert parts["SoC"].why == "2.152.15 is on, the release has 2.155.11, and ASUS offers none that is newer"
    assert [part.older for part in parts.values()] == ["2.148.24", "2.78.24", "0.5.7", ""]
    assert states(judged(updates.board("sparkjr"), APRIL, ASUS)) == ["as-released"] * 4


def test_an_asus_with_three_offers() -> None:
    """ASUS counts in numbers of its own, so those are told in NVIDIA's; afterwards two parts wait for it."""
    parts = judged(updates.board("sparky"), vendor=ASUS)
    assert states(parts) == ["offered", "offered", "offered", "unknown"]
    assert [part.board for part in parts.values()] == ["2.148.24", "2.78.24", "0.5.7", ""]
    assert [part.offered for part in parts.values()] == ["2.152.15", "3.3.2", "0.5.22", ""]
    assert [part.falls_short for part in parts.values()] == [True, True, False, False]
    assert "without a cable" in parts["ConnectX"].why
    assert not any(part.falls_short for part in judged(updates.board("sparky"), APRIL, ASUS).values())
    assert {part.older for part in parts.values()} == {""}


def test_without_a_release_what_is_offered_is_told() -> None:
    parts = judged(updates.board("sparky"), None, ASUS)
    assert states(parts) == ["offered", "offered", "offered", "unknown"]
    parts = judged(updates.board("sparketa"), None)
    assert states(parts) == ["unknown", "unknown", "already-on", "unknown"]
    assert parts["SoC"].why == "no release is known that names a version of it"


# --- what was not recorded


def changed(unit: str, guid: str, **values: Any) -> list[str]:
    """A recorded list of devices with other values for the device of a GUID."""
    devices = updates.fwupd(unit)
    (device,) = [each for each in devices["Devices"] if guid in each.get("Guid", ())]
    device.update(values)
    return updates.board(unit, devices)


def without(rows: list[str], *begins: str) -> list[str]:
    left = [row for row in rows if not row.startswith(begins)]
    assert len(left) < len(rows)
    return left


def offered(version: str, *flags: str) -> list[dict[str, Any]]:
    return [{"Version": version, "Flags": ["trusted-metadata", *flags]}]


UP = offered("0x02009c01", "is-upgrade")
CASES: dict[str, tuple[list[str], Which, State, str]] = {
    "staged": (changed("sparketa", SOC, UpdateState=4), "SoC", "pending", ""),
    "to be staged": (changed("sparketa", SOC, UpdateState=1), "SoC", "pending", ""),
    "failed, and still offered": (
        changed("sparketa", SOC, UpdateState=3, UpdateError=FAILED, Releases=UP),
        "SoC",
        "failed",
        f"the last attempt failed ({FAILED})",
    ),
    "failed for want of power": (
        changed("sparketa", SOC, UpdateState=5, Releases=UP),
        "SoC",
        "failed",
        "the last attempt failed",
    ),
    "failed once, and what the release has is on": (
        changed("sparketa", SOC, UpdateState=3),
        "SoC",
        "as-released",
        "",
    ),
    "failed, and what is offered is on": (changed("sparketa", PD, UpdateState=3), "USB-PD", "already-on", ""),
    "more than the release has is offered": (changed("sparketa", SOC, Releases=UP), "SoC", "offered", ""),
    "what is offered is blocked": (
        changed("sparketa", SOC, Releases=offered("0x02009c01", "is-upgrade", "blocked-approval")),
        "SoC",
        "as-released",
        "",
    ),
    "what is offered is below the lowest": (
        changed("sparketa", SOC, Releases=offered("0x02000001", "is-upgrade")),
        "SoC",
        "as-released",
        "",
    ),
    "without the board's table fwupd counts": (
        without(updates.board("sparketa"), "part", "version"),
        "SoC",
        "as-released",
        "",
    ),
    "but not below its own lowest": (
        [*without(updates.board("sparketa"), "part", "version"), "untold dmidecode it is not installed"],
        "USB-PD",
        "offered",
        "",
    ),
    "nor where it is ASUS's own number": (
        without(
            changed("sparkjr", "f1392323-3920-4598-a932-ef06360cf403", Version="0x03000009"), "part", "version"
        ),
        "SoC",
        "unknown",
        "0x03000009 is a number of its maker's own",
    ),
    "nothing was read": (
        ["untold dmidecode it ended with exit code 1", "untold fwupd it is not installed"],
        "SoC",
        "unknown",
        "dmidecode: it ended with exit code 1",
    ),
    "fwupd did not answer, and the board is behind": (
        [*updates.table("sparky"), "untold fwupd it did not answer within 60 s"],
        "SoC",
        "unknown",
        "fwupd: it did not answer within 60 s",
    ),
    "fwupd did not answer, and the board is not behind": (
        [*updates.table("sparketa"), "untold fwupd it did not answer within 60 s"],
        "USB-PD",
        "as-released",
        "",
    ),
    "one of the two USB-PD controllers is behind": (
        [
            *without(updates.board("sparketa"), "version PD1"),
            "part PD Firmware",
            "version PD1 FW1: 5.7, FW2: 4.10",
        ],
        "USB-PD",
        "offered",
        "",
    ),
    "the other of the two": (
        ["part PD Firmware", "version PD0 FW1: 5.7, FW2: 4.10", *changed("sparketa", PD, Version="0x00000507")],
        "USB-PD",
        "offered",
        "",
    ),
    "an older ConnectX": (
        [*updates.board("sparketa"), "connectx 28.44.1036 (NVD0000000087)"],
        "ConnectX",
        "waits",
        "28.44.1036 is on, the release has 28.45.4028, and NVIDIA offers none that is newer",
    ),
    "a ConnectX that fwupd alone sees": (
        without(updates.board("sparketa"), "connectx"),
        "ConnectX",
        "as-released",
        "",
    ),
}


def test_every_state() -> None:
    def holds(rows: list[str], which: Which, state: State, why: str) -> None:
        part = judged(rows)[which]
        assert (part.state, part.why) == (state, why)

    each_row(CASES, holds)
    seen = {state for _, _, state, _ in CASES.values()}
    assert seen == {*get_args(State)} - {"newer"}
    rows = CASES["but not below its own lowest"][0]
    assert judged(rows)["USB-PD"].board == "", "a version below the lowest is none"
    newer = replace(JULY, firmware={**JULY.firmware, "EC": "3.5.7"})
    assert judged(updates.board("sparketa"), newer)["EC"].state == "newer"


def test_a_failed_attempt_is_due_once_more_if_there_is_an_offer() -> None:
    failed = judged(changed("sparketa", SOC, UpdateState=3, UpdateError=FAILED, Releases=UP))["SoC"]
    assert failed.state == "failed" and failed.due
    newer = replace(JULY, firmware={**JULY.firmware, "SOCFW": "2.999.1"})
    again = judged(changed("sparketa", SOC, UpdateState=3, UpdateError=FAILED, Releases=[]), newer)["SoC"]
    assert again.state == "failed" and not again.due


def test_a_limit_keeps_what_has_the_release_and_an_offer_beyond_it_is_told() -> None:
    """fwupd takes the newest that it lists, whatever release of DGX OS is asked for."""
    rows = changed("sparketa", SOC, Releases=UP)
    board = firmware.parse(rows)
    open_end, limited = (
        next(part for part in firmware.judge(board, JULY, FE, limited=limit) if part.which == "SoC")
        for limit in (False, True)
    )
    assert (open_end.state, open_end.goes_beyond, open_end.due) == ("offered", True, True)
    assert (limited.state, limited.due, limited.offered) == ("as-released", False, open_end.offered)


def test_the_devices_of_another_maker_are_never_guessed() -> None:
    """What they are is not known by GUID; what the board says of itself still is."""
    devices = updates.fwupd("sparky")
    for number, device in enumerate(devices["Devices"]):
        device["Guid"] = [f"00000000-0000-4000-8000-{number:012d}"]
    rows = updates.board("sparky", devices)
    assert firmware.parse(rows).others == 3 and firmware.parse(rows).devices == {}
    dell = "Dell Pro Max with GB10"
    parts = judged(rows, vendor=dell)
    assert states(parts) == ["unknown"] * 4
    assert parts["SoC"].why == "which of fwupd's devices it is on a Spark of Dell is not known"
    assert parts["SoC"].offered == parts["SoC"].device == ""
    old = find("January 2026", KNOWN)
    assert states(judged(rows, old, dell)) == ["as-released", "newer", "as-released", "unknown"]
    assert "of its maker is not known" in judged(rows, vendor="unknown maker")["EC"].why


def test_fwupd_itself() -> None:
    board = firmware.parse(updates.board("sparketa"))
    assert board.listed and board.untold == {} and board.others == 0
    assert firmware.parse([]) == Board() == Fact.default()
    assert "hidden" not in json.dumps(board.to_json())


# --- what makes no sense


def sent(text: bytes) -> str:
    return f"fwupd {base64.b64encode(text).decode()}"


def listed(*devices: Any) -> str:
    return sent(json.dumps({"Devices": devices}).encode())


def device(**values: Any) -> str:
    return listed({"Guid": [SOC], "DeviceId": "a" * 40, "Version": "0x02009b0b"} | values)


UNTOLD: dict[str, tuple[str, str]] = {
    "no base64": ("fwupd ***", "base64"),
    "no UTF-8": (sent(b"\xe9"), "can't decode byte"),
    "no JSON": (sent(b"Error: none"), "Expecting value"),
    "an error of fwupd": (sent(b"[]"), "another value where an object belongs"),
    "deep": (sent(DEEP.encode()), "JSON nests deeper"),
    "no list": (sent(b'{"Devices": {}}'), "Devices: another value where a list belongs"),
    "no device": (listed(1), "another value where an object belongs"),
    "many devices": (listed(*[{}] * 201), "a list of too many values"),
    "many releases": (device(Releases=[{}] * 201), "a list of too many values"),
    "a GUID that is none": (listed({"Guid": [1]}), "another value where a text belongs"),
    "an id of a shell": (device(DeviceId="$(id)"), "is no id of a device of fwupd"),
    "a version of escapes": (device(Version="\x1b[2J"), "is no version of firmware"),
    "a version as a number": (device(Version=33594123), "another value where a text belongs"),
    "a state in words": (device(UpdateState="failed"), "UpdateState: the state of an update is no number"),
    "a state that is true": (device(UpdateState=True), "UpdateState: the state of an update is no number"),
    "a release of words": (device(Releases=offered("; reboot")), "is no version of firmware"),
}


def test_a_list_of_fwupd_that_cannot_be_understood_is_untold() -> None:
    def holds(row: str, why: str) -> None:
        found = firmware.parse([*updates.table("sparky"), row])
        assert why in found.untold["fwupd"] and not found.listed and found.devices == {}
        parts = {part.which: part for part in firmware.judge(found, JULY, ASUS)}
        assert parts["SoC"].state == "unknown" and parts["SoC"].board == "2.148.24"
        assert parts["SoC"].why.startswith("fwupd: its list of devices cannot be understood")
        assert not codes(parts["SoC"].why) and len(parts["SoC"].why) < 300

    each_row(UNTOLD, holds)


def test_a_state_of_a_later_fwupd_is_none() -> None:
    for state in (-1, 6, 10**19):
        assert judged([*updates.table("sparketa"), device(UpdateState=state)])["SoC"].state == "as-released"


def test_a_row_that_makes_no_sense_is_one_sentence() -> None:
    with pytest.raises(FactProcessError, match="a number has more than 100 digits"):
        Fact().process(["version " + "9" * 101])


def test_nothing_of_a_host_is_shown_but_versions_and_plain_words() -> None:
    def holds(value: str, make: Callable[[str], str]) -> None:
        found = firmware.parse([*updates.table("sparky"), "part FLASH", *make(value).split("\n")])
        for part in firmware.judge(found, JULY, ASUS):
            assert not any(map(codes, (part.board, part.offered, part.older, part.device, part.why)))

    makes: tuple[Callable[[str], str], ...] = (
        lambda value: f"version {value}",
        lambda value: f"connectx {value}",
        lambda value: f"untold fwupd {value}",
        lambda value: f"untold dmidecode {value}",
        lambda value: device(UpdateState=3, UpdateError=value.encode("utf-8", "replace").decode()),
    )
    each_row([(value, make) for value in (*VALUES, WORST) for make in makes], holds)


# --- the script

DMIDECODE = """
[ "$*" = '-t 45' ] || exit 9
cat {}
"""
FWUPDMGR = """
case $* in
'get-devices --json') cat {} ;;
*) exit 9 ;;
esac
"""


def rooted(root: Path) -> str:
    """The fact's script on a root of its own; dmidecode, fwupdmgr and ethtool are those of its bin."""
    text = Fact().command().replace("/sys/", f"{root}/sys/")
    return f'command() {{ [ -x {root}/bin/"$2" ]; }}\n{text}'


def looked(root: Path) -> Board:
    done = sh(rooted(root), path=root / "bin")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Handle" not in done.stdout and "Manufacturer" not in done.stdout
    return firmware.parse(done.stdout.splitlines())


def test_the_script(tmp_path: Path) -> None:
    assert looked(tmp_path).untold == {"dmidecode": "it is not installed", "fwupd": "it is not installed"}
    tool(tmp_path / "bin", "dmidecode", DMIDECODE.format(updates.RECORDED / "sparketa-dmidecode.txt"))
    tool(tmp_path / "bin", "fwupdmgr", FWUPDMGR.format(updates.RECORDED / "sparketa-fwupd.json"))
    for number, vendor in enumerate(("0x15b3", "0x10ec")):
        found = tmp_path / "sys" / "class" / "infiniband" / f"rocep{number}"
        (found / "device").mkdir(parents=True)
        (found / "device" / "vendor").write_text(f"{vendor}\n")
        (found / "fw_ver").write_text(f"28.45.{4028 + number}\n")
    (tmp_path / "sys" / "class" / "infiniband" / "rxe0").mkdir()
    board = looked(tmp_path)
    assert board == firmware.parse(updates.board("sparketa"))


def test_the_script_asks_ethtool_where_no_rdma_device_has_a_version(tmp_path: Path) -> None:
    netdev = tmp_path / "sys" / "class" / "net" / "enp1s0f0np0"
    (netdev / "device").mkdir(parents=True)
    (netdev / "device" / "uevent").write_text("DRIVER=mlx5_core\n")
    (tmp_path / "sys" / "class" / "net" / "eth0").mkdir()
    answer = "printf 'driver: x\\nfirmware-version: %s\\n' '28.45.4028 (NVD0000000087)'"
    tool(tmp_path / "bin", "ethtool", f'[ "$*" = "-i enp1s0f0np0" ] && {answer} || echo firmware-version: 1.2.3')
    assert looked(tmp_path).table.connectx == ("28.45.4028",)


def test_a_tool_that_fails_or_prints_without_end_is_told(tmp_path: Path) -> None:
    tool(tmp_path / "bin", "dmidecode", "echo '/dev/mem: Permission denied' >&2; exit 1")

    def holds(text: str, why: str) -> None:
        tool(tmp_path / "bin", "fwupdmgr", f"case $1 in get-devices) {text} ;; esac")
        found = looked(tmp_path)
        assert found.untold == {"dmidecode": "it ended with exit code 1", "fwupd": why}
        assert not found.listed

    each_row(
        [
            ("echo '{}'; exit 1", "its list of devices could not be read"),
            ("exit 124", "it did not answer within 60 s"),
            ("head -c 1000001 /dev/zero | tr '\\0' x", "its list of devices has more than 1000000 characters"),
        ],
        holds,
    )
