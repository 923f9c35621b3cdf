"""The lock of a host: who works on it, from where, since when and why, and whether that run is still there.

It lies in /run, so a reboot frees it. Its holder is a process that the run starts over its own connection and that
keeps a file locked (flock(2)). That process ends as its output does, which the kernel closes with the connection;
so whether a lock is held is the kernel's word, whatever login shell, ssh server, sudo or wrapper lies in between
(docs/design.md weighs the other ways; Tailscale's server closes it too [@tailscale-ssh]).
A controller that knows its own earlier process to be dead may say so itself, for a connection can live on behind
a cut link. From a live holder it is taken by `sparkrig unlock` alone.
What is kept of an owner follows kamal's lock [@kamal].
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sparkrig.parsing import bounds, grammar
from sparkrig.refusal import Refusal
from sparkrig.text import plain

FOLDER = "/run/sparkrig"
_YEAR_10000 = 253402300800  # which datetime knows no more
RUNS = "/var/lib/sparkrig/runs"  # sparkrig.runs.journal tells what is in there
_NAME, _HOSTS = 253, 64  # characters of a host's name that are read (a DNS name has no more), and names of a run

_OWNER_BYTES = 40000  # of owner.json or run.json: 64 names of 253 characters, and what was typed
TICK_S = 2  # a holder outlives its connection, or the lock, by as much

# held FILE: whether a process keeps it locked. text FILE: the start of it, in one row. whose: owner_run, as far as
# it can be read. release RUN: the lock, if it is that run's. Who opens a FIFO waits for its other end, so only a
# file is read, or locked.
FUNCTIONS = rf"""
lock={FOLDER}/lock
alone() {{
  umask 077
  mkdir -p {FOLDER}
  exec 9<{FOLDER}
  flock -w 20 9 || {{ echo "{FOLDER} is held by another process" >&2; exit 75; }}
}}
held() {{
  [ -f "$1" ] || return 1
  flock -n -s -E 75 "$1" true 2>/dev/null && return 1
  [ $? = 75 ]
}}
text() {{ [ ! -f "$1" ] || head -c {_OWNER_BYTES} "$1" 2>/dev/null | tr '\n\000' '  '; }}
whose() {{ owner_run=$([ ! -f $lock/run ] || head -c 200 $lock/run 2>/dev/null | tr -d '\n\000'); }}
release() {{
  alone
  whose
  rm -f "{FOLDER}/holder.$1"
  if [ "$owner_run" = "$1" ]; then rm -rf $lock; fi
}}
"""

# holder: whose the lock is, and whether that run is alive, dead or unknown; a lock without `run` is of a version
# that kept no file locked
_HOLDER = r"""
holder() {
  whose
  state=unknown
  if held $lock/holder; then state=alive; elif [ -e $lock/holder ] && [ -e $lock/run ]; then state=dead; fi
}
"""

# $1 run. Keeps the file of its run locked until its output is closed, or the file is removed. An empty row now and
# then goes to the other side: nothing else makes the kernel notice a link that was cut, since this side is silent.
HOLD = (
    "set -e\n"
    + FUNCTIONS
    + rf"""
alone
mine={FOLDER}/holder.$1
exec 8>"$mine"
flock -w 20 8 || {{ echo "$mine is held by another process" >&2; exit 75; }}
exec 9<&-
while [ "$(stat -L -c %h /proc/self/fd/8)" -gt 0 ] && echo; do sleep {TICK_S} 8>&-; done
"""
)

# What orders the hosts of every run, from any controller: names differ between inventories, the hardware does not.
IDENTITY = "cat /sys/class/dmi/id/product_uuid /etc/machine-id 2>/dev/null | sha256sum | head -c 64"

# sudo drops SSH_CONNECTION, so an ancestor's is read. It is shown, and nothing depends on it.
_ORIGIN = r"""
origin() {
  pid=$$
  while [ "${pid:-0}" -gt 1 ]; do
    from=$(tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ" | sed -n 's/^SSH_CONNECTION=\([^ "\\]*\).*/\1/p')
    if [ -n "$from" ]; then printf %s "$from"; return; fi
    pid=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$pid/status")
  done
}
"""
# take RUN OWNER DEAD: the lock for RUN, unless it is held; DEAD is a run whose controller is known to be dead.
# HOLD runs beside it, and is waited for: a lock without a holder would be stale at once.
TAKE = (
    FUNCTIONS
    + _HOLDER
    + _ORIGIN
    + rf"""
