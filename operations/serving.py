"""Image, weights and server of a Spark or a pair: each is one thing for both hosts, which the head leads.

A server that is already there is stopped before a new configuration is tried, since two models do not fit the
memory at once. Nobody is led to the new one before it answered a question; else the old one comes back.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyinfra import host, inventory, logger
from pyinfra import state as run
from pyinfra.api import FunctionCommand, Host, State, operation

from facts.files import Files
from facts.serving import FILES_OF
from facts.serving import Serving as ServingFact
from operations import remote, unit
from operations.files import write
from operations.journal import recorded
from operations.refusal import Commands, refusing, say
from operations.remote import Failed, Lost
from sparkrig import secrets
from sparkrig.files import File, Found, stale
from sparkrig.refusal import Refusal
from sparkrig.serving import plan, served, smoke
from sparkrig.serving.plan import Chosen, Wish
from sparkrig.serving.rules import version
from sparkrig.serving.served import Serving
from sparkrig.settings import Settings
from sparkrig.trust import plain

_TEMPLATES = Path(__file__).resolve().parent.parent / "templates" / "serving"

# In seconds, times `patience`.
_LOOK_S = 90
_STEP_S = 180
_PULL_S = 4 * 3600  # 20 GB, over a slow line
_WEIGHTS_S = 12 * 3600  # 118 GB, over a slow line
_PROBE_S = 300
_ASK_S = 300  # the first answer may compile
_SAID = 100  # characters of what it announced; a phase may name its whole command
_PULSE_S = 10  # how long a host waits for something to happen before it tells


class RolledBack(Exception):
    """A configuration that was tried and taken back; the message is what is known of it, in sentences."""


@dataclass(frozen=True)
class Group:
    """The hosts that one server is for, its head first.

    idle: the other half of a pair, where it has no part in it; settings: of each host; users: whom ssh logs in as,
    by host, where the halves trust one another; wish: what is to be served; wanted: the files of a host, once the
    image is known; errors: raises Refusal for what sparkrig lint holds against that image with that launch.
    """

    names: tuple[str, ...]
    idle: tuple[str, ...]
    settings: Mapping[str, Settings]
    users: Mapping[str, str]
    wish: Wish
    wanted: Callable[[str, Chosen], list[File]]
    errors: Callable[[Chosen], None]

    @property
    def all(self) -> tuple[str, ...]:
        return self.names + self.idle

    @property
    def head(self) -> str:
        return self.names[0]

    @property
    def mine(self) -> Settings:
        """What both halves have in common."""
        return self.settings[self.head]

    def seconds(self, base: float) -> int:
        return int(base * max(each.patience for each in self.settings.values()))


Act = Callable[[Group], None]


def texts() -> dict[str, str]:
    """The scripts that land on a host, by their paths there."""
    return {
        path: (_TEMPLATES / name).read_text(encoding="utf-8")
        for path, name in ((served.START, "start.sh"), (served.MEMORY, "memory.sh"))
    }


@operation()
@refusing
@recorded
def together(due: Callable[[], bool], leader: str, act: Act, group: Callable[[], Group], settled: str) -> Commands:
    """Something that is one for both halves of a pair, done from the host that leads.

    + due: asked when it is needed
    + leader: the host whose turn it is done in
    + act: what does it
    + group: the hosts, asked when it is done
    + settled: said where nothing is to be done
    """
    if not due():
        host.noop(settled)
    elif host.name == leader:
        yield FunctionCommand(_lead, (act, group), {})
    elif run.is_executing:
        host.log(f"done together with {leader}, which leads")
    else:
        yield f"# done together with {leader}"


def _lead(state: State, host: Host, act: Act, group: Callable[[], Group]) -> bool:  # noqa: ARG001
    try:
        act(group())
    except Refusal as refusal:
        say(host, str(refusal))
    except RolledBack as why:
        host.log_styled(f"Changed and rolled back: {why}", fg="red", log_func=logger.error)
    except (Failed, Lost) as error:
        say(host, str(Refusal(f"it broke off ({error})", "the same again, which goes on from there")))
    else:
        return True
    return False


def _hosts(names: Sequence[str]) -> dict[str, Host]:
    return {name: inventory.get_host(name) for name in names}


def _all(names: Sequence[str], ask: Callable[[Host], object]) -> None:
    """Something on several hosts side by side. Raises Failed or Lost with the host's name."""
    for name, answer in remote.each(_hosts(names), ask).items():
        if isinstance(answer, (Failed, Lost)):
            raise type(answer)(f"{name}: {answer}")


