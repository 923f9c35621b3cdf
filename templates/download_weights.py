"""Downloads a checkpoint, in a container.

usage: python3 -c PROGRAM CHECKPOINT FOLDER COMMIT, whose COMMIT is empty for the one that was begun with

It goes on where it was, in the commit where it was. Each large file is compared with the SHA-256 that the hub has
of it, once, for the library compares sizes. One that differs is removed, so the next run fetches it anew. What the
library leaves out are the same weights once more, for other programs than vLLM: gpt-oss-120b has them three
times. Not the hf tool: huggingface_hub 1.0 reads several --exclude in another way than 0.36 did.
"""

import hashlib
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi, snapshot_download

name, folder, commit = sys.argv[1:]
begun = Path(folder, ".sparkrig-revision")
commit = (
    commit
    or (begun.read_text(encoding="utf-8", errors="replace").strip() if begun.exists() else "")
    or HfApi().model_info(name).sha
)
begun.write_bytes(f"{commit}\n".encode())
again = ["original/*", "metal/*", "consolidated*"]
snapshot_download(name, revision=commit, local_dir=folder, ignore_patterns=again)


def differing(file: Any) -> str:
    """The name of a file that is another one here than on the hub, or nothing; small ones have no digest."""
    path = Path(folder, file.rfilename)
    if not file.lfs or not path.is_file() or not path.resolve().is_relative_to(Path(folder).resolve()):
        return ""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while piece := stream.read(1 << 24):
            digest.update(piece)
    return "" if digest.hexdigest() == file.lfs.sha256 else str(file.rfilename)


there = HfApi().model_info(name, revision=commit, files_metadata=True).siblings
with ThreadPoolExecutor(4) as pool:  # hashing leaves Python's lock alone
    odd = [*filter(None, pool.map(differing, there))]
for each in odd:
    Path(folder, each).unlink()
if odd:
    sys.exit(f"{', '.join(odd)} of {name} came with another SHA-256 than the hub's; the same again fetches it")