take() {{
  mine={FOLDER}/holder.$1 tries=0
  unkept="no process of this run keeps its lock: sshd must allow two sessions of a connection (MaxSessions)"
  until held "$mine"; do
    tries=$((tries + 1))
    if [ $tries -gt 200 ]; then echo "$unkept" >&2; exit 75; fi
    sleep 0.1
  done
  alone
  for file in {FOLDER}/holder.*; do held "$file" || rm -f "$file"; done
  found=free before=
  if [ -e "$lock" ]; then
    holder
    case $state in dead) found=stale ;; alive) found=held ;; *) found=unknown ;; esac
    before=$(text "$lock/owner.json")
    if [ -n "$owner_run" ] && [ "$owner_run" = "$3" ]; then found=stale; fi
    if [ "$owner_run" = "$1" ]; then found=ours; fi
  fi
  case $found in
  held | unknown)
    rm -f "$mine"
    printf 'step %s\n' "$(tail -n 1 {RUNS}/"$owner_run"/steps 2>/dev/null)"
    printf 'lock %s %s\n' $found "$before"
    return 1
    ;;
  ours)
    owner=$before
    ln -f "$mine" $lock/holder || exit 74
    ;;
  *)
    owner=$(printf '{{"since": %s, "boot": "%s", "from": "%s", "by": %s}}' \
      "$(date +%s)" "$(cat /proc/sys/kernel/random/boot_id)" "$(origin)" "$2")
    {{
      rm -rf $lock.new && mkdir $lock.new && printf '%s\n' "$owner" >$lock.new/owner.json &&
        printf '%s\n' "$1" >$lock.new/run && ln "$mine" $lock.new/holder && rm -rf $lock && mv -T $lock.new $lock
    }} || exit 74
    ;;
  esac
  rm -f "$mine"
  exec 9<&- # what follows may take long, and who comes meanwhile is to read whose the lock is
  printf 'lock %s %s\n' $found "$before"
}}
"""
)

# $1 run, $2 who and why, $3 a run whose controller is known to be dead
LOCK = f'set -e\n{TAKE}\ntake "$@" || :\n'

# $1 run whose lock it is to be
RELEASE = f'set -e\n{FUNCTIONS}\nrelease "$1"\n'

# The folder of a lock, which no other one is: what can be read of it may be nothing
_ID = "stat -c %i.%.9Z $lock"

# Two rows on the lock, where there is one; again where it became another one while it was read
SEEN = rf"""{_HOLDER}
while [ -e $lock ]; do
  id=$({_ID})
  holder
  seen=$(text $lock/owner.json)
  if [ "$id" = "$({_ID})" ]; then
    printf 'lock %s %s\n' $state "$seen"
    printf 'held %s %s\n' "$id" "$owner_run"
    break
  fi
