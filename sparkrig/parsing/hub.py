"""What a checkpoint of Hugging Face goes by: OWNER/NAME there, and what people call a folder of it."""

from __future__ import annotations

import re

from sparkrig.parsing.grammar import Grammar

ID = re.compile(r"\w[\w.-]*/\w[\w.-]*")  # it becomes a folder, so neither part is `..`
# as huggingface_hub takes one (validate_repo_id), so that neither part is a path, `..` or an option
_PART = r"(?![.-])(?!.*(?:--|\.\.))[A-Za-z0-9._-]{1,96}(?<![.-])"
CHECKPOINT = Grammar("checkpoint (OWNER/NAME)", f"{_PART.replace('.*', '[^/]*')}/{_PART}")
# a reference with tag or digest (distribution/reference), or an ID
IMAGE = Grammar("name of an image", r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,511}")
REVISION = re.compile(r"[0-9a-f]{40}")  # a commit; branches and tags move


def whole(name: str) -> str:
    """The last two parts of a name or path in small letters, which are OWNER/NAME where both were kept."""
    return "/".join(name.lower().rstrip("/").split("/")[-2:])


def folders(id: str) -> tuple[str, str]:
    """Folders that hold it, in small letters: `NAME`, and `NAME-OWNER` where several owners use the name.

    [@docai-122b] has three NVFP4 checkpoints of one name, and keeps the first in ...-NVFP4-Sehyo.
    """
    owner, _, name = id.lower().partition("/")
    return name, f"{name}-{owner}"
