"""What comes from outside is shown and steers nothing, and nothing is printed past the place that sees to it."""

from __future__ import annotations

import ast
import io
import json
import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click
import pytest
from markupsafe import Markup
from pyinfra.api import output
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from sparkrig.drift.drift import Host, Report, Row
from sparkrig.drift.render import drift_junit, drift_prom
from sparkrig.refusal import Refusal
from sparkrig.render import templates
from sparkrig.ssh.remote import Failed, Lost
from sparkrig.terminal import terminal
from sparkrig.terminal.screen import Screen
from sparkrig.text import lines, plain
from tests.attacks.texts import CODES, codes
from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[3]
ROOMS = ("sparkrig", "operations", "facts", "deploys", "inventories")
# the place itself: pyinfra's and click's own ways to print, and rich's; a picture is no terminal, and its template
# makes every text plain (tests/unit/render/test_picture.py)
PLACE = {"sparkrig/terminal/terminal.py", "sparkrig/terminal/screen.py", "sparkrig/render/picture.py"}
PRINTS = {
    *("print", "pprint", "click.echo", "click.secho", "click.prompt", "click.confirm", "click.echo_via_pager"),
    *("Console", "rich.print", "rich.get_console", "sys.stdout.write", "sys.stderr.write"),
    *("Text.from_markup", "Text.from_ansi", "traceback.print_exc", "getpass.getpass", "input", "warnings.warn"),
    *("console.input", "console.print_json", "console.out"),
}


