"""Downloads a checkpoint, in a container.

usage: python3 -c PROGRAM CHECKPOINT FOLDER COMMIT, whose COMMIT is empty for the one that was begun with

It goes on where it was, in the commit where it was. Each large file is compared with the SHA-256 that the hub has
of it, once, for the library compares sizes. One that differs is removed, so the next run fetches it anew. What the
library leaves out are the same weights once more, for other programs than vLLM: gpt-oss-120b has them three
times. Not the hf tool: huggingface_hub 1.0 reads several --exclude in another way than 0.36 did.

How far it is stands in FOLDER/.sparkrig-files.progress meanwhile. What the library has of a file that is not whole
yet is named after its digest [@hf-local-folder].
"""

import hashlib
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from threading import Event, Thread
from time import monotonic
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
there = HfApi().model_info(name, revision=commit, files_metadata=True).siblings
coming = [file for file in there if not any(fnmatch(file.rfilename, each) for each in again)]


def progress(began: float, first: int | None) -> tuple[str, int]:
    """How far it is, in words, and the bytes that are here. began, first: when it began, with how many."""
    parts = {part.name.split(".")[-2]: part for part in Path(folder, ".cache").rglob("*.incomplete")}
    have = {}
    for file in coming:
        path = Path(folder, file.rfilename)
        at = path if path.exists() else parts.get(file.lfs.sha256 if file.lfs else file.blob_id)
        have[file.rfilename] = min(at.stat().st_blocks * 512, file.size) if at else 0  # a part may have holes
    done, whole = sum(have.values()), sum(file.size for file in coming)
    rate = (done - (done if first is None else first)) / max(1e-3, monotonic() - began)
    left = f", about {(whole - done) / rate / 60:.0f} min left" if rate else ""
    busy = [file for file in coming if 0 < have[file.rfilename] < file.size]
    at_work = f", {busy[0].rfilename} {100 * have[busy[0].rfilename] // busy[0].size} %" if busy else ""
    whole_files = sum(have[file.rfilename] == file.size for file in coming)
    return (
        f"{100 * done // max(1, whole)} % of {whole / 2**30:.1f} GiB, {rate / 2**20:.0f} MiB/s{left}; "
        f"{whole_files} of {len(coming)} files{at_work}",
        done,
    )


def note(text: str) -> None:
    beside = Path(folder, ".sparkrig-files.progress")
    beside.with_suffix(".new").write_bytes(text.encode())
    beside.with_suffix(".new").replace(beside)


def notes() -> None:
    began, first = monotonic(), None
    while not over.wait(2):
        with suppress(OSError):  # a part became its file meanwhile
            text, done = progress(began, first)
            first = done if first is None else first
            note(text)


over = Event()
noting = Thread(target=notes, daemon=True)
noting.start()
snapshot_download(name, revision=commit, local_dir=folder, ignore_patterns=again)
over.set()
noting.join()
note("100 % of it, to be compared with the hub's SHA-256")


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


with ThreadPoolExecutor(4) as pool:  # hashing leaves Python's lock alone
    odd = [*filter(None, pool.map(differing, there))]
for each in odd:
    Path(folder, each).unlink()
Path(folder, ".sparkrig-files.progress").unlink()
if odd:
    sys.exit(f"{', '.join(odd)} of {name} came with another SHA-256 than the hub's; the same again fetches it")
