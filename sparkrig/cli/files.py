"""The user's side of a verb: an inventory that is read, what is written or printed, a question."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig.terminal import project, terminal
from sparkrig.terminal.project import Addresses, Where
from sparkrig.text import nearest

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from sparkrig.fleet import Fleet
    from sparkrig.serving.flags import Knowledge
    from sparkrig.serving.lint.rule import Rule
    from sparkrig.serving.model import Catalogue


_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,62}", re.ASCII)  # a bare name, as of a host


class _InventoryFile(click.Path):
    """A file that a shell completes with the inventories of this folder, and any other once it is none of them."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        found = sorted(str(file) for file in Path("inventories").glob("*.py"))
        return [CompletionItem(file) for file in found if file.startswith(incomplete)] or super().shell_complete(
            ctx, param, incomplete
        )

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from sparkrig.cure import quoted
        from sparkrig.onboarding import address

        if isinstance(value, str) and address.is_one(value) and not Path(value).exists():
            typed, made = ctx.command_path if ctx else "it", f"sparkrig init sparks --from {quoted(value)}"
            raise click.ClickException(f"{typed} takes an inventory, and {value} is an address; try: {made}")
        return super().convert(value, param, ctx)


class _File(_InventoryFile):
    """The same, or an address in its place."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from sparkrig.onboarding import address

        if isinstance(value, str) and address.is_one(value) and not Path(value).exists():
            return Addresses((value,))
        if isinstance(value, str) and _HOST.fullmatch(value) and not Path(value).exists():
            typed = f"{ctx.command_path} nvidia@{value}" if ctx else f"nvidia@{value}"
            raise click.ClickException(f"there is no inventory file {value}; try: {typed}, if it names a Spark")
        return click.Path.convert(self, value, param, ctx)


def _whole(ctx: click.Context, _: click.Parameter, given: tuple[Where, ...]) -> Where:
    """One inventory, or all addresses as one."""
    first, *others = given
    if others and not all(isinstance(each, Addresses) for each in given):
        raise click.UsageError(f"Got unexpected extra argument ({others[0]})", ctx)
    words = [word for each in given if isinstance(each, Addresses) for word in each.words]
    return Addresses(tuple(words)) if words else first


INVENTORY = click.argument("inventory_file", metavar="INVENTORY", type=_InventoryFile(path_type=Path))
"""The argument that every verb about hosts begins with."""

_EITHER = "INVENTORY|ADDRESS..."
HOSTS = click.argument(
    "inventory_file", metavar=_EITHER, type=_File(path_type=Path), nargs=-1, required=True, callback=_whole
)
"""The same of a read-only verb, which also takes addresses."""

SERVED = click.argument("inventory_file", metavar="INVENTORY", type=_File(path_type=Path))
"""The same of a verb that has a sentence of its own about addresses."""

FIRST = click.argument("inventory_file", metavar=_EITHER, type=_File(path_type=Path))
"""The same where other words may follow; `addresses` takes from these what is one, too."""


def addresses(first: Where, words: Sequence[str]) -> tuple[Where, tuple[str, ...]]:
    """All addresses, and the words that are none."""
    from sparkrig.onboarding import address

    if isinstance(first, Path):
        return first, tuple(words)
    more = [word for word in words if address.is_one(word)]
    return Addresses((*first.words, *more)), tuple(word for word in words if word not in more)


def declared(hosts: Where, what: str) -> Path:
    """The inventory; exit code 1 for addresses. what: does more than look, and needs what is declared."""
    if isinstance(hosts, Addresses):
        from sparkrig import cure
        from sparkrig.onboarding import address
        from sparkrig.refusal import Refusal
        from sparkrig.ssh import controller

        cure.TYPED[:], cure.LISTED[0] = hosts.words, False
        if address.HERE in hosts.words:
            cure.LOGINS[controller.name()] = cure.THIS_MACHINE
        with refusals():
            raise Refusal(f"{what} needs an inventory, and {hosts.name} is in none", cure.enlist())
    return hosts


def typed(hosts: Where) -> str:
    """As it stands in a command that is typed here."""
    from sparkrig.cure import quoted_path

    return str(hosts) if isinstance(hosts, Addresses) else quoted_path(hosts)


@contextmanager
def refusals() -> Iterator[None]:
    """A Refusal of what stands within ends the verb: its sentence, one thing to try, exit code 1."""
    from sparkrig.refusal import Refusal

    try:
        yield
    except Refusal as refusal:
        raise click.ClickException(f"{refusal.what}. Try: {refusal.cure}") from None


@contextmanager
def interruptible(stands: Callable[[], str]) -> Iterator[None]:
    """Ctrl-C within ends the verb with one sentence, exit code 1. stands: what was changed; empty for nothing."""
    try:
        yield
    except (click.Abort, KeyboardInterrupt):
        terminal.echo(f"\nInterrupted; {stands() or 'nothing was changed'}.", err=True)
        raise SystemExit(1) from None


def catalogue(inventory: Path | None = None) -> Catalogue:
    """The models of models/ and of the project's own folder; exit code 1 where a file of them cannot stand.

    inventory: whose project it is, as a deploy has it; None for that of the current folder.
    """
    from sparkrig.serving.io import catalogue_files

    with refusals():
        return catalogue_files.catalogue(beside=catalogue_files.own(inventory))


def lint_rules() -> tuple[Rule, ...]:
    """The rules of lint with those of the project's own folder; exit code 1 where one cannot stand."""
    from sparkrig.serving.io import catalogue_files, lint_rules

    with refusals():
        return lint_rules.rules(catalogue_files.own())


