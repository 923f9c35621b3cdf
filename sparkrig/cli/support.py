"""`sparkrig support`: one archive that shows how hosts are, without what identifies their owner."""

from __future__ import annotations

import getpass
import json
import platform
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig.cli import files
from sparkrig.cure import quoted_path
from sparkrig.terminal import project, terminal
from sparkrig.terminal.project import Where

if TYPE_CHECKING:
    from sparkrig.doctor.doctor import Report as Examined
    from sparkrig.drift.drift import Report as Drifted
    from sparkrig.fleet import Fleet
    from sparkrig.redaction import Redactor
    from sparkrig.support.archive import Archive, File
    from sparkrig.support.io.evidence import Collected

_GIT_S = 5
_UNLISTED = (
    "no inventory declares the hosts: there is no drift, and the settings are the defaults and what was found"
)


@dataclass
class _Found:
    """What hosts gave. looks: (host, look) -> as it was printed; verdicts: documents by name."""

    collected: Mapping[str, Collected]
    lost: dict[str, str]
    looks: dict[tuple[str, str], str]
    verdicts: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)


@click.command()
@files.HOSTS
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where to write it; by default into this folder, as sparkrig-support-DATE-TIME.tar.gz.",
)
@click.option(
    "--open",
    "opened",
    is_flag=True,
    help="Show all that is in the archive. INVENTORY may then be an existing archive.",
)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/support.json).")
def support(inventory_file: Where, output: Path | None, opened: bool, yes: bool, as_json: bool) -> None:
    """Write one archive that describes the hosts, without what identifies you, to send with a question.

    It holds what sparkrig reads on each host, its verdicts, versions, journals, and what `sparkrig explain`
    reads. Pseudonyms replace serial numbers, MAC and public addresses, keys, ids, tokens, and the names of users,
    machines and Wi-Fi networks; equal values get the same pseudonym.

    It lists the contents and asks before it writes, and changes nothing on a host. Exit code 3: something is
    missing, and the archive says what (sparkrig docs evidence).
    """
    if opened and isinstance(inventory_file, Path) and _is_archive(inventory_file):
        with files.refusals():
            _show(inventory_file, as_json=as_json)
        return
    fleet, data = files.inventory(inventory_file)
    files.must_answer(yes)
    file = output or Path(f"sparkrig-support-{datetime.now():%Y%m%d-%H%M%S}.tar.gz")
    if file.exists():
        raise click.ClickException(
            f"{file} is there already, and is not overwritten. Try: --output with another name"
        )
    made = _archive(project.as_typed(inventory_file), inventory_file.name, fleet, data)
    _write(made, file, opened=opened, yes=yes, as_json=as_json)
    if made.missing:
        files.try_doctor()
        raise SystemExit(3)


def _write(made: Archive, file: Path, *, opened: bool, yes: bool, as_json: bool) -> None:
    """Show what is in it, ask, write it. Exit code 1 where the answer is no."""
    from sparkrig.support import archive as archives
    from sparkrig.terminal import atomic_write

    content = archives.pack(made)
    terminal.echo(_plain(archives.contents(made)), nl=False, err=as_json)
    if not yes and not files.agreed(f"Write this to {file} ({len(content):,} bytes)?"):
        terminal.echo("Nothing was written.", err=True)
        raise SystemExit(1)
    with files.refusals():
        atomic_write.create(file, content)
        if opened:
            _show(file, as_json=as_json)
        elif as_json:
            files.print_json(archives.document(made, str(file)))
        else:
            terminal.echo(f"\nWritten to {file}. All that is in it: sparkrig support --open {quoted_path(file)}")


# --- an archive that is there


def _is_archive(file: Path) -> bool:
    try:
        with file.open("rb") as stream:
            return stream.read(2) == b"\x1f\x8b"
    except OSError:
        return False


