"""The server itself: a unit on each host that has a part.

One that is already there is stopped before a new configuration is tried, since two models do not fit the
memory at once. No client is led to the new one before it answered a question; else the old one comes back.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from secrets import token_hex

from pyinfra import inventory
from pyinfra.api import Host

from sparkrig import login, programs
from sparkrig.cure import over_ssh, quoted
from sparkrig.facts.files import Files
from sparkrig.facts.serving import Serving as ServingFact
from sparkrig.files import File, Found
from sparkrig.operations.files import write
from sparkrig.operations.group import LOOK_S, STEP_S, Group, RolledBack, hosts, on_all, tell
from sparkrig.operations.journal import current
from sparkrig.refusal import Refusal
from sparkrig.runs.journal import TRIAL
from sparkrig.serving import last_deploy, listen, plan, served, smoke, startup, unit_files
from sparkrig.serving.flags import version
from sparkrig.serving.runtimes import VLLM
from sparkrig.serving.wish import Chosen, Sizing
from sparkrig.ssh import remote
from sparkrig.ssh.remote import Failed, Lost
from sparkrig.text import bare_name, listed, plain

# In seconds, times `patience`.
_PROBE_S = 300
_ASK_S = 300  # the first answer may compile
_SAID = 100  # characters of what it announced; a phase may name its whole command
_PULSE_S = 10  # how long a host waits for something to happen before it answers


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
REMOVE = programs.text("operations/serving_remove.sh")


def server(group: Group) -> None:
    """The units as they should be, and the server up; a new configuration on trial first.

    Raises Refusal before anything was changed, RolledBack after it was taken back.
    """
    group = _now(group)
    leader, ids = group.leader, _ids(group)
    chosen = _chosen(group, ids)
    plan.refuse(leader.lint(chosen))
    leader.meets(leader.form(chosen))
    wanted = {
        each.host.name: each.files(replace(chosen, id=ids.get(each.host.name, ""))) for each in group.servers
    }
    stale = [each.host.name for each in group.servers if each.stale(wanted[each.host.name])]
    token = _token(group, chosen)
    on_trial = any(each.found.trial for each in group.servers)
    if not token and not on_trial and all(each.goes_on(wanted[each.host.name]) for each in group.servers):
        on_all(stale, lambda at: remote.execute(at, write(*wanted[at.name]), group.seconds(STEP_S)))
        _start_again(group)
        return
    restarts = _restarts(group)
    if stale or token or len(restarts) < len(group.units):
        _place(group, wanted, token)
        restarts = {}
    _try(group, restarts)


def _now(group: Group) -> Group:
    """The same by a look of now."""
    seconds = group.seconds(LOOK_S)
    seen = on_all(group.all, lambda at: remote.read(at, ServingFact(), group.mine.weights, seconds=seconds))
    files = _files(group)
    return Group([each.now(seen[each.host.name], files[each.host.name]) for each in group.servers])


def _files(group: Group) -> dict[str, dict[str, Found]]:
    return on_all(group.all, lambda at: remote.read(at, Files(), seconds=group.seconds(LOOK_S)))


def _restarts(group: Group) -> dict[str, str]:
    """How often systemd had started it again, on the hosts where it is up."""
    return {each.host.name: each.found.unit.get("NRestarts", "0") for each in group.busy if each.found.active}


def _token(group: Group, chosen: Chosen) -> str:
    """A new one for the nodes of Ray; empty where they need none, or have one that is the same on all."""
    needed = served.makes_token(group.leader.form(chosen), group.mine.secrets)
    if not needed or served.one_token(each.found for each in group.busy):
        return ""
    return served.token(token_hex(32))


def _chosen(group: Group, ids: Mapping[str, str]) -> Chosen:
    """The image as the head has it, looked into if it never was. Raises Refusal where a host lacks it.

    ids: of the image on each host that has it.
    """
    lacking = [name for name in group.names if name not in ids]
    if lacking:
        raise Refusal(
            f"{', '.join(lacking)} has no image {group.wish.image}, or another one", "docker image ls -a"
        )
    known = unit_files.chosen(group.wish, group.leader.found, group.leader.record)
    kept = {unit_files.decided(group.wish, each.record) for each in group.busy}
    if known and len(kept) == 1 and (decided := kept.pop()):
        return replace(known, sizing=decided)
    seen = known or _probe(group, ids[group.head])
    return replace(seen, sizing=_sizing(group, seen.vllm))


def _sizing(group: Group, vllm: str) -> Sizing:
    """One and the same for all hosts, by the one with the least room. Raises Refusal with the figures."""
    rooms = [each.room(bare_name(each.host.name)) for each in group.busy]
    made = plan.size(group.wish, group.mine, min(rooms, key=lambda room: room.most))
    tables = group.leader.sources.tables()
    if tables and not tables.takes(VLLM.cache, version(vllm)):
        made = replace(made, cache=0)
    tell(group, f"{made}: {'; '.join(room.said for room in rooms)}")
    return made


def _ids(group: Group) -> dict[str, str]:
    """The image by the ID that each host has for it; without those that have none."""
    wanted = group.wish.image
    there = group.leader.found.find(wanted)
    copies = {each.host.name: each.found.copy_of(there, wanted) for each in group.busy} if there else {}
    return {name: copy.id for name, copy in copies.items() if copy}


def _probe(group: Group, id: str) -> Chosen:
    at, words = inventory.get_host(group.head), (id, programs.file("vllm_version.py"))
    rows = remote.shell(at, PROBE, *words, seconds=group.seconds(_PROBE_S)).splitlines()
    engine = group.wish.runtime
    if f"has {engine.id}" not in rows:
        raise Refusal(
            f"{group.wish.image} has no {engine.id}, as its own shell finds it",
            f"docker run --rm --entrypoint sh {quoted(group.wish.image)} -c {quoted(engine.shown)}",
        )
    vllm = next((row.partition(" ")[2] for row in rows if re.fullmatch(r"version \d\S*", row)), "")
    entrypoint = next((row.partition(" ")[2].strip() for row in rows if row.startswith("entrypoint ")), "")
    return Chosen(id, "ray" in rows, vllm, plain(entrypoint))


def _start_again(group: Group) -> None:
    """What stopped, or is not started with the host any more, although it is as it should be."""
    late = [each.host.name for each in group.busy if each.has_unit and not each.found.runs]
    restarts = _restarts(group)
    on_all(group.names, lambda at: remote.shell(at, group.service.of(PLACED), seconds=group.seconds(STEP_S)))
    tell(group, f"start it on {', '.join(late)} ..." if late else "wait until it answers ...")
    on_all(late, lambda at: remote.shell(at, group.service.of(START), seconds=group.seconds(STEP_S)))
    reason = _until_it_answers(group, group.units, group.mine.serve_trial_port, restarts)
    if reason:
        raise Refusal(
            f"{group.wish.model.name} was started and {reason}",
            f"sudo journalctl -u {quoted(group.service.unit)} -n 50",
        )
    _commit(group, group.names)


def _place(group: Group, wanted: Mapping[str, list[File]], token: str) -> None:
    """Stop what runs, and start the new configuration on trial. Raises RolledBack where that broke off."""
    limit, old = group.seconds(STEP_S), group.leader.record
    surplus = {
        each.host.name: unit_files.surplus(wanted[each.host.name], each.host.found.files, group.service)
        for each in group.servers
    }
    tell(group, f"stop {old.model if old else 'nothing'}, start {group.wish.model.name} on trial ...")

    def place(at: Host) -> None:
        remote.shell(at, group.service.of(BEGIN), *group.service.kept, seconds=limit)
        remote.execute(at, write(*wanted[at.name]), limit)
        if token and at.name in group.names:
            remote.shell(at, group.service.of(NEW_TOKEN), seconds=limit, stdin=token)
        remote.shell(at, group.service.of(PLACED), *surplus[at.name], seconds=limit)

    try:
        on_all(group.all, place)
        on_all(group.units, lambda at: remote.shell(at, group.service.of(START), seconds=limit))
    except (Failed, Lost) as error:
        _roll_back(group, f"broke off ({error})")


def _try(group: Group, restarts: Mapping[str, str]) -> None:
    """Ask what is on trial, and keep it or take it back. Raises RolledBack."""
    try:
        port = group.mine.serve_trial_port
        reason = _until_it_answers(group, group.units, port, restarts) or _asked(group)
    except (Failed, Lost) as error:
        reason = f"could not be asked ({error})"
    if reason:
        _roll_back(group, reason)
    _commit(group, group.all)
    tell(group, f"{group.wish.model.name} answers on port {group.mine.serve_port}")
    at = login.address(group.head, inventory.get_host(group.head).data.dict())
    tell(group, listen.way(group.mine, group.head, plain(at)))


def _commit(group: Group, names: Sequence[str]) -> None:
    """End the trial: on the head first, with which the port opens, then on all others.

    All have the new configuration by then, so nothing is taken back for one that is lost here: it has it, too, and
    the mark of a trial, which the next run takes away. Raises Failed or Lost where the head was lost, and the
    trial goes on with the next run; Refusal with the names where others were.
    """
    text, seconds = group.service.of(COMMIT), group.seconds(STEP_S)
    on_all([group.head], lambda at: remote.shell(at, text, seconds=seconds))
    others = [name for name in names if name != group.head]
    lost = _lost(remote.each(hosts(others), lambda at: remote.shell(at, text, seconds=seconds)))
    if lost:
        raise Refusal(
            f"{_called(group)} answered and is kept on all hosts, and its trial could not be ended on "
            f"{listed(lost)} ({_reasons(lost)})",
            f"{over_ssh(next(iter(lost)), 'true')}, then the same again, which ends it there",
        )


def _lost(answers: Mapping[str, object]) -> dict[str, Failed | Lost]:
    """The hosts that could not be asked, and why."""
    return {name: each for name, each in answers.items() if isinstance(each, (Failed, Lost))}


def _reasons(lost: Mapping[str, Failed | Lost]) -> str:
    return "; ".join(f"{name}: {why}" for name, why in lost.items())


@dataclass(frozen=True)
class _Pulse:
    """How a unit is: systemd's words, the HTTP status of /health, and the last that it announced."""

    state: str
    restarts: str
    code: str
    said: str