def flag_tables() -> Knowledge:
    """What each version of vLLM takes, by the project's own file where there is one; exit code 1 as above."""
    from sparkrig.serving.io import catalogue_files, vllm_flags

    with refusals():
        return vllm_flags.knowledge(catalogue_files.own())


def say_age() -> None:
    """One line on standard error where the tables of models are old."""
    from datetime import UTC, datetime

    from sparkrig.serving import tables
    from sparkrig.serving.io import catalogue_files

    with refusals():
        said = tables.age(catalogue_files.newest(catalogue_files.used()), datetime.now(UTC).date())
    if said:
        terminal.echo(said, err=True)


def try_doctor() -> None:
    """Name the command that finds out why a host could not be read."""
    from sparkrig.cure import verb

    terminal.echo(f"Try: {verb('doctor', 'access')}", err=True)


def inventory(file: Where, **overrides: Any) -> tuple[Fleet, dict[str, dict[str, Any]]]:
    """The fleet of an inventory file, or of addresses, and its hosts' data; exit code 1 where it cannot stand."""
    from sparkrig import cure, inventory, settings

    if isinstance(file, Addresses):
        return _unlisted(file, {key: value for key, value in overrides.items() if value is not None})
    cure.TYPED[0], cure.DEPLOYED_FROM[0] = project.as_typed(file), project.typed(file)
    try:
        return inventory.fleet(file, **overrides)
    except settings.SettingsError as error:
        raise click.ClickException(str(error)) from None


def _unlisted(hosts: Addresses, overrides: Mapping[str, Any]) -> tuple[Fleet, dict[str, dict[str, Any]]]:
    from sparkrig.ssh import session  # noqa: F401 # isort: skip - it patches the standard library before paramiko is loaded
    from sparkrig import cure, login
    from sparkrig.fleet import Fleet
    from sparkrig.onboarding.io import unlisted
    from sparkrig.settings import SettingsError

    cure.TYPED[:], cure.LISTED[0] = hosts.words, False
    again = click.get_current_context().command_path
    with refusals():
        data = unlisted.hosts(hosts.words, again)
    cure.LOGINS.update(login.logins(data))
    try:
        return Fleet.parse(dict.fromkeys(data, overrides), declared=False), data
    except SettingsError as error:
        raise click.ClickException(str(error)) from None


