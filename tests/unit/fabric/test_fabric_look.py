"""What a measurement takes from the look of the run that it belongs to, and when that look is of another time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyinfra.api import Host

from sparkrig.fabric.io import fabric_look
from sparkrig.fabric.io.fabric_look import Known
from sparkrig.fabric.neighbours import Neighbours
from sparkrig.facts.survey import Looked
from sparkrig.fleet import Fleet
from sparkrig.resources.state import UNREAD, State
from tests.tables import each_row
from tests.unit.surveys import SETTINGS, surveyed

A, B = SETTINGS
NEW = surveyed()
HEARD = dict.fromkeys(SETTINGS, Neighbours({"enp1s0f0np0": 40}))


def before(**boots: str) -> dict[str, State]:
    """What the first look of a run saw: another network than now, in the boot of now, or in that of `boots`."""
    found = {}
    for name, now in NEW.found.items():
        boot = cast(Any, SimpleNamespace(boot_id=boots.get(name[-1], now.health.boot_id)))
        found[name] = replace(now, identity=boot, network=replace(now.network, links={}))
    return found


def looked(monkeypatch: pytest.MonkeyPatch, known: Known) -> tuple[list[set[str]], Any]:
    """What was asked for in each look, and the survey; a host answers with what it is asked for."""
    asked: list[set[str]] = []

    def ask(hosts: Mapping[str, Any], question: Any, _: float) -> dict[str, Any]:
        asked.append(set(question.nouns))
        answers = {}
        for name in hosts:
            rest = {each: UNREAD for each in ("network", "rdma", "files") if each not in question.nouns}
            heard = NEW.heard[name] if "heard" in question.nouns else None
            answers[name] = Looked(replace(NEW.found[name], **rest), heard)
        return answers

    monkeypatch.setattr("sparkrig.fabric.io.survey.ask", ask)
    hosts = cast(dict[str, Host], dict.fromkeys(SETTINGS))
    survey, _ = fabric_look.look(hosts, Fleet.parse(SETTINGS), known)
    return asked, survey


STANDS, LIVE = {"network", "rdma", "files", "heard"}, {"nics", "gpu", "health", "users"}
OTHER = "11111111-2222-4333-8444-555555555555"


def test_what_a_run_has_seen_serves_unless_a_host_was_booted_since(monkeypatch: pytest.MonkeyPatch) -> None:
    def holds(known: Known, asks: list[set[str]], fresh: bool) -> None:
        asked, survey = looked(monkeypatch, known)
        assert [each - LIVE for each in asked] == asks and all(each >= LIVE for each in asked)
        assert {name: bool(found.network.links) for name, found in survey.found.items()} == {A: fresh, B: fresh}
        assert survey.heard == (HEARD if "heard" not in asks[-1] else NEW.heard)

    each_row(
        {
            "nothing is known": (Known(), [STANDS], True),
            "the same boot": (Known(before(), HEARD), [set()], False),
            "the same boot, and nothing was heard": (Known(before()), [{"heard"}], False),
            "a boot that could not be read": (Known(before(a="", b=""), HEARD), [set()], False),
            "the peer was booted": (Known(before(b=OTHER), HEARD), [set(), STANDS], True),
            "this one was booted": (Known(before(a=OTHER), HEARD), [set(), STANDS], True),
            "the run has changed something": (Known({}, HEARD), [STANDS - {"heard"}], True),
            "one host of the pair is known": (Known({A: before()[A]}, HEARD), [STANDS - {"heard"}], True),
        },
        holds,
    )
