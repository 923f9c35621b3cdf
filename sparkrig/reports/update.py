"""What an update would do to each Spark: the steps, their time, what stands in its way, and what leads back."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sparkrig.cure import on_host
from sparkrig.host import driver, firmware, preflight, releases, update, update_judge, update_limits
from sparkrig.host.firmware import Part
from sparkrig.host.identity import Identity
from sparkrig.host.releases import Behind, Recipe, Standing
from sparkrig.host.update import Plan
from sparkrig.look.update import Foreseen, Seen
from sparkrig.refusal import Refusal
from sparkrig.reports import schema_changes as schema
from sparkrig.text import listed

CANDIDATE = "candidate"  # after --to: whatever apt offers, not limited by a release
PARTS = ("driver", "os", "firmware")

# Seconds of each step. Recorded: apt took 4.3 minutes for a set of this kind, a reboot that writes firmware 15
# [@spark-fleet-updates]; the others are our own reasoning.
_INSTALL_S = 260
_REBOOT_S = 180
_FIRMWARE_S = 900
_PROOF_S = 120
_SERVER_S = 60
_BYTES_A_SECOND = 10_000_000


@dataclass(frozen=True)
class Step:
    """Something that an update does to a host, in words, and roughly how long it takes."""

    what: str
    seconds: int


@dataclass(frozen=True)
class Prospect:
    """What an update would do to one Spark.

    identity: of it, None where it was not read; standing: the release that it has, and those ahead; goal: the one
    to reach, None for what apt offers; behind: what of it the Spark does not have; plan: of the packages, None
    where there is none; parts: of its firmware; held: packages that others hold; waits: why a reboot is due
    already, or empty; refusals: why it would not begin; unread: why the host could not be read; serves: whether a
    model runs there.
    """

    identity: Identity | None = None
    standing: Standing | None = None
    goal: Recipe | None = None
    behind: Behind | None = None
    plan: Plan | None = None
    parts: tuple[Part, ...] = ()
    held: tuple[str, ...] = ()
    waits: str = ""
    refusals: tuple[Refusal, ...] = ()
    unread: Refusal | None = None
    serves: bool = False

    @property
    def offered(self) -> tuple[Part, ...]:
        """The firmware that would be written, or is written and waits for a reboot."""
        return tuple(part for part in self.parts if part.state in ("offered", "pending"))

    @property
    def steps(self) -> tuple[Step, ...]:
        """All that would be done, in its order; none where there is nothing to do, or it would not begin."""
        return () if self.refusals or self.unread else tuple(_steps(self))

    @property
    def due(self) -> bool:
        return bool(self.steps)

    @property
    def seconds(self) -> int:
        return sum(step.seconds for step in self.steps)

    @property
    def exit(self) -> int:
        if self.unread:
            return 3
        return 2 if self.due or self.refusals else 0


def goal(seen: Seen, to: str) -> Recipe | None:
    """The release that --to means; None for what apt offers. Raises Refusal for one that is not known there."""
    return None if to == CANDIDATE else releases.find(to, seen.releases)


def prospect(found: Foreseen, parts: Collection[str], branch: int) -> Prospect:
    """What a look and a forecast come to. parts: of PARTS, what is to be updated."""
    seen, goal = found.seen, found.goal
    has = releases.installed(seen.identity.kernel, _driver(seen), seen.releases)
    newest = goal or seen.releases.newest
    refusals = preflight.judge(seen.preflight, fabric=False, running=True, installs=True)
    plan = None
    if found.upgrade:
        try:
            plan = update.draft(seen.driver, seen.repositories, found.upgrade, branch)
            refusals += update_judge.refusals(plan, seen.repositories, branch)
        except Refusal as refusal:
            refusals.append(refusal)
    if plan and goal and (short := update_limits.short_of(plan, goal)):
        refusals.append(_out_of_reach(goal, short))
    return Prospect(
        identity=seen.identity,
        standing=releases.standing(has, seen.releases) if seen.releases.recipes else None,
        goal=goal,
        behind=releases.behind(has, newest, seen.releases) if newest else None,
        plan=plan,
        parts=firmware.judge(seen.firmware, newest, seen.identity.vendor) if "firmware" in parts else (),
        held=tuple(sorted({*seen.repositories.held} - {*driver.hold_set(seen.driver, branch)})),
        waits=update.waits(seen.driver, seen.repositories, seen.identity.kernel),
        refusals=tuple(refusals),
        serves=seen.serving.serves,
    )


def _driver(seen: Seen) -> str:
    return next(reversed(driver.versions(seen.driver)), "")


def _out_of_reach(goal: Recipe, short: str) -> Refusal:
    return Refusal(
        f"{goal.shown} has {short}, which no repository of this Spark offers any more",
        f"--to {CANDIDATE}, which takes what apt offers; {on_host('apt-cache policy linux-nvidia-hwe-24.04')}",
    )


def _steps(of: Prospect) -> Iterator[Step]:
    plan, offered = of.plan, of.offered
    packages = plan is not None and not plan.idle
    boots = plan is not None and (plan.reboots or bool(of.waits))
    if not (packages or boots or offered):
        return
    if of.serves:
        yield Step("stop what serves, as its last step starts it again", _SERVER_S)
    if plan and packages:
        yield Step(f"download {size(plan.bytes)}", 5 + plan.bytes // _BYTES_A_SECOND)
        yield Step(f"release the hold, and install: {_counted(plan)}", _INSTALL_S)
    if plan and boots:
        yield Step(f"reboot once into {plan.kernel.after}, and prove driver and GPU", _REBOOT_S)
    if offered:
        names = listed(part.which for part in offered)
        yield Step(f"write firmware ({names}), which cannot be undone, and reboot", _FIRMWARE_S)
    yield Step("hold and pin again, and check host, fabric and bandwidth", _PROOF_S)
    if of.serves:
        yield Step("start what served, and ask it for an answer", _SERVER_S)


def _counted(plan: Plan) -> str:
    counts = [(len(plan.upgraded), "upgraded"), (len(plan.new), "new"), (len(plan.removed), "removed")]
    return ", ".join(f"{count} {what}" for count, what in counts if count)


def size(count: int) -> str:
    """What is to be downloaded, in words."""
    return f"{count / 1e6:.0f} MB"


def order(made: Mapping[str, Prospect], groups: Sequence[Sequence[str]]) -> list[str]:
    """The hosts in the order in which they would be updated: of a pair the half that serves last."""
    return [
        name
        for group in groups
        for name in sorted((each for each in group if each in made), key=lambda each: made[each].serves)
    ]


def code(made: Collection[Prospect]) -> int:
    """The exit code; the most severe host wins."""
    return max((each.exit for each in made), default=0)


def document(name: str, found: Prospect) -> schema.UpdatedHost:
    """One host for programs."""
    plan, standing, behind = found.plan, found.standing, found.behind
    return {
        "name": name,
        "unread": found.unread.what if found.unread else None,
        "dgx_os": found.identity.dgx_os if found.identity else None,
        "release": standing.has.shown if standing and standing.has else None,
        "goal": found.goal.shown if found.goal else None,
        "behind_by": len(standing.ahead) if standing else None,
        "removed_by_owner": list(behind.removed) if behind else [],
        "driver": {"before": plan.driver.before, "after": plan.driver.after} if plan else None,
        "kernel": {"before": plan.kernel.before, "after": plan.kernel.after} if plan else None,
        "upgraded": list(plan.upgraded) if plan else [],
        "new": list(plan.new) if plan else [],
        "removed": list(plan.removed) if plan else [],
        "kept_back": list(plan.kept) if plan else [],
        "held_by_others": list(found.held),
        "reboot_due": found.waits,
        "bytes": plan.bytes if plan else None,
        "no_way_back": list(plan.lost) if plan else [],
        "kernels_without_module": list(plan.bare) if plan else [],
        "firmware": [_part(part) for part in found.parts],
        "steps": [{"what": step.what, "seconds": step.seconds} for step in found.steps],
        "refusals": [{"what": each.what, "cure": each.cure} for each in found.refusals],
        "seconds": found.seconds,
        "exit_code": found.exit,
    }


def _part(part: Part) -> schema.FirmwarePart:
    return {
        "part": part.which,
        "state": part.state,
        "board": part.board,
        "release": part.wanted,
        "offered": part.offered,
        "older": part.older,
        "why": part.why,
    }
