"""What of a run is new or over, when a run is missing, and what a notice has room for."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sparkrig.drift.drift import Acceptance, Host, Report, Row
from sparkrig.watch import schedule as judgement
from sparkrig.watch.schedule import Known, Notice, Problem, Ran, Schedule, State
from tests.attacks.texts import WORST, codes
from tests.tables import each_row

NOW = datetime(2026, 11, 26, 9, tzinfo=UTC)
HOURLY = Schedule(inventory="/srv/inventories/pair.py", every_s=3600)
MTU, HOLD = "net.enp1s0f0np0.mtu", "driver.hold"
ACCEPTED = Acceptance.model_validate({"id": HOLD, "until": "2099-01-01", "why": "known"})


def report(*hosts: Host) -> Report:
    return Report.model_validate(
        {"version": "1", "inventory": "pair.py", "started": NOW, "seconds": 1, "exit": 0, "hosts": hosts}
        | {"schema": "sparkrig.drift/1"}
    )


def host(name: str = "a", **wrong: str) -> Host:
    """One that was read. wrong: by the check's id (`_` for `.`), its status."""
    rows = [
        Row.model_validate({"id": id.replace("__", "."), "status": status, "want": "x", "found": "y"})
        for id, status in {**wrong, "host__clock": "ok"}.items()
    ]
    return Host(name=name, exit=0, rows=rows)


GONE = Host(name="a", exit=3, unread="Connection refused")


def after(before: Sequence[Problem], *hosts: Host) -> tuple[Problem, ...]:
    return judgement.after_run(before, report(*hosts), "")


def names(found: Sequence[Problem]) -> list[str]:
    return [each.name for each in found]


DRIFTED = after((), host(driver__hold="drift"))
FAILED = Problem(host="", id="run", said="it is broken")


def test_what_is_open_after_a_run() -> None:
    def holds(before: Sequence[Problem], hosts: Sequence[Host], found: list[str]) -> None:
        assert names(after(before, *hosts)) == found

    accepted = Row(id=HOLD, status="drift", want="x", found="y", accepted=ACCEPTED)
    each_row(
        {
            "in spec": ((), [host()], []),
            "drift and unknown": ((), [host(driver__hold="drift", b__c="unknown")], ["a driver.hold", "a b.c"]),
            "skipped": ((), [host(driver__hold="skipped")], []),
            "accepted": (DRIFTED, [Host(name="a", exit=0, rows=[accepted])], []),
            "mended": (DRIFTED, [host()], []),
            "gone, with what was known": (DRIFTED, [GONE], ["a unread", "a driver.hold"]),
            "gone still": (after(DRIFTED, GONE), [GONE], ["a unread", "a driver.hold"]),
            "back": (after(DRIFTED, GONE), [host()], []),
            "no longer in the inventory": (DRIFTED, [host("b")], []),
            "a run succeeds": ([FAILED], [host()], []),
        },
        holds,
    )


def test_a_run_that_fails_keeps_what_was_open_of_hosts() -> None:
    found = judgement.after_run(DRIFTED, None, "no such file\n\x1b[2J")
    assert (found[0].name, found[0].said) == ("the run", "no such file  [2J")
    assert names(found) == ["the run", "a driver.hold"]


def made(before: Sequence[Problem], now: Sequence[Problem]) -> Notice:
    found = judgement.notice(HOURLY, before, now, "desk")
    assert found
    return found


