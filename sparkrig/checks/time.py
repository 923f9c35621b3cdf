"""Whether the clock is kept, and by the servers that are declared."""

from __future__ import annotations

from collections.abc import Iterator

from sparkrig.checks.check import Check, Subject, check, refused
from sparkrig.checks.kind import PREFLIGHT, Kind
from sparkrig.cure import Cure, quoted
from sparkrig.host import time
from sparkrig.host.preflight import SKEW_WARN_S
from sparkrig.refusal import Refusal
from sparkrig.text import listed

KINDS = (
    Kind(
        "time.servers",
        "time",
        "the clock's service asks the time servers of the setting ntp",
        "its file was edited or removed by hand, or the service does not run",
        PREFLIGHT,
    ),
    Kind(
        "time.synchronised",
        "time",
        "NTP keeps the clock, or it is right all the same",
        "no time server is reached, or no service asks one",
        PREFLIGHT,
    ),
)


def judge(subject: Subject) -> None:
    """Raises Refusal where no service could ask the servers that are declared."""
    _plan(subject)


def due(subject: Subject) -> Iterator[str]:
    """The files that a deploy would write or remove. Raises Refusal, as judge() does."""
    plan = _plan(subject)
    yield from (*(file.path for file in plan.write), *plan.remove)


def checks(subject: Subject) -> Iterator[Check]:
    """Whether the declared servers are asked; nothing is declared of a host without the setting."""
    found, servers = subject.found.time, subject.settings.ntp
    id, want = "time.servers", f"{listed(servers)} asked" if servers else "no time server of ours"
    try:
        plan = _plan(subject)
    except Refusal as refusal:
        yield refused(id, want, refusal)
        return
    if servers and not plan and not found.running:
        yield check(id, False, want, f"{found.service} does not run", _start(subject))
    elif servers or plan:
        yield check(id, not plan, want, _differs(plan) or f"by {found.service}", subject.apply)


def synchronised(subject: Subject) -> Check:
    """A clock that nothing keeps is no fault as long as it is right: a pair may have no network to ask."""
    found, skew = subject.found.time, subject.found.preflight.skew_s
    id, want = "time.synchronised", f"kept by NTP, or within {SKEW_WARN_S} s of this machine's"
    off = f"{abs(skew):.0f} s {'ahead' if skew > 0 else 'behind'}"
    kept = {True: "kept by NTP", False: "not kept by NTP", None: "whether it is kept is not told"}
    holds = bool(found.synchronised) or abs(skew) <= SKEW_WARN_S
    return check(id, holds, want, f"{kept[found.synchronised]}, {off}", _start(subject), environment=True)


def _start(subject: Subject) -> Cure:
    return subject.run(f"systemctl enable --now {quoted(subject.found.time.service or 'systemd-timesyncd')}")


def _plan(subject: Subject) -> time.Plan:
    return time.plan(subject.found.time, subject.found.files, subject.settings.ntp)


def _differs(plan: time.Plan) -> str:
    """In what way, in words; empty where it does not."""
    odd = [f"{file.path} is to be written" for file in plan.write]
    odd += [f"{path} is not declared" for path in plan.remove]
    return listed(odd) or ("its service asks others" if plan.reload else "")
