"""The files that NCCL, vLLM and Ray read, and what keeps their GID current."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from ipaddress import IPv4Interface
from pathlib import Path, PurePosixPath

from sparkrig import programs
from sparkrig.files import File, Managed
from sparkrig.host import targets
from sparkrig.network import environment, gid
from sparkrig.network.rdma import Rdma
from sparkrig.refusal import Refusal
from sparkrig.resources import file_diff
from sparkrig.resources.check import Check, Subject, check, refused, there
from sparkrig.resources.file_diff import without_gids
from sparkrig.resources.kind import Kind
from sparkrig.resources.network import cabled, moves
from sparkrig.resources.resource import AfterUndo, Changes, Resource


class EnvironmentFiles(Resource[None]):
    """The files that NCCL, vLLM and Ray read, and what keeps their GID current."""

    name = "environment"
    files = (
        *(Managed(path, form="variables") for path in environment.WITH_GIDS),
        *(Managed(path) for path in environment.PATHS if path not in environment.WITH_GIDS),
    )
    after_undo = AfterUndo(
        "GID index", programs.text("runs/undo_gids.sh"), (environment.RAILS, environment.REFRESH)
    )
    kinds = (
        Kind(
            "environment.files",
            "RDMA",
            "the files for NCCL, vLLM and Ray can be made",
            "something that they need was not found on the host",
            "docs/fabric.md#address-and-gid",
        ),
        Kind(
            "environment.FILE",
            "RDMA",
            "a file for NCCL, vLLM and Ray is as declared",
            "it was edited or removed by hand, or the inventory changed since the last deploy",
            "docs/safety.md#the-journal",
        ),
    )

    def changes(self, subject: Subject) -> Changes:
        """Raises Refusal where a rail has no GID yet, or no management address is known."""
        return Changes.of(declared(subject), subject.found.files)

    def judge(self, subject: Subject) -> None:
        """A GID that is not there yet comes with the network; the step itself refuses what is still amiss."""

    def due(self, subject: Subject) -> Iterator[str]:
        """The files that a deploy would write; where the network moves, those with GIDs are known only then."""
        try:
            yield from self.changes(subject).paths
        except Refusal:  # there is no GID yet
            yield from environment.PATHS
        yield from environment.WITH_GIDS if moves(subject) else ()

    def checks(self, subject: Subject) -> Iterator[Check]:
        try:
            files = declared(subject)
        except Refusal as refusal:
            none = refused("environment.files", "files for NCCL, vLLM and Ray", refusal)
            yield replace(none, status="skipped", cure="") if _without_a_rail(subject) else none
            return
        for each in files:
            yield file(f"environment.{PurePosixPath(each.path).name}", each, subject)


ENVIRONMENT = EnvironmentFiles()


def part(subject: Subject, rdma: Rdma | None = None) -> environment.Node:
    """The host's part in the fabric. rdma: as it is now, None for what was seen. Raises Refusal."""
    settings, state = subject.settings, subject.found
    return environment.node(
        _rails(subject),
        rdma or state.rdma,
        state.network.management,
        socket_interface=settings.socket_interface,
        form=settings.form,
        merge_nics=settings.merge_nics,
    )


def _rails(subject: Subject) -> Mapping[str, IPv4Interface]:
    """A Spark on its own needs no cable."""
    settings = subject.settings
    if settings.group_name is not None:
        return settings.fabric
    return {netdev: settings.fabric[netdev] for netdev in cabled(settings, subject.found.network)}


def declared(subject: Subject, rdma: Rdma | None = None) -> list[File]:
    """Every file as it should be. rdma: as for `part`. Raises Refusal."""
    settings = subject.settings
    return wanted(subject.name, part(subject, rdma), _rails(subject), settings.environment, settings.nccl_conf)


def wanted(
    name: str,
    node: environment.Node,
    rails: Mapping[str, IPv4Interface],
    extra: Mapping[str, str],
    nccl: Mapping[str, str] | None = None,
) -> list[File]:
    """Every file of this noun: the two environment files always, the GID's keeper where there is a rail."""
    common = {
        "name": name.removeprefix("@fake/"),
        "gid_block": node.block,
        "container_env": environment.CONTAINER_ENV,
    }
    texts = {
        environment.NCCL_CONF: ("nccl.conf.j2", environment.nccl(node, nccl)),
        environment.CONTAINER_ENV: ("container.env.j2", environment.container(node, extra)),
    }
    files = [
        File(path, programs.rendered(template, variables=variables, **common))
        for path, (template, variables) in texts.items()
    ]
    return [*keeper(rails, node.form), *files] if rails else files


def keeper(rails: Mapping[str, IPv4Interface], form: environment.Form) -> list[File]:
    """The dispatcher script, the program it starts, and the rails that it looks after.

    A ring has none of these: its files name no index, and the program would put one there.
    """
    kept = {} if form == "ring" else rails
    declared = json.dumps({netdev: str(address) for netdev, address in kept.items()}, indent=2) + "\n"
    return [
        File(environment.RAILS, declared),
        File(environment.GID_MODULE, Path(gid.__file__).read_text(encoding="utf-8")),
        File(environment.REFRESH, programs.file("refresh_gid.py")),
        File(environment.DISPATCHER, programs.file("90-sparkrig-gid"), "0755"),
    ]


def _without_a_rail(subject: Subject) -> bool:
    """Whether a rail has no device or no GID, which other checks report (rdma)."""
    rails, rdma = subject.settings.fabric, subject.found.rdma
    return any(rdma.on(netdev) is None for netdev in rails) or bool(gid.missing(rdma.gids, rails))


def file(id: str, wanted: File, subject: Subject) -> Check:
    """A file of ours; its GID block is another check's (rdma.gid-index)."""
    found = subject.found.files.get(wanted.path)
    digest = hashlib.sha256(without_gids(wanted).encode()).hexdigest()[:8]
    want = f"{wanted.path} as declared ({digest})"  # so that another declaration is another want
    if found is None:
        return _barred(there(id, want, None, subject.apply), wanted, subject)
    differs = "; ".join(filter(None, (file_diff.sentence(wanted, found), file_diff.keeping(wanted, found))))
    return _barred(check(id, not differs, want, differs or want, subject.apply), wanted, subject)


def _barred(found: Check, wanted: File, subject: Subject) -> Check:
    """The check with what keeps the deploy from writing the file, which has to be mended first."""
    bars = targets.bars(subject.found.preflight.barred, {wanted.path}) if found.wrong else []
    if not bars:
        return found
    return replace(found, found=f"{found.found}; {bars[0].what}", cure=subject.run(bars[0].command))