def _until_it_answers(
    group: Group, names: Sequence[str], port: int, restarts: Mapping[str, str] | None = None
) -> str | None:
    """Wait for the head's /health. In words, why that is in vain: a node that ended, or the time that is up.

    names: its hosts, the head first; port: of its API there; restarts: how often systemd had started it again, by
    host, where that goes on.
    """
    before = {name: (restarts or {}).get(name, "0") for name in names}
    ports = {names[0]: str(port)}
    seconds = group.seconds(group.mine.serve_seconds)
    begun, said = time.monotonic(), ""
    while True:
        pulses = remote.each(hosts(names), lambda at: _pulse(group, at, ports.get(at.name, ""), before[at.name]))
        for name, pulse in pulses.items():
            if isinstance(pulse, (Failed, Lost)):
                return f"could not be watched on {name} ({pulse})"
            if pulse.state not in ("active", "activating") or pulse.restarts != before[name]:
                return f"ended on {name} ({_last_words(group, name)})"
        head = pulses[names[0]]
        assert isinstance(head, _Pulse)
        if head.state == "active" and head.code == "200":
            return None
        if head.said != said:
            said = head.said
            tell(group, f"{int(time.monotonic() - begun)} s: {said}")
        if time.monotonic() - begun > seconds:
            return f"did not answer within {seconds} s ({said or 'it announced no phase'})"


