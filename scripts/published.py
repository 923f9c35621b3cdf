"""Make this checkout what is published of it: its address is known, and each link of the README is whole.

    python -m scripts.published https://HOST/OWNER/sparkrig v0.1.0

Run by .github/workflows/release.yml, in a checkout that is thrown away. The page of an index has no `docs/` beside
it, and a fork has another address: so neither is written in the files themselves.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACE = "URL-OF-THIS-REPOSITORY"
_LINK = re.compile(r"\]\((?![a-z]+:|#)([^()\s]+)\)")


def readme(text: str, address: str, tag: str) -> str:
    """The README as it can stand alone: with the repository's address, and no link into the folder around it."""

    def whole(link: re.Match[str]) -> str:
        kind = "raw" if link[1].endswith(".svg") else "blob"  # a picture itself, not the page around it
        return f"]({address}/{kind}/{tag}/{link[1]})"

    return _LINK.sub(whole, text.replace(PLACE, address))


def project(text: str, address: str, tag: str) -> str:
    """pyproject.toml with the addresses of the project. Raises SystemExit for a tag of another version."""
    version = tomllib.loads(text)["project"]["version"]
    if tag != f"v{version}":
        raise SystemExit(f"the tag is {tag}, and pyproject.toml has version {version}. Try: git tag v{version}")
    urls = {"Source": "", "Issues": "/issues", "Changelog": f"/blob/{tag}/CHANGELOG.md"}
    rows = [f'{name} = "{address}{path}"' for name, path in urls.items()]
    return "\n".join([text.rstrip(), "", "[project.urls]", *rows, ""])


def main(address: str, tag: str) -> None:
    for name, change in (("pyproject.toml", project), ("README.md", readme)):
        file = ROOT / name
        file.write_text(change(file.read_text(encoding="utf-8"), address, tag), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
