"""`sparkrig explain`: what the pasted output of a tool means."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from sparkrig.cli import pasted
from sparkrig.cli.files import print_json
from sparkrig.terminal import terminal

if TYPE_CHECKING:
    from sparkrig.explain.explanation import Explained

_PASTE = (
    "Paste what tools printed, a log or a whole post, prompts included; then press Ctrl-D on a line of its own.\n"
    "Or pipe it: dmesg | sparkrig explain, pbpaste | sparkrig explain, TOOL 2>&1 | sparkrig explain"
)
_TAIL = "tail -n 20000 FILE | tail -c 2000000 | sparkrig explain"
_SHOWN = 100  # outputs of tools: a paste has a dozen


class _FileOrMessage(click.File):
    """A file, or words that are none: a message that was typed in quotes."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and len(value.split()) > 1 and not Path(value).exists():
            return io.BytesIO(value.encode(errors="replace"))
        return super().convert(value, param, ctx)


@click.command()
@click.argument("files", metavar="[FILE|MESSAGE]...", nargs=-1, type=_FileOrMessage("rb"))
@click.option("-v", "--verbose", is_flag=True, help="Show the lines that were not read, without identifiers.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/explain.json).")
def explain(files: tuple[BinaryIO, ...], verbose: bool, as_json: bool) -> None:
    """Explain in plain words the output of ib_write_bw, show_gids, nvidia-smi and similar tools.

    It reads FILEs, a message in quotes, or what you paste or pipe in: a kernel or server log, a terminal's
    scrollback, a whole post. It looks at nothing else, shows no serial number, and says how many lines it did not
    read.

    Exit code 1: it can read none of it; 2: something is degraded or faulty; 3: something is unknown, or nothing
    could be judged.
    """
    from sparkrig.explain import tools as judgement
    from sparkrig.explain.explanation import Explain

    explanations: list[Explained] = []
    unread: list[str] = []
    given = ""
    for file in files or (sys.stdin.buffer,):
        if file.isatty():
            terminal.echo(_PASTE, err=True)
        given += (text := pasted.text(file, "tool prints", _TAIL))
        reading = judgement.read(text)
        explanations += reading.explained
        unread += reading.unread
    if not given.strip():
        raise click.ClickException(
            "nothing was given. What a tool complains of goes to its standard error: TOOL 2>&1 | sparkrig explain"
        )
    if not explanations:
        known = "output of nvidia-smi, dmesg, ip, show_gids, ib_write_bw and others, logs of NCCL and vLLM"
        raise click.ClickException(
            f"nothing of this can be read; {known} can. Try: sparkrig docs explain#what-is-read"
        )
    if as_json:
        print_json(Explain(explained=explanations, unread=len(unread)))
    else:
        _show(explanations, unread, verbose=verbose)
    sys.exit(judgement.exit_code(explanations))


def _show(explanations: list[Explained], unread: list[str], *, verbose: bool) -> None:
    from sparkrig.explain import tools as judgement
    from sparkrig.explain.render.explained import explained, most_telling, not_read
    from sparkrig.terminal.screen import Screen

    def well(one: Explained) -> bool:
        return judgement.exit_code([one]) == 0

    console = Screen()
    for number, explanation in enumerate(most_telling(explanations, well, _SHOWN)):
        if number:
            console.print()
        console.print(explained(explanation))
    if len(explanations) > _SHOWN:
        console.print(f"\nand {len(explanations) - _SHOWN:,} more outputs of tools: the same with --json")
    if unread:
        console.print()
        console.print(not_read(unread, shown=verbose))
