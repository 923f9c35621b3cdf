"""Which of NVIDIA's releases of DGX OS the host has, by those that it knows of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sparkrig import programs
from sparkrig.cure import verb
from sparkrig.host import driver, recipe_files, releases
from sparkrig.resources.check import Check, Subject
from sparkrig.resources.kind import Kind
from sparkrig.resources.resource import Resource


class DgxReleases(Resource[releases.Releases]):
    """NVIDIA's recipes on the host, and the installed packages of those that they name."""

    name = "releases"
    script = programs.text("facts/releases.sh")
    absent = releases.Releases()
    kinds = (
        Kind(
            "release.newest",
            "packages and driver",
            "the host has the newest of NVIDIA's DGX OS releases that it knows of",
            "NVIDIA published one, and the package that knows the releases was upgraded",
            "docs/updating.md",
        ),
    )

    def parse(self, lines: Iterable[str]) -> releases.Releases:
        return recipe_files.parse(lines)

    def checks(self, subject: Subject) -> Iterator[Check]:
        """A release with a later branch of the driver than is declared counts for nothing: no update takes it."""
        seen = subject.found
        known = seen.releases.up_to(subject.settings.driver_branch)
        newest = known.newest
        if newest is None:
            yield Check("release.newest", _WANT, "the host knows of no release", "skipped", environment=True)
            return
        installed = driver.version(seen.driver)
        stands = releases.standing(
            releases.Installed(seen.identity.kernel, installed, known.packages, known.removed),
            known,
        )
        has = stands.has.shown if stands.has else "none as a whole"
        behind = len(stands.ahead)
        yield Check(
            "release.newest",
            newest.shown,
            f"{has}, {behind} behind" if behind else has,
            "drift" if behind else "ok",
            verb("update", "--check") if behind else "",
            environment=True,
        )


RELEASES = DgxReleases()

_WANT = "the newest release of DGX OS that the host knows of"
