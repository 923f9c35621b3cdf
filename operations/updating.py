"""An update carried out: one Spark after the other, each task as the Spark itself says what is next.

What was done is noted on the Spark alone. So after a lost link, a killed controller or a power cut the same
command goes on from there.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from sparkrig.ssh import session  # isort: skip - it patches the standard library before pyinfra is loaded

from sparkrig.cure import from_here, on_host, verb
from sparkrig.host.releases import LATEST
from sparkrig.host.update_record import ANOTHERS, OTHER, PARTS, REMOVED, UNWRITTEN, WORDS, Standing, Task
from sparkrig.operations import applying, journal, update, update_changed
from sparkrig.refusal import Refusal
from sparkrig.ssh import controller, remote
from sparkrig.ssh.remote import Failed, Lost
from sparkrig.terminal import project, terminal
from sparkrig.text import listed

if TYPE_CHECKING:
    from pyinfra.api import Host

    from sparkrig.fleet import Fleet
    from sparkrig.host.update_record import Record

BACK_S = 900  # times patience; until a Spark is back after a reboot, or after its link was lost
FIRMWARE_S = 1800  # the same where it writes firmware, which takes 15 minutes [@spark-fleet-updates]
_POLL_S = 3
_LOSSES = 5  # lost links of one Spark that are waited for
_BOOTS = 2  # of a new kernel by one command: one that came up, and lost its power, is booted once more


@dataclass
class Updating:
    """The update of a fleet.

    data: of each host; to, parts, limit: as they were typed; back: whether it leads back; serving: what each
    serves by its own look, where this process began the update; turned: how often this process booted a host anew;
    came: the hosts whose new kernel came up.
    """

    inventory: Path
    fleet: Fleet
    data: Mapping[str, Mapping[str, Any]]
    to: str = LATEST
    parts: Collection[str] = PARTS
    limit: tuple[str, ...] = ()
    back: bool = False
    serving: Mapping[str, Collection[str]] = field(default_factory=dict)
    turned: dict[str, int] = field(default_factory=dict)
    came: set[str] = field(default_factory=set)

    def again(self, *more: str) -> str:
        """The command that goes on; an option of `more` comes in the place of what was typed of it."""
        own: dict[str, Collection[str]] = {"--limit": self.limit}
        if self.back and not {"--only", "--back"} & {*more}:
            more = ("--back", *more)
        if "--back" not in more:
            own["--to"] = () if self.to == LATEST else (self.to,)
            own["--only"] = () if {*self.parts} == {*PARTS} else self.parts
        given = [word for option in own if option not in more for value in own[option] for word in (option, value)]
        return shlex.join(["sparkrig", "update", project.as_typed(self.inventory), *given, *more])

    def standings(self) -> dict[str, Standing]:
        """How far each host is. Where one has an update open, it goes on without those that cannot be read.

        Raises Refusal.
        """
        title = f"Looking for open updates of {self.inventory.name}"
        answers = session.asked(self.data, title, lambda at: update.look(at, self.fleet[at.name].patience))
        found = {name: each for name, each in answers.items() if isinstance(each, Standing)}
        if not any(each.record for each in found.values()):
            self._all(answers)
        for name, each in found.items():
            if each.another:
                raise Refusal(f"{name}: {ANOTHERS}", on_host(REMOVED))
        for name, answer in answers.items():
            if name not in found:
                self._say(f"{name} cannot be read, and is left as it is: {answer}")
        return found

    def begin(
        self, records: Mapping[str, Record], limits: Mapping[str, str], seen: Mapping[str, Standing]
    ) -> None:
        """Keep on each host what was agreed to, before anything changes. seen: each before. Raises Refusal."""

        def keep(at: Host) -> None:
            patience = self.fleet[at.name].patience
            _unmoved(update.look(at, patience), seen[at.name])
            update.begin(at, records[at.name], limits[at.name], patience)

        def take_back(at: Host) -> None:
            update.close(at, self.fleet[at.name].patience, records[at.name].id)

        with self._locked(records, "Keeping what is to be done") as hosts:
            answers = remote.each(hosts, keep)
            try:
                self._all(answers)
            except Refusal:  # of a cluster all or none; one that did not answer may have kept it
                remote.each(hosts, take_back)
                raise
            serving = {name: at for name, at in hosts.items() if records[name].served}
            timed = remote.each(serving, lambda at: update_changed.rate(at, self.fleet[at.name].patience))
        for name, answer in timed.items():
            if isinstance(answer, Exception):
                self._say(f"{name}: how fast it answers now is not known: {answer}")

    @contextmanager
    def _locked(self, names: Iterable[str], title: str, wait_s: float | None = None) -> Iterator[dict[str, Host]]:
        """Hosts that are connected and locked, all of them. Raises Refusal."""
        data = {name: self.data[name] for name in names}
        with session.staying(data, title, lambda _: None, data, wait_s=wait_s) as (answers, hosts):
            self._all(answers)
            with journal.locked(journal.Run(self.again()), hosts):
                yield hosts

    def turn_back(self, found: Mapping[str, Standing]) -> None:
        """Let open updates lead back; of one that changed nothing yet, the record goes. Raises Refusal."""
        for name, each in found.items():
            if each.working:
                raise Refusal(f"{name} installs at this moment", f"{self.again('--back')}, once it is over")
            if each.done("firmware") and not each.done("apply"):
                raise Refusal(
                    f"firmware is handed over on {name}, and its next reboot writes it: nothing takes that back",
                    self.again(),
                )

        def turn(at: Host) -> None:
            each = update.back if found[at.name].steps else update.close
            _alone(at, found[at.name], self.fleet[at.name].patience, self.again(), each)

        data = {name: self.data[name] for name, each in found.items() if not each.back}
        self._all(session.asked(data, "Turning back", turn))

    def _all(self, answers: Mapping[str, Any]) -> None:
        amiss = [f"{name}: {each}" for name, each in answers.items() if isinstance(each, Exception)]
        if amiss:
            raise Refusal("; ".join(amiss), f"{verb('doctor', 'access')}, then {self.again()}")

    def carry_out(self, order: Sequence[str]) -> Refusal | None:
        """Each host to its end, the next one only when the last is proven; why it stopped."""
        for name in order:
            try:
                self._host(name)
            except Refusal as refusal:
                return Refusal(f"{name}: {refusal.what}", from_here(refusal.cure, name))
        return None

    def _host(self, name: str) -> None:
        """One host, task after task. Raises Refusal where it cannot go on."""
        losses, last = 0, None
        while True:
            try:
                found = self._standing(name)
                if found.record is None:
                    return self._ended(name, last)
                last = found
                self._next(name, found)
            except Lost as lost:
                losses += 1
                if losses > _LOSSES:
                    raise self._stopped(name, str(lost)) from None
                self._say(f"{name}: {lost}; it goes on once the Spark is back")

    def _ended(self, name: str, last: Standing | None) -> None:
        """Say what is to be known of an update that is over. Raises Refusal for firmware that is not there."""
        if last is None:
            return
        for file in last.conffiles:
            self._say(f"{name}: {file} came, and your own file stays as it is")
        if last.left:
            self._say(f"{name}: not put back, for no repository has it any more: {', '.join(last.left)}")
        if last.had(OTHER):
            raise Refusal(
                "all else is done, and no firmware was written: fwupd has other versions than were agreed to",
                f"{self.again('--only', 'firmware')}, which shows them",
            )
        if last.had(UNWRITTEN):
            raise Refusal(
                "all else is done, and the firmware is not on the board",
                f"switch it off, pull its plug for 30 seconds, then {self.again('--only', 'firmware')}",
            )

    def _next(self, name: str, found: Standing) -> None:
        """The next task of a host."""
        task = found.task
        if task == "prove" and found.fell_back:
            self._boots_again(name, found)
            task = "boot"
        began = monotonic()
        self._say(f"{name}: {WORDS[task]} ...")
        if task in ("boot", "apply"):
            self.turned[name] = self.turned.get(name, 0) + 1
        self._task(name, task, found)
        self._say(f"✓ {name}: {WORDS[task]} ({monotonic() - began:.0f} s)")

    def _boots_again(self, name: str, found: Standing) -> None:
        """Raise Refusal for a new kernel that this command booted in vain, or that came up and fell twice."""
        if self.turned.get(name, 0) >= (_BOOTS if name in self.came else 1):
            raise Refusal(
                f"kernel {found.kernel_to_be} did not come up or was not proven in time, and {found.kernel} runs "
                "again, as before",
                f"{self.again('--back', '--limit', name)}, which puts the packages back",
            )

    def _task(self, name: str, task: Task, found: Standing) -> None:
        if task == "drain":
            self._drain(name, found)
        elif task == "check":
            self._deploy(name, project.DEPLOY, ())
            self._note(name, task, found)
        elif task == "serve":
            self._serve(name, found)
            self._note(name, task, found)
        else:
            if task == "close" and found.steps:
                self._on_host(name, found, lambda at, patience: update_changed.tell(at, found, patience))
            self._on_host(name, found, lambda at, patience: update.perform(at, task, found, patience))
        if task in ("boot", "apply") and found.boot == controller.boot_id():
            raise self._ends_here(name, task)
        if task in ("boot", "apply"):
            self._rebooted(name, found, FIRMWARE_S if task == "apply" else BACK_S)

    def trial_minutes(self, name: str) -> float:
        """How long a new kernel of a host has for its proof."""
        return update.TRIAL_S * self.fleet[name].patience / 60

    def _ends_here(self, name: str, task: Task) -> Refusal:
        """That the machine which this runs on reboots, and what goes on afterwards."""
        what = "it is the machine that this runs on: its reboot has begun, and ends this command"
        if task == "boot":
            minutes = self.trial_minutes(name)
            what += f"; a new kernel has {minutes:.0f} min for its proof, and else the earlier one boots again"
        return Refusal(what, f"{self.again()}, once it is back, which goes on from there")

    # --- the hosts of a group

    def _drain(self, name: str, found: Standing) -> None:
        """Stop what the host serves; a model that several hosts share stops on all of them.

        On a peer nothing stops by this host's record alone: the peer's own record has it, or its own look had.
        """
        assert found.record is not None
        served = found.record.served

        def stop(at: Host) -> None:
            patience = self.fleet[at.name].patience
            theirs = served if at.name == name else self._agreed(name, at.name, update.look(at, patience))
            if both := [service for service in served if service in theirs]:
                update.drain(at, both, patience, node=at.name == name)

        wait_s = BACK_S * self.fleet[name].patience
        try:
            with self._locked(self.fleet.group(name), "Stopping what serves", wait_s) as hosts:
                _unmoved(update.look(hosts[name], self.fleet[name].patience), found)
                remote.every(hosts, stop)
                update.note(hosts[name], "drain", self.fleet[name].patience)
        except (Failed, Refusal) as error:
            raise self._stopped(name, error.what if isinstance(error, Refusal) else str(error)) from None

    def _agreed(self, name: str, peer: str, its: Standing) -> Collection[str]:
        """What may stop on a peer: what was agreed to there, or what both ran as this process began."""
        if its.record:
            return its.record.served
        return {*self.serving.get(name, ())} & {*self.serving.get(peer, ())}

    def _serve(self, name: str, found: Standing) -> None:
        """Start what was stopped; what a host shares that is still to be updated comes back with that one."""
        assert found.record is not None
        awaited = {peer: its.served for peer in self.fleet.peers(name) if (its := self._standing(peer).record)}
        for service in found.record.served:
            if later := [peer for peer, served in awaited.items() if service in served]:
                self._say(f"{name}: {_called(service)} starts again once {self._updated(name, later)} updated")
            else:
                named = [] if service == "-" else applying.data({"serve_name": service})
                self._deploy(name, project.SERVE, named)

    def _updated(self, name: str, later: Sequence[str]) -> str:
        """The hosts that have to be updated first, with their verb."""
        if not self.fleet.many(name):
            return "both hosts are"
        return f"{listed(later)} {'is' if len(later) == 1 else 'are'}"

    def _deploy(self, name: str, deploy: Path, more: Sequence[str]) -> None:
        """Run pyinfra on a host and its peers. Raises Refusal where it does not get to its end."""
        hosts = list(self.fleet.group(name))
        limit = [] if set(hosts) == set(self.fleet) else [word for each in hosts for word in ("--limit", each)]
        words = ["-y", *limit, *more, str(self.inventory), str(project.root(self.inventory) / deploy)]
        code, applied = applying.run(words, hosts)
        if code or not applied.whole:
            said = "; ".join(
                f"{host}: {text}" for host, texts in applied.sentences.items() for text in dict.fromkeys(texts)
            )
            why = said or applied.trouble or "pyinfra did not get to its end"
            raise self._stopped(name, f"{deploy} failed: {why}")

    # --- one host

    def _standing(self, name: str) -> Standing:
        found: Standing = self._answer(name, update.look)
        return found

    def _note(self, name: str, task: Task, found: Standing) -> None:
        self._on_host(name, found, lambda at, patience: update.note(at, task, patience))

    def _on_host(self, name: str, found: Standing, act: Callable[[Host, float], None]) -> None:
        """Do something on a host whose update is as it was found. Raises as _answer does."""
        self._answer(name, lambda at, patience: _alone(at, found, patience, self.again(), act))

    def _answer(self, name: str, ask: Callable[[Host, float], Any]) -> Any:
        """What a host answers, once it is there. Raises Lost where it does not, Refusal where it fails."""
        answer = self._asked(name, ask, BACK_S)
        if isinstance(answer, Lost):
            raise answer
        if isinstance(answer, Failed):
            raise self._stopped(name, str(answer))
        return answer

    def _asked(self, name: str, ask: Callable[[Host, float], Any], wait_s: float) -> Any:
        patience, data = self.fleet[name].patience, {name: self.data[name]}
        answers: dict[str, Any] = session.asked(
            data, "Updating", lambda at: ask(at, patience), wait_s=wait_s * patience
        )
        return answers[name]

    def _rebooted(self, name: str, found: Standing, seconds: float) -> None:
        """Wait until a host is there in another boot. Raises Refusal at the deadline."""
        end = monotonic() + seconds * self.fleet[name].patience
        while (left := end - monotonic()) > 0:
            answer = self._asked(name, update.look, left)
            if isinstance(answer, Standing) and answer.boot != found.boot:
                if answer.kernel == found.kernel_to_be:
                    self.came.add(name)
                return
            if isinstance(answer, Exception) and not isinstance(answer, Lost):
                self._say(f"{name}: {answer}")
            sleep(_POLL_S)
        moves = found.kernel_to_be != found.kernel
        power = f" (where it hung in {found.kernel_to_be}, it boots {found.kernel} again)" if moves else ""
        raise Refusal(
            f"it has not come back within {seconds * self.fleet[name].patience / 60:.0f} min after its reboot",
            f"switch it off and on{power}; then {self.again()}",
        )

    def _stopped(self, name: str, why: str) -> Refusal:
        """Why a host cannot go on, where it stands, and the command that goes on."""
        found = self._asked(name, update.look, 0)
        stands = f"; {found.sentence}" if isinstance(found, Standing) and found.record else ""
        back = self.again("--back", "--limit", name)
        if "not agreed to" in why:
            return Refusal(f"{why}{stands}", f"{back}, which closes it; then {self.again()}, which plans anew")
        if why.startswith("not proven"):
            return Refusal(f"{why}{stands}", f"{back}, which puts the packages back")
        return Refusal(f"{why}{stands}", f"{self.again()}, once that is mended")

    def _say(self, text: str) -> None:
        terminal.echo(text, err=True)


def _called(service: str) -> str:
    return "the server" if service == "-" else f"service {service}"


def _alone(at: Host, standing: Standing, patience: float, why: str, act: Callable[[Host, float], None]) -> None:
    """Do something on a host while it is locked, if its update is as it was found. Raises Failed or Lost."""
    try:
        with journal.locked(journal.Run(why), {at.name: at}):
            _unmoved(update.look(at, patience), standing)
            act(at, patience)
    except Refusal as refusal:
        raise Failed(refusal.what) from None


def _unmoved(now: Standing, standing: Standing) -> None:
    """Raise Failed where another command has moved an update since it was looked at."""
    if (now.record, now.steps, now.boot) != (standing.record, standing.steps, standing.boot):
        raise Failed("its update or its boot is not what it was a moment ago, so nothing more is done")
