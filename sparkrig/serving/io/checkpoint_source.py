"""The small files of a checkpoint, from a folder of this machine or from the hub. Nothing of them is run.

The token of the hub comes from HF_TOKEN, stays in memory, and goes to the hub's own host alone, not to where it
redirects.
"""

from __future__ import annotations

import os
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

from sparkrig.cure import Cure, local, quoted, quoted_path
from sparkrig.parsing import bounds, hub
from sparkrig.refusal import Refusal
from sparkrig.serving.checkpoint.config import CHARS
from sparkrig.serving.checkpoint.files import INDEX_CHARS, Files
from sparkrig.serving.checkpoint.kinds import ADAPTER
from sparkrig.serving.io import https
from sparkrig.text import reason

CONFIG, QUANTIZATION, INDEX = "config.json", "hf_quant_config.json", "model.safetensors.index.json"
_HUB = "https://huggingface.co"
_WHOLE_S = 90.0  # for one file
_LIST_CHARS = 8_388_608  # of the list of files: 1,000 entries have 0.3 MB
_MOST = 100_000  # files of a folder
# a folder without config.json that is one of weights all the same
_TELLS = re.compile(r"\.gguf$|^model_index\.json$", re.IGNORECASE).search
_NO_FILE = 404
_BARRED = (401, 403)


@dataclass(frozen=True)
class Fetched:
    """files: as they were read; revision: the commit of the hub that they are of, empty where it is not known."""

    files: Files
    revision: str = ""


# --- a folder


def folder(path: Path) -> Fetched:
    """The files of a folder. Raises Refusal."""
    config, adapter, sizes = _text(path / CONFIG, CHARS), _text(path / ADAPTER, CHARS), _sizes(path)
    if config is None and adapter is None and not any(map(_TELLS, sizes)):
        raise Refusal(f"{path} has no {CONFIG}, so it is no folder of a checkpoint", f"ls -l {quoted_path(path)}")
    index, quantization = _text(path / INDEX, INDEX_CHARS), _text(path / QUANTIZATION, CHARS)
    return Fetched(Files(config or "", index or "", quantization or "", sizes, adapter or ""))


def _text(file: Path, most: int) -> str | None:
    """None where there is no such file."""
    try:
        if file.exists() and not file.is_file():  # a pipe would be waited for
            raise Refusal(f"{file} cannot be read: it is no file", f"ls -l {quoted_path(file.parent)}")
        with file.open("rb") as stream:
            content = stream.read(4 * most + 1)  # a character of UTF-8 has four bytes at most
        return _decoded(content, str(file), most)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Refusal(f"{file} cannot be read: {reason(error)}", f"ls -l {quoted_path(file.parent)}") from None


def _decoded(content: bytes, name: str, most: int) -> str:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = ""
    if not text or len(text) > most:
        raise Refusal(f"{name} is no text in UTF-8 of at most {most:,} characters", "take another checkpoint")
    return text


def _sizes(path: Path) -> dict[str, int]:
    try:
        return {file.name: file.stat().st_size for file in islice(path.glob("*"), _MOST) if file.is_file()}
    except OSError:
        return {}  # the index has a size of its own


# --- the hub


def from_hub(id: str) -> Fetched:
    """The files of a checkpoint of the hub. Raises Refusal: not reached, not there, not public, or too large."""
    if not hub.ID.fullmatch(id):
        raise Refusal(f"{id} is no OWNER/NAME of a checkpoint", "sparkrig models")
    place = f"{_endpoint()}/{id}/resolve"
    config, commit = _get(f"{place}/main/{CONFIG}", id, CHARS)
    at = commit or "main"  # the others of the same commit, which may be old by now
    index, _ = _get(f"{place}/{at}/{INDEX}", id, INDEX_CHARS) if config else (None, "")
    quantization, _ = _get(f"{place}/{at}/{QUANTIZATION}", id, CHARS) if config else (None, "")
    listed, _ = _get(f"{_endpoint()}/api/models/{id}/tree/{at}", id, _LIST_CHARS)
    sizes = _listed(listed or "")
    if config is None and not sizes:
        raise Refusal(
            f"the hub has no {CONFIG} for {id}: there is no such checkpoint, or it is none for vLLM",
            f"look at {_endpoint()}/{quoted(id)}",
        )
    adapter, _ = _get(f"{place}/{at}/{ADAPTER}", id, CHARS) if ADAPTER in sizes else (None, "")
    return Fetched(Files(config or "", index or "", quantization or "", sizes, adapter or ""), commit)


def _endpoint() -> str:
    """HF_ENDPOINT, as huggingface_hub has it, else the hub itself. Raises Refusal for what is no address."""
    told = os.environ.get("HF_ENDPOINT", "").rstrip("/") or _HUB
    if not https.is_safe(told):
        raise Refusal("HF_ENDPOINT is no https address without a login", local("unset HF_ENDPOINT"))
    return told


def _listed(text: str) -> Mapping[str, int]:
    """Sizes of the files in the hub's list; empty where the list is none."""
    try:
        found = bounds.loads(text)
    except ValueError:
        return {}
    entries = [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
    sizes = {str(entry.get("path")): entry.get("size") for entry in entries}
    return {name: size for name, size in sizes.items() if isinstance(size, int) and 0 < size < 10**15}


def _allow(request: urllib.request.Request) -> None:
    """Add the token as a header that urllib does not hand on to where it is redirected."""
    token = os.environ.get("HF_TOKEN", "")
    if re.fullmatch(r"[\x21-\x7e]{1,500}", token):
        request.add_unredirected_header("Authorization", f"Bearer {token}")


def _get(address: str, id: str, most: int) -> tuple[str | None, str]:
    """A text and the commit that it is of; None where there is no such file. Raises Refusal."""
    try:
        content, headers = https.get(address, 4 * most, _WHOLE_S, _allow)
    except urllib.error.HTTPError as error:
        with error:
            if error.code == _NO_FILE:
                return None, ""
            raise _answered(id, error.code) from None
    except https.FAULTS as error:
        what = f"the hub could not be asked for {id}: {https.why(error)}"
        raise Refusal(what, _by_folder(id)) from None
    if len(content) > 4 * most:
        raise Refusal(f"the hub sends more for {id} than was expected", _by_folder(id))
    commit = headers.get("X-Repo-Commit") or ""
    return _decoded(content, urlsplit(address).path, most), commit if hub.REVISION.fullmatch(commit) else ""


def _answered(id: str, code: int) -> Refusal:
    if code in _BARRED:
        return Refusal(
            f"the hub answers {code} for {id}: there is no such checkpoint, or it is not public",
            "compare the name with its page; for one that is not public, export HF_TOKEN first",
        )
    return Refusal(f"the hub answers {code} for {id}", _by_folder(id))


def _by_folder(id: str) -> Cure:
    """What to do where this machine has no way to the hub."""
    name = id.partition("/")[2]
    there = f"hf download {quoted(id)} --include '*.json' --local-dir {quoted_path(name)}"
    here = f"sparkrig models show {quoted_path(f'./{name}')} --id {quoted(id)}"
    return local(there, f" where there is a network, bring the folder here, then {here}")
