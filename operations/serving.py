"""The server itself: a unit on each host that has a part.

One that is already there is stopped before a new configuration is tried, since two models do not fit the
memory at once. No client is led to the new one before it answered a question; else the old one comes back.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from secrets import token_hex

from pyinfra import inventory
from pyinfra.api import Host

from sparkrig import programs
from sparkrig.cure import quoted
from sparkrig.facts.files import Files
from sparkrig.files import File, Found, stale
from sparkrig.host.trust import plain
from sparkrig.io import remote
from sparkrig.io.remote import Failed, Lost
from sparkrig.operations.files import write
from sparkrig.operations.group import LOOK_S, STEP_S, Group, RolledBack, hosts, look, on_all, tell
from sparkrig.refusal import Refusal
from sparkrig.serving import served, smoke, unit_files
from sparkrig.serving.lint.version import version
from sparkrig.serving.served import Serving
from sparkrig.serving.wish import Chosen

# In seconds, times `patience`.
_PROBE_S = 300
_ASK_S = 300  # the first answer may compile
_SAID = 100  # characters of what it announced; a phase may name its whole command
_PULSE_S = 10  # how long a host waits for something to happen before it answers


def texts() -> dict[str, str]:
    """The scripts that land on a host, by their paths there."""
    return {
        path: programs.file(f"serving/{name}")
        for path, name in ((served.START, "start.sh"), (served.WATCHER, "watch.py"))
    }


PROBE = programs.text("operations/serving_probe.sh")

BEGIN = programs.text("operations/serving_begin.sh")

PLACED = programs.text("operations/serving_placed.sh")

NEW_TOKEN = programs.text("operations/serving_new_token.sh")

START = programs.text("operations/serving_start.sh")

PULSE = programs.text("operations/serving_pulse.sh")

LAST_WORDS = (
    f"journalctl --sync; journalctl -q -o cat -b -n 12 -u {served.UNIT}.service "
    f"-u {served.WATCH_UNIT}.service | grep -v '^$' | tail -n 4\n"
)

ASK = programs.text("operations/serving_ask.sh")

COMMIT = programs.text("operations/serving_commit.sh")

ROLL_BACK = programs.text("operations/serving_roll_back.sh")


def server(group: Group) -> None:
    """The units as they should be, and the server up; a new configuration on trial first.

    Raises Refusal before anything was changed, RolledBack after it was taken back.
    """
    found, files = look(group), _files(group)
    chosen = _chosen(group, found, files)
    group.errors(chosen)
    ids = _ids(group, found)
    wanted = {name: group.wanted(name, replace(chosen, id=ids.get(name, ""))) for name in group.all}
    changed = [
        name
        for name in group.all
        if stale(wanted[name], files[name]) or unit_files.surplus(wanted[name], files[name])
    ]
    token = _token(group, chosen, found)
    if not changed and not token and not any(each.trial for each in found.values()):
        _start_again(group, found)
        return
    restarts = _restarts(group, found)
    if changed or token or len(restarts) < len(group.names):
        _place(group, wanted, files, token)
        restarts = {}
    _try(group, restarts)


def _restarts(group: Group, found: Mapping[str, Serving]) -> dict[str, str]:
    """How often systemd had started it again, on the hosts where it is up."""
    return {name: found[name].unit.get("NRestarts", "0") for name in group.names if found[name].active}


def _token(group: Group, chosen: Chosen, found: Mapping[str, Serving]) -> str:
    """A new one for the nodes of Ray; empty where they need none, or have one that is the same on all."""
    needed = served.makes_token(unit_files.form(group.wish, chosen, group.mine), group.mine.secrets)
    if not needed or served.one_token(found[name] for name in group.names):
        return ""
    return served.token(token_hex(32))


def _files(group: Group) -> dict[str, dict[str, Found]]:
    fact = Files()
    return on_all(group.all, lambda at: remote.read(at, fact, seconds=group.seconds(LOOK_S)))


def _chosen(group: Group, found: Mapping[str, Serving], files: Mapping[str, Mapping[str, Found]]) -> Chosen:
    """The image as the head has it, looked into if it never was. Raises Refusal where a host lacks it."""
    ids = _ids(group, found)
    lacking = [name for name in group.names if name not in ids]
    if lacking:
        raise Refusal(
            f"{', '.join(lacking)} has no image {group.wish.image}, or another one", "docker image ls -a"
        )
    known = unit_files.chosen(group.wish, found[group.head], served.load(files[group.head].get(served.RECORD)))
    return known or _probe(group, ids[group.head])


def _ids(group: Group, found: Mapping[str, Serving]) -> dict[str, str]:
    """The image by the ID that each host has for it; without those that have none."""
    there = found[group.head].find(group.wish.image)
    copies = {name: found[name].copy_of(there, group.wish.image) for name in group.names} if there else {}
    return {name: copy.id for name, copy in copies.items() if copy}


def _probe(group: Group, id: str) -> Chosen:
    at, words = inventory.get_host(group.head), (id, programs.file("vllm_version.py"))
    rows = remote.shell(at, PROBE, *words, seconds=group.seconds(_PROBE_S)).splitlines()
    if "has vllm" not in rows:
        raise Refusal(
            f"{group.wish.image} has no vllm, as its own shell finds it",
            f"docker run --rm --entrypoint sh {quoted(group.wish.image)} -c 'command -v vllm'",
        )
    vllm = next((row.partition(" ")[2] for row in rows if re.fullmatch(r"version \d\S*", row)), "")
    return Chosen(id, "ray" in rows, vllm)


def _start_again(group: Group, found: Mapping[str, Serving]) -> None:
    """What stopped, or is not started with the host any more, although it is as it should be."""
    late = [name for name in group.names if not found[name].runs]
    restarts = _restarts(group, found)
    on_all(group.names, lambda at: remote.shell(at, PLACED, seconds=group.seconds(STEP_S)))
    tell(group, f"start it on {', '.join(late)} ..." if late else "wait until it answers ...")
    on_all(late, lambda at: remote.shell(at, START, seconds=group.seconds(STEP_S)))
    reason = _until_it_answers(group, _Server(group.names, group.mine.serve_trial_port, restarts))
    if reason:
        raise Refusal(
            f"{group.wish.model.name} was started and {reason}", f"sudo journalctl -u {served.UNIT} -n 50"
        )
    on_all(group.names, lambda at: remote.shell(at, COMMIT, seconds=group.seconds(STEP_S)))


def _place(
    group: Group, wanted: Mapping[str, list[File]], files: Mapping[str, Mapping[str, Found]], token: str
) -> None:
    """Stop what runs, and start the new configuration on trial. Raises RolledBack where that broke off."""
    limit, old = group.seconds(STEP_S), served.load(files[group.head].get(served.RECORD))
    tell(group, f"stop {old.model if old else 'nothing'}, start {group.wish.model.name} on trial ...")

    def place(at: Host) -> None:
        remote.shell(at, BEGIN, *served.KEPT, seconds=limit)
        remote.execute(at, write(*wanted[at.name]), limit)
        if token and at.name in group.names:
            remote.shell(at, NEW_TOKEN, seconds=limit, stdin=token)
        remote.shell(at, PLACED, *unit_files.surplus(wanted[at.name], files[at.name]), seconds=limit)

    try:
        on_all(group.all, place)
        on_all(group.names, lambda at: remote.shell(at, START, seconds=limit))
    except (Failed, Lost) as error:
        _roll_back(group, f"broke off ({error})")


def _try(group: Group, restarts: Mapping[str, str]) -> None:
    """Ask what is on trial, and keep it or take it back. Raises RolledBack."""
    try:
        server = _Server(group.names, group.mine.serve_trial_port, restarts)
        reason = _until_it_answers(group, server) or _asked(group)
    except (Failed, Lost) as error:
        reason = f"could not be asked ({error})"
    if reason:
        _roll_back(group, reason)
    on_all(group.all, lambda at: remote.shell(at, COMMIT, seconds=group.seconds(STEP_S)))
    tell(group, f"{group.wish.model.name} answers on port {group.mine.serve_port}")


@dataclass(frozen=True)
class _Server:
    """What is waited for.

    names: its hosts, the head first; port: of its API on the head; restarts: how often systemd had started it
    again, by host, where that goes on.
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
        pulses = remote.each(hosts(server.names), lambda at: _pulse(group, server, at))
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
            tell(group, f"{int(time.monotonic() - begun)} s: {said}")
        if time.monotonic() - begun > seconds:
            return f"did not answer within {seconds} s ({said or 'it announced no phase'})"


