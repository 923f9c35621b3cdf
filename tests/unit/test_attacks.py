"""Lines as tools and kernels print them, with made-up identifiers (tests/attacks/lines.yaml), are redacted whole.

Nothing of the values is known beforehand: no host says them, and only what stands around them tells of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sparkrig.explain.tools import explain
from sparkrig.facts.evidence import JOURNALS, TOOLS
from sparkrig.redaction.book import Known
from sparkrig.redaction.redactor import Redactor
from tests.attacks import canaries, lines
from tests.tables import each_row
from tests.unit.shells import sh, tool

ARCHIVES = Path(__file__).parents[1] / "fixtures" / "support"


def redacted(text: str, known: Known | None = None) -> str:
    redactor = Redactor(known)
    redactor.learn(text)
    return redactor.redact(text)


@pytest.mark.slow
def test_every_line_of_an_attacker_is_taken_out_of_a_text_that_has_all_of_them() -> None:
    assert lines.left(redacted(lines.text())) == {}


@pytest.mark.slow  # each line alone, 230 of them, in each surrounding: half a minute
def test_every_line_alone_is_taken_out_in_every_surrounding() -> None:
    def holds(around: Callable[[str], str]) -> None:
        for planted in lines.planted():
            text = redacted(around(planted.line))
            assert not canaries.left(text, planted.words), text

    each_row({name: (around,) for name, around in {**lines.AROUND, **lines.ENCODED}.items()}, holds)


def collected() -> list[Path]:
    """One of each kind: the machines of an archive are alike."""
    return sorted(ARCHIVES.glob("*/machine-1/*/*.txt"))


def verdicts(text: str) -> list[tuple[str, list[tuple[str, str]]]]:
    return [
        (each.tool, [(finding.verdict.level, finding.verdict.cause) for finding in each.findings])
        for each in explain(text)
    ]


@pytest.mark.slow  # each text of an archive with 230 lines in it: 15 s
def test_in_every_collected_text_nothing_of_them_is_left_and_what_explain_says_stays() -> None:
    planted = lines.text()

    def holds(place: int, file: Path) -> None:
        text = file.read_text()
        rows = text.splitlines()
        where = (0, len(rows) // 2, len(rows))[place % 3]
        done = redacted("\n".join([*rows[:where], "", planted, "", *rows[where:]]))
        assert lines.left(done) == {}
        assert verdicts(redacted(text)) == verdicts(text)

    each_row(enumerate(collected()), holds)


def test_what_explain_says_of_a_text_is_what_it_says_of_the_redacted_one() -> None:
    """Beside the archives: every published output of a tool that explain reads."""

    def holds(file: Path) -> None:
        text = file.read_text(errors="replace")
        assert verdicts(redacted(text)) == verdicts(text)

    each_row(sorted((ARCHIVES.parent / "paste").rglob("*.txt")), holds)


def test_explain_reads_a_text_without_its_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr("sparkrig.explain.tools.SPLITTER.pieces", lambda text: [*map(read.append, [text])][:0])
    explain("args: {'api_key': ['explainedkey1']}\nHF_TOKEN=explainedkey2\nmax_tokens: 9")
    assert "explainedkey" not in read[0] and "max_tokens: 9" in read[0]


def test_docker_is_asked_for_single_fields_alone(tmp_path: Path) -> None:
    """`docker info` as a whole names mirrors, proxies with who logs in, labels, the swarm and the host."""
    tool(tmp_path, "docker", 'printf "%s|" "$@"; echo')
    tool(tmp_path, "systemctl", "exit 0")
    said = sh(TOOLS["docker"], path=tmp_path).stdout
    asked = "".join(line for line in said.splitlines(keepends=True) if not line.startswith("$ "))
    assert asked.count("--format") == 4, asked
    for field in (
        "Registry",
        "Proxy",
        "{{.Name}}",
        "{{.ID}}|",
        "Labels",
        "NodeID",
        "Context",
        "Command",
        "json .",
    ):
        assert field not in asked, field
    assert "docker info" not in "".join(JOURNALS.values())


def test_file_systems_of_other_machines_are_not_asked_for() -> None:
    assert "df -hl" in TOOLS["system"]
