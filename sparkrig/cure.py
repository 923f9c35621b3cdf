"""Cures: what a person is advised to do. Each is rendered once, and never read back from its text.

A cure is a text that remembers what of it is a command, as markupsafe.Markup remembers that it is safe; a plain
str is words alone. Whatever in a command is not a literal of ours (a name, a version or a path from a host, a
file that the operator named) comes in through `quoted`, `quoted_path` or `over_ssh`, so that a shell takes it for
one word and runs nothing of it. A static test (tests/unit/test_cure.py) finds what does not.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from os import PathLike, fspath
from typing import Any, Literal, TypeAlias

from sparkrig.text import bare_name, lines, plain

Deployed = Literal["cluster", "serve", "probe", "network", "bandwidth"]
Setting: TypeAlias = int | str | Sequence[str] | Mapping[str, Any]
"""What a setting is given for one run; an object's entries join those that another cure gives."""

FILE = "\ufdd0"
"""Stands for the inventory's file: no character of Unicode's, so that no text from outside has it (text.plain)."""
DEPLOYS = "\ufdd1"
"""Stands for the folder of the deploys, in the same way."""

# the verbs that take addresses in the place of an inventory
_LOOKING = {
    *("bandwidth", "blackbox", "doctor", "startup", "status", "storage", "support", "topology", "update"),
}
_PLACES = re.compile(f"([{FILE}{DEPLOYS}])")
# what needs no quotes: shlex's own, and the `~` of a version (580.1-0ubuntu1~24.04.1), where it is no home folder
_BARE = re.compile(r"(?:[\w@%+=:,./-]|(?<=[\w.+-])~)+", re.ASCII)


def quoted(*words: str) -> str:
    """Words of a command, each as a shell reads it whole, whatever is in it; as it is where it needs no quotes."""
    return " ".join(word if _BARE.fullmatch(word) else shlex.quote(plain(word)) for word in words)


def quoted_path(file: str | PathLike[str]) -> str:
    """The same of a file's name; one that begins with a dash is no option."""
    name = fspath(file)
    return quoted(f"./{name}" if name.startswith("-") else name)


THIS_MACHINE = ""
"""Stands in `LOGINS` for the machine that runs sparkrig."""

LOGINS = {"@local": THIS_MACHINE}
"""What a person types after `ssh` to get to a host of the inventory, quoted, or THIS_MACHINE.

An inventory is read once in a process, and each of its hosts has some 30 cures, most of them where nothing but its
name is known.
"""

TYPED = [""]
"""The inventory's file as this run was given it, which each cure names; empty for none. Or addresses."""

LISTED = [True]
"""Whether an inventory names the hosts; without one pyinfra has nothing that it could run on."""

AGAIN = [""]
"""The command to which a setting of a server is added, its words quoted; empty for pyinfra's, typed once more."""

DEPLOYED_FROM = ["deploys"]
"""The folder of the deploys as a command of this run names it: io.project.typed of that inventory."""


def over_ssh(host: str, command: str, *options: str) -> Cure:
    """The command that runs another one on a host, from here. command: its words are quoted; options: of ssh.

    ssh joins its words with blanks, and a shell of the host reads them once more: what has to stay quoted until
    then is one word here. On the machine that runs sparkrig it is the command itself.
    """
    if is_here(host):
        return local(command)
    if "sudo " in command and not LISTED[0]:  # no inventory: its sudo may ask for a password
        options = ("-t", *options)
    return local(f"{login(host, *options)} {handed_on(command)}")


def from_here(cure: str, host: str) -> Cure:
    """The same, as it is typed on the machine that runs sparkrig: a command for the host goes there over ssh."""
    known = cure_of(cure)
    if known.here or not known.line:
        return known
    return over_ssh(known.at or host, known.line).then(known.after)


def is_here(host: str) -> bool:
    """Whether a host is the machine that runs sparkrig."""
    return LOGINS.get(host) == THIS_MACHINE


def login(host: str, *options: str) -> str:
    """The command that logs in to another host, by its name alone where no inventory says how. options: of ssh."""
    name = bare_name(host)
    where = LOGINS.get(host) or quoted(*(["--"] if name.startswith("-") else []), name)
    return f"{quoted('ssh', *options)} {where}"


