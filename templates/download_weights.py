"""Downloads a checkpoint, in a container.

usage: python3 -c PROGRAM CHECKPOINT FOLDER COMMIT, whose COMMIT is empty for the one that was begun with

It goes on where it was, in the commit where it was. What the library leaves out are the same weights once more,
for other programs than vLLM: gpt-oss-120b has them three times. Not the hf tool: huggingface_hub 1.0 reads several
--exclude in another way than 0.36 did.
"""

import sys
from pathlib import Path

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
