"""The journal of a host: what each run changed there, what stood there before, and how the run ended.

/var/lib/sparkrig/runs/RUN/ holds `run.json` (who, why), `before/state` and `before/files` (what stood there),
`steps` (begun and ended, a line each), and `after` (what stood there at the end; a run without it did not get
there). The guarded change of the network keeps its own things in `guard/` (sparkrig.guard).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from sparkrig import containers, declared, gid, lock
from sparkrig.lock import RUNS, Lock, Owner
from sparkrig.owned import OWNED, PRIVATE
from sparkrig.value import Value

ROOT = RUNS.rpartition("/")[0]
_KEPT = 20  # runs
ABSENT = "absent"
HELD = "held"

_WRITTEN = (*OWNED, *PRIVATE, containers.DAEMON_JSON, containers.KEYRING)
# Every path that a run may leave changed; operations.files keeps what was not ours beside it.
PATHS = (*_WRITTEN, *(f"{path}.before-sparkrig" for path in _WRITTEN if "sparkrig" not in path))

# stands PATH...: what stands there, a row each, holds and the toolkit's packages too. The GID block of a file
# follows the devices by itself (templates/refresh_gid.py), so it is no change.
STANDS = rf"""
stands() {{
  for path in "$@"; do
    if [ -f "$path" ]; then
      sum=$(LC_ALL=C sed '/^{gid.BLOCK_BEGIN.partition(" (")[0]}/,/^{gid.BLOCK_END}/d' "$path" | sha256sum)
      printf 'file %s %s %s\n' "$path" "$(stat -c '%a %U:%G' "$path")" "${{sum%% *}}"
    elif [ -e "$path" ] || [ -L "$path" ]; then printf 'file %s %s\n' "$path" "$(stat -c '%F' "$path")"
    fi
  done
  apt-mark showhold | sed 's/^/hold /; s/$/ {HELD}/'
  dpkg-query -W -f '${{db:Status-Status}} ${{Package}} ${{Version}}\n' \
    {" ".join(containers.TOOLKIT_PARTS)} 2>/dev/null | sed -n 's/^installed /package /p'
}}
"""

# $1 run, $2 who and why, $3 a run whose controller is known to be dead, $4... paths
BEGIN = (
    "set -e\n"
    + lock.TAKE
    + STANDS
    + rf"""
take "$@" || exit 0
run=$1; shift 3
if [ ! -e {RUNS}/$run ]; then
  new={RUNS}/.$run
  rm -rf "$new"
  mkdir -p "$new/before/files"
  chmod 700 {ROOT}
  for path in "$@"; do
    if [ -e "$path" ] || [ -L "$path" ]; then
      mkdir -p "$new/before/files${{path%/*}}"
      cp -a "$path" "$new/before/files$path"
    fi
  done
  stands "$@" >"$new/before/state"
  printf '%s\n' "$owner" >"$new/run.json"
  : >"$new/steps"
  find "$new" ! -type l -exec sync {{}} +
  mv -T "$new" "{RUNS}/$run"
  sync {RUNS}
fi
"""
)

# $1 run: its lock is given back, and its folder goes, for it has changed nothing
ABANDON = lock.RELEASE + f'if [ ! -s "{RUNS}/$1/steps" ]; then rm -rf "{RUNS}/$1"; fi\n'

# $1 run, $2 `declares` where standard input has what was declared of this host, $3... paths. Old runs go now: at
# its begin, one that takes back the oldest would lose what it puts back; and never this one, which is the oldest
# by name where the controller's clock is wrong.
END = (
    "set -e\n"
    + lock.FUNCTIONS
    + STANDS
    + rf"""
umask 077
run=$1 declares=$2; shift 2
cd {RUNS}/"$run"
if [ "$declares" = declares ]; then
  cat >declared.new
  sync declared.new
  mv declared.new {declared.PATH}
