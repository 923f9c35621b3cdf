"""vLLM's source packages on the package index that pip is set up with; none is built.

`pip download` would build a source package to learn its metadata, which takes vLLM's build environment and a CUDA
compiler. So pip's own session asks the index for its files, and fetches one. That part of pip is not promised to
stay; where it has moved, this is the one file to mend.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from typing import Any

from packaging.version import Version
from pip._internal.commands import create_command

NAME = "vllm"
_JSON = "application/vnd.pypi.simple.v1+json"  # the index as data: PEP 691, with dates by PEP 700


@dataclass(frozen=True)
class Package:
    """A source package. released: the day on which it was published; sha256: as the index states it."""

    version: Version
    released: date
    sha256: str
    url: str


@dataclass
class Index:
    """A package index, and pip's session with it."""

    session: Any
    pages: list[str]

    def packages(self) -> list[Package]:
        """All final releases that have a source package and were not taken back, oldest first."""
        for page in self.pages:
            answer = self.session.get(page, headers={"Accept": _JSON})
            if answer.status_code == 200 and "json" in answer.headers.get("content-type", ""):
                return sorted(_packages(answer.json()["files"]), key=lambda each: each.version)
        raise ValueError(f"no index of pip's lists {NAME} as JSON; try: pip index versions {NAME}")

    def files(self, package: Package) -> dict[str, str]:
        """The Python files of a package by their paths in it, once its digest was compared."""
        content = self.session.get(package.url).content
        found = hashlib.sha256(content).hexdigest()
        if found != package.sha256:
            raise ValueError(f"{NAME} {package.version}: the digest is {found}, {package.sha256} expected")
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            return dict(_texts(archive))


@contextmanager
def index() -> Iterator[Index]:
    """The package index that pip is set up with."""
    command: Any = create_command("download")
    options, _ = command.parse_args([NAME])
    with command.main_context():
        session = command.get_default_session(options)
        urls = command._build_package_finder(options, session).search_scope.index_urls
        yield Index(session, [f"{url.rstrip('/')}/{NAME}/" for url in urls if url.startswith("http")])


def _packages(files: list[dict[str, Any]]) -> Iterator[Package]:
    for each in files:
        name = each["filename"]
        if not name.startswith(f"{NAME}-") or not name.endswith(".tar.gz") or each.get("yanked"):
            continue
        version = Version(name.removeprefix(f"{NAME}-").removesuffix(".tar.gz"))
        if not version.is_prerelease:
            day = date.fromisoformat(each["upload-time"][:10])
            yield Package(version, day, each["hashes"]["sha256"], each["url"])


def _texts(archive: tarfile.TarFile) -> Iterator[tuple[str, str]]:
    for member in archive:
        _, _, path = member.name.partition("/")
        if member.isfile() and path.startswith(f"{NAME}/") and path.endswith(".py"):
            found = archive.extractfile(member)
            yield path, found.read().decode("utf-8") if found else ""
