"""Taking a run back: what of a host is put back to what stood there before, what is left alone, and why.

An item that a later run changed too goes back with it, past both. Only what a run itself wrote is taken back:
where another one changed it since, both are merged, or the file is left alone and the difference shown. Packages
stay, for others may have come to need them.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from sparkrig import programs
from sparkrig.cure import over_ssh, quoted, quoted_path
from sparkrig.files import MEASURED
from sparkrig.host import containers, targets, trust
from sparkrig.host.targets import Barred
from sparkrig.network import guard
from sparkrig.rdma import environment
from sparkrig.refusal import Refusal
from sparkrig.runs import journal, lock, merge
from sparkrig.runs.journal import ABSENT, HELD, Journal, Left, Run
from sparkrig.runs.managed_files import PRIVATE
from sparkrig.serving import served
from sparkrig.text import listed, plain

Act = Literal[
    "put back",
    "remove",
    "merge",
    "restart",
    "hold",
    "release",
    "already",
    "foreign",
    "stays",
    "unfit",
    "failed",
    "differs",
]
_SHOW = "sparkrig status INVENTORY --runs 20"
_SAID = 400  # characters of what docker says
_PENDING = ("put back", "remove", "merge", "restart", "hold", "release")
DOCKER_PART = "docker"  # the step of an undo that puts daemon.json back and restarts docker
_MEASURED = f"file {MEASURED}"  # a measurement after a boot writes it outside of any run, so it is nobody else's
_SHOWN = frozenset(journal.PATHS) - {*PRIVATE, *(f"{path}.before-sparkrig" for path in PRIVATE)}

RESTORE = programs.text("runs/undo_restore.sh")

FIT = programs.text("runs/undo_fit.sh")

TEXTS = programs.text("runs/undo_texts.sh")

DOCKER = programs.text("runs/undo_docker.sh")

HOLDS = programs.text("runs/undo_holds.sh")

GIDS = programs.text("runs/undo_gids.sh")


SERVE = programs.text("runs/undo_serve.sh")


@dataclass(frozen=True)
class Change:
    """What becomes of one item.

    later: the later runs that changed it too, and whose change goes with it; why: of a file that is left alone as
    docker does not start with what stood there (`unfit` by dockerd's own check, `failed` once it was tried), or as
    another one changed it and that cannot be merged; diff: what leads from what stands there to what would stand
    there, of a file that another one changed; wrote: the runs whose change of it is taken back, newest first,
    where that is the case; stood: those of them before which something stood there; text, sum: what a merged file
    becomes, and the SHA-256 of the one that it was made of;
    now, before: what stands there, and what stood there before, as the journal has it.
    """

    item: str
    act: Act
    later: tuple[str, ...] = ()
    why: str = ""
    diff: tuple[str, ...] = ()
    wrote: tuple[str, ...] = ()
    stood: tuple[str, ...] = ()
    text: str = ""
    sum: str = ""
    now: str = ""
    before: str = ""

    @property
    def kind(self) -> str:
        return self.item.partition(" ")[0]

    @property
    def name(self) -> str:
        return self.item.partition(" ")[2]

    @property
    def row(self) -> str:
        """The row of RESTORE for a file."""
        if self.act == "merge":
            return f"merge {self.name} {self.sum} {base64.b64encode(self.text.encode()).decode()}\n"
        seen = "" if self.item == _MEASURED else self.now  # which the network's way back takes away before
        return f"{_VERBS[self.act]} {self.name} {seen.replace(' ', '|')}".rstrip() + "\n"


_VERBS: Mapping[Act, str] = {"put back": "put", "remove": "remove", "restart": "restart"}


@dataclass(frozen=True)
class Plan:
    """What is to be done to one host.

    network: whether it goes back to what it was, under guard; noted: whether it is known which of its files are
    ours; amiss: what of it is not all as it was afterwards.
    """

    run: str
    changes: tuple[Change, ...] = ()
    network: bool = False
    noted: bool = False
    amiss: str = ""

    @property
    def pending(self) -> tuple[Change, ...]:
        return tuple(each for each in self.changes if each.act in _PENDING)

    def __bool__(self) -> bool:
        return bool(self.pending) or self.network

    @property
    def docker(self) -> bool:
        """Whether docker must restart."""
        return any(each.name == containers.DAEMON_JSON for each in self.pending)

    @property
    def login(self) -> bool:
        """Whether the login between the halves of a pair goes, which is more than its files."""
        return any(each.name == trust.CLIENT and each.act == "remove" for each in self.pending)

    @property
    def checked(self) -> bool:
        """Whether docker is to be asked if it starts with the daemon.json that is put back."""
        return any(
            each.name == containers.DAEMON_JSON and each.act in ("put back", "merge") for each in self.changes
        )

    @property
    def merged_docker(self) -> str:
        """The daemon.json that both sides were merged to, in BASE64; empty where it is one that stood there."""
        found = [each for each in self.changes if each.name == containers.DAEMON_JSON and each.act == "merge"]
        return base64.b64encode(found[0].text.encode()).decode() if found else ""

    @property
    def kept_docker(self) -> str:
        """The daemon.json that stood there, as the host keeps it."""
        return f"{lock.RUNS}/{self.run}/before/files{containers.DAEMON_JSON}"

    @property
    def serving(self) -> bool:
        """Whether the server is another one, or none."""
        return any(each.name in served.PATHS for each in self.pending)

    def files(self, *, docker: bool) -> str:
        """The rows of RESTORE for all files but docker's, or for docker's."""
        rows = [each for each in self.pending if each.kind == "file"]
        mine = [each for each in rows if (each.name == containers.DAEMON_JSON) is docker]
        return "".join(each.row for each in mine)

    @property
    def mine(self) -> dict[str, str] | None:
        """The network's files that go back, with the digest of each; None where it is not known which are ours."""
        going = [each for each in self.pending if each.kind == "profile"]
        return {each.name: each.now for each in going} if self.noted else None

    @property
    def targets(self) -> list[str]:
        """The files that are put back or removed, dpkg's own included where a hold changes."""
        going = [each.name for each in self.pending if each.kind != "hold" and each.act != "restart"]
        paths = [path for path in going if not re.search(r"\s", path)]  # a profile may be called by any name
        return [*paths, *([journal.DPKG_STATUS] if self.holds() else [])]

    def holds(self) -> list[str]:
        """The words of HOLDS; none where no hold changes."""
        free = [each.name for each in self.pending if each.act == "release"]
        held = [each.name for each in self.pending if each.act == "hold"]
        return [*free, "--", *held] if free or held else []


def step(part: str) -> str:
    """What a part of an undo is called in the journal."""
    return f"Undo | {part}"


def target(journals: Mapping[str, Journal], asked: str | None) -> str | None:
    """The run to take back on the hosts of one group: the one that was asked for, or the newest that still stands.

    None where there is none to take back. Raises Refusal for one that no host knows, or that is undone already.
    """
    if asked:
        known = {name: found for name, found in journals.items() if found.find(asked)}
        if not known:
            raise Refusal(f"no run {asked} is kept on {' or '.join(journals)}", _SHOW)
        if all(wholly_undone(asked, found) for found in known.values()):
            raise Refusal(f"{asked} is undone already", _SHOW)
        return asked
    newest = [
        runs[0] for found in journals.values() if (runs := [run for run in found.runs if stands(run, found)])
    ]
    # hosts count their runs each for itself: one that keeps both knows which came later, else their clocks have to
    last = [run for run in newest if not any(_before(run, other, journals) for other in newest)]
    return max(last or newest, key=lambda run: (run.owner.since, run.id)).id if newest else None


def wholly_undone(run_id: str, found: Journal) -> bool:
    """Whether a run was taken back with nothing left alone; what was left can be asked for again."""
    back = journal.undone(found).get(run_id)
    return back is not None and not back.left


def _before(run: Run, other: Run, journals: Mapping[str, Journal]) -> bool:
    """Whether a host that keeps both runs had one before the other."""
    kept = [(found.find(run.id), found.find(other.id)) for found in journals.values()]
    return any(one and two and one.order < two.order for one, two in kept)


def stands(run: Run, found: Journal) -> bool:
    """Whether a run changed something that is worth taking back, and nobody did so yet."""
    items = [item for item in journal.changed(run, found) if not item.startswith("package ")]
    return bool(items or run.moved_network) and not run.owner.undoes and run.id not in journal.undone(found)


def spared(
    run_id: str, journals: Mapping[str, Journal], others: Mapping[str, Journal | None], command: str
) -> None:
    """Raise Refusal where a run would be taken back on one half of a pair alone, although it was made on both.

    journals: of the hosts that it is to be taken back on; others: of the other half, None where it cannot be read;
    command: to try, which takes the run back on the hosts that keep it, alone.
    """
    took = _took_part(run_id, journals)
    keep = [name for name, found in others.items() if found and found.find(run_id)]
    left = keep or [name for name in others if name in took]
    if left:
        raise Refusal(
            f"run {run_id} was made on {listed(left)} too, and a pair goes back as a pair",
            command,
        )


def whole(
    run_id: str, journals: Mapping[str, Journal], others: Mapping[str, Journal | None], command: str
) -> None:
    """Raise Refusal where a host that a run was made on keeps nothing of it, or where that cannot be known.

    The arguments are those of `spared`. Hosts may have been renamed since, so they are counted.
    """
    took = _took_part(run_id, journals)
    known = {**others, **journals}
    keep = [name for name, found in known.items() if found and found.find(run_id)]
    rest = [name for name in known if name not in keep]
    if len(took) <= len(keep) and (took or not rest):
        return
    if not took:
        why = "; ".join(_nothing_of_it(name, known) for name in rest)
        raise Refusal(
            f"run {run_id} is kept on {listed(keep)}, and the older version that made it did not note whether "
            f"it was made on {listed(rest)} too ({why})",
            command,
        )
    missing = [name for name in took if name not in keep]
    missing = missing if {*took} & {*known} else rest or missing
    why = "; ".join(_nothing_of_it(name, known) for name in missing)
    raise Refusal(
        f"run {run_id} was made on {len(took)} hosts, and what stood before on {listed(missing)} is not known "
        f"({why})",
        command,
    )


def left(plan: Plan, told: str) -> Plan:
    """The plan after what FIT, RESTORE or DOCKER printed.

    A daemon.json that docker does not start with is left alone, and so is what was changed since the plan.
    """
    found: dict[str, tuple[Act, str]] = {}
    for line in told.splitlines():
        word, _, rest = line.partition(" ")
        if word == "changed":
            found[rest] = ("foreign", "it was changed while this run was taken back")
        elif word in ("unfit", "failed"):
            found[containers.DAEMON_JSON] = ("unfit" if word == "unfit" else "failed", plain(rest[:_SAID]))
    changes = [
        replace(each, act=found[each.name][0], why=found[each.name][1])
        if each.kind == "file" and each.name in found
        else each
        for each in plan.changes
    ]
    return replace(plan, changes=tuple(changes))


def left_behind(plan: Plan) -> tuple[Left, ...]:
    """What is not put back, and why; packages, which stay by design, are none of it."""
    whys = {
        "foreign": "changed since by another one",
        "unfit": "docker cannot start with what stood there before",
        "failed": "docker did not start with what stood there before",
        "differs": "it is not as it stood there before",
    }
    found = [
        Left(each.item, f"{whys[each.act]}: {each.why}" if each.why else whys[each.act])
        for each in plan.changes
        if each.act in whys
    ]
    return (*found, *([Left("network", plan.amiss)] if plan.amiss else []))


def network_done(plan: Plan, detail: str) -> Plan:
    """The plan once the guard put the network back. detail: what it says of what is not as it was."""
    said = [part for part in detail.split("; ") if part]
    stays = [part.removesuffix(guard.STAYS) for part in said if part.endswith(guard.STAYS)]
    changes = [
        replace(each, act="foreign") if each.kind == "profile" and each.name in stays else each
        for each in plan.changes
    ]
    known = {each.name for each in changes}
    more = [Change(f"profile {path}", "foreign") for path in stays if path not in known]
    amiss = "; ".join(part for part in said if not part.endswith(guard.STAYS))
    return replace(plan, changes=(*changes, *more), amiss=amiss)


def verified(plan: Plan, found: Journal, run_id: str) -> Plan:
    """The plan once that run carried it out and the host was read again: what is not as it should be differs."""
    run = found.find(run_id)
    return replace(plan, changes=tuple(_verified(each, found, run) for each in plan.changes))


def _verified(change: Change, found: Journal, run: Run | None) -> Change:
    now = found.current.get(change.item, ABSENT)
    merged = ((run.wrote or {}) if run else {}).get(change.item, ())[-1:]
    wanted = {
        "put back": change.before,
        "remove": ABSENT,
        "merge": merged[0] if merged else "",
        "hold": HELD,
        "release": ABSENT,
    }.get(change.act)
    if wanted is None or now == wanted or change.item == _MEASURED or change.kind == "profile":
        return change
    return replace(change, act="differs", why=f"{_short(now)} is there, {_short(wanted)} is expected")


def _short(value: str) -> str:
    """What stands somewhere, in words: `644 root:root 1f2e3d4c...`."""
    return re.sub(r"\b([0-9a-f]{8})[0-9a-f]{56}\b", r"\1...", plain(value)) or "what was merged"


def left_alone(name: str, plan: Plan) -> list[str]:
    """What is to be said of what is not put back, on the host of that name: a sentence each."""
    docker = {each.item for each in plan.changes if each.act in ("unfit", "failed")}
    rest = [each for each in left_behind(plan) if each.item not in docker]
    said = [f"{_named(each.item)} of {name} is not put back ({each.why})" for each in rest]
    return [*_refused_by_docker(name, plan), *said]


def _named(item: str) -> str:
    kind, _, name = item.partition(" ")
    return {"hold": f"the hold of {name}", "network": "the network"}.get(kind, name)


def _refused_by_docker(name: str, plan: Plan) -> list[str]:
    look = over_ssh(name, f"sudo dockerd --validate --config-file {quoted(plan.kept_docker)}")
    log = over_ssh(name, "sudo journalctl -u docker -n 30")
    words = {
        "unfit": ("is left alone, for docker cannot start", look),
        "failed": ("is back as it was, for docker did not start", log),
    }
    return [
        f"{each.name} of {name} {words[each.act][0]} with what stood there before ({each.why}). "
        f"Try: {words[each.act][1]}"
        for each in plan.changes
        if each.act in words
    ]


def _took_part(run_id: str, journals: Mapping[str, Journal]) -> list[str]:
    """The hosts that a run was made on, as those that keep it have noted; none where an older version made it."""
    kept = [run for found in journals.values() if (run := found.find(run_id))]
    return [*dict.fromkeys(name for run in kept for name in run.owner.hosts)]


def _nothing_of_it(name: str, known: Mapping[str, Journal | None]) -> str:
    if name not in known:
        return f"{name} is not among the hosts of this pair"
    found = known[name]
    if found is None:
        return f"{name} cannot be read"
    if not found.runs:
        return f"the journal of {name}, {journal.ROOT}, is gone or empty"
    return f"the journal of {name} has {len(found.runs)} other run{'s'[: len(found.runs) > 1]}, and not this one"


def readable(run_id: str, journals: Mapping[str, Journal]) -> None:
    """Raise Refusal where a host lost a part of what it kept, which would be taken for absent before."""
    for name, found in journals.items():
        run = found.find(run_id)
        if run is None:
            continue
        later = found.runs[: found.runs.index(run)]
        parts = [f"{run_id}/{part}" for part in run.lacks]
        parts += [f"{each.id}/before/state" for each in later if "before/state" in each.lacks]
        # a garbled run.json leaves the number, or of older ones the id, which begins with the time
        parts += [f"{each.id}/run.json" for each in found.runs if each.garbled and _may_be_later(each, run)]
        if parts:
            raise Refusal(
                f"the journal of {name} is damaged: {listed(parts)} in {lock.RUNS} is gone or cannot be "
                f"understood, so what stood there before run {run_id} is not known",
                over_ssh(name, f"sudo ls -lR {quoted_path(f'{lock.RUNS}/' + parts[0].partition('/')[0])}"),
            )


def _may_be_later(garbled: Run, run: Run) -> bool:
    """Whether a run that cannot be understood may have come after another one, also for want of its number."""
    if "number" in garbled.lacks:
        return True
    return (garbled.number or 0, garbled.id) >= (run.number or 0, "" if run.number else run.id)


def plan(found: Journal, run_id: str, *, everything: bool) -> Plan:
    """What takes a run back on one host. everything: also what somebody else changed since."""
    run = found.find(run_id)
    if run is None or wholly_undone(run_id, found):
        return Plan(run_id)
    later = _later(found, run)
    pairs = journal.changed(run, found)
    if run.torn:  # what its last step may have written, or somebody else did
        pairs = {**journal.differing(run, found), **pairs}
    changes = []
    for item, (before, _) in pairs.items():
        wrote = _writers(found, run, item)
        now = found.current.get(item, ABSENT)
        act = _act(item, before, now, wrote, everything=everything)
        names = tuple(each.id for each, items in later if item in items)
        chain = [each for each, _ in wrote] if act == "foreign" else []
        stood = tuple(each.id for each in chain if each.before.get(item, ABSENT) != ABSENT)
        changes.append(
            Change(item, act, names, wrote=tuple(each.id for each in chain), stood=stood, now=now, before=before)
        )
    if _owes_restart(found, run_id):
        changes = [
            replace(each, act="restart") if each.name == containers.DAEMON_JSON and each.act == "already" else each
            for each in changes
        ]
    last = found.runs[0]
    moved_back = last.owner.undoes == run_id and last.after is None and last.moved_network
    return Plan(run_id, tuple(changes), run.moved_network and not moved_back, noted=run.network is not None)


def _owes_restart(found: Journal, run_id: str) -> bool:
    """Whether an undo of that run broke off within its step that puts daemon.json back and restarts docker."""
    for run in found.runs:
        if run.owner.undoes != run_id or run.after is not None:
            return False
        rcs = [each.rc for each in run.steps if each.name == step(DOCKER_PART)]
        if rcs:
            return rcs[-1] != 0
    return False


def _later(found: Journal, run: Run) -> list[tuple[Run, Iterable[str]]]:
    """The later runs that still stand, with the items of each."""
    gone = journal.undone(found)
    newer = found.runs[: found.runs.index(run)]
    return [
        (each, journal.changed(each, found)) for each in newer if each.id not in gone and not each.owner.undoes
    ]


Writers = list[tuple[Run, tuple[str, ...]]]


def _writers(found: Journal, run: Run, item: str) -> Writers:
    """The runs that wrote an item, from the newest down to that run, each with what it put there.

    An undo is one of them, and what it took back is, too: one after the other they lead to what stands there.
    """
    newer = found.runs[: found.runs.index(run) + 1]
    changes = [(each, journal.changed(each, found)) for each in newer]
    return [(each, _values(each, item, items[item][1])) for each, items in changes if item in items]


def _values(run: Run, item: str, last: str) -> tuple[str, ...]:
    """What a run put to an item; of one that broke off any of it may be what it left."""
    values = (run.wrote or {}).get(item, (last,))
    return values if run.after is None else values[-1:]


def _act(item: str, before: str, now: str, wrote: Writers, *, everything: bool) -> Act:
    if item.startswith("package "):
        return "stays"
    if now == before:
        return "already"
    if item != _MEASURED and not everything and not _led_back(item, before, now, wrote):
        return "foreign"
    if item.startswith("hold "):
        return "release" if before == ABSENT else "hold"
    return "remove" if before == ABSENT else "put back"


def _led_back(item: str, before: str, now: str, wrote: Writers) -> bool:
    """Whether the newest run wrote what stands there, the one before it what that one found, and so on.

    It ends where that is what stood there before: an older run's value may be gone since, and is not to be kept.
    """
    for run, values in wrote:
        found = journal.stood(run, item)
        if now not in values and (run.after is not None or now != found):
            return False
        now = found
        if now == before:
            return True
    return False


# --- merging what another one changed


def texts_of(plan: Plan) -> list[str]:
    """The files of a host that a merge or a difference needs; none of what root alone may read."""
    return [
        path
        for each in plan.changes
        if _shown(each)
        for path in (
            each.name,
            _kept(plan.run, each),
            *(file for run in each.wrote for file in (_kept(run, each), _put(run, each))),
        )
    ]


def parse_texts(lines: Iterable[str]) -> dict[str, str]:
    """Read what TEXTS prints: the text of each file that is one. Raises ValueError where a row makes no sense."""
    found = {}
    for line in lines:
        word, path, encoded = [*line.split(" "), "", ""][:3]
        if word != "file":
            raise ValueError(f"cannot read the row {plain(word[:20])!r} of a file")
        try:
            found[path] = base64.b64decode(encoded, validate=True).decode()
        except UnicodeDecodeError:  # what is no text is neither merged nor shown
            continue
    return found


def merged(plan: Plan, texts: Mapping[str, str]) -> Plan:
    """The plan, once the files that another one changed were read: merged where that is clean, else shown."""
    return replace(plan, changes=tuple(_merged(plan.run, each, texts) for each in plan.changes))


def _shown(change: Change) -> bool:
    return change.act == "foreign" and change.kind == "file" and change.name in _SHOWN


def _kept(run: str, change: Change) -> str:
    return f"{lock.RUNS}/{run}/before/files{change.name}"


def _put(run: str, change: Change) -> str:
    return f"{lock.RUNS}/{run}/wrote/files{change.name}"


def _merged(run_id: str, change: Change, texts: Mapping[str, str]) -> Change:
    if not _shown(change):
        return change
    now, before = texts.get(change.name), texts.get(_kept(run_id, change))
    try:
        wanted = _taken_back(change, now, texts)
    except merge.Conflict as why:
        known = before is not None or run_id not in change.stood
        diff = merge.diff(now, before, f"{change.name} as it is", f"{change.name} as it was before {run_id}")
        return replace(change, why=plain(str(why)), diff=diff if known else ())
    if wanted == now:
        return replace(change, act="already")
    diff = merge.diff(now, wanted, f"{change.name} as it is", f"{change.name} without what sparkrig wrote")
    if wanted is None:
        return replace(change, act="remove", diff=diff)
    total = hashlib.sha256((now or "").encode()).hexdigest()
    return replace(change, act="merge", diff=diff, text=wanted, sum=total)


def _no_text(now: str) -> str:
    """Why what stands there cannot be merged. now: as the journal has it."""
    if now == ABSENT:
        return "it is gone"
    kind = "a link" if now.startswith("link ") else now if not now[:1].isdigit() else "no text, or too long"
    return f"it is {plain(kind)} now"


def _taken_back(change: Change, now: str | None, texts: Mapping[str, str]) -> str | None:
    """What a file is without what the runs wrote, from the newest on. Raises Conflict."""
    if now is None:
        raise merge.Conflict(_no_text(change.now))
    if not change.wrote:
        raise merge.Conflict("the run broke off, and did not note that it wrote this")
    state: str | None = now
    for run in change.wrote:
        base = texts.get(_put(run, change))
        if base is None:
            raise merge.Conflict(f"what {run} wrote is not kept")
        if state is None:
            raise merge.Conflict(f"it was not there before what came after {run}")
        back = texts.get(_kept(run, change))
        if back is None and run in change.stood:  # else it would be taken for absent, and the file go
            raise merge.Conflict(f"what stood there before {run} is a link, no text, or too long")
        state = merge.file(base, back, state, form=_form(change.name))
    return state


def _form(path: str) -> merge.Form:
    if path == containers.DAEMON_JSON:
        return "json"
    return "variables" if path in environment.WITH_GIDS else "text"


def judge(
    plans: Mapping[str, Plan],
    running: Mapping[str, int],
    barred: Mapping[str, Collection[Barred]],
    *,
    restart_docker: bool,
) -> None:
    """Raise Refusal where something would fail on the way, before anything is changed on any host.

    running: containers that run on each host whose docker must restart; barred: the files of each that cannot be
    put back. Docker is not restarted under containers without leave.
    """
    bars = [
        (name, refusal)
        for name, found in barred.items()
        for refusal in targets.refusals(found, {each.path for each in found})
    ]
    if bars:
        raise Refusal(
            "; ".join(f"{name}: {each.what}" for name, each in bars),
            "; ".join(over_ssh(name, each.cure) for name, each in bars),
        )
    for name, count in running.items():
        if plans[name].docker and count and not restart_docker:
            raise Refusal(
                f"{name}: docker must restart, and {count} container(s) are running",
                "stop them, or the same with --restart-docker",
            )
