"""Hooks of `make site`: the README is a page, and no page leads to a file that is none or loads from elsewhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from posixpath import dirname, join, normpath, relpath
from typing import Any

from properdocs.exceptions import PluginError
from properdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
README = "readme.md"
_LINK = re.compile(r"\[([^\]]*)\]\((?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?\)")
_SECTION = re.compile(r"^(?:#+ |\*\*)([^:*\n]+)", re.MULTILINE)
_PAGE = re.compile(r"\]\(([\w/-]+\.md)[)#]")
_LOADS = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//[^>]*>")


def slug(title: str, separator: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", separator)


def on_config(config: Any) -> None:
    """The pages in the order of docs/index.md, a menu for each of its sections."""
    _, *parts = _SECTION.split((ROOT / "docs" / "index.md").read_text(encoding="utf-8"))
    menus = {
        name: [*dict.fromkeys(_PAGE.findall(text))] for name, text in zip(parts[::2], parts[1::2], strict=True)
    }
    config["nav"] = ["index.md", README, *({name: pages} for name, pages in menus.items() if pages)]
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"].get("urls", {})
    config["extra"]["source"] = urls.get("Source", "")


def on_files(files: Files, config: Any) -> None:
    """The README beside the pages, as if it lay in docs/."""
    text = _LINK.sub(r"[\1](../\2\3)", (ROOT / "README.md").read_text(encoding="utf-8"))
    files.append(File.generated(config, README, content=text.replace("](../docs/", "](")))


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """A link to a file that is no page leads to the repository, where its address is known, and is a word else."""
    here = dirname(page.file.src_uri)

    def led(link: re.Match[str]) -> str:
        words, path, anchor = link.groups(default="")
        target = normpath(join("docs", here, path))
        if target == "README.md":
            return f"[{words}]({relpath(README, here or '.')}{anchor})"
        if target.startswith("docs/") and not (ROOT / target).is_dir():
            return link[0]
        source = config["extra"]["source"]
        return f"[{words}]({source}/blob/HEAD/{target}{anchor})" if source else words

    return _LINK.sub(led, markdown)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Raises PluginError for a page that a browser would load with something of another place."""
    if loads := _LOADS.search(output):
        raise PluginError(f"{page.file.src_uri} loads from elsewhere: {loads[0]}")
    return output