fi
{{ printf 'end %s\n' "$(date +%s)"; stands "$@"; }} >after.new
sync after.new
mv after.new after
sync .
cd /
find {RUNS} -mindepth 1 -maxdepth 1 -name '[0-9]*' ! -name "$run" | sort -r | tail -n +{_KEPT} |
  while read -r old; do rm -rf "$old"; done
release "$run"
"""
)

# What is noted in the file $steps before and after each command that changes something.
NOTE = r"""
note() { printf '%s %s %s\n' "$(date +%s)" "$1" "$2" >>"$steps" && sync "$steps"; }
"""

# paths as words; everything there is to know
LOOK = (
    lock.FUNCTIONS
    + STANDS
    + rf"""
printf 'now %s\n' "$(date +%s)"
if [ -e $lock ]; then
  alive=dead; if holder; then alive=alive; fi
  printf 'lock %s %s\n' $alive "$(cat $lock/owner.json)"
fi
for run in {RUNS}/*; do
  [ -e "$run/run.json" ] || continue
  printf 'run %s %s\n' "${{run##*/}}" "$(cat "$run/run.json")"
  {{ cat "$run/steps"; echo; }} | sed 's/^/step /' # a torn row has no end, and would take the next with it
  sed 's/^/before /' "$run/before/state"
  if [ -e "$run/after" ]; then sed 's/^/after /' "$run/after"; fi
  if [ -e "$run/guard/state" ]; then printf 'guard %s\n' "$(tr '\n' ' ' <"$run/guard/state")"; fi
  if [ -e "$run/guard/deadline" ]; then printf 'deadline %s\n' "$(cat "$run/guard/deadline")"; fi
done
stands {" ".join(PATHS)} | sed 's/^/current /'
"""
)

Snapshot = Mapping[str, str]
Outcome = Literal["running", "done", "failed", "interrupted", "rolled back", "undone"]


@dataclass(frozen=True)
class Step:
    """One operation of a run. begun, ended: seconds since 1970; rc: of its last command; None while it lasts."""

    name: str
    begun: int
    ended: int | None = None
    rc: int | None = None


@dataclass(frozen=True)
class Run:
    """One run on one host.

    before, after: what stood there, by item (`file /etc/nccl.conf`, `hold NAME`, `package NAME`), where an item
    that was not there has no entry; after is None where the run did not get to its end. guard: the state of its
    guarded network change, and the reason of a rollback; deadline: when that rolls back unless it is confirmed.
    """

    id: str
    owner: Owner
    steps: tuple[Step, ...] = ()
    before: Snapshot = field(default_factory=dict)
    after: Snapshot | None = None
    ended: int | None = None
    guard: str = ""
    deadline: float | None = None

    @property
    def armed(self) -> bool:
        """Whether its network change rolls back unless it is confirmed."""
        return self.guard.partition(" ")[0] in ("armed", "applied")

    @property
    def moved_network(self) -> bool:
        return self.guard.partition(" ")[0] == "committed"


@dataclass(frozen=True)
class Journal(Value):
    """All of it: runs newest first, what stands there now, and the host's clock."""

    now: int
    lock: Lock | None = None
    runs: tuple[Run, ...] = ()
    current: Snapshot = field(default_factory=dict)

    def find(self, run: str) -> Run | None:
        return next((each for each in self.runs if each.id == run), None)


def parse(lines: Iterable[str]) -> Journal:
    """Read what LOOK prints. Raises ValueError where a row makes no sense."""
    runs: list[Run] = []
    found: dict[str, dict[str, str]] = {}
    now, taken = 0, None
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "now":
            now = int(rest)
        elif word == "lock":
            alive, _, whose = rest.partition(" ")
            taken = Lock(lock.owner(whose), alive == "alive")
        elif word == "run":
            name, _, whose = rest.partition(" ")
            runs.append(Run(name, lock.owner(whose)))
            found = {}
        elif word == "current":
            _item(found.setdefault("now", {}), rest)
        else:
            runs[-1] = _told(runs[-1], found, word, rest)
    ordered = sorted(runs, key=lambda each: (each.owner.since, each.id), reverse=True)
    return Journal(now, taken, tuple(ordered), found.get("now", {}))


