"""P5: what only looks writes nothing on a host."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkrig.cli import main
from tests.faults import endstate
from tests.faults.record import Seen
from tests.lab.commands import CLUSTER, LAB, run
from tests.lab.guests import Pair

# what services of a guest write by themselves
OTHERS = ("/var/log", "/var/lib/NetworkManager", "/var/lib/systemd", "/var/cache", "/var/backups", "/run")
YOUNGER = "sudo find /etc /var /usr /root /home /boot /srv -xdev -newer /run/mark" + "".join(
    f" -not -path '{place}*'" for place in OTHERS
)
LOOKS = {
    "deploy --dry": ("pyinfra", "--dry", LAB, CLUSTER),
    "deploy --dry --diff": ("pyinfra", "--dry", "--diff", LAB, CLUSTER),
    "plan": ("sparkrig", "plan", LAB),
    "summary": ("sparkrig", "summary", LAB),
    "topology": ("sparkrig", "topology", LAB),
    "status": ("sparkrig", "status", LAB),
    "undo --dry": ("sparkrig", "undo", LAB, "--dry"),
    "drift": ("sparkrig", "drift", LAB),
    "doctor": ("sparkrig", "doctor", LAB),
    "startup": ("sparkrig", "startup", LAB, "--once"),
    "storage": ("sparkrig", "storage", LAB),
    "update --check": ("sparkrig", "update", LAB, "--check"),
    "support": ("sparkrig", "support", LAB, "--yes", "--output", "FOLDER/sent.tar.gz"),
}
# the other verbs: one changes what plan shows, one loads the link and says so, one frees a lock, one sets a host
# up, one loads what is served; two start others of these; the rest ask no host
NOT_LOOKS = {"apply", "bandwidth", "unlock", "onboard", "bench"} | {
    *("accept", "completion", "docs", "explain", "init", "lab", "mcp", "models", "lint", "schedule")
}


@pytest.mark.representative
def test_every_verb_is_either_tried_here_or_none_that_looks() -> None:
    tried = {words[1] for words in LOOKS.values() if words[0] == "sparkrig"}
    assert set(main._VERBS) == tried | NOT_LOOKS


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
