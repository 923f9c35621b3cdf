"""`sparkrig support`: one archive that shows how hosts are, without what identifies their owner."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig.cli import files
from sparkrig.cure import quoted_path
from sparkrig.terminal import terminal
from sparkrig.terminal.project import Where

if TYPE_CHECKING:
    from sparkrig.support.archive import Archive


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
    from sparkrig.operations import support as operations

    made = operations.archive(operations.Asked(inventory_file, fleet, data), _drifted)
    _write(made, file, opened=opened, yes=yes, as_json=as_json)
    if made.missing:
        files.try_doctor()
        raise SystemExit(3)


def _write(made: Archive, file: Path, *, opened: bool, yes: bool, as_json: bool) -> None:
    """Show what is in it, ask, write it. Exit code 1 where the answer is no."""
    from sparkrig.support import archive as archives
    from sparkrig.terminal import atomic_write
    from sparkrig.terminal.screen import Screen

    content = archives.pack(made)
    screen = Screen(stderr=as_json)
    listed = archives.contents(made, screen.width - 1) if screen.has_width else archives.contents(made)
    terminal.echo(_plain(listed), nl=False, err=as_json)
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


def _drifted(*seen: Any) -> str:
    """The verdict of drift on hosts that were looked at."""
    from sparkrig.deploys import drifted

    return drifted.judged(*seen).dumps()
