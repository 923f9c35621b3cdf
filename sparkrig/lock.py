"""The lock of a host: who works on it, from where, since when and why, and whether that run is still there.

It lies in /run, so a reboot frees it. Its holder is the ssh session of whoever took it, so it is stale at once
where that controller died; a controller that knows its own earlier process to be dead may say so itself, for a
session can live on behind a cut link. From a live holder it is taken by `sparkrig unlock` alone.
The pattern is kamal's [@kamal].
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sparkrig.refusal import Refusal

FOLDER = "/run/sparkrig"
RUNS = "/var/lib/sparkrig/runs"  # sparkrig.journal tells what is in there

# started PID: when; both together are that process and no later one. Its name may hold blanks and brackets.
# holder: whether the session that holds the lock still is. release RUN: the lock, if it is that run's.
FUNCTIONS = rf"""
lock={FOLDER}/lock
started() {{ sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }}
alone() {{
  umask 077
  mkdir -p {FOLDER}
  exec 9<{FOLDER}
  flock -w 20 9 || {{ echo "{FOLDER} is held by another process" >&2; exit 75; }}
}}
holder() {{
  owner_run= holder_pid= holder_start=
  if [ -r $lock/holder ]; then read -r owner_run holder_pid holder_start <$lock/holder || :; fi
  [ -n "$holder_pid" ] && [ "$(started "$holder_pid")" = "$holder_start" ]
}}
release() {{
  alone
  holder || :
  if [ "$owner_run" = "$1" ]; then rm -rf $lock; fi
}}
"""

# The first ancestor that does more than pass a command on is the ssh session; sudo drops SSH_CONNECTION.
_SESSION = r"""
session() {
  session= from=
  pid=$$
  while [ "${pid:-0}" -gt 1 ]; do
    case $(cat "/proc/$pid/comm") in
    sh | dash | bash | zsh | ksh | fish | sudo | su | timeout | env) ;;
    *) session=${session:-$pid} ;;
    esac
    : "${from:=$(tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ" | sed -n 's/^SSH_CONNECTION=\([^ ]*\).*/\1/p')}"
    pid=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$pid/status")
  done
}
"""
# take RUN OWNER DEAD: the lock for RUN, unless it is held; DEAD is a run whose controller is known to be dead.
TAKE = (
    FUNCTIONS
    + _SESSION
    + rf"""
take() {{
  alone
  session
  found=free before=
  if [ -e "$lock" ]; then
    found=stale before=$(cat "$lock/owner.json" 2>/dev/null) || :
    if holder; then found=held; fi
    if [ "$owner_run" = "$3" ]; then found=stale; fi
    if [ "$owner_run" = "$1" ]; then found=ours; fi
  fi
  case $found in
  held)
    printf 'step %s\n' "$(tail -n 1 {RUNS}/"$owner_run"/steps 2>/dev/null)"
    printf 'lock held %s\n' "$before"
    return 1
    ;;
  ours) owner=$before ;;
  *)
    owner=$(printf '{{"since": %s, "boot": "%s", "from": "%s", "by": %s}}' \
      "$(date +%s)" "$(cat /proc/sys/kernel/random/boot_id)" "$from" "$2")
    {{ rm -rf "$lock" && mkdir "$lock" && printf '%s\n' "$owner" >"$lock/owner.json"; }} || exit 74
    ;;
  esac
  printf '%s %s %s\n' "$1" "$session" "$(started "$session")" >"$lock/holder" || exit 74
  printf 'lock %s %s\n' $found "$before"
}}
"""
)

# $1 run, $2 who and why, $3 a run whose controller is known to be dead
LOCK = f'set -e\n{TAKE}\ntake "$@" || :\n'

# $1 run whose lock it is to be, empty where it cannot be read
RELEASE = f'set -e\n{FUNCTIONS}\nrelease "$1"\n'


@dataclass(frozen=True)
class Owner:
    """Who began a run, and why, as the host keeps it.

    run: its id; who: user@machine; why: what was typed; version: of sparkrig; undoes: the run that it takes back,
    or nothing; origin: the address that ssh came from; since: seconds since 1970 by the host's clock; boot: the
    host's boot id then.
    """

    run: str = ""
    who: str = "somebody"
    why: str = "an unknown reason"
    version: str = ""
    undoes: str = ""
    origin: str = ""
    since: int = 0
    boot: str = ""


@dataclass(frozen=True)
class Lock:
    """The lock of a host as it stands; alive: whether its holder's session still is."""

    owner: Owner
    alive: bool


def given(run: str, who: str, why: str, version: str, undoes: str = "") -> str:
    """The part of an owner that the controller knows, as the scripts take it."""
    return json.dumps({"run": run, "who": who, "why": why, "version": version, "undoes": undoes})


def owner(text: str) -> Owner:
    """Read what a host keeps of an owner; somebody where that is garbled (a disk that was full, say)."""
    try:
        found: Mapping[str, Any] = json.loads(text)
        by = {key: str(found["by"][key]) for key in ("run", "who", "why", "version", "undoes")}
        return Owner(**by, origin=str(found["from"]), since=int(found["since"]), boot=str(found["boot"]))
    except (ValueError, LookupError, TypeError):
        return Owner()


@dataclass(frozen=True)
class Answer:
    """What taking a lock came to. found: free, stale, ours or held; owner: whose it was; step: where he is."""

    found: str
    owner: Owner
    step: str = ""

    def refusal(self, at: str) -> Refusal:
        """Why nothing is done to the host of that name."""
        step = f", now at {self.step}" if self.step else ""
        return Refusal(
            f"{at} is locked by {sentence(self.owner)}{step}",
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
        if word == "lock" and found in ("free", "stale", "ours", "held"):
            return Answer(found, owner(whose), step)
    raise ValueError(f"the host did not say what became of its lock: {text[-200:]!r}")


def sentence(whose: Owner) -> str:
    """`root@laptop (from 10.0.2.2) since 03:15:00 UTC for: pyinfra ...`."""
    since = datetime.fromtimestamp(whose.since, UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if whose.since else "?"
    origin = f" (from {whose.origin})" if whose.origin else ""
    return f"{whose.who}{origin} since {since} for: {whose.why}"