def handed_on(command: str) -> str:
    """A command as the end of one that joins its words and has a second shell read them (ssh, pyinfra's exec)."""
    return command if all(map(_BARE.fullmatch, command.split(" "))) else shlex.quote(command)


@dataclass(frozen=True)
class Deployment:
    """A run of a deploy. what: its name; data: the settings that are given for this run alone."""

    what: Deployed
    data: Mapping[str, Setting]


@dataclass(frozen=True)
class OnHosts:
    """A command that pyinfra runs on hosts, as root, the way a deploy logs in. command: its words are quoted."""

    command: str
    hosts: tuple[str, ...]


class Cure(str):
    """What is shown, and of what it was made.

    line: a command, whose words are quoted; empty where it is all words. after: what follows, with what parts it
    from the line (", and reboot"). Both have FILE where the inventory's file stands, and DEPLOYS.
    here: whether the line is for the machine that runs sparkrig, not for the host; at: the host that the line is
    for, where it is not the one judged; run: what pyinfra is to do, where the line is one of its commands.
    """

    line: str
    after: str
    here: bool
    at: str
    run: Deployment | OnHosts | None

    def __new__(
        cls,
        line: str,
        after: str = "",
        *,
        here: bool = False,
        at: str = "",
        run: Deployment | OnHosts | None = None,
    ) -> Cure:
        cure = super().__new__(cls, _filled(_form(line, after, at)))
        cure.line, cure.after, cure.here, cure.at, cure.run = line, after, here, at, run
        return cure

    def __add__(self, other: str) -> Cure:
        """What follows is plain words, never a command; the same as `then`."""
        return self.then(other)

    def __reduce__(self) -> tuple[Callable[..., Cure], tuple[dict[str, Any]]]:
        """A copy is made of the same values, not of the text."""
        return _made, (dict(vars(self)),)

    @property
    def command(self) -> str:
        """What of it can be pasted into a shell as it stands; empty for words."""
        return _filled(self.line)

    def then(self, words: str) -> Cure:
        """The same, with more words behind it."""
        return _again(self, {"after": f"{self.after}{words}"})

    def for_host(self, host: str) -> Cure:
        """The same for a host that is named, since it is not the one judged."""
        return _again(self, {"at": host})

    def on(self, *hosts: str) -> Cure:
        """The same command of pyinfra's, on other hosts."""
        assert isinstance(self.run, OnHosts)
        return _again(on_hosts(self.run.command, *hosts), {"after": self.after})


def on_host(line: str, after: str = "", *, at: str = "") -> Cure:
    """A command for a host: the one judged, or `at`."""
    return Cure(line, after, at=at)


def local(line: str, after: str = "") -> Cure:
    """A command for the machine that runs sparkrig."""
    return Cure(line, after, here=True)


def verb(name: str, *words: str) -> Cure:
    """A verb of sparkrig for the inventory. words: what follows the file, not quoted."""
    if not LISTED[0] and (name not in _LOOKING or (name == "update" and "--check" not in words)):
        return enlist().then(f", then sparkrig {name} with its inventory")
    return local(" ".join(filter(None, (f"sparkrig {name} {FILE}", quoted(*words)))))


def started(unit: str, load: str = "", socket: str = "") -> str:
    """The command that starts a unit. load: its LoadState; systemd starts none that is masked.

    socket: the unit that it requires, which may be masked beside it or in its place.
    `unmask --now` starts nothing: systemctl(1) has --now for enable, disable and mask.
    """
    start = quoted("systemctl", "start", unit)
    if load != "masked":
        return start
    return quoted("systemctl", "unmask", *filter(None, (socket, unit))) + f" && {start}"


def as_root(line: str) -> Cure:
    """A command for the host judged, as root. line: its words are quoted; one command, or some joined by `&&`."""
    return on_host("sudo " + line.replace(" && ", " && sudo "))


def look_at(host: str, fact: str = "sparkrig.facts.spark.Spark") -> Cure:
    """The look at a host, or one fact of it, by pyinfra alone, which prints what the host itself says."""
    if not LISTED[0]:
        return verb("support")
    return local(f"pyinfra {FILE} --limit {quoted(host)} -vv fact {quoted(fact)}")


