"""`sparkrig explain`: what the pasted output of a tool means."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, BinaryIO

import click

from sparkrig.cli.files import print_json
from sparkrig.cure import quoted_path
from sparkrig.io import terminal

if TYPE_CHECKING:
    from sparkrig.explain.explanation import Explained

_MOST = 2_000_000  # bytes; a long log of NCCL has a tenth of it


@click.command()
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.File("rb"))
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/explain.json).")
def explain(files: tuple[BinaryIO, ...], as_json: bool) -> None:
    """Explain in plain words the output of ib_write_bw, show_gids, nvidia-smi and similar tools.

    It reads FILEs, or what you paste or pipe in. The outputs of several tools may follow each other, shell
    prompts included. It looks at nothing else, and shows no serial number.

    Exit code 1: it can read none of it; 2: something is degraded or faulty; 3: something is unknown, and nothing
    is worse.
    """
    from sparkrig.explain import tools as judgement
    from sparkrig.explain.explanation import Explain

    found: list[Explained] = []
    given = ""
    for file in files or (sys.stdin.buffer,):
        if file.isatty():
            terminal.echo("Paste what a tool printed, then press Ctrl-D on a line of its own.", err=True)
        given += (text := _decoded(_read(file)))
        found += judgement.explain(text)
    if not given.strip():
        raise click.ClickException(
            "nothing was given. What a tool complains of goes to its standard error: TOOL 2>&1 | sparkrig explain"
        )
    if not found:
        readable = "\n".join(f"  {line}" for line in judgement.READABLE)
        raise click.ClickException(f"nothing of this can be read. What can be:\n{readable}")
    if as_json:
        print_json(Explain(explained=found))
    else:
        _show(found)
    sys.exit(judgement.exit_code(found))


def _read(file: BinaryIO) -> bytes:
    """All that a file has; exit code 1 where that is more than any tool prints."""
    content = file.read(_MOST + 1)
    if len(content) > _MOST:
        piped = file is sys.stdin.buffer or file.name == "-"
        name, at_hand = ("standard input", "FILE") if piped else (file.name, quoted_path(file.name))
        raise click.ClickException(
            f"{name} has more than {_MOST // 1_000_000} MB, which no tool prints; nothing of it was read. "
            f"Try: tail -c {_MOST} {at_hand} | sparkrig explain"
        )
    return content


def _decoded(content: bytes) -> str:
    """Text of a terminal, or of a Windows editor or shell."""
    wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    return content.decode("utf-16" if wide else "utf-8-sig", errors="replace")


def _show(found: list[Explained]) -> None:
    from sparkrig.io.screen import Screen
    from sparkrig.render.explained import explained

    console = Screen()
    for number, each in enumerate(found):
        if number:
            console.print()
        console.print(explained(each))
