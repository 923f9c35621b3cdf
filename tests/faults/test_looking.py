"""P5: what only looks writes nothing on a host."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import endstate
from tests.faults.looks import LOOKS
from tests.faults.record import Seen
from tests.lab.commands import run
from tests.lab.guests import Pair

# what services of a guest write by themselves
OTHERS = ("/var/log", "/var/lib/NetworkManager", "/var/lib/systemd", "/var/cache", "/var/backups", "/run")
YOUNGER = "sudo find /etc /var /usr /root /home /boot /srv -xdev -newer /run/mark" + "".join(
    f" -not -path '{place}*'" for place in OTHERS
)


@pytest.mark.promise(5)
@pytest.mark.parametrize("state", ["pristine", "deployed"])
def test_what_only_looks_writes_nothing(
    state: str, request: pytest.FixtureRequest, seen: Seen, tmp_path: Path
) -> None:
    pair: Pair = request.getfixturevalue(state)
    before = endstate.of(pair)
    for guest in pair:
        guest.output("sudo touch /run/mark && sleep 1")
    for what, words in LOOKS.items():
        done = run(*(word.replace("FOLDER", str(tmp_path)) for word in words))
        # a pristine pair has nothing to undo (exit code 1), and serves nothing (3)
        assert done.code in (0, 1, 2, 3) and "Traceback" not in done.stderr, f"{what}: {done.stderr[-2000:]}"
        for guest in pair:
            assert guest.output(YOUNGER) == "", f"{what} wrote on {guest.node}"
    assert endstate.differences(before, endstate.of(pair)) == []
    seen(f"{', '.join(LOOKS)} on a {state} pair: no file is younger, and both hosts are what they were")
