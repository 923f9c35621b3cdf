"""The order of Debian versions, and that dpkg itself says the same of each row."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from sparkrig.parsing import debian_version
from tests.tables import each_row

# rows that show a rule each, and versions that Sparks have
ORDER = """\
1.0-1 < 2.0-2
2.2~rc-4 < 2.2-1
1.0000-1 = 1.0-1
1 = 0:1
0 = 0:0-0
2:2.5 > 1:7.5
1:0foo > 0foo
0foo = 0foo-0
0foo > 0fo
0foo-0 < 0foo+
0foo~1 < 0foo
0foo~foo+Bar < 0foo~foo+bar
0foo~~ < 0foo~
1~ < 1
0foo-0 < 0foo-01
0foo.bar > 0foobar
0foo.bar > 0foo1bar
0foo1bar-1 < 0foobar-1
0foo2.0 > 0foo2
0foo2.0.0 < 0foo2.10.0
1.09 = 1.9
1.0.8+nmu1 > 1.0.8
1.011-1 > 1.06-2
1:3.8.1-1 > 3.8.GA-1
1a < 1000a
580.95.05-0ubuntu0.24.04.3 < 580.142-0ubuntu0.24.04.1
580.142-0ubuntu0.24.04.1 < 580.159.03-0ubuntu0.24.04.1
610.43.02-1ubuntu1 > 595.45.04-1ubuntu1
6.17.0-1014.14+1000 > 6.17.0-1014.14+1
6.17.0-1014.14 < 6.17.0-1014.14+1
6.17.0-1029.29 < 7.0.0-1019.19
20240318.git3b128b60-0ubuntu2.25 < 20240318.git3b128b60-0ubuntu2.27
2404.26.01-1 < 2404.26.02-1
25.10-2 > 25.10-1
5.22 < 7.3
2.0.20-1ubuntu2~24.04.2 < 2.0.20-1ubuntu2
1.1.1+bzr982-0ubuntu44 > 1.1.1-0ubuntu44
"""


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