def look(group: Group) -> dict[str, Serving]:
    """What each host has now. Raises Failed or Lost."""
    fact = ServingFact()
    answers = remote.each(
        _hosts(group.all), lambda at: remote.read(at, fact, group.mine.weights, seconds=group.seconds(_LOOK_S))
    )
    for name, answer in answers.items():
        if isinstance(answer, (Failed, Lost)):
            raise type(answer)(f"{name}: {answer}")
    return {name: answer for name, answer in answers.items() if isinstance(answer, Serving)}


def _say(group: Group, text: str) -> None:
    inventory.get_host(group.head).log(text)


def _long(group: Group, name: str, at: str, words: Sequence[str], base: float, cure: str) -> None:
    """A long command as a unit of its own, which outlives the connection. Raises Failed or Lost."""
    seconds = group.seconds(base)
    _all(
        [at], lambda host: remote.execute(host, unit.run(name, *words, seconds=seconds, cure=cure), seconds + 120)
    )


# --- the image

# $1 the user, $2 the peer, $3 the image's ID, $4 its tag or nothing. What comes is told by its ID afterwards.
COPY_IMAGE = r"""
set -e
runuser -u "$1" -- ssh -o BatchMode=yes "$2" sudo -n docker save "$3" </dev/null | docker load
if [ -n "$4" ]; then docker tag "$3" "$4"; fi
"""


def image(group: Group) -> None:
    """The image on every host that has a part, and the same on all: pulled once, copied over the fabric."""
    wanted = group.wish.image
    found = look(group)
    if found[group.head].find(wanted) is None:
        _say(group, f"pull {wanted} ...")
        cure = f"sudo docker pull {wanted}; or --data serve_image=IMAGE; docs/serving.md has how to build one"
        _long(group, "pull", group.head, ("docker", "pull", "-q", wanted), _PULL_S, cure)
        found = look(group)
    there = found[group.head].find(wanted)
    if there is None:
        raise Refusal(f"{wanted} was pulled and is not there", "docker image ls --digests")
    tag = "" if "@" in wanted or served.is_id(wanted) else wanted
    for name in group.names[1:]:
        seen = found[name].find(wanted)
        if found[name].has(there.id) and (not tag or (seen and seen.id == there.id)):
            continue
        _say(group, f"copy {wanted} to {name} over the fabric ...")
        if found[name].has(there.id):  # it only has another name there
            _all([name], lambda at: remote.shell(at, 'docker tag "$1" "$2"', there.id, tag, seconds=_LOOK_S))
            continue
        words = ("sh", "-c", COPY_IMAGE, "sparkrig", _user(group, name), plain(group.head), there.id, tag)
        _long(group, "image", name, words, _PULL_S, f"ssh {plain(group.head)} true, on {name}")
        if not look(group)[name].has(there.id):
            raise Refusal(
                f"{name} still has no image {there.id[:19]} after it was copied", "docker image ls --digests"
            )


def _user(group: Group, name: str) -> str:
    """Whom the peer knows. Raises Refusal where the halves do not trust one another."""
    if name not in group.users:
        raise Refusal(
            f"{name} would get it from {group.head} over the fabric, and cannot log in there",
            "set node_ssh to True on both halves, and: pyinfra INVENTORY deploys/cluster.py",
        )
    return group.users[name]


# --- the weights

# $1 the image, $2 the folder of all weights, $3 the checkpoint, $4 the file of secrets. hf goes on where it was.
DOWNLOAD = r"""
set -e
image=$1 weights=$2 checkpoint=$3 secrets=$4
mkdir -p "$weights/$checkpoint"
docker rm -f sparkrig-hf >/dev/null 2>&1 || :
set -- --rm --name sparkrig-hf --network host --volume "$weights:/weights" --env HF_HOME=/weights/.huggingface
if [ -e "$secrets" ]; then set -- "$@" --env-file "$secrets"; fi
exec docker run "$@" --entrypoint hf "$image" download "$checkpoint" --local-dir "/weights/$checkpoint"
"""