def _told(run: Run, found: dict[str, dict[str, str]], word: str, rest: str) -> Run:
    """What one row adds to a run."""
    if word == "step":
        return replace(run, steps=_stepped(run.steps, rest))
    if word == "before":
        return replace(run, before=_item(found.setdefault(word, {}), rest))
    if word == "after":
        if rest.startswith("end "):
            return replace(run, after=found.setdefault(word, {}), ended=int(rest.removeprefix("end ")))
        return replace(run, after=_item(found.setdefault(word, {}), rest))
    if word == "guard":
        return replace(run, guard=rest.strip())
    if word == "deadline":
        return replace(run, deadline=float(rest))
    raise ValueError(f"cannot read the row {word!r} of the journal")


def _item(into: dict[str, str], row: str) -> dict[str, str]:
    kind, _, rest = row.partition(" ")
    name, _, value = rest.partition(" ")
    into[f"{kind} {name}"] = value
    return into


def _stepped(steps: tuple[Step, ...], row: str) -> tuple[Step, ...]:
    """The steps with one more row; commands of one operation are one step, and a torn row (power cut) is none."""
    clock, _, rest = row.partition(" ")
    word, _, rest = rest.partition(" ")
    last = steps[-1] if steps else None
    if word == "begun" and clock.isdigit():
        if last and last.name == rest:
            return (*steps[:-1], replace(last, ended=None, rc=None))
        return (*steps, Step(rest, int(clock)))
    rc, _, name = rest.partition(" ")
    if word == "ended" and clock.isdigit() and rc.isdigit() and last and last.name == name:
        return (*steps[:-1], replace(last, ended=int(clock), rc=int(rc)))
    return steps


def changed(run: Run, journal: Journal) -> dict[str, tuple[str, str]]:
    """What a run changed: item -> what stood there before and after, `absent` included."""
    after = _left(run, journal)
    items = sorted({*run.before, *after})
    pairs = {item: (run.before.get(item, ABSENT), after.get(item, ABSENT)) for item in items}
    return {item: pair for item, pair in pairs.items() if pair[0] != pair[1]}


def _left(run: Run, journal: Journal) -> Snapshot:
    """What stood there at a run's end; of one that broke off, what the next one found, or what is there now."""
    if run.after is not None:
        return run.after
    later = journal.runs[: journal.runs.index(run)]
    return later[-1].before if later else journal.current


def outcome(run: Run, journal: Journal) -> Outcome:
    """How a run ended."""
    if run.id in undone(journal):
        return "undone"
    if run.ended is not None:
        return "done"
    if journal.lock and journal.lock.alive and journal.lock.owner.run == run.id:
        return "running"
    if run.guard.startswith("rolled-back"):
        return "rolled back"
    last = run.steps[-1] if run.steps else None
    return "failed" if last and last.rc else "interrupted"


def undone(journal: Journal) -> set[str]:
    """The runs that a later one took back, and nobody brought back since."""
    gone: set[str] = set()
    for run in journal.runs:  # newest first, so what took a run back is known to stand or not
        if run.owner.undoes and run.ended is not None and run.id not in gone:
            gone.add(run.owner.undoes)
    return gone


def where(run: Run) -> str:
    """How far a run that did not end got: `step 3 (Network | profiles and live links)`."""
    if not run.steps:
        return "before its first step"
    last = run.steps[-1]
    within = "at" if last.ended is None or last.rc else "after"
    return f"{within} step {len(run.steps)} ({last.name})"


def unsettled(journal: Journal) -> Run | None:
    """The last run that counts, where it failed or broke off, and no later one was done."""
    for run in journal.runs:
        told = outcome(run, journal)
        if told in ("done", "undone"):
            return None
        if told != "running":
            return run
    return None
