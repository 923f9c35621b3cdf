"""One type for every look: what was read, and never an empty host in the place of what was not."""

from __future__ import annotations

import copy

import pytest

from sparkrig.facts.fabric import Fabric
from sparkrig.host.nic import Nic
from sparkrig.resources.state import UNREAD, State
from tests.plan.conftest import recorded


def test_what_was_not_asked_for_fails_whoever_uses_it() -> None:
    found: State = Fabric().process(recorded("fabric-a").splitlines())
    assert found.network.links and found.condition.health is found.health
    with pytest.raises(LookupError, match="did not ask for what has 'boot_id'"):
        _ = found.identity.boot_id
    with pytest.raises(TypeError):
        _ = "docker" in found.secrets  # type: ignore[operator]
    assert copy.deepcopy(UNREAD) is not None


def test_json_has_what_was_read_without_serial_numbers() -> None:
    shown = State(nics={"cx": Nic("cx", "p0", cable="ab12")}, files={}).to_json()
    assert set(shown) == {"nics", "files"} and "ab12" not in str(shown) and shown["nics"]["cx"]["port"] == "p0"
