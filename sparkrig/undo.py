"""Taking a run back: what of a host is put back to what stood there before, what is left alone, and why.

An item that a later run changed too goes back with it, past both. What somebody else changed since is left alone,
for it is his; packages stay, for others may have come to need them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from sparkrig import containers, journal, trust
from sparkrig.journal import ABSENT, Journal, Run, Snapshot
from sparkrig.refusal import Refusal
from sparkrig.serving import served

Act = Literal["put back", "remove", "hold", "release", "already", "foreign", "stays"]
_SHOW = "sparkrig status INVENTORY --runs 20"
_PENDING = ("put back", "remove", "hold", "release")

# $1 the folder of what stood there; on stdin a row a file: put PATH or remove PATH
RESTORE = r"""
set -e
new=; trap 'rm -f "$new"' EXIT
while read -r verb path; do
  folder=${path%/*}
  if [ "$verb" = put ]; then
    mkdir -p "$folder"
    new=$(mktemp "$folder/.${path##*/}.XXXXXX")
    cp -a --remove-destination "$1$path" "$new"
    sync "$new"
    mv -fT "$new" "$path"
    sync "$folder"
  elif [ -d "$folder" ]; then
    rm -f "$path"
    sync "$folder"
    case $folder in */sparkrig | */sparkrig/serve) rmdir --ignore-fail-on-non-empty "$folder" ;; esac
  fi
done
"""

# $1 whether running containers may be stopped (yes or no), then as RESTORE
DOCKER = (
    r"""
running=$(docker ps -q 2>/dev/null | wc -l)
if [ "$running" -gt 0 ] && [ "$1" != yes ]; then
  echo "$running container(s) run, and docker must restart; try: the same with --restart-docker" >&2; exit 1
fi
shift
"""
    + RESTORE
    + "systemctl restart docker\n"
)

# $1... packages, those to be held after --
HOLDS = r"""
set -e
while [ "$1" != -- ]; do apt-mark unhold "$1" >&2; shift; done
shift
for name; do apt-mark hold "$name" >&2; done
"""

# The GID block of a file that was put back is as old as the file. $1 the rails, $2 the program that looks it up
GIDS = r"""
netdev=$(sed -n 's/^ *"\([^"]*\)":.*/\1/p' "$1" 2>/dev/null | head -n 1)
if [ -n "$netdev" ] && [ -e "$2" ]; then python3 "$2" "$netdev" >&2; fi
"""


# The units are what their files say again, and a server whose files are back is started; nobody waits for it.
SERVE = rf"""
{served.STOP}
rm -rf {served.STATE}
systemctl daemon-reload
{served.LINK}
if [ -e {served.SERVICE} ]; then systemctl start --no-block {served.UNIT}.service; fi
"""


@dataclass(frozen=True)
class Change:
    """What becomes of one item. later: the later runs that changed it too, and whose change goes with it."""

    item: str
    act: Act
    later: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        return self.item.partition(" ")[0]

    @property
    def name(self) -> str:
        return self.item.partition(" ")[2]


@dataclass(frozen=True)
class Plan:
    """What is to be done to one host. network: whether it goes back to what it was, under guard."""

    run: str
    changes: tuple[Change, ...] = ()
    network: bool = False

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
        """Whether the login between the halves of a pair goes, which is more than its files (operations.trust)."""
        return any(each.name == trust.CLIENT and each.act == "remove" for each in self.pending)

    @property
    def serving(self) -> bool:
        """Whether the server is another one, or none."""
        return any(each.name in served.PATHS for each in self.pending)

    def files(self, *, docker: bool) -> str:
        """The rows of RESTORE for all files but docker's, or for docker's."""
        rows = [each for each in self.pending if each.kind == "file"]
        mine = [each for each in rows if (each.name == containers.DAEMON_JSON) is docker]
        return "".join(f"{'put' if each.act == 'put back' else 'remove'} {each.name}\n" for each in mine)

    def holds(self) -> list[str]:
        """The words of HOLDS; none where no hold changes."""
        free = [each.name for each in self.pending if each.act == "release"]
        held = [each.name for each in self.pending if each.act == "hold"]
        return [*free, "--", *held] if free or held else []


def target(journals: Mapping[str, Journal], asked: str | None) -> str | None:
    """The run to take back on the hosts of one group: the one that was asked for, or the newest that still stands.

    None where there is none to take back. Raises Refusal for one that no host knows, or that is undone already.
    """
    if asked:
        known = {name: found for name, found in journals.items() if found.find(asked)}
        if not known:
            raise Refusal(
                f"no run {asked} is kept on {' or '.join(journals)}", "sparkrig status INVENTORY --runs 20"
            )
        if all(asked in journal.undone(found) for found in known.values()):
            raise Refusal(f"{asked} is undone already", "sparkrig status INVENTORY --runs 20")
        return asked
    standing = [run for found in journals.values() for run in found.runs if _stands(run, found)]
    return max(standing, key=lambda run: (run.owner.since, run.id)).id if standing else None


def _stands(run: Run, found: Journal) -> bool:
    """Whether a run changed something that is worth taking back, and nobody did so yet."""
    items = [item for item in journal.changed(run, found) if not item.startswith("package ")]
    return bool(items or run.moved_network) and not run.owner.undoes and run.id not in journal.undone(found)


def plan(found: Journal, run_id: str, *, everything: bool) -> Plan:
    """What takes a run back on one host. everything: also what somebody else changed since."""
    run = found.find(run_id)
    if run is None:
        return Plan(run_id)
    later = _later(found, run)
    expected = _expected(found)
    changes = []
    for item, (before, _) in journal.changed(run, found).items():
        act = _act(item, before, found.current.get(item, ABSENT), expected, everything=everything)
        changes.append(Change(item, act, tuple(each.id for each, items in later if item in items)))
    last = found.runs[0]
    moved_back = last.owner.undoes == run_id and last.after is None and last.moved_network
    return Plan(run_id, tuple(changes), run.moved_network and not moved_back)


def _later(found: Journal, run: Run) -> list[tuple[Run, Iterable[str]]]:
    """The later runs that still stand, with the items of each."""
    gone = journal.undone(found)
    newer = found.runs[: found.runs.index(run)]
    return [
        (each, journal.changed(each, found)) for each in newer if each.id not in gone and not each.owner.undoes
    ]


def _expected(found: Journal) -> Snapshot | None:
    """What stands there if nobody else changed anything since; None after a run that broke off."""
    return found.runs[0].after


def _act(item: str, before: str, now: str, expected: Snapshot | None, *, everything: bool) -> Act:
    if item.startswith("package "):
        return "stays"
    if now == before:
        return "already"
    if expected is not None and now != expected.get(item, ABSENT) and not everything:
        return "foreign"
    if item.startswith("hold "):
        return "release" if before == ABSENT else "hold"
    return "remove" if before == ABSENT else "put back"


def judge(plans: Mapping[str, Plan], running: Mapping[str, int], *, restart_docker: bool) -> None:
    """Raise Refusal where docker would have to restart while containers run, and nobody gave leave.

    running: containers that run on each host whose docker must restart.
    """
    for name, count in running.items():
        if plans[name].docker and count and not restart_docker:
            raise Refusal(
                f"{name}: docker must restart, and {count} container(s) are running",
                "stop them, or the same with --restart-docker",
            )