# $1 the folder of the checkpoint: from now on it is known to be whole
SEAL = (
    "set -e\n"
    + FILES_OF
    + rf"""
cd "$1"
files_of . >{served.MANIFEST}.new
if [ ! -s {served.MANIFEST}.new ]; then echo "$1 is empty" >&2; exit 1; fi
sync -f {served.MANIFEST}.new
mv {served.MANIFEST}.new {served.MANIFEST}
"""
)

# $1 the user, $2 the peer, $3 the folder of the checkpoint. A file that is there in its size is not copied again;
# one that broke off begins anew.
COPY_WEIGHTS = rf"""
set -e
there() {{ runuser -u "$user" -- ssh -o BatchMode=yes "$peer" sudo -n cat "'$folder/$1'" </dev/null; }}
user=$1 peer=$2 folder=$3
mkdir -p "$folder"
cd "$folder"
there {served.MANIFEST} >{served.MANIFEST}.new
while read -r size path; do
  if [ "$(stat -c %s "$path" 2>/dev/null)" = "$size" ]; then continue; fi
  mkdir -p "$(dirname "$path")"
  there "$path" >"$path.part"
  if [ "$(stat -c %s "$path.part")" != "$size" ]; then echo "$path came in another size" >&2; exit 1; fi
  sync "$path.part"
  mv "$path.part" "$path"
done <{served.MANIFEST}.new
mv {served.MANIFEST}.new {served.MANIFEST}
sync -f .
"""


def weights(group: Group) -> None:
    """The checkpoint on every host that has a part: downloaded once, copied over the fabric."""
    checkpoint, folder = group.wish.checkpoint.id, f"{group.mine.weights}/{group.wish.checkpoint.id}"
    standing = {name: _standing(found, checkpoint) for name, found in look(group).items() if name in group.names}
    for name in (each for each, state in standing.items() if state == "loose"):
        _seal(group, name, folder)
    whole = [name for name, state in standing.items() if state in ("whole", "loose")]
    if not whole:
        _download(group, checkpoint)
        _seal(group, group.head, folder)
        whole = [group.head]
    for name in group.names:
        if name not in whole:
            _say(group, f"copy {checkpoint} from {whole[0]} to {name} over the fabric ...")
            words = ("sh", "-c", COPY_WEIGHTS, "sparkrig", _user(group, name), plain(whole[0]), folder)
            _long(group, "weights", name, words, _WEIGHTS_S, f"ssh {plain(whole[0])} true, on {name}")


def _standing(found: Serving, checkpoint: str) -> str:
    return found.weights[checkpoint].standing if checkpoint in found.weights else "absent"


def _seal(group: Group, name: str, folder: str) -> None:
    _all([name], lambda at: remote.shell(at, SEAL, folder, seconds=group.seconds(_STEP_S)))


def _download(group: Group, checkpoint: str) -> None:
    there = look(group)[group.head].find(group.wish.image)
    if there is None:
        raise Refusal(f"the image {group.wish.image} is gone", "docker image ls")
    _say(group, f"download {checkpoint} ...")
    words = ("sh", "-c", DOWNLOAD, "sparkrig", there.id, group.mine.weights, checkpoint, secrets.PATH)
    cure = "set HF_TOKEN under secrets (docs/security.md), for the hub refuses many downloads without a token"
    _long(group, "download", group.head, words, _WEIGHTS_S, cure)


# --- the server

# $1 the image: what is in it that decides how it is started
PROBE = r"""
docker run --rm --network none --entrypoint sh "$1" -c '
if command -v ray >/dev/null; then echo ray; fi
if command -v vllm >/dev/null; then echo has vllm; fi
python3 -c "from importlib.metadata import version; print(\"vllm\", version(\"vllm\"))" 2>/dev/null || :'
"""

# $1... the files of ours: what stands there is kept, unless an earlier trial kept it; then the server stops
BEGIN = rf"""
set -e
before={served.STATE}/before
mkdir -p -m 700 {served.STATE}
if [ ! -e {served.TRIAL} ]; then
  rm -rf "$before" "$before.new"
  mkdir "$before.new"
  for path; do
    if [ -e "$path" ]; then mkdir -p "$before.new${{path%/*}}"; cp -a "$path" "$before.new$path"; fi
  done
  mv -T "$before.new" "$before"
  : >{served.TRIAL}
  sync -f {served.STATE}
fi
{served.STOP}
"""