def joined(fleet: Fleet, data: Mapping[str, Mapping[str, Any]]) -> Fleet:
    """The fleet, joined as found where no inventory declares it, for a verb whose own look does not tell."""
    from sparkrig.fabric.io import joining

    return joining.looked(fleet, data)


def limited(
    data: Mapping[str, Any], limit: Sequence[str], fleet: Fleet, *, with_peers: bool = True
) -> dict[str, Any]:
    """The data of the hosts that an option names, and of their peers; all where it names none.

    Raises Refusal for a host that is not in the inventory, which is an error and no empty fleet.
    """
    from sparkrig.cure import quoted
    from sparkrig.refusal import Refusal

    for name in limit:
        if name not in data:
            near = quoted(nearest(name, data, 0))
            raise Refusal(f"there is no host {name} in the inventory", f"the same with {near} in its place")
    wanted = {*limit, *(peer for name in limit if with_peers for peer in fleet.peers(name))}
    return {name: values for name, values in data.items() if not limit or name in wanted}


def print_json(document: Any) -> None:
    """Print what a verb has for programs, as the document's type says: the one that docs/schemas.py has, too."""
    from pydantic import TypeAdapter

    printed = TypeAdapter(type(document)).dump_python(document, mode="json", by_alias=True)
    terminal.echo(json.dumps(printed, indent=2))


class Folder(click.Path):
    """A folder with a name: an empty word, as of a variable that is not set, would be the one that is typed in."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value):
            self.fail("a folder is expected, and nothing was given.", param, ctx)
        return super().convert(value, param, ctx)


_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}


class Duration(click.ParamType[int]):
    """`90s`, `30m`, `2h` or `1d`, in seconds. expected: what to say of any other text."""

    name = "duration"

    def __init__(self, least_s: int, most_s: int, expected: str) -> None:
        self.least_s, self.most_s, self.expected = least_s, most_s, expected

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        match = re.fullmatch(r"(\d{1,5})(s|m|min|h|d)", str(value), re.ASCII)
        seconds = int(match[1]) * _SECONDS[match[2]] if match else 0
        if not self.least_s <= seconds <= self.most_s:
            self.fail(f"{value!r} is no time: {self.expected}", param, ctx)
        return seconds


def differs(file: Path, text: str) -> bool:
    """Whether a path that is there is another text, or no file: a folder, or a pipe, which is not read.

    Raises OSError where it cannot be read.
    """
    return not (file.is_file() and file.read_bytes() == text.encode())


def write(file: Path, text: str) -> None:
    """Put a whole text into a file; exit code 1 where it cannot be written."""
    from sparkrig.terminal import atomic_write

    with refusals():
        atomic_write.write(file, text)


def write_each(made: Iterable[tuple[Path, Callable[[], str]]]) -> None:
    """Put texts into files, each by itself; exit code 1 at the end, in one sentence, where some cannot be."""
    from sparkrig.refusal import Refusal
    from sparkrig.terminal import atomic_write

    refused: list[Refusal] = []
    for file, text in made:
        try:
            atomic_write.write(file, text())
        except Refusal as refusal:
            refused.append(refusal)
    if refused:
        cures = dict.fromkeys(each.cure for each in refused)
        with refusals():
            raise Refusal("; ".join(each.what for each in refused), "; ".join(cures))


def one_of(file: Path, name: str, count: int) -> Path:
    """The file itself where there is one text to write; else one that is named after what it is about."""
    return file if count == 1 else file.with_stem(f"{file.stem}-{name.replace('/', '-')}")


def must_answer(yes: bool, instead: str = "the same with --yes") -> None:
    """Exit code 1 where a question will come and there is no terminal to answer it. instead: what to try then."""
    with refusals():
        terminal.must_answer(yes, instead)


def agreed(question: str) -> bool:
    """Whether the answer at the terminal is yes; anything else is no."""
    return terminal.confirm(question)