def _show(file: Path, *, as_json: bool) -> None:
    """All that is in an archive, cleaned for a terminal, and in a pager there. Raises Refusal."""
    from sparkrig.refusal import Refusal
    from sparkrig.support import archive as archives
    from sparkrig.text import reason

    try:
        with file.open("rb") as stream:
            content = stream.read(archives.WHOLE_BYTES)
    except OSError as error:
        raise Refusal(f"{file} cannot be read: {reason(error)}", f"ls -l {quoted_path(file)}") from None
    found = archives.unpack(content, str(file))
    told = archives.manifest(found, str(file))
    if as_json:
        files.print_json({"schema": told["schema"], "archive": str(file), **told})
        return
    order = [archives.CONTENTS, *sorted({*found} - {archives.CONTENTS, archives.MANIFEST})]
    terminal.page(f"{f'--- {name} ':-<78}\n{_plain(found[name])}\n" for name in order if name in found)


def _plain(text: str) -> str:
    from sparkrig.redaction.sheet import clean
    from sparkrig.text import plain

    return "\n".join(plain(line) for line in clean(text).expandtabs().split("\n"))


# --- a new one


def _archive(typed: str, title: str, fleet: Fleet, data: Mapping[str, Mapping[str, Any]]) -> Archive:
    from sparkrig.support import archive as archives

    created = datetime.now(UTC)
    found = _collect(title, fleet, data)
    _judge(typed, title, fleet, data, found)
    redactor = _redactor(fleet, data, found)
    folders = {name: redactor.machine(name) for name in data}
    about = archives.Archive(
        version("sparkrig"),
        f"{created:%Y-%m-%dT%H:%MZ}",
        tuple(folders.values()),
        (),
        {},
        tuple(found.missing) + tuple(f"{name}, all of it: {why}" for name, why in found.lost.items()),
        (*_notes(found), *([] if fleet.declared else [_UNLISTED])),
    )
    return archives.archive(_files(fleet, found, folders), redactor, about)


def _collect(title: str, fleet: Fleet, data: Mapping[str, Mapping[str, Any]]) -> _Found:
    """Everything but the verdicts' own looks. A host that does not print its identifiers counts as lost."""
    from sparkrig.ssh import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from sparkrig.support.io import evidence as support

    looks: dict[tuple[str, str], str] = {}

    def keep(host: str, look: str, printed: str) -> None:
        looks[host, look] = printed

    limits = {name: support.limit_s(fleet[name].patience) for name in data}
    answers = session.asked(
        data,
        f"Collecting evidence of {title}",
        lambda at: support.collect(at, fleet[at.name].patience, keep),
        wait_s=0,
        limits_s=limits,
    )
    collected = {name: each for name, each in answers.items() if not isinstance(each, Exception)}
    lost = {name: str(each) for name, each in answers.items() if isinstance(each, Exception)}
    missing = [sentence for each in collected.values() for sentence in each.missing]
    return _Found(collected, lost, looks, missing=missing)


def _judge(typed: str, title: str, fleet: Fleet, data: Mapping[str, Mapping[str, Any]], found: _Found) -> None:
    """The verdicts of doctor and drift, from one look at each host that may be in the archive."""
    from sparkrig.doctor import examination
    from sparkrig.doctor.examination import Seen
    from sparkrig.operations.subject import subjects

    def keep(host: str, look: str, printed: str) -> None:
        found.looks[host, look] = printed

    started, clock = datetime.now(UTC), time.monotonic()
    mine = {name: data[name] for name in found.collected}
    seen = Seen({}, {})
    if mine:
        from sparkrig.doctor.io import examine

        seen = examine.hosts(title, fleet, mine, (), keep)
    found.missing += [f"{name}: the look examination: {why}" for name, why in seen.unread.items()]
    unread = {**seen.unread, **found.lost}
    every = Seen(seen.hosts, unread, seen.heard, seen.pings)

    def examined() -> Examined:
        hosts = subjects(fleet, seen.hosts)
        return examination.judged(typed, fleet, data, every, hosts, (), started, clock)

    def of_drift() -> Drifted:
        from sparkrig.deploys import drifted

        return drifted.judged(typed, fleet, data, seen.hosts, unread, started, clock)

    verdicts = {"doctor": examined} | ({"drift": of_drift} if fleet.declared else {})
    for name, judge in verdicts.items():
        try:
            found.verdicts[f"{name}.json"] = judge().dumps()
        except Exception:  # a fault of ours, which is evidence too, and must not take the rest with it
            from traceback import format_exc

            found.verdicts[f"{name}.error.txt"] = format_exc()
            found.missing.append(f"the verdict of {name}: it failed, {name}.error.txt says how")


