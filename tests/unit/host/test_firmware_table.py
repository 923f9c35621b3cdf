"""Floors of firmware: each fires below its version and at no other, by the recorded tables of three Sparks."""

from __future__ import annotations

from datetime import date

from sparkrig.host import firmware_table, update_facts
from sparkrig.host.update_facts import Floor
from tests.unit import updates

PART = {"SoC": "part FLASH\nversion SBP:R:{}", "UEFI": "part UEFI\nversion R:{}", "ConnectX": "connectx {}"}


def gaps(*rows: str) -> list[tuple[str, str]]:
    """The bulletin and the part of what is open."""
    table = firmware_table.parse(line for row in rows for line in row.split("\n"))
    return [(floor.bulletin, floor.part) for floor, _ in firmware_table.open_in(table)]


def before(version: str) -> str:
    """One that is older, of the same line where it has one."""
    *most, last = map(int, version.split("."))
    return ".".join(map(str, [*most, last - 1]))


def test_each_floor_fires_below_its_versions_and_not_at_them() -> None:
    for floor in update_facts.floors():
        for fixed in floor.fixed:
            name = (floor.bulletin, floor.part)
            assert name not in gaps(PART[floor.part].format(fixed)), f"{name} at {fixed}"
            assert name in gaps(PART[floor.part].format(before(fixed))), f"{name} below {fixed}"


def test_every_row_can_be_looked_up() -> None:
    for floor in update_facts.floors():
        assert floor.cves and all(cve.startswith("CVE-20") for cve in floor.cves), floor
        assert isinstance(floor.day, date) and f"nvidia-{floor.bulletin}" in floor.source, floor
        assert floor.part in PART and floor.needs, floor
    days = [floor.day for floor in update_facts.floors()]
    assert days == sorted(days, reverse=True)


def test_recorded_sparks_have_what_their_releases_brought_and_are_told_the_rest() -> None:
    """NVIDIA's own has UEFI 1.110.13; ASUS counts its UEFI otherwise, and nothing is concluded of it."""
    own, asus = (firmware_table.parse(updates.board(unit)) for unit in ("sparketa", "sparkjr"))
    assert own.versions == {"SoC": "2.155.11", "UEFI": "1.110.13", "EC": "3.5.8", "USB-PD": "0.5.22"}
    for table in (own, asus):
        assert firmware_table.verdict(table).healthy
        assert [floor.bulletin for floor, _ in firmware_table.open_in(table)] == ["5699"], "no release closes it"
    assert "no release has 28.46.3008" in firmware_table.verdict(own).evidence
    assert "UEFI ASUS_UEFI_0105 is a number of its maker's own" in firmware_table.verdict(asus).evidence


def test_what_a_release_closes_is_degraded_with_the_worst_vulnerability_by_name() -> None:
    rows = [row.replace("1.110.13", "1.110.12") for row in updates.board("sparketa")]
    found = firmware_table.verdict(firmware_table.parse(rows))
    assert (found.level, found.cause) == ("degraded", "firmware-open")
    assert found.evidence == (
        "UEFI 1.110.12 leaves CVE-2026-24262 and 4 more open to root of the Spark (NVIDIA's bulletin 5867, "
        "2026-08-25); 1.110.13 closes it"
    )
    assert "--only firmware" in found.cure


def test_a_floor_without_a_release_is_worded_so() -> None:
    row = next(floor for floor in update_facts.floors() if not floor.release)
    assert isinstance(row, Floor)
    assert firmware_table.worded(row, "28.45.4028").endswith("; no release has 28.46.3008")


def test_nothing_is_concluded_of_nothing() -> None:
    assert firmware_table.verdict(firmware_table.parse(["untold dmidecode it is not installed"])).evidence == ""