def called(tree: ast.AST) -> Iterator[str]:
    """The names that a file calls, those of its imports from rich, and `markup=True`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)
            for word in node.keywords:
                if word.arg == "markup" and ast.unparse(word.value) != "False":
                    yield "markup="
            title = next((word.value for word in node.keywords if word.arg in ("title", "subtitle")), None)
            if ast.unparse(node.func) == "Panel" and isinstance(title, (ast.JoinedStr, ast.Constant)):
                yield "Panel(title=a string)"
        elif isinstance(node, ast.ImportFrom) and node.module in ("rich", "rich.markup"):
            yield f"from {node.module}"


# a file without any of them is not taken apart, which costs ten times as much
WORTH = re.compile(r"print|echo|prompt|confirm|Console|console|write|from_|getpass|input|warn|markup|rich|Panel")
WRONG = PRINTS | {"markup=", "from rich", "from rich.markup", "Panel(title=a string)"}


@pytest.mark.slow
def test_nothing_is_printed_past_the_terminal() -> None:
    past = [
        f"{path}: {name}"
        for room in ROOMS
        for file in sorted((ROOT / room).rglob("*.py"))
        if (path := str(file.relative_to(ROOT))) not in PLACE
        if WORTH.search(text := file.read_text())
        for name in called(ast.parse(text))
        if name in WRONG
    ]
    assert past == []


def test_what_prints_past_the_terminal_is_found() -> None:
    def holds(line: str) -> None:
        assert set(called(ast.parse(line))) & WRONG, line

    each_row(
        [
            "print(found)",
            "click.echo(found, err=True)",
            "click.confirm(name)",
            "Console(highlight=False).print(x)",
            "sys.stdout.write(x)",
            "from rich.markup import escape",
            "from rich import print",
            "console.print(x, markup=True)",
            "Text.from_markup(x)",
            'Panel(x, title=f"{name}")',
        ],
        holds,
    )


def test_plain_leaves_what_can_be_seen_and_nothing_else() -> None:
    for number in (*range(0x3200), *range(0xD700, 0x10000), *range(0xE0000, 0xE0100)):
        if codes(character := chr(number)):
            assert plain(character) == " ", hex(number)
    for said in ("spark-a", "é", "日本", "→ ✓ ≠ µs", "[/x] <b>&amp;", "a  b"):
        assert plain(said) == lines(said) == said
    assert lines("a\tb\nc\r\nd\x85e\u2028f") == "a       b\nc \nd e f"


def test_ci_obeys_no_line_of_a_host() -> None:
    for said, written in {
        "::add-mask::x": ": :add-mask::x",
        "a\n\u00a0 ::error file=x,line=1::y": "a\n  : :error file=x,line=1::y",
        "::set-output name=a::b": ": :set-output name=a::b",
        "say ##vso[task.setvariable variable=PATH]x": "say # #vso[task.setvariable variable=PATH]x",
        "##[command]x ##teamcity[x]": "# #[command]x # #teamcity[x]",
    }.items():
        assert lines(said) == written
        assert written in shown(said), shown(said)
        assert written.split("\n")[-1].strip() in shown(Text(said.replace("\u00a0", " "))), said
    for stays in ("::1 dev lo", "fe80::1 a::b", "a ::error::b", "## [x]", "C++ std::vector::size"):
        assert lines(stays) == stays and stays in shown(Text(stays))


def shown(what: object, **how: Any) -> str:
    file = io.StringIO()
    Screen(file=file, width=60, **how).print(what)
    return file.getvalue()


def test_a_screen_shows_text_of_any_kind_without_its_codes_and_reads_no_markup() -> None:
    hostile = f"[/x][bold]a{''.join(CODES)}b[link=http://x]:smile:[/]"

    def drawn(made: object) -> None:
        said = shown(made)
        assert not codes(said) and "[/x][bold]a" in "".join(said.split()), said
        assert "b[link=http://x]:smile:[/]" in "".join(said.split())

    grid, titled = Table.grid(), Table("x", title=hostile)
    grid.add_row(hostile)
    titled.add_row("x")
    each_row([hostile, Text(hostile), Text.assemble((hostile, "red")), grid, titled], drawn)
    panel = shown(Panel("x", title=Text("[/x]\x1b]52;c;eA==\x07")))
    assert not codes(panel) and "[/x]" in panel


def test_no_line_ends_in_blanks_in_a_pipe() -> None:
    grid = Table.grid(padding=(0, 2))
    grid.add_row("a  b", "long enough to be broken off where sixty columns end, which they do")
    grid.add_row("c", Text.assemble(("d ", "underline"), "  "))
    rows = shown(grid).split("\n")
    assert rows[0].startswith("a  b  long") and len(rows) == 4
    assert [row for row in rows if row.endswith(" ")] == [rows[2]] and rows[2].endswith("d ")
    assert shown(grid, force_terminal=True, color_system=None).split("\n")[0].endswith(" ")


def test_a_screen_keeps_its_own_colours_and_moves_its_own_cursor() -> None:
    terminal_ = {"force_terminal": True, "color_system": "standard"}
    said = shown(Text("a\x1b[8mb\x9bc", "red"), **terminal_)
    assert said == "\x1b[31ma [8mb c\x1b[0m\n"
    file = io.StringIO()
    with Live(Text("x\x1b[2Jy"), console=Screen(file=file, width=60, **terminal_), auto_refresh=False) as live:  # type: ignore[arg-type]
        live.refresh()
    assert "\x1b[?25l" in file.getvalue() and "\x1b[2J" not in file.getvalue()


def test_what_a_verb_prints_asks_and_ends_with_is_plain(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"spark{''.join(CODES)}-a"
    for each in (click.ClickException, click.UsageError):
        monkeypatch.setattr(each, "show", each.show)
    terminal.errors()
    asked: list[str] = []

    def answered(text: str) -> str:
        asked.append(text)
        return "y"

    monkeypatch.setattr("click.termui.visible_prompt_func", answered)

    def holds(act: object) -> None:
        assert callable(act)
        act()
        told = capsys.readouterr()
        assert not codes(told.out + told.err + "".join(asked)) and "-a" in told.out + told.err + "".join(asked)
        asked.clear()

    each_row(
        {
            "echo": (lambda: terminal.echo(name),),
            "on standard error": (lambda: terminal.echo(name, err=True),),
            "a pager": (lambda: terminal.page([name]),),
            "a question": (lambda: terminal.confirm(f"{name}?"),),
            "a prompt": (lambda: terminal.prompt(name),),
            "an error": (lambda: click.ClickException(name).show(),),
            "a usage error": (lambda: click.UsageError(name).show(),),
        },
        holds,
    )


def test_what_pyinfra_logs_and_prints_is_plain_and_keeps_pyinfra_s_colours(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log, heard = logging.getLogger("pyinfra"), io.StringIO()
    handler = logging.StreamHandler(heard)
    monkeypatch.setattr(log, "filters", [])
    monkeypatch.setattr(log, "handlers", [handler])
    monkeypatch.setattr(output, "_echo", output._default_echo)
    terminal.clean_pyinfra()
    assert log.filters == [], "the API prints nothing, and is left alone"
    output.set_echo(click.echo)
    for _ in range(2):
        terminal.clean_pyinfra()
    assert len(log.filters) == 1
    said = f"{click.style('E: x', 'red')}{''.join(CODES)}\x1b[8mhidden\x1b[30m"
    log.error("%s 100%%", said)
    log.error("50% of it\x1b[2J")
    output.echo(said, err=True)
    for text in (heard.getvalue(), capsys.readouterr().err):
        assert "\x1b[31mE: x\x1b[0m" in text or "E: x" in text
        assert not codes(text.replace("\x1b[31m", "").replace("\x1b[0m", "")), text
    assert "50% of it [2J" in heard.getvalue() and "100%" in heard.getvalue()
    assert terminal.coloured("\x1b[31mleft open").endswith("\x1b[0m")


def test_a_refusal_and_an_answer_are_one_line_and_have_an_end() -> None:
    hostile = f"a{''.join(CODES)}\nspark-b: undone"
    refusal = Refusal(hostile, hostile)
    for said in (refusal.what, str(Failed(hostile)), str(Lost(hostile))):
        assert not codes(said) and "\n" not in said
    assert not codes(str(refusal))
    assert len(str(Failed("x" * 10**6))) == 1000


def test_an_error_fits_a_narrow_terminal_and_its_command_stays_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    class Screenful(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("COLUMNS", "40")
    said = f"Error: {'word ' * 20}end. Try: sparkrig doctor {'x' * 40} access"
    *what, typed = terminal._rows(said, Screenful())
    assert typed == f"Try: sparkrig doctor {'x' * 40} access" and max(map(len, what)) <= 40
    assert terminal._rows(said, io.StringIO()) == [said], "in a pipe it is one line"


def test_the_holes_of_a_page_and_of_a_drawing_are_plain() -> None:
    jinja = templates.template("picture.svg.j2").environment
    hole = jinja.from_string('<a title="{{ x }}">{{ x }}{{ y }}</a>')
    text = hole.render(x=f'"><script>{"".join(CODES)}', y=Markup("<b>\x1b</b>"))
    assert not codes(text) and "<script>" not in text and "<b> </b>" in text
    ElementTree.fromstring(text)


def test_a_letter_that_the_terminal_lacks_is_no_error() -> None:
    """Of a terminal in Latin-1; the program itself, for its streams are Python's own."""
    program = (
        "from sparkrig.terminal import screen, terminal; terminal.encodings();"
        "terminal.echo('\\u65e5\\udce9x'); screen.Screen().print('\\u65e5\\udce9x')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONIOENCODING": "latin-1", "PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (0, "\\u65e5 x\n" * 2), done


def test_json_has_its_codes_as_escapes() -> None:
    assert not codes(lines(json.dumps("".join(CODES))))


def test_what_junit_and_prometheus_get_is_plain_whoever_cleaned_it_before() -> None:
    hostile = f"<b>{''.join(CODES)}"
    row = Row(id=f"net.x{hostile}", status="drift", want=hostile, found=hostile, cure=hostile)
    read, unread = (
        Host(name="spark-a", rows=[row], exit=2),
        Host(name="spark-b", rows=[], exit=3, unread=hostile, cure=hostile),
    )
    made = Report.model_construct(
        inventory=f"x{hostile}", started=datetime.now(UTC), seconds=1.0, hosts=[read, unread], exit=3, version=""
    )
    tree = drift_junit.xml(made)
    assert not codes(tree) and len([*ElementTree.fromstring(tree).iter("testcase")]) == 2
    told = drift_prom.metrics(made)
    assert not codes(told) and 'check="net.x<b>' in told