done
"""

# $1 the lock that was seen
UNLOCK = rf"""
set -e
{FUNCTIONS}
alone
if [ -e $lock ] && [ "$({_ID})" != "$1" ]; then echo 'another run took it meanwhile' >&2; exit 1; fi
rm -rf $lock
"""


@dataclass(frozen=True)
class Owner:
    """Who began a run, and why, as the host keeps it.

    run: its id; who: user@machine; why: what was typed; version: of sparkrig; undoes: the run that it takes back,
    or nothing; origin: the address that ssh came from; since: seconds since 1970 by the host's clock; boot: the
    host's boot id then; hosts: the names of all that the run began on, empty where an older version kept none.
    """

    run: str = ""
    who: str = "an unknown user"
    why: str = "an unknown reason"
    version: str = ""
    undoes: str = ""
    origin: str = ""
    since: int = 0
    boot: str = ""
    hosts: tuple[str, ...] = ()


_THERE = {
    True: "its session is still there",
    False: "its session has ended, so the next run takes it over",
    None: "whether its session is still there cannot be told",
}


@dataclass(frozen=True)
class Lock:
    """The lock of a host as it stands.

    alive: whether its run is there, None where that cannot be told; run: its id, as far as it can be read; id: of
    this very lock, by which it is taken away.
    """

    owner: Owner
    alive: bool | None
    run: str = ""
    id: str = ""

    @property
    def sentence(self) -> str:
        """Who holds it, and whether that run is there."""
        return f"{sentence(self.owner, self.run)}; {_THERE[self.alive]}"


def given(run: str, who: str, why: str, version: str, undoes: str = "", hosts: Iterable[str] = ()) -> str:
    """The part of an owner that the controller knows, as the scripts take it."""
    by = {"run": run, "who": who, "why": why, "version": version, "undoes": undoes, "hosts": [*hosts]}
    return json.dumps(by)


def owner(text: str) -> Owner:
    """Read what a host keeps of an owner; one without a run where that is garbled (a disk that was full, say)."""
    try:
        found: Mapping[str, Any] = bounds.loads(text)
        by = {key: str(found["by"][key]) for key in ("run", "who", "why", "version", "undoes")}
        for id in filter(None, (by["run"], by["undoes"])):
            grammar.RUN.held(id)
        origin, since, boot = str(found["from"]), int(found["since"]), str(found["boot"])
        if not 0 <= since < _YEAR_10000:
            raise ValueError(f"{since} is no time")
        return Owner(**by, origin=origin, since=since, boot=boot, hosts=_hosts(found["by"].get("hosts")))
    except (ValueError, LookupError, TypeError):
        return Owner()


def _hosts(found: object) -> tuple[str, ...]:
    """The names that a host keeps of a run's hosts; none of what is no list of names."""
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        return ()
    return tuple(plain(name[:_NAME]) for name in found[:_HOSTS])


@dataclass(frozen=True)
class Answer:
    """What taking a lock came to.

    found: free, stale, ours, held, or unknown where it is there and its holder cannot be told; owner: whose it
    was; step: where that run is.
    """

    found: str
    owner: Owner
    step: str = ""

    @property
    def refused(self) -> bool:
        return self.found in ("held", "unknown")

    def refusal(self, at: str) -> Refusal:
        """Why nothing is done to the host of that name."""
        step = f", now at {self.step}" if self.step else ""
        doubt = f"; {_THERE[None]}" if self.found == "unknown" else ""
        return Refusal(
            f"{at} is locked by {sentence(self.owner)}{step}{doubt}",
            "wait for that run; if it is known to be dead: sparkrig unlock INVENTORY",
        )


def parse(text: str) -> Answer:
    """Read what `take` prints. Raises ValueError for anything else."""
    step = ""
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        found, _, whose = rest.partition(" ")
        if word == "step":
            step = re.sub(r"^\d+ (begun|ended \d+) ", "", rest)
        if word == "lock" and found in ("free", "stale", "ours", "held", "unknown"):
            return Answer(found, owner(whose), step)
    raise ValueError(f"the host did not say what became of its lock: {text[-200:]!r}")


def sentence(whose: Owner, run: str = "") -> str:
    """`root@laptop (from 10.0.2.2) since 03:15:00 UTC for: pyinfra ...`; run: of an owner that is garbled."""
    if not whose.run:
        named = f" of run {run}" if run else ""
        return f"an unknown holder (the owner.json{named} in {FOLDER}/lock is empty or garbled)"
    since = datetime.fromtimestamp(whose.since, UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if whose.since else "?"
    origin = f" (from {whose.origin})" if whose.origin else ""
    return f"{whose.who}{origin} since {since} for: {whose.why}"