# $1... files of ours that go; the others have been written
PLACED = rf"""
set -e
for path; do rm -f "$path"; done
systemctl daemon-reload
if [ -e {served.SERVICE} ]; then
  mkdir -p {served.ENABLED.rpartition("/")[0]}
  ln -sf {served.SERVICE} {served.ENABLED}
else rm -f {served.ENABLED}
fi
"""

# returns as soon as the container is started; how it went on is asked
START = f"systemctl start {served.UNIT}.service || :\n"

# $1 the port on the head, empty elsewhere; $2 how often systemd had started it again before; $3 seconds. Ends as
# soon as there is something to tell.
PULSE = rf"""
port=$1 before=$2 end=$(($(cut -d . -f 1 /proc/uptime) + $3))
value() {{ printf '%s\n' "$about" | sed -n "s/^$1=//p"; }}
while :; do
  about=$(systemctl show -p ActiveState,NRestarts,InvocationID {served.UNIT}.service)
  state=$(value ActiveState) restarts=$(value NRestarts)
  code=
  if [ -n "$port" ]; then
    code=$(curl -s -o /dev/null -m 5 --noproxy '*' -w '%{{http_code}}' "http://127.0.0.1:$port/health" || :)
  fi
  case "$state $restarts $code" in
  "active $before 200") break ;;
  "active $before "* | "activating $before "*) ;;
  *) break ;;
  esac
  if [ "$(cut -d . -f 1 /proc/uptime)" -ge $end ]; then break; fi
  sleep 1
done
printf 'state %s %s %s\n' "$state" "$restarts" "${{code:-0}}"
journalctl -q -o cat _SYSTEMD_INVOCATION_ID="$(value InvocationID)" |
  sed -n 's/^sparkrig: //p' | tail -n 1 | sed 's/^/said /'
"""

LAST_WORDS = (
    f"journalctl --sync; journalctl -q -o cat -b -n 12 -u {served.UNIT}.service | grep -v '^$' | tail -n 4\n"
)

# $1 the port, $2 the path, $3 what is asked, $4 seconds. The key travels on standard input: ps shows arguments.
ASK = rf"""
key=$(sed -n 's/^VLLM_API_KEY=//p' {secrets.PATH} 2>/dev/null | tail -n 1)
{{ if [ -n "$key" ]; then printf 'header = "Authorization: Bearer %s"\n' "$key"; fi; }} |
  curl -K - -s -m "$4" --noproxy '*' -H 'Content-Type: application/json' --data-binary "$3" \
    -w '\n%{{http_code}}\n' "http://127.0.0.1:$1$2" || :
"""

# the trial is over: from now on the port opens with the server
COMMIT = rf"""
set -e
rm -f {served.TRIAL}
rm -rf {served.STATE}/before
sync -f {served.STATE}
if [ -e {served.SOCKET} ]; then systemctl start {served.PORT_UNIT}.socket; fi
"""

# $1... the files of ours: as they were before the trial
ROLL_BACK = rf"""
set -e
before={served.STATE}/before
{served.STOP}
for path; do
  if [ -e "$before$path" ]; then cp -a --remove-destination "$before$path" "$path"; else rm -f "$path"; fi
done
systemctl daemon-reload
rm -f {served.TRIAL}
if [ -e {served.SERVICE} ]; then ln -sf {served.SERVICE} {served.ENABLED}; {START.strip()}
else rm -f {served.ENABLED}
fi
rm -rf "$before"
"""


def server(group: Group) -> None:
    """The units as they should be, and the server up; a new configuration on trial first.

    Raises Refusal before anything was changed, RolledBack after it was taken back.
    """
    found, files = look(group), _files(group)
    chosen = _chosen(group, found, files)
    group.errors(chosen)
    wanted = {name: group.wanted(name, chosen) for name in group.all}
    changed = [
        name for name in group.all if stale(wanted[name], files[name]) or plan.surplus(wanted[name], files[name])
    ]
    if not changed and not any(each.trial for each in found.values()):
        _start_again(group, found)
        return
    if changed or not all(found[name].active for name in group.names):
        _place(group, wanted, files)
    _try(group)


def _files(group: Group) -> dict[str, dict[str, Found]]:
    fact = Files()
    answers = remote.each(_hosts(group.all), lambda at: remote.read(at, fact, seconds=group.seconds(_LOOK_S)))
    for name, answer in answers.items():
        if isinstance(answer, (Failed, Lost)):
            raise type(answer)(f"{name}: {answer}")
    return {name: answer for name, answer in answers.items() if isinstance(answer, dict)}