def _pulse(group: Group, at: Host, port: str, restarts: str) -> _Pulse:
    words = (port, restarts, str(_PULSE_S))
    printed = remote.shell(at, group.service.of(PULSE), *words, seconds=group.seconds(LOOK_S))
    rows = dict(line.partition(" ")[::2] for line in printed.splitlines())
    try:
        state, restarts, code = rows["state"].split(" ")
    except (KeyError, ValueError):
        raise Failed(f"it did not say how its unit is: {printed[:60]!r}") from None
    return _Pulse(state, restarts, code, startup.announced(rows.get("said", "")[:_SAID]))


def _last_words(group: Group, name: str) -> str:
    try:
        said = remote.shell(inventory.get_host(name), group.service.of(LAST_WORDS), seconds=group.seconds(LOOK_S))
    except (Failed, Lost) as error:
        return str(error)
    return "; ".join(" ".join(line.split())[:160] for line in said.splitlines()[-3:]) or "without a word"


def _asked(group: Group) -> str | None:
    """One question. In words, what is wrong with the answer."""
    at, names = inventory.get_host(group.head), group.wish.called
    _, printed = ask(at, group.mine.serve_trial_port, names[0], group.seconds(_ASK_S))
    return smoke.amiss(printed, names)


def ask(at: Host, port: int, model: str, seconds: int = _ASK_S) -> tuple[str, str]:
    """One of smoke.PATHS, and what the API of a host answers there, as ASK prints it. Raises Failed or Lost."""
    for path in smoke.PATHS:
        printed = remote.shell(
            at, ASK, str(port), path, smoke.request(model, path), str(seconds), seconds=seconds + 20
        )
        if not smoke.other_way(smoke.status(printed)):
            break
    return path, printed