def test_the_head_of_a_notice_counts() -> None:
    more = after(DRIFTED, host(driver__hold="drift", net__mtu="drift"))

    def holds(before: Sequence[Problem], now: Sequence[Problem], title: str, kind: str) -> None:
        found = made(before, now)
        assert (found.title, found.kind) == (f"pair.py: {title}", kind)

    each_row(
        [
            ((), DRIFTED, "1 new", "warning"),
            (DRIFTED, more, "1 new, 1 still", "warning"),
            (more, DRIFTED, "1 over, 1 still", "info"),
            (more, (), "in spec again", "success"),
            (DRIFTED, after((), GONE), "1 new, 1 over", "failure"),
            ((), [FAILED], "1 new", "failure"),
        ],
        holds,
    )
    for same in ((), DRIFTED, more, after(DRIFTED, GONE)):
        assert judgement.notice(HOURLY, same, same, "desk") is None
    other = [each.model_copy(update={"said": "another value"}) for each in more]
    assert judgement.notice(HOURLY, more, other, "desk") is None, "it stays wrong, and nothing is over"


def test_a_notice_is_bounded_and_steers_nothing() -> None:
    many = [Problem(host="a", id=f"check.{number}", said=f"{WORST}{'x' * 999}") for number in range(99)]
    found = made((), many)
    lines = found.body.splitlines()
    assert len(lines) == 23 and max(map(len, lines)) == 300
    assert lines[20] == "and 79 more" and lines[-1] == "On desk: sparkrig drift /srv/inventories/pair.py"
    assert not codes(found.body) and not codes(found.title)


def test_words_of_a_host_are_text_in_every_service() -> None:
    said = "@everyone come (@here), me@example.com, 1 <= 2 < 3"
    found = made((), [Problem(host="a", id="hostname", said=said)])
    assert "NEW a hostname: @ everyone come (@ here), me@example.com, 1 <= 2 < 3\n" in found.body

    def holds(around: str, call: str) -> None:
        problem = Problem(host="a", id="hostname", said=around.format(call))
        body = made((), [problem]).body + made([problem], ()).body
        assert not CALLS.search(body), body

    each_row(
        list(itertools.product(("{}", "a {} b", "({})", "_{}", "ä{}", "@{0}{0}", "<{}", "a]{}", "`{}`"), SAID)),
        holds,
    )


# how services write a call of their members, a link with other words, or a command of their own
SAID = (
    *("@everyone", "@HERE", "@channel", "@all", "@room", "@team", "@bob", "@U024BE7LH"),
    *("<!channel>", "<!here|x>", "<!subteam^S1>", "<@U1>", "<@!1>", "<@&2>", "<#C1>", "<users/all>", "<at>b</at>"),
    *("<http://x|bank>", "[bank](http://x)", "<a href=x>", "<:e:1>", "</cmd:1>", "<t:1:R>"),
)
CALLS = re.compile(r"@(?:everyone|here)|(?:^|[^A-Za-z0-9])@\w|<[@!#/:\w]|\]\(", re.IGNORECASE)


def test_what_stands_wrong_with_a_schedule_is_said() -> None:
    ran, late_s = Ran(started=NOW, seconds=1, exit=0), 2 * 3600 + 1800

    def holds(state: State, after_s: int, stopped: bool, *said: str) -> None:
        known = Known(HOURLY, state, "systemd", stopped, NOW + timedelta(seconds=after_s))
        found = judgement.standing(known)
        assert [words in line for words, line in zip(said, found, strict=True)] == [True] * len(said)

    each_row(
        {
            "all well": (State(ran=ran), late_s, False),
            "stopped": (State(ran=ran), 0, True, "runs drift was stopped"),
            "never": (State(), 0, False, "no run yet"),
            "late": (State(ran=ran), late_s + 1, False, "no run since "),
            "failed": (State(ran=ran.model_copy(update={"trouble": "x"})), 0, False, "the last run failed: x"),
            "unsent": (State(ran=ran, unsent="line 1"), 0, False, "the last notice was not taken: line 1"),
        },
        holds,
    )


def test_times_in_words() -> None:
    def holds(seconds: int, words: str) -> None:
        assert judgement.spoken(seconds) == words

    each_row(
        [(300, "5 min"), (3600, "1 h"), (5400, "90 min"), (43200, "12 h"), (86400, "1 day"), (172800, "2 days")],
        holds,
    )