def _redactor(fleet: Fleet, data: Mapping[str, Mapping[str, Any]], found: _Found) -> Redactor:
    from sparkrig.network import profiles
    from sparkrig.redaction import Redactor
    from sparkrig.support import archive as archives

    named = {name: (name, *filter(None, [str(data[name].get("ssh_hostname") or "")])) for name in data}
    users = [str(each["ssh_user"]) for each in data.values() if each.get("ssh_user")]
    with suppress(KeyError, OSError):  # a container may have a user without a name
        users.append(getpass.getuser())
    identifiers = {name: each.identifiers for name, each in found.collected.items()}
    known = archives.known(identifiers, {**named, "": (platform.node(),)}, users, _secrets(fleet))
    netdevs = {netdev for name in data for netdev in fleet[name].fabric if not netdev.startswith("enx")}
    return Redactor(known, ordinary=_ordinary(), shared=map(profiles.uuid, netdevs))


def _secrets(fleet: Fleet) -> Iterator[str]:
    """The value of each secret from its source on this machine, where that can be read."""
    from sparkrig.operations.secrets import gathered
    from sparkrig.refusal import Refusal

    for source in {pair for each in fleet.values() for pair in each.secrets.items()}:
        with suppress(Refusal):
            yield from (value.get_secret_value() for value in gathered(dict([source])).values() if value)


def _ordinary() -> set[str]:
    """The words of our own looks: a host that is called `port` must not take that word out of what they print."""
    import re

    from sparkrig.facts.evidence import Evidence
    from sparkrig.facts.examination import Examination
    from sparkrig.facts.journal import Journal
    from sparkrig.facts.startup import Startup

    scripts = (Examination().command(), Evidence().command(), Journal().command(), Startup().command())
    return {word.lower() for script in scripts for word in re.findall(r"[A-Za-z][A-Za-z0-9]+", script)}


def _notes(found: _Found) -> list[str]:
    kinds = [f"{host}: {each}" for host, told in found.collected.items() for each in told.identifiers.unread]
    unknown = [f"{each}; such values are replaced where their form or label tells of them" for each in kinds]
    lost = [f"{name}: what others print of it is replaced where its form tells of it" for name in found.lost]
    return unknown + lost


def _files(fleet: Fleet, found: _Found, folders: Mapping[str, str]) -> list[File]:
    from sparkrig.facts.evidence import JOURNAL
    from sparkrig.support.archive import File

    settings = {folders[name]: fleet[name].model_dump(mode="json") for name in folders}
    made = [
        File("versions.json", json.dumps(_versions(), indent=2) + "\n"),
        File("settings.json", json.dumps(settings, indent=2) + "\n"),
        *(File(name, text + "\n") for name, text in found.verdicts.items()),
    ]
    for host, folder in folders.items():
        looks = {look: text for (name, look), text in found.looks.items() if name == host}
        made += [File(f"{folder}/looks/{look}.txt", f"{text}\n") for look, text in looks.items()]
        parts = found.collected[host].parts if host in found.collected else {}
        for name, part in parts.items():
            room = "" if name.startswith(f"{JOURNAL}/") else "tools/"
            made.append(File(f"{folder}/{room}{name}.txt", part.text, part.cut))
    return made


def _versions() -> dict[str, str]:
    """Of what made the archive."""
    told = {
        "sparkrig": version("sparkrig"),
        "pyinfra": version("pyinfra"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }
    with suppress(OSError, subprocess.SubprocessError):  # no clone, or no git: then there is no commit to name
        words = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--exclude=*"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=_GIT_S, check=True)
        told["commit"] = done.stdout.strip()
    return told