def enlist() -> Cure:
    """The command that takes the first of the hosts that were typed into an inventory."""
    if here := next((name for name, way in LOGINS.items() if way == THIS_MACHINE and name != "@local"), None):
        return local(f"sparkrig init sparks --here {quoted(here)}")
    return local(f"sparkrig onboard {quoted(TYPED[0])}")


def advice(text: str) -> Cure:
    """Words that have FILE in them. Without it, words need nothing around them."""
    return Cure("", text)


def deploy(
    what: Deployed = "cluster",
    data: Mapping[str, Setting] | None = None,
    limit: Sequence[str] = (),
) -> Cure:
    """The command that applies a deploy to the inventory: the whole one, a model's, or a short measurement.

    It is pyinfra's own in each verb, although `sparkrig apply` does the same: that takes no --data and knows one
    deploy alone. limit: the hosts that it is for; all where it names none.
    """
    run = Deployment(what, data or {})
    if not LISTED[0]:
        return Cure(enlist().line, ", which makes the inventory of a deploy", here=True, run=run)
    options = [f" --data {quoted(assigned(name, value))}" for name, value in (data or {}).items()]
    limits = "".join(f" --limit {quoted(host)}" for host in limit)
    line = f"pyinfra {FILE}{limits} {DEPLOYS}/{what}.py{''.join(options)}"
    return Cure(line, here=True, run=run)


def with_setting(name: str, value: object, after: str = "") -> Cure:
    """The command of this run once more, with a setting for that run alone. after: what follows, in words."""
    word = f"--data {quoted(assigned(name, value))}"
    return local(f"{AGAIN[0]} {word}", after) if AGAIN[0] else advice(f"the same with {word}{after}")


def assigned(name: str, value: object) -> str:
    """NAME=VALUE, as one word from which `read_value`, and pyinfra's --data, reads that value back."""
    kept = isinstance(value, bool) or (isinstance(value, str) and read_value(value) == value)
    return f"{name}={value if kept else json.dumps(value, ensure_ascii=False, default=dict)}"


def read_value(text: str) -> Any:
    """What pyinfra's --data makes of a text: it may look like a number or JSON (pyinfra_cli/util.py)."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for reads in (int, json.loads):
        with suppress(ValueError):
            return reads(text)
    return text


def on_hosts(command: str, *hosts: str) -> Cure:
    """The command of pyinfra that runs another one on hosts, as root. command: its words are quoted."""
    limits = "".join(f" --limit {quoted(host)}" for host in hosts)
    line = f"pyinfra {FILE}{limits} -y exec -- {handed_on(command)}"
    if not LISTED[0]:
        line = " && ".join(over_ssh(host, as_root(command).line) for host in hosts)
    return Cure(line, here=True, run=OnHosts(command, hosts))


def deployment(cure: str, what: Deployed = "cluster") -> Deployment | None:
    """The run of that deploy which a cure begins with, if it is one."""
    run = cure.run if isinstance(cure, Cure) else None
    return run if isinstance(run, Deployment) and run.what == what else None


def cure_of(cure: str) -> Cure:
    """A cure with what is known of it: of a plain text, that it is words, in one line."""
    return cure if isinstance(cure, Cure) else Cure("", plain(cure))


def in_turn(first: str, *others: str) -> str:
    """One cure after another. What each needs of the inventory is filled in once that is known."""
    forms = [_form(each.line, each.after, each.at) for each in map(cure_of, others)]
    return cure_of(first).then("".join(f"; then {form}" for form in forms)) if forms else first


def _form(line: str, after: str, at: str) -> str:
    """What a cure is shown as, with FILE and DEPLOYS."""
    return f"{f'on {plain(at)}: ' if at else ''}{line}{after}"


def _again(cure: Cure, changes: Mapping[str, Any]) -> Cure:
    return _made({**vars(cure), **changes})


def _made(values: dict[str, Any]) -> Cure:
    return Cure(**values)


def _filled(form: str) -> str:
    if not form:  # that of all that holds
        return form
    values = _places(tuple(TYPED), DEPLOYED_FROM[0])
    return "".join(values.get(part) or lines(part) for part in _PLACES.split(form))


@cache  # a run has one inventory, and each of a thousand hosts some 30 cures
def _places(typed: tuple[str, ...], deploys: str) -> Mapping[str, str]:
    return {FILE: " ".join(map(quoted_path, typed)) if typed[0] else "INVENTORY", DEPLOYS: quoted_path(deploys)}