def _chosen(group: Group, found: Mapping[str, Serving], files: Mapping[str, Mapping[str, Found]]) -> Chosen:
    """The image by its ID, the same on all; looked into, where that was never done. Raises Refusal."""
    there = found[group.head].find(group.wish.image)
    lacking = [name for name in group.names if there is None or not found[name].has(there.id)]
    if there is None or lacking:
        raise Refusal(f"{', '.join(lacking)} has no image {group.wish.image}, or another one", "docker image ls")
    known = plan.chosen(group.wish, found[group.head], served.load(files[group.head].get(served.RECORD)))
    return known or _probe(group, there.id)


def _probe(group: Group, id: str) -> Chosen:
    at = inventory.get_host(group.head)
    rows = remote.shell(at, PROBE, id, seconds=group.seconds(_PROBE_S)).splitlines()
    if "has vllm" not in rows:
        raise Refusal(
            f"{group.wish.image} has no vllm, as its own shell finds it",
            f"docker run --rm --entrypoint sh {group.wish.image} -c 'command -v vllm'",
        )
    vllm = next((row.partition(" ")[2] for row in rows if re.fullmatch(r"vllm \d\S*", row)), "")
    return Chosen(id, "ray" in rows, vllm)


def _start_again(group: Group, found: Mapping[str, Serving]) -> None:
    """What stopped, or is not started with the host any more, although it is as it should be."""
    late = [name for name in group.names if not found[name].runs]
    restarts = {name: found[name].unit.get("NRestarts", "0") for name in group.names if found[name].active}
    _all(group.names, lambda at: remote.shell(at, PLACED, seconds=group.seconds(_STEP_S)))
    _say(group, f"start it on {', '.join(late)} ..." if late else "wait until it answers ...")
    _all(late, lambda at: remote.shell(at, START, seconds=group.seconds(_STEP_S)))
    reason = _until_it_answers(group, _Server(group.names, group.mine.serve_trial_port, restarts))
    if reason:
        raise Refusal(
            f"{group.wish.model.name} was started and {reason}", f"sudo journalctl -u {served.UNIT} -n 50"
        )
    _all(group.names, lambda at: remote.shell(at, COMMIT, seconds=group.seconds(_STEP_S)))


def _place(group: Group, wanted: Mapping[str, list[File]], files: Mapping[str, Mapping[str, Found]]) -> None:
    """Stop what runs, and start the new configuration on trial. Raises RolledBack where that broke off."""
    limit, old = group.seconds(_STEP_S), served.load(files[group.head].get(served.RECORD))
    _say(group, f"stop {old.model if old else 'nothing'}, start {group.wish.model.name} on trial ...")

    def place(at: Host) -> None:
        remote.shell(at, BEGIN, *served.PATHS, seconds=limit)
        remote.execute(at, write(*wanted[at.name]), limit)
        remote.shell(at, PLACED, *plan.surplus(wanted[at.name], files[at.name]), seconds=limit)

    try:
        _all(group.all, place)
        _all(group.names, lambda at: remote.shell(at, START, seconds=limit))
    except (Failed, Lost) as error:
        _roll_back(group, f"broke off ({error})")


def _try(group: Group) -> None:
    """Ask what is on trial, and keep it or take it back. Raises RolledBack."""
    try:
        server = _Server(group.names, group.mine.serve_trial_port)
        reason = _until_it_answers(group, server) or _asked(group)
    except (Failed, Lost) as error:
        reason = f"could not be asked ({error})"
    if reason:
        _roll_back(group, reason)
    _all(group.all, lambda at: remote.shell(at, COMMIT, seconds=group.seconds(_STEP_S)))
    _say(group, f"{group.wish.model.name} answers on port {group.mine.serve_port}")


@dataclass(frozen=True)
class _Server:
    """What is waited for. names: its hosts, the head first; port: of its API on the head; restarts: how often
    systemd had started it again, by host, where that goes on.
    """

    names: Sequence[str]
    port: int
    restarts: Mapping[str, str] = field(default_factory=dict)

    def before(self, name: str) -> str:
        return self.restarts.get(name, "0")


@dataclass(frozen=True)
class _Pulse:
    """How a unit is: systemd's words, the HTTP status of /health, and the last that it announced."""

    state: str
    restarts: str
    code: str
    said: str


