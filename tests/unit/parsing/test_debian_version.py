"""The order of Debian versions, and that dpkg itself says the same of each row."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from sparkrig.parsing import debian_version
from tests.tables import each_row

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "driver"
# rows that show a rule each, and versions that Sparks have
ORDER = (FIXTURES / "version-order.txt").read_text()


def test_versions_sort_as_dpkg_sorts_them() -> None:
    def holds(one: str, sign: str, other: str) -> None:
        first, second = debian_version.key(one), debian_version.key(other)
        assert ("<" if first < second else ">" if first > second else "=") == sign
        assert debian_version.older(one, other) == (sign == "<")
        assert debian_version.older(other, one) == (sign == ">")

    each_row([tuple(row.split()) for row in ORDER.splitlines()], holds)


def test_dpkg_itself_says_the_same() -> None:
    assert shutil.which("dpkg"), "this test asks dpkg itself, and there is none on this machine"
    words = {"<": "lt", "=": "eq", ">": "gt"}

    def holds(one: str, sign: str, other: str) -> None:
        subprocess.run(["dpkg", "--compare-versions", one, words[sign], other], check=True)

    each_row([tuple(row.split()) for row in ORDER.splitlines()], holds)


def test_the_upstream_part() -> None:
    def holds(version: str, upstream: str) -> None:
        assert debian_version.upstream(version) == upstream

    each_row(
        [("580.159.03-0ubuntu0.24.04.1", "580.159.03"), ("1:2.3-4-5", "2.3-4"), ("7.5.0", "7.5.0"), ("-1", "-1")],
        holds,
    )


def test_a_number_that_no_version_has_is_an_error() -> None:
    with pytest.raises(ValueError, match="digits"):
        debian_version.key("1" * 5000)
