"""The pages that a user reads are current, whole, and say nothing that the code contradicts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyinfra.connectors.ssh import connector_data_meta

from docs.make import GROUP_DATA, LOGIN, PAGE, page, type_in_words
from sparkrig.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
ROOMS = ("sparkrig", "facts", "operations", "deploys", "inventories", "templates")
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]


def test_the_page_of_settings_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "make docs"


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_says_what_it_means(name: str) -> None:
    meaning = Settings.model_fields[name].description or ""
    assert meaning.endswith((".", ")")), f"{name} has no description that ends like a sentence"
    row = next(line for line in page().splitlines() if line.startswith(f"| `{name}` |"))
    assert meaning in row


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("pair", "text or `None`"),
        ("fabric", "mapping of text to IPv4 address/prefix"),
        ("allow_non_spark", "True or False"),
        ("driver_branch", "`580`"),
        ("mtu", "whole number, 1280 to 9216"),
        ("socket_interface", '`"fabric"` or `"management"`'),
        ("bandwidth_floor", "number above 0 or `None`"),
        ("bandwidth_path_mtu", "`1024`, `2048` or `4096`"),
    ],
)
def test_types_are_in_words(name: str, words: str) -> None:
    assert type_in_words(Settings.model_json_schema()["properties"][name]) == words


def test_login_keys_are_ones_that_pyinfra_knows() -> None:
    assert {key for key, _ in LOGIN} <= {*connector_data_meta, "_sudo"}
    assert "_sudo" in GROUP_DATA.read_text(encoding="utf-8")


def links(text: str) -> Iterator[str]:
    """Targets of Markdown links to files, outside of code."""
    prose = re.sub(r"```.*?```|`[^`\n]*`(?!\])", "", text, flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if not re.match(r"[a-z]+:|#", target):
            yield target.partition("#")[0]


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_to_files_that_exist(page: Path) -> None:
    broken = [link for link in links(page.read_text(encoding="utf-8")) if not (page.parent / link).exists()]
    assert broken == []


# names that a page uses for a file that a reader would make
EXAMPLE = re.compile(r".*/(?:(?:test_)?firewall|[A-Z]+)\.py")


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_paths_of_this_repository_that_are_named_exist(page: Path) -> None:
    rooms = "|".join((*ROOMS, "docs", "lab", "scripts", "tests"))
    path = rf"(?<![\w/.-])(?:{rooms})/[\w/.-]+\.(?:py|md|j2|toml|txt)\b"
    named = {each for each in re.findall(path, page.read_text(encoding="utf-8")) if not EXAMPLE.fullmatch(each)}
    assert sorted(each for each in named if not (ROOT / each).exists()) == []


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


@pytest.mark.parametrize("word", ["netplan apply", "docker.io", "systemctl reboot", "shutdown"])
def test_what_the_readme_says_is_never_done_stands_in_no_command(word: str) -> None:
    files = [
        file for room in ROOMS for file in (ROOT / room).rglob("*") if file.is_file() and file.suffix != ".pyc"
    ]
    for file in files:
        text = file.read_text(encoding="utf-8")
        texts = strings(text) if file.suffix == ".py" else [text]
        assert not any(word in each for each in texts), file
