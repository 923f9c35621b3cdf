"""What is cited is in models/sources.yaml, all of that is cited, and nothing is cited that users do not have."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from sparkrig.serving.io import lint_rules
from sparkrig.serving.io.catalogue_files import catalogue
from sparkrig.serving.lint.claims import Claim
from sparkrig.serving.startup import REFERENCES, TOTALS
from tests.memory_logs import logs

ROOT = Path(__file__).resolve().parents[2]
THIS = "tests/unit/test_sources.py"
DATA, PAGE = "models/sources.yaml", "docs/sources.md"

# [@key], or [@one, @two]; "${words[@]}" of a shell is none, nor is "[@fake/host]" of pyinfra
CITED = re.compile(r"\[@((?!fake\b)\w[^\]\n]*)(\]?)")
KEY = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")

# notes that the makers had beside the repository, their articles by number, and issues that no key stands for
ABSENT = re.compile(
    r"spark-domain|reliability-notes|peers\.md|pyinfra-notes|virtual-pair\.md|field-2026|suite-2026"
    r"|shared/(?:seeds|reference)|\bseeds/|reference/(?:captures|recorded)"
    r"|\barticles?[ -]00\d|\bforum \d{5,}|\b\w[\w.-]*/[\w.-]+#\d{2,}",
    re.IGNORECASE,
)


@cache
def texts() -> Mapping[str, str]:
    """Each file of the repository that is text, by its path; this one is left out, for it shows what is wrong."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout.split("\0")
    found = {}
    for name in filter(None, names):
        try:
            found[name] = (ROOT / name).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue  # a picture, a file that is deleted and not yet committed, a link to a folder
    assert len(found) > 400, "these are not all files"
    return {name: text for name, text in found.items() if name != THIS}


def claims() -> Iterator[Claim]:
    for rule in lint_rules.rules():
        yield from (*rule.reasons, *rule.against)


def marked(text: str) -> Iterator[tuple[str, str]]:
    """Each key that a text cites, with what is wrong about the form of its citation, or nothing."""
    for found in CITED.finditer(text):
        inner, end = found.groups()
        for each in re.split(r", @", inner):
            wrong = "" if end and KEY.fullmatch(each) else "not of the form [@one, @two], on one line"
            yield each, wrong


def dangling(files: Mapping[str, str], known: Iterable[str]) -> list[str]:
    keys = set(known)
    return [
        f"{name}: {key}: {wrong or 'no such key'}"
        for name, text in files.items()
        if name != PAGE
        for key, wrong in marked(text)
        if wrong or key not in keys
    ]


def unused(files: Mapping[str, str], structured: Iterable[str], known: Iterable[str]) -> list[str]:
    """Keys that nothing cites; the table of them is no citation."""
    used = {key for name, text in files.items() if name not in (DATA, PAGE) for key, _ in marked(text)}
    return sorted(set(known) - used - set(structured))


def structured() -> set[str]:
    """The keys that stand in fields: of the catalogue, rules, logs of memory, and the figures beside a start."""
    found = {key for model in catalogue().models.values() for key in model.sources()}
    found |= {claim.source.partition(",")[0] for claim in claims()}
    found |= {each.source for kind in REFERENCES.values() for each in kind.values()}
    found |= {log.source for log in logs()}
    return found | {each.source for each in TOTALS.values()}


def test_no_file_cites_what_users_do_not_have() -> None:
    found = [
        f"{name}:{number}: {line.strip()[:120]}"
        for name, text in texts().items()
        for number, line in enumerate(text.splitlines(), 1)
        if ABSENT.search(line)
    ]
    assert not found, "\n".join(found)


def test_every_citation_has_its_source() -> None:
    keys = catalogue().sources
    assert not (found := dangling(texts(), keys)), "\n".join(found)
    lost = {key for key in structured() - set(keys) if not (ROOT / key).exists()}
    assert not lost, f"neither a key nor a path of the repository: {sorted(lost)}"


def test_every_source_is_cited() -> None:
    assert not (found := unused(texts(), structured(), catalogue().sources)), f"nothing cites {found}"


def test_a_dangling_and_an_unused_key_are_found() -> None:
    files = {
        "a.py": "# as [@known, @lost] say, and [@Wrong Form], and [@cut,\n# @off]; " + 'echo "${words[@]}"',
        PAGE: "`alone` [@alone]",
    }
    assert [each.split(": ")[1] for each in dangling(files, ["known", "alone", "off"])] == [
        "lost",
        "Wrong Form",
        "cut,",
    ]
    assert unused(files, ["field"], ["known", "alone", "field"]) == ["alone"]


def test_every_source_says_what_where_and_when() -> None:
    for key, each in catalogue().sources.items():
        assert KEY.fullmatch(key), key
        assert (each.day is None) != (each.read is None), f"{key}: a day, or else when it was read"
        assert " " not in each.where or not each.where.startswith("http") or each.where.endswith(")"), key
