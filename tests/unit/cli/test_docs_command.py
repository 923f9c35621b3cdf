"""`sparkrig docs`: each page, each section that anything of ours names, and what a person mistypes."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sparkrig.checks.reference import KINDS
from sparkrig.cli import docs
from sparkrig.resources.kind import to_read
from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[3]
ROOMS = ("sparkrig", "operations", "deploys", "facts")
NAMED = re.compile(r"(?<!`)sparkrig docs ([a-z-]+(?:#[a-z0-9-]+)?)|\bdocs/([a-z-]+\.md(?:#[a-z0-9-]+)?)")


def asked(*words: str) -> Result:
    return CliRunner().invoke(docs.docs, words)


def named() -> set[str]:
    """The pages and sections that our sentences send a person to."""
    texts = [file.read_text() for room in ROOMS for file in (ROOT / room).rglob("*.py")]
    return {page for text in texts for pages in NAMED.findall(text) for page in pages if page}


def test_the_list_has_each_page_with_its_title() -> None:
    listed = asked().output.splitlines()
    assert [line.split()[0] for line in listed] == sorted(file.stem for file in (ROOT / "docs").glob("*.md"))
    assert "security         Security" in listed


@pytest.mark.parametrize("page", ["security", "docs/security.md", "security.md"])
def test_a_page_goes_into_a_pipe_as_it_is(page: str) -> None:
    assert asked(page).output == (ROOT / "docs" / "security.md").read_text()


def test_a_section_ends_where_the_next_one_begins() -> None:
    shown = asked("docs/security.md#host-keys").output
    assert shown.startswith("## Host keys\n")
    assert [line for line in shown.splitlines() if line.startswith("## ")] == ["## Host keys"]


def test_a_comment_in_an_example_ends_no_section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.md").write_text("# A\n\n## B\n\n```\n# a comment\n```\nthe end\n\n## C\n")
    monkeypatch.setattr(docs, "FOLDER", tmp_path)
    assert asked("a#b").output == "## B\n\n```\n# a comment\n```\nthe end\n\n"


def test_what_our_own_sentences_name_is_there() -> None:
    pages = named() | {to_read(kind.docs).removeprefix("sparkrig docs ") for kind in KINDS}
    assert len(pages) > 30
    each_row(sorted(pages), lambda page: ok(asked(page)))


def ok(done: Result) -> None:
    assert done.exit_code == 0, done.output


def test_a_name_that_is_not_there_is_answered_by_the_nearest() -> None:
    done = asked("securty")
    assert (done.exit_code, done.output) == (1, "Error: there is no page securty. Try: sparkrig docs security\n")
    assert asked("zzz").output == "Error: there is no page zzz. Try: sparkrig docs\n"
    assert asked("security#host-kes").output.endswith("Try: sparkrig docs 'security#host-keys'\n")
    assert asked("security#zzz").output.endswith("Try: sparkrig docs security\n")
    assert "no page ../README" in asked("../README").output


@pytest.mark.parametrize(
    ("width", "shown"),
    [(100, "cause level what was seen"), (40, "• one-way; level: fault; what was seen: frames")],
)
def test_a_terminal_has_tables_where_they_fit_and_lists_elsewhere(
    width: int, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages: list[str] = []
    monkeypatch.setattr("sparkrig.terminal.terminal.own_page", pages.append)
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    monkeypatch.setenv("COLUMNS", str(width))
    assert asked("fabric#cabling").exit_code == 0
    text = re.sub(r"\x1b\[[0-9;]*m", "", pages[0])
    assert re.sub(r"\s+", " ", shown) in re.sub(r"\s+", " ", text), text
    assert max(map(len, text.splitlines())) <= width


def test_a_line_of_code_stays_whole_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of a line that is wrapped would be copied as a command."""
    pages: list[str] = []
    monkeypatch.setattr("sparkrig.terminal.terminal.own_page", pages.append)
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    monkeypatch.setenv("COLUMNS", "40")
    assert asked("plan").exit_code == 0
    code = re.findall(r"^```\w*\n(.*?)^```", (docs.FOLDER / "plan.md").read_text(), re.MULTILINE | re.DOTALL)
    lines = {line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", pages[0]).splitlines()}
    assert code and all(line.rstrip() in lines for block in code for line in block.splitlines())


def test_a_word_of_a_heading_leads_to_its_section() -> None:
    assert asked("firewall").output.endswith("Try: sparkrig docs 'access#firewall'\n")


def test_a_link_is_the_command_that_follows_it() -> None:
    followed = {
        "[safety.md](safety.md#the-journal)": "`sparkrig docs safety#the-journal`",
        "[the journal](safety.md)": "the journal (`sparkrig docs safety`)",
        "[below](#cabling)": "below",
        "[pyinfra](https://pyinfra.com)": "[pyinfra](https://pyinfra.com)",
    }
    each_row(list(followed.items()), lambda link, text: same(docs._LINK.sub(docs._followed, link), text))


def same(found: str, wanted: str) -> None:
    assert found == wanted


# --- the files of monitoring


def test_the_files_for_prometheus_and_grafana_are_written_and_a_changed_one_is_kept(tmp_path: Path) -> None:
    place = tmp_path / "sparkrig"
    done = asked("--monitoring", str(place))
    assert (done.exit_code, done.output.split()) == (0, [str(place / name) for name in docs.MONITORING])
    for name in docs.MONITORING:
        assert (place / name).read_text() == (ROOT / "templates/watch" / name).read_text()
        assert (place / name).stat().st_mode & 0o777 == 0o644
    assert asked("--monitoring", str(place)).exit_code == 0
    (place / "rules.yml").unlink()
    (place / "dashboard.json").write_text("mine")
    done = asked("--monitoring", str(place))
    assert done.exit_code == 1 and f"{place}/dashboard.json is there already" in done.output
    assert f"Try: mv {place}/dashboard.json" in done.output
    assert not (place / "rules.yml").exists() and (place / "dashboard.json").read_text() == "mine"


def test_what_is_no_file_is_another_one_and_an_empty_word_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "rules.yml").mkdir()
    os.mkfifo(tmp_path / "dashboard.json")  # which has no end to be read to
    for name in docs.MONITORING:
        done = asked("--monitoring", str(tmp_path))
        assert done.exit_code == 1 and f"{tmp_path}/{name} is there already" in done.output
        (tmp_path / name).rename(tmp_path / f"{name}.old")
    done = asked("--monitoring", "")
    assert done.exit_code != 0 and "a folder is expected, and nothing was given" in done.output


def test_the_files_go_with_no_page() -> None:
    assert asked("watching", "--monitoring", "x").exit_code != 0
