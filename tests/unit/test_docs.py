"""The pages that a user reads are current, whole, and say nothing that the code contradicts."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from pydantic import TypeAdapter
from pyinfra.connectors.ssh import connector_data_meta

from docs import commands, picture
from docs.make import EXPLAIN, FABRIC, GROUP_DATA, LOGIN, PAGE, page, type_in_words, with_bands, with_readers
from sparkrig.bandwidth.bands import BANDS
from sparkrig.cli.docs import _headings, slug
from sparkrig.cli.main import sparkrig
from sparkrig.explain import readers
from sparkrig.signatures import table, tools
from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
ROOMS = ("sparkrig", "facts", "operations", "deploys", "inventories", "templates")
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]


def test_the_page_of_settings_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "make docs"


def test_a_mapping_with_any_key_is_told_in_words() -> None:
    assert type_in_words(TypeAdapter(dict[str, int]).json_schema()) == "mapping of text to whole number"


def test_the_page_of_commands_is_current() -> None:
    # in a process of its own: click keeps the help option that a command was first asked with, by whatever test
    done = subprocess.run(
        [sys.executable, "-c", "from docs import commands; print(commands.page(), end='')"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert commands.PAGE.read_text(encoding="utf-8") == done.stdout, "make docs"


def test_the_page_of_exit_codes_has_each_verb_whose_help_names_the_code() -> None:
    context = click.Context(sparkrig)
    verbs = [each for name in sparkrig.list_commands(context) if (each := sparkrig.get_command(context, name))]
    helps = {each.name: " ".join((each.help or "").split()) for each in verbs}
    codes = {name: re.findall("(?:Exit code |; )([2-4]): ", text) for name, text in helps.items()}
    rows = (ROOT / "docs/exit-codes.md").read_text(encoding="utf-8")

    def holds(code: str) -> None:
        (cell,) = re.findall(rf"^\| {code} \| [^|]+ \| (.+) \|$", rows, re.MULTILINE)
        assert re.findall(r"`(\w+)`", cell) == [name for name in codes if code in codes[name]]

    each_row(["2", "3", "4"], holds)


def test_the_table_of_bands_is_current() -> None:
    text = FABRIC.read_text(encoding="utf-8")
    assert text == with_bands(text), "make docs"
    assert all(band.meaning in text and band.source in text for band in BANDS)
    text = EXPLAIN.read_text(encoding="utf-8")
    assert text == with_readers(text), "make docs"


def test_the_picture_of_the_readme_is_current_and_shows_one_fault() -> None:
    text = picture.PICTURE.read_text(encoding="utf-8")
    assert text == picture.picture(), "make docs"
    assert "1 thing is wrong" in text and "gpu.clock" in text


CAUSE = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")


def in_code(source: str) -> set[str]:
    """The causes of a module's verdicts.

    They are given to Verdict, or to a class of the module's own that has a field `cause`, or stand in
    rows that are unpacked into a name `cause`.
    """
    nodes = list(ast.walk(ast.parse(source)))
    return {text for each in (*given(nodes), *unpacked(nodes)) for text in words(each)}


def given(nodes: list[ast.AST]) -> Iterator[ast.expr]:
    """What calls give for a field `cause`, by its place or its name."""
    places = {"Verdict": 1}
    for node in nodes:
        if isinstance(node, ast.ClassDef):
            names = [each.target.id for each in node.body if isinstance(each, ast.AnnAssign)]  # type: ignore[union-attr]
            places |= {node.name: names.index("cause")} if "cause" in names else {}
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in places:
            yield from node.args[places[node.func.id] :][:1]
            yield from (each.value for each in node.keywords if each.arg == "cause")


def unpacked(nodes: list[ast.AST]) -> Iterator[ast.expr]:
    """What stands in the place of a name `cause` in tuples of its length; a row has a sentence too."""
    tuples = [node.elts for node in nodes if isinstance(node, ast.Tuple)]
    names = [[each.id if isinstance(each, ast.Name) else "" for each in row] for row in tuples]
    places = {(len(row), row.index("cause")) for row in names if "cause" in row}
    for row in tuples:
        if not all(map(words, row)):
            yield from (row[place] for size, place in places if size == len(row))


def words(node: ast.expr) -> list[str]:
    """The causes that an expression can be."""
    if isinstance(node, ast.IfExp):
        return words(node.body) + words(node.orelse)
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
    return [text] if CAUSE.fullmatch(text) else []


def in_page() -> set[str]:
    """The causes in the first cells of the tables that explain them."""
    rows = re.findall(
        r"^\| (`[^|]+) \|", FABRIC.read_text(encoding="utf-8").partition("## The causes")[2], re.MULTILINE
    )
    return {cause for row in rows for cause in re.findall(r"`([^`]+)`", row)}


# the rooms whose verdicts are of the fabric and its hosts
JUDGES = (
    *(".", "bandwidth", "bandwidth/io", "doctor", "explain", "fabric", "fabric/io", "host", "network", "runs"),
    *("ssh", "update", "watch"),
)


def test_every_cause_is_explained_and_none_that_is_gone() -> None:
    rooms = (*JUDGES, "../operations")
    files = [file for room in rooms for file in (ROOT / "sparkrig" / room).glob("*.py")]
    found = set().union(*(in_code(file.read_text(encoding="utf-8")) for file in files))
    # whose words stand in models/errors.yaml with what they mean
    logs = {
        "serving",
        *(judged for each in readers.READERS if "table" in readers.ROWS[each.tool] for judged in each.judges),
    }
    found |= {each.cause for tool in tools() if tool not in logs for each in table(tool)}
    assert sorted(found - in_page()) == [], "docs/fabric.md, The causes"
    assert sorted(in_page() - found) == []


def test_causes_are_found_in_code() -> None:
    def holds(source: str, causes: set[str]) -> None:
        assert in_code(source) == causes

    each_row(
        [
            ('Verdict("fault", "no-carrier", "x")', {"no-carrier"}),
            ('Verdict(level, cause="no-carrier")', {"no-carrier"}),
            ('Verdict("fault", "low" if mhz < 9 else "lower")', {"low", "lower"}),
            ("class Row:\n  level: str\n  cause: str\nRow('fault', 'kho')", {"kho"}),
            ("ROWS = {5: ('flushed', 'it broke off', 'ping')}\ncause, why, cure = ROWS[5]", {"flushed"}),
            ("cause, why = ROWS[5]\nname in ('index', 'serial')", set()),
            ('Verdict("healthy"); Verdict("fault", found.cause); other("a", "b")', set()),
        ],
        holds,
    )


def test_login_keys_are_ones_that_pyinfra_knows() -> None:
    assert {key for key, _ in LOGIN} <= {*connector_data_meta, "_sudo"}
    assert "_sudo" in GROUP_DATA.read_text(encoding="utf-8")


def links(text: str) -> Iterator[str]:
    """Targets of Markdown links to files and sections, outside of code."""
    prose = re.sub(r"```.*?```|`[^`\n]*`(?!\])", "", text, flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if not re.match(r"[a-z]+:", target):
            yield target


def test_links_lead_to_files_and_sections_that_exist() -> None:
    def leads(page: Path, link: str) -> bool:
        name, _, section = link.partition("#")
        file = page.parent / name if name else page
        return file.exists() and (not section or section in sections(file))

    def holds(page: Path) -> None:
        assert [link for link in links(page.read_text(encoding="utf-8")) if not leads(page, link)] == []

    each_row(dict(zip(NAMES, PAGES, strict=True)), holds)


def sections(page: Path) -> set[str]:
    """The names by which links reach the headings of a page."""
    return {slug(title) for _, _, title in _headings(page.read_text(encoding="utf-8"))}


# names that a page uses for a file that a reader would make
EXAMPLE = re.compile(r".*/(?:(?:test_)?motd|mine|sparks|[A-Z]+)\.py")


def test_paths_of_this_repository_that_are_named_exist() -> None:
    def holds(page: Path) -> None:
        rooms = "|".join((*ROOMS, "docs", "lab", "scripts", "tests"))
        path = rf"(?<![\w/.-])(?:{rooms})/[\w/.-]+\.(?:py|md|j2|toml|txt)\b"
        named = {
            each for each in re.findall(path, page.read_text(encoding="utf-8")) if not EXAMPLE.fullmatch(each)
        }
        assert sorted(each for each in named if not (ROOT / each).exists()) == []

    each_row(dict(zip(NAMES, PAGES, strict=True)), holds)


def strings(source: str) -> Iterator[str]:
    """Every string of a module, docstrings left out."""
    tree = ast.parse(source)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


@pytest.mark.slow  # reads every page and command
def test_what_the_readme_says_is_never_done_stands_in_no_command() -> None:
    never = ("netplan apply", "docker.io", "systemctl reboot", "shutdown -r", "shutdown -h", "shutdown now")
    domain = (ROOT / "sparkrig/redaction/redaction.yaml", "docker.io")  # where it is a registry's, and no package
    files = [file for room in ROOMS for file in (ROOT / room).rglob("*") if file.is_file()]
    found = []
    for file in (each for each in files if each.suffix != ".pyc"):
        text = file.read_text(encoding="utf-8")
        texts = list(strings(text)) if file.suffix == ".py" else [text]
        found += [(file, word) for word in never if any(word in each for each in texts)]
    # the one verb that reboots, after a question: the reboot itself, and the timer that takes it back
    reboots = {
        (ROOT / f"templates/programs/operations/update_{name}.sh", "systemctl reboot")
        for name in ("boot", "reboot")
    }
    assert files and {*found} == {domain} | reboots
