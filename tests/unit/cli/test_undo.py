"""What an undo says of a host before it shows its plan."""

from time import time

from sparkrig.operations.undoing import _clock
from sparkrig.runs.journal import Journal


def test_a_wrong_clock_is_said_with_what_sets_it() -> None:
    assert _clock(Journal(now=int(time()))) == []
    [line] = _clock(Journal(now=int(time()) + 86_400))
    assert " s ahead of this machine's" in line and "systemd-timesyncd" in line