def _roll_back(group: Group, reason: str) -> None:
    """Put the old one back, and report it: always raises RolledBack."""
    tried = f"{_called(group)}: {reason}"
    again = f"sudo journalctl -u {quoted(group.service.unit)} --since -1h, on {bare_name(group.head)}"
    tell(group, f"{tried}; the old configuration comes back ...")
    text, seconds = group.service.of(ROLL_BACK), group.seconds(STEP_S)
    kept = group.service.kept
    lost = _lost(remote.each(hosts(group.all), lambda at: remote.shell(at, text, *kept, seconds=seconds)))
    if lost:
        raise RolledBack(_partly_back(group, tried, lost))
    try:
        left = {name: last_deploy.load(files.get(group.service.record)) for name, files in _files(group).items()}
        nodes = sorted((record.rank, name) for name, record in left.items() if record and record.unit)
        old = left[nodes[0][1]] if nodes else None
        late = _until_it_answers(group, [name for _, name in nodes], old.trial_port) if old else None
    except (Failed, Lost) as error:
        raise RolledBack(
            f"{tried}, and what was there before is not all back ({error}). Try: the same again with the old model"
        ) from None
    _note(group, tried)
    if old is None:
        raise RolledBack(f"{tried}. Nothing is served, as before. Try: {again}")
    if late:
        raise RolledBack(f"{tried}. {old.model} was started again and {late}. Try: {again}")
    raise RolledBack(f"{tried}. {old.model} answers again on port {old.port}. Try: {again}")


def _partly_back(group: Group, tried: str, lost: Mapping[str, Failed | Lost]) -> str:
    """What is so where hosts were lost while the old configuration came back: the others have it."""
    back = [name for name in group.all if name not in lost]
    there = f"; {listed(back)} have it again, and {listed(lost)} still the new one" if len(group.all) > 2 else ""
    return (
        f"{tried}, and what was there before is not all back ({_reasons(lost)}){there}. Try: the same again with "
        "the old model"
    )


def _called(group: Group) -> str:
    """What is served, and as which service, where that has a name."""
    name = group.wish.model.name
    return f"{name} ({group.service})" if group.service.name else name


def _note(group: Group, tried: str) -> None:
    """Let the journal call the run what it is; a host that cannot be asked has it as failed."""
    seconds = group.seconds(STEP_S)
    remote.each(
        hosts(group.all), lambda at: remote.shell(at, TRIAL, current().id, seconds=seconds, stdin=f"{tried}\n")
    )


def removed(group: Group) -> None:
    """Stop a server and take its files away; images, weights and what it compiled stay. Raises Failed or Lost."""
    tell(group, f"stop and remove {group.service} ...")
    text, paths = group.service.of(REMOVE), group.service.paths
    on_all(group.all, lambda at: remote.shell(at, text, *paths, seconds=group.seconds(STEP_S)))
