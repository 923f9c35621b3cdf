"""Look for words that a reader stumbles over, in pages, help texts and messages: python -m scripts.prose

scripts/prose.yaml has the words, each with what to write in its place. Code in a page, and names in a program, are
not looked at.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("*.md", "docs/**/*.md")
PROGRAMS = ("sparkrig/cli/*.py", "sparkrig/render/*.py", "sparkrig/*/render/*.py")
_CODE = re.compile(r"^ *```.*?^ *```$|`[^`\n]*`|\]\([^)]*\)", re.MULTILINE | re.DOTALL)


@cache
def words() -> dict[str, str]:
    """What to write, by the pattern of what not to."""
    found: dict[str, str] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    return found


def prose(file: Path) -> Iterator[tuple[int, str]]:
    """The texts of a file that people read, each with the line that it begins on."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".md":
        yield 1, _CODE.sub(lambda code: "\n" * code[0].count("\n"), text)
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def faults(file: Path) -> Iterator[str]:
    """`docs/plan.md:12: "likewise"; write: also`."""
    for line, text in prose(file):
        for pattern, instead in words().items():
            for found in re.finditer(rf"(?<!\w)(?:{pattern})(?!\w)", text, re.IGNORECASE):
                at = line + text.count("\n", 0, found.start())
                yield f'{file.relative_to(ROOT)}:{at}: "{found[0]}"; write: {instead}'


def main() -> int:
    """The exit code: 1 where a word was found."""
    files = [file for pattern in (*PAGES, *PROGRAMS) for file in sorted(ROOT.glob(pattern))]
    found = [fault for file in files for fault in faults(file)]
    sys.stdout.write("".join(f"{fault}\n" for fault in found))
    return int(bool(found))


if __name__ == "__main__":
    raise SystemExit(main())
