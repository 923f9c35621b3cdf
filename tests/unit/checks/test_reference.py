"""Every check is in the catalogue, with a page that is there; and a name means what a person expects."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sparkrig.checks.reference import KINDS, kind, kinds, means
from sparkrig.fleet import Fleet
from sparkrig.resources.kind import CATEGORIES, Category, Kind
from tests.tables import each_row, table
from tests.unit import states
from tests.unit.doctored import checks_of, fleet
from tests.unit.states import A, B

ROOT = Path(__file__).resolve().parents[3]


def test_every_check_that_a_host_can_have_is_known() -> None:
    seen = {check.id for checks in checks_of().values() for check in checks}
    seen |= {check.id for change, _ in states.MOVED.values() for check in states.found(change)}
    seen |= {check.id for check in checks_of(hosts=(A,), fleet=fleet(alone=True))[A]}
    assert {kind(id).category for id in seen} == set(CATEGORIES)
    with pytest.raises(LookupError, match="no check is called net"):
        kind("net")


def test_a_kind_says_what_it_means_in_one_line() -> None:
    def holds(each: Kind) -> None:
        assert each.meaning and len(each.name) + len(each.meaning) < 100
        assert not each.meaning.endswith(".") and not each.cause.endswith(".")
        assert each.cause or each.docs.endswith("#the-hosts"), "its causes have names"

    each_row({each.name: each for each in KINDS}, holds)


def anchors(page: Path) -> set[str]:
    """The sections of a page, as GitHub links to them."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_the_page_and_its_section_are_there() -> None:
    def holds(link: str) -> None:
        page, _, anchor = link.partition("#")
        assert not anchor or anchor in anchors(ROOT / page)

    each_row(sorted({each.docs for each in KINDS}), holds)


NAMES = {
    "net.enp1s0f0np0.mtu": {"net.NETDEV.mtu"},
    "pair.name": {"pair.name"},
    "gpu": {"gpu.answers", "gpu.clock", "gpu.gsp", "gpu.temperature"},
    "gpu.clock": {"gpu.clock"},
    "environment.container.env": {"environment.FILE"},
    "time": {"host.clock", "time.servers", "time.synchronised"},
    "mtu": set(),
    "net.enp1s0f0np0.speed": set(),
    "netw": set(),
    "": set(),
}


def test_what_a_name_means() -> None:
    def holds(name: str, expected: set[str]) -> None:
        assert {each.name for each in kinds(name)} == expected

    each_row(NAMES.items(), holds)


def test_a_category_is_a_name_and_so_is_its_first_word() -> None:
    def holds(category: Category) -> None:
        mine = {each.name for each in KINDS if each.category == category}
        for name in (category, category.upper(), category.split()[0].lower()):
            assert mine <= {each.name for each in kinds(name)}

    each_row(CATEGORIES, holds)


def test_which_checks_a_name_shows() -> None:
    def holds(name: str, id: str, expected: bool) -> None:
        assert means(name, id) is expected

    each_row(table(__file__, "which checks a name shows"), holds)


def test_the_fleet_of_these_tests_is_a_pair() -> None:
    assert isinstance(fleet(), Fleet) and fleet().peers(A) == (B,)


def test_a_check_of_a_named_service_is_known_by_the_one_without() -> None:
    assert kind("serve.unit@embed").name == "serve.unit"
    assert [each.name for each in kinds("serve.unit@embed")] == ["serve.unit"]
    assert means("serve.unit", "serve.unit@embed") and means("serve.unit@embed", "serve.unit@embed")
    assert means("serve", "serve.unit@embed") and not means("serve.unit@embed", "serve.unit")
    for odd in ("serve.unit@A", "serve.unit@", "@embed", "serve.unit@a@b"):
        with pytest.raises(LookupError):
            kind(odd)
