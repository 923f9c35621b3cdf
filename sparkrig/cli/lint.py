"""`sparkrig lint`: what a launch of vLLM does that a Spark cannot, or that people disagree on."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig.cli import files, pasted
from sparkrig.cure import quoted_path
from sparkrig.terminal import terminal
from sparkrig.text import reason

if TYPE_CHECKING:
    from sparkrig.serving.flags import Version
    from sparkrig.serving.launch import Launch
    from sparkrig.serving.lint.case import Case
    from sparkrig.serving.lint.judgement import Finding
    from sparkrig.serving.model import Catalogue

    _Row = tuple[Launch, int | None, Version | None]  # a launch, its Sparks and its version of vLLM

_TRY = "Try: sparkrig lint -- vllm serve MODEL ..., or: docker inspect NAME | sparkrig lint -"
_RUNNING = "docker inspect NAME | sparkrig lint -"


@click.command()
@click.argument("words", metavar="[FILE | - | -- COMMAND]", nargs=-1, type=click.Path())
@click.option("--sparks", type=click.IntRange(1), help="Number of Sparks that you have. [default: up to two]")
@click.option("--vllm", metavar="VERSION", help="Version of vLLM, such as 0.19.2, if the image does not show it.")
@click.option(
    "--catalogue",
    is_flag=True,
    help="Read the launches in models/ instead: all, or those of the models that you name.",
)
@click.option("--list", "listing", is_flag=True, help="List every rule with its meaning, and exit.")
@click.option("-v", "--verbose", is_flag=True, help="Show who asks for each rule, and who says otherwise.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/lint.json).")
def lint(
    words: tuple[str, ...],
    sparks: int | None,
    vllm: str | None,
    catalogue: bool,
    listing: bool,
    verbose: bool,
    as_json: bool,
) -> None:
    """Find what a Spark cannot do, or what people disagree on, in a launch of vLLM.

    It reads a COMMAND after --, a FILE, or standard input: `vllm serve ...`, `docker run ...`, a script, a
    compose file, a recipe, or the output of `docker inspect` for a running container. It runs nothing. It names
    a launch of another engine, such as SGLang, and does not judge its flags.

    An error is a hard fact. A warning is a failure or a cost that was reported. It is contested if others found
    the opposite, and -v shows both sides with their dates. A note is advice.

    Exit code 1: it finds no launch; 2: it finds an error, or a warning that no source contests.
    """
    from sparkrig.serving.lint import judgement
    from sparkrig.serving.lint.case import Case

    if listing:
        _list()
        return
    version = _version(vllm)
    known = files.catalogue()
    tables = files.flag_tables()
    launches = _catalogued(known, words) if catalogue else _given(words, sparks)
    cases = [Case(launch, known.find, sparks or nodes, version or of, tables) for launch, nodes, of in launches]
    rules = files.lint_rules()
    found = [judgement.judge(case, rules) for case in cases]
    if as_json:
        files.print_json(judgement.report(cases, found))
    else:
        _show(cases, found, verbose=verbose)
        files.say_age()
    sys.exit(judgement.exit_code(finding for findings in found for finding in findings))


def _version(text: str | None) -> tuple[int, ...] | None:
    from sparkrig.serving.flags import version

    found = version(text) if text else None
    if text and found is None:
        raise click.ClickException(f"--vllm is {text}, a version such as 0.19.2 expected. Try: vllm --version")
    return found


def _catalogued(known: Catalogue, names: Sequence[str]) -> list[_Row]:
    """The catalogue's own launches, their Sparks and versions; exit code 1 for a name that it does not have."""
    from sparkrig.serving import flags, launch_text

    models = [known.find(name) for name in names] if names else [*known.models.values()]
    unknown = [name for name, model in zip(names, models, strict=False) if model is None]
    if unknown:
        raise click.ClickException(f"the catalogue has no model {unknown[0]}. Try: sparkrig models")
    every = (each for model in models if model for each in launch_text.catalogued(model))
    return [(launch, row.nodes, flags.version(row.vllm) if row.vllm else None) for launch, row in every]


def _given(words: Sequence[str], sparks: int | None) -> list[_Row]:
    """Those of a command that a shell has parted, or of a text; exit code 1 where there is none."""
    from sparkrig.serving import launch_text
    from sparkrig.serving.launch import NotRead, Unreadable

    text = " ".join(words) if len(words) > 1 else _text(words[0] if words else "-")
    try:
        launches = launch_text.typed(words) if len(words) > 1 else launch_text.read(text, sparks)
        return [(launch, None, None) for launch in launches]
    except NotRead as error:
        raise click.ClickException(f"{error}. Try: {_RUNNING}") from None
    except Unreadable as error:
        raise click.ClickException(f"{error}. {_cure(text)}") from None


def _cure(text: str) -> str:
    """What to try: where a script is given a recipe or a compose file [@forum-365083-eugr], it has the launch."""
    words = text.split() if "\n" not in text.strip() else []
    file = next((word for word in words if word.endswith((".yaml", ".yml"))), "")
    return f"Try: sparkrig lint {quoted_path(file)}" if file else _TRY


def _text(word: str) -> str:
    """What stands in a file, comes from standard input, or was typed as one word."""
    if word == "-":
        if sys.stdin.isatty():
            terminal.echo("Paste how vLLM is launched, then press Ctrl-D on a line of its own.", err=True)
        return pasted.text(sys.stdin.buffer, "launch has", _RUNNING)
    if " " in word and not Path(word).exists():
        return word
    try:
        with Path(word).open("rb") as file:
            return pasted.text(file, "launch has", _RUNNING)
    except OSError as error:
        raise click.ClickException(f"{word} cannot be read: {reason(error)}. {_TRY}") from None


def _show(cases: Sequence[Case], found: Sequence[Sequence[Finding]], *, verbose: bool) -> None:
    console, drawing = _screen(verbose=verbose)
    for case, findings in zip(cases, found, strict=True):
        for line in drawing.launch(case, findings):
            console.print(line, soft_wrap=True)
        console.print()
    console.print(drawing.verdict([finding for each in found for finding in each]), soft_wrap=True)


def _list() -> None:
    console, drawing = _screen(verbose=True)
    for line in drawing.rules(files.lint_rules(), files.flag_tables()):
        console.print(line, soft_wrap=True)


def _screen(*, verbose: bool) -> tuple[Any, Any]:
    from sparkrig.serving.render.lint import Drawing
    from sparkrig.terminal.screen import Screen

    console = Screen()
    width = console.width if console.has_width else None
    return console, Drawing(width, ascii_only=console.options.ascii_only, everything=verbose)