def _until_it_answers(group: Group, server: _Server) -> str | None:
    """Wait for the head's /health. In words, why that is in vain: a node that ended, or the time that is up."""
    seconds = group.seconds(group.mine.serve_seconds)
    begun, said = time.monotonic(), ""
    while True:
        pulses = remote.each(_hosts(server.names), lambda at: _pulse(group, server, at))
        for name, pulse in pulses.items():
            if isinstance(pulse, (Failed, Lost)):
                return f"could not be watched on {name} ({pulse})"
            if pulse.state not in ("active", "activating") or pulse.restarts != server.before(name):
                return f"ended on {name} ({_last_words(group, name)})"
        head = pulses[server.names[0]]
        assert isinstance(head, _Pulse)
        if head.state == "active" and head.code == "200":
            return None
        if head.said != said:
            said = head.said
            _say(group, f"{int(time.monotonic() - begun)} s: {said}")
        if time.monotonic() - begun > seconds:
            return f"did not answer within {seconds} s ({said or 'it announced no phase'})"


def _pulse(group: Group, server: _Server, at: Host) -> _Pulse:
    port = str(server.port) if at.name == server.names[0] else ""
    words = (port, server.before(at.name), str(_PULSE_S))
    printed = remote.shell(at, PULSE, *words, seconds=group.seconds(_LOOK_S))
    rows = dict(line.partition(" ")[::2] for line in printed.splitlines())
    try:
        state, restarts, code = rows["state"].split(" ")
    except (KeyError, ValueError):
        raise Failed(f"it did not say how its unit is: {printed[:60]!r}") from None
    return _Pulse(state, restarts, code, rows.get("said", "")[:_SAID])


def _last_words(group: Group, name: str) -> str:
    try:
        said = remote.shell(inventory.get_host(name), LAST_WORDS, seconds=group.seconds(_LOOK_S))
    except (Failed, Lost) as error:
        return str(error)
    return "; ".join(" ".join(line.split())[:160] for line in said.splitlines()[-3:]) or "without a word"


def _asked(group: Group) -> str | None:
    """One question. In words, what is wrong with the answer."""
    at, names = inventory.get_host(group.head), _names(group)
    seconds = group.seconds(_ASK_S)
    for path in (smoke.CHAT, smoke.PLAIN):
        words = (str(group.mine.serve_trial_port), path, smoke.request(names[0], path), str(seconds))
        printed = remote.shell(at, ASK, *words, seconds=seconds + 20)
        if path == smoke.PLAIN or not smoke.no_chat(smoke.status(printed)):
            return smoke.amiss(printed, names)
    return None


def _names(group: Group) -> list[str]:
    given = group.wish.flags.get("served-model-name")
    return [str(given)] if given else group.wish.names


def _roll_back(group: Group, reason: str) -> None:
    """Put the old one back, and say so: always raises RolledBack."""
    tried = f"{group.wish.model.name}: {reason}"
    again = f"sudo journalctl -u {served.UNIT} --since -1h, on {plain(group.head)}"
    _say(group, f"{tried}; the old configuration comes back ...")
    try:
        _all(group.all, lambda at: remote.shell(at, ROLL_BACK, *served.PATHS, seconds=group.seconds(_STEP_S)))
        left = {name: served.load(files.get(served.RECORD)) for name, files in _files(group).items()}
        nodes = sorted((each.rank, name) for name, each in left.items() if each and each.rank != served.ASIDE)
        old = left[nodes[0][1]] if nodes else None
        late = _until_it_answers(group, _Server([name for _, name in nodes], old.trial_port)) if old else None
    except (Failed, Lost) as error:
        raise RolledBack(
            f"{tried}, and what was there before is not all back ({error}). Try: the same again with the old model"
        ) from None
    if old is None:
        raise RolledBack(f"{tried}. Nothing is served, as before. Try: {again}")
    if late:
        raise RolledBack(f"{tried}. {old.model} was started again and {late}. Try: {again}")
    raise RolledBack(f"{tried}. {old.model} answers again on port {old.port}. Try: {again}")


def version_of(chosen: Chosen) -> tuple[int, ...] | None:
    """vLLM's, as the rules compare it; None where the image does not tell."""
    return version(chosen.vllm) if chosen.vllm else None
