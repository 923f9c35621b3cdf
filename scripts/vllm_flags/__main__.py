"""Keep models/vllm/flags.yaml current: python -m scripts.vllm_flags [VERSION ...]"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from scripts.vllm_flags import command_line, package_index, table, variables
from scripts.vllm_flags.package_index import Index, Package
from scripts.vllm_flags.source import Source
from sparkrig.refusal import Refusal
from sparkrig.serving.flags import Knowledge, Release, Table, Version
from sparkrig.serving.io import catalogue_files, vllm_flags

_FIRST = (0, 11)  # with no version named: NVIDIA's 25.11 has it, the oldest image that lint knows [@vllm-30163]


def main(words: list[str] | None = None) -> int:
    given = _parser().parse_args(words)
    try:
        known = vllm_flags.knowledge(folder=catalogue_files.FOLDER) if vllm_flags.FILE.exists() else None
        with package_index.index() as index:
            add(known, index, given.version, vllm_flags.FILE)
    except (ValueError, Refusal) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def add(known: Knowledge | None, index: Index, wanted: Iterable[str], file: Path) -> None:
    """Read versions and write the file; without any named, the last release of each minor version that is new."""
    found = table.tables(known)
    packages = index.packages()
    chosen = _named(packages, wanted) if wanted else _new(packages, found)
    for each in chosen:
        print(f"vLLM {each.version}, {each.released}")
        found[each.version.release[:2]] = read(each, index)
    file.parent.mkdir(exist_ok=True)
    file.write_text(table.text(datetime.now(UTC).date(), found), encoding="utf-8")
    print(f"{file}: {len(found)} versions, the newest {max(found)[0]}.{max(found)[1]}")


def read(package: Package, index: Index) -> Table:
    """What one release takes."""
    source = Source(index.files(package))
    release = Release(str(package.version), package.released, package.sha256, command_line.opposites(source))
    return Table(release, command_line.flags(source), variables.variables(source))


def _named(packages: list[Package], wanted: Iterable[str]) -> list[Package]:
    known = {str(each.version): each for each in packages}
    if absent := [each for each in wanted if each not in known]:
        raise ValueError(f"no source package of vLLM {', '.join(absent)}; the newest is {packages[-1].version}")
    return [known[each] for each in wanted]


def _new(packages: list[Package], found: dict[Version, Table]) -> list[Package]:
    """The last patch release of each minor version that was not read yet, or had an earlier one."""
    last = {each.version.release[:2]: each for each in packages if each.version.release[:2] >= _FIRST}
    return [
        each for minor, each in last.items() if minor not in found or found[minor].release.sha256 != each.sha256
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.vllm_flags", description="Write models/vllm/flags.yaml."
    )
    parser.add_argument("version", nargs="*", help="whole, as 0.33.0; left out: all that are new")
    return parser


if __name__ == "__main__":
    sys.exit(main())
