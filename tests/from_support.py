"""Turn an archive of `sparkrig support` into fixtures.

    python -m tests.from_support ARCHIVE tests/fixtures/support/NAME

Each file of it becomes a file there, the same text by the same name. What the archive is does not matter to the
machine that unpacks it: sparkrig.support.archive takes only the names that such files have, and none of them is
run.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from sparkrig.refusal import Refusal
from sparkrig.support import archive as support

MOST = support.WHOLE_BYTES  # of an archive, which is smaller than what is in it


def unpacked(archive: Path, folder: Path) -> list[Path]:
    """The files that were made, below a folder that is new. Raises Refusal."""
    with archive.open("rb") as stream:
        content = stream.read(MOST + 1)
    found = support.unpack(content, str(archive))
    told = support.manifest(found, str(archive))
    if folder.exists():
        raise Refusal(f"{folder} is there already", f"ls {folder}, and another name")
    made = []
    for name, text in sorted(found.items()):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="")
        made.append(file)
    digest = hashlib.sha256(content).hexdigest()
    source = f"Made from an archive of sparkrig {told['version']}, {told['created']} (SHA-256 {digest[:16]}).\n"
    (folder / "SOURCE.txt").write_text(source, encoding="utf-8")
    return made


def main(words: list[str]) -> None:
    if len(words) != 2:
        raise SystemExit("python -m tests.from_support ARCHIVE FOLDER")
    try:
        made = unpacked(Path(words[0]), Path(words[1]))
    except (Refusal, OSError) as error:
        raise SystemExit(str(error)) from None
    print(f"{len(made)} files in {words[1]}. Read all of them before they go into git.")


if __name__ == "__main__":
    main(sys.argv[1:])
