"""What drift says of the time servers agrees with what a deploy would do about them."""

from __future__ import annotations

import base64
from dataclasses import replace

from sparkrig.checks import time as checks
from sparkrig.files import parse
from sparkrig.host import time
from sparkrig.host.time import Time
from sparkrig.look.state import State
from tests.tables import each_row
from tests.unit.states import Change, found

SERVERS = ["192.0.2.10", "time.example.org"]
KEPT = Time("systemd-timesyncd", running=True, synchronised=True, asks=tuple(SERVERS))
RUNS = Time("systemd-timesyncd", running=True)


def state(seen: Time, *servers: str) -> Change:
    """A host with that service, and our file for these servers."""

    def change(state: State) -> State:
        written = time.plan(Time("systemd-timesyncd"), {}, servers).write
        rows = [
            f"{each.path} 644 root:root {base64.b64encode(each.content.encode()).decode()}" for each in written
        ]
        return replace(state, time=seen, files={**state.files, **parse(rows)})

    return change


STATES: dict[str, tuple[Change, list[str], tuple[str, str] | None]] = {
    "nothing declared": (state(RUNS), [], None),
    "nothing declared, and no service": (state(Time()), [], None),
    "as declared": (state(KEPT, *SERVERS), SERVERS, ("ok", "by systemd-timesyncd")),
    "not there": (state(RUNS), SERVERS, ("drift", f"{time.TIMESYNCD_PATH} is to be written")),
    "others": (state(RUNS, "192.0.2.99"), SERVERS, ("drift", f"{time.TIMESYNCD_PATH} is to be written")),
    "not read": (state(replace(KEPT, asks=()), *SERVERS), SERVERS, ("drift", "its service asks others")),
    "stopped": (
        state(Time("systemd-timesyncd"), *SERVERS),
        SERVERS,
        ("drift", "systemd-timesyncd does not run"),
    ),
    "declared no more": (state(KEPT, *SERVERS), [], ("drift", f"{time.TIMESYNCD_PATH} is not declared")),
    "no service": (
        state(Time()),
        SERVERS,
        ("drift", "no service keeps the clock, and the setting ntp needs systemd-timesyncd or chrony"),
    ),
}


def test_what_is_said_of_the_servers() -> None:
    def holds(change: Change, servers: list[str], expected: tuple[str, str] | None) -> None:
        rows = [each for each in found(change, ntp=servers) if each.noun == "time"]
        assert [(each.status, each.found) for each in rows] == ([expected] if expected else [])
        assert all(bool(each.cure) is (each.status != "ok") for each in rows)

    each_row(STATES, holds)


def test_a_stopped_service_is_started_and_not_deployed() -> None:
    (row,) = (each for each in found(STATES["stopped"][0], ntp=SERVERS) if each.noun == "time")
    assert "systemctl enable --now systemd-timesyncd" in row.cure
    (row,) = (each for each in found(STATES["not read"][0], ntp=SERVERS) if each.noun == "time")
    assert row.cure == "pyinfra pair.py deploys/cluster.py"
    assert {each.name for each in checks.KINDS} == {"time.servers", "time.synchronised"}