def _pulse(group: Group, server: _Server, at: Host) -> _Pulse:
    port = str(server.port) if at.name == server.names[0] else ""
    words = (port, server.before(at.name), str(_PULSE_S))
    printed = remote.shell(at, PULSE, *words, seconds=group.seconds(LOOK_S))
    rows = dict(line.partition(" ")[::2] for line in printed.splitlines())
    try:
        state, restarts, code = rows["state"].split(" ")
    except (KeyError, ValueError):
        raise Failed(f"it did not say how its unit is: {printed[:60]!r}") from None
    return _Pulse(state, restarts, code, rows.get("said", "")[:_SAID])


def _last_words(group: Group, name: str) -> str:
    try:
        said = remote.shell(inventory.get_host(name), LAST_WORDS, seconds=group.seconds(LOOK_S))
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
    """Put the old one back, and report it: always raises RolledBack."""
    tried = f"{group.wish.model.name}: {reason}"
    again = f"sudo journalctl -u {served.UNIT} --since -1h, on {plain(group.head)}"
    tell(group, f"{tried}; the old configuration comes back ...")
    try:
        on_all(group.all, lambda at: remote.shell(at, ROLL_BACK, *served.KEPT, seconds=group.seconds(STEP_S)))
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
    """vLLM's, as the rules compare it; None where the image does not show it."""
    return version(chosen.vllm) if chosen.vllm else None
