"""What an update would do to each Spark: the steps, their time, what stands in its way, and what leads back."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sparkrig.cure import on_host
from sparkrig.host import apt, driver, firmware, preflight, releases, update
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
_UNPACKED = 4  # times the download: the archives themselves, and what is unpacked of them
_NAMED = 4  # packages that a sentence names
_BOOT_MB = 300  # a kernel with its initrd, and GRUB's menu twice


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
    already, or empty; lists_s: how old apt's lists are, in seconds, None where there are none; left_out: recipes
    that cannot be read; refusals: why it would not begin; unread: why the host could not be read; serves: whether
    a model runs there.
    """

    identity: Identity | None = None
    standing: Standing | None = None
    goal: Recipe | None = None
    behind: Behind | None = None
    plan: Plan | None = None
    parts: tuple[Part, ...] = ()
    held: tuple[str, ...] = ()
    waits: str = ""
    lists_s: int | None = None
    left_out: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    unread: Refusal | None = None
    serves: bool = False

    @property
    def offered(self) -> tuple[Part, ...]:
        """The firmware that would be written, also once more if it failed, or that waits for a reboot."""
        return tuple(
            part
            for part in self.parts
            if part.state in ("offered", "pending") or (part.state == "failed" and part.offered)
        )

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
    behind = releases.behind(has, newest, seen.releases) if newest else None
    waits = update.waits(seen.driver, seen.identity.kernel, seen.repositories.reboot or ())
    refusals = [found.refusal] if found.refusal else []
    refusals += preflight.judge(seen.preflight, fabric=False, running=True, installs=True)
    plan = None
    if found.upgrade:
        try:
            plan = update.plan(seen.driver, seen.repositories, found.upgrade, branch)
        except Refusal as refusal:
            refusals.append(refusal)
    if plan:
        refusals += _unfit(seen, plan)
    if plan and goal:
        refusals += _short(seen, plan, goal, behind, parts, waits)
    fetched = seen.repositories.fetched
    return Prospect(
        identity=seen.identity,
        standing=releases.standing(has, seen.releases) if seen.releases.recipes else None,
        goal=goal,
        behind=behind,
        plan=plan,
        parts=firmware.judge(seen.firmware, newest, seen.identity.vendor) if "firmware" in parts else (),
        held=tuple(sorted({*seen.repositories.held} - {*driver.hold_set(seen.driver, branch)})),
        waits=waits,
        lists_s=max(0, seen.repositories.now - fetched) if fetched else None,
        left_out=tuple(sorted(seen.releases.left_out)),
        refusals=tuple(refusals),
        serves=seen.serving.serves,
    )


def _unfit(seen: Seen, plan: Plan) -> list[Refusal]:
    """Why the host is not fit for this plan, which takes apt and room."""
    busy = [apt.at_work(seen.preflight.apt)] if seen.preflight.apt else []
    busy += _before_a_reboot(seen) if plan.reboots else []
    if preflight.room(seen.preflight, installs=True):  # refused already
        return busy
    return [*busy, *preflight.room(seen.preflight, installs=True, more_mb=_UNPACKED * plan.bytes // 1_000_000)]


def _before_a_reboot(seen: Seen) -> list[Refusal]:
    """What a reboot would set going besides, which nothing takes back, or which reboots once more."""
    found = []
    upgrade, boot_mb = seen.preflight.upgrade, seen.preflight.room_mb.get("/boot")
    if upgrade.later:
        found.append(Refusal(upgrade.later, upgrade.cure))
    waits = [part.which for part in firmware.judge(seen.firmware, None, "") if part.state == "pending"]
    if waits:
        found.append(
            Refusal(
                f"firmware is handed over ({listed(waits)}), and any reboot writes it",
                "--only firmware first, which reboots for it",
            )
        )
    if boot_mb is not None and boot_mb < _BOOT_MB:
        found.append(
            Refusal(
                f"/boot has {boot_mb} MB of room, and {_BOOT_MB} MB are expected for another kernel",
                on_host("ls -l /boot; sudo apt-get autoremove"),
            )
        )
    return found


def _short(
    seen: Seen, plan: Plan, goal: Recipe, behind: Behind | None, parts: Collection[str], waits: str
) -> list[Refusal]:
    """Why the release would not be reached."""
    if "driver" in parts and (short := update.short_of(plan, goal)):
        return [_out_of_reach(seen, plan, goal, short)]
    if "os" in parts and plan.idle and not waits and behind and (behind.older or behind.missing):
        names = listed([*behind.older, *behind.missing][:_NAMED])
        return [
            Refusal(
                f"{goal.shown} has packages that are newer or absent here ({names}), and apt offers none of them",
                on_host("sudo apt-get update; apt-cache policy nvidia-spark-repo").then(
                    ", the package that brings NVIDIA's repository for Sparks"
                ),
            )
        ]
    return []


def _driver(seen: Seen) -> str:
    return next(reversed(driver.versions(seen.driver)), "")


def _out_of_reach(seen: Seen, plan: Plan, goal: Recipe, short: str) -> Refusal:
    """Why a release's driver and kernel are not reached, as far as it can be seen."""
    there = any(
        version.startswith(goal.driver)
        for name, versions in seen.repositories.versions.items()
        if name.startswith("nvidia-driver-")
        for version in versions
    )
    pinned = seen.driver.grub is not None and seen.driver.grub.way == "named" and "driver" not in short
    if pinned:
        why, cure = f"GRUB's default names kernel {plan.kernel.after}", "grep -rn GRUB_DEFAULT /etc/default"
    elif plan.kept:
        why, cure = f"apt keeps back {listed(plan.kept[:_NAMED])}", "sudo apt-get -s dist-upgrade"
    elif there:
        why, cure = "apt does not choose it", "apt-cache policy nvidia-driver-580-open"
    else:
        why, cure = "no repository of this Spark offers it", "apt-cache policy linux-nvidia-hwe-24.04"
    return Refusal(
        f"{goal.shown} has {short}, and {why}", f"--to {CANDIDATE}, which takes what apt offers; {on_host(cure)}"
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
        if all(part.state == "pending" for part in offered):
            yield Step(
                f"reboot, which writes firmware that waits for it ({names}) and cannot be undone", _FIRMWARE_S
            )
        else:
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


def mixed(made: Mapping[str, Prospect], groups: Sequence[Sequence[str]]) -> list[str]:
    """Why the halves of a pair would not have one release afterwards, a sentence for each pair."""
    said = []
    for group in groups:
        halves = {name: made[name] for name in group if name in made}
        goals = {each.goal.name if each.goal else "" for each in halves.values() if not each.unread}
        unfit = [name for name, each in halves.items() if each.refusals or each.unread]
        names = listed(halves)
        if len(halves) > 1 and unfit and any(each.due for each in halves.values()):
            said.append(f"{names} would be mixed, because of {listed(unfit)}: an update begins on neither.")
        elif len(goals) > 1:
            said.append(f"{names} know of different releases, and would be mixed: {listed(sorted(goals))}.")
    return said


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
        "kernel_unknown": plan.unknown if plan else "",
        "upgraded": list(plan.upgraded) if plan else [],
        "new": list(plan.new) if plan else [],
        "removed": list(plan.removed) if plan else [],
        "kept_back": list(plan.kept) if plan else [],
        "held_by_others": list(found.held),
        "reboot_due": found.waits,
        "lists_age_s": found.lists_s,
        "recipes_left_out": list(found.left_out),
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
