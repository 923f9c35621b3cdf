"""Docker, the toolkit, and the nvidia runtime."""

from __future__ import annotations

from collections.abc import Iterator

from sparkrig.cure import deploy
from sparkrig.host import containers
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Check, Subject, check, refused, there
from sparkrig.resources.kind import DIFFER, Kind

KINDS = (
    Kind(
        "containers.toolkit",
        "containers",
        "nvidia-container-toolkit is installed, in one version on all hosts",
        "it was removed, or one host was updated and the others were not",
        DIFFER,
    ),
    Kind(
        "containers.docker",
        "containers",
        "docker is installed and answers",
        "the service was stopped, or does not start with its configuration",
        "docs/troubleshooting.md#docker-run---gpus-all-fails",
    ),
    Kind(
        "containers.daemon-json",
        "containers",
        "docker's configuration names the nvidia runtime",
        "the file was written anew by another tool, or by hand",
        "docs/troubleshooting.md#docker-run---gpus-all-fails",
    ),
    Kind(
        "containers.runtime",
        "containers",
        "the docker that runs knows the nvidia runtime",
        "docker was not restarted since its configuration changed",
        "docs/troubleshooting.md#docker-run---gpus-all-fails",
    ),
)


def judge(subject: Subject) -> None:
    """Raises Refusal where docker cannot be changed, or not without stopping containers."""
    found = subject.found.containers
    if found.installed and not found.docker:
        raise containers.stopped(found, subject.run)
    containers.plan(found, restart_docker=subject.settings.restart_docker)


def due(subject: Subject) -> Iterator[str]:
    """The files that a deploy would write. Raises Refusal, as judge() does."""
    plan = containers.plan(subject.found.containers, restart_docker=subject.settings.restart_docker)
    yield from (containers.SOURCE_PATH, containers.KEYRING) if plan.add_source else ()
    yield from (containers.DAEMON_JSON,) if plan.daemon_json else ()


def checks(subject: Subject) -> Iterator[Check]:
    found = subject.found.containers
    yield there("containers.toolkit", containers.TOOLKIT, found.toolkit, subject.apply, alike=True)
    if not found.installed:
        yield Check("containers.docker", "docker", "absent", "missing", subject.run("apt-get install docker-ce"))
        return
    yield _daemon_json(subject)
    if not found.docker:
        yield refused("containers.docker", "docker runs", containers.stopped(found, subject.run))
        yield Check("containers.runtime", "docker has the nvidia runtime", "docker does not run", "skipped")
        return
    yield Check("containers.docker", "docker runs", f"{found.running} running")
    has = found.registered
    yield check(
        "containers.runtime",
        has,
        "docker has the nvidia runtime",
        "it has" if has else f"it has {', '.join(found.runtimes) or 'none'}",
        _restart(subject),
    )


def _daemon_json(subject: Subject) -> Check:
    found, want = subject.found.containers, f"{containers.DAEMON_JSON} names the nvidia runtime"
    try:
        same = containers.wanted(found) == found.daemon_json
    except Refusal as refusal:
        return refused("containers.daemon-json", want, refusal)
    if found.daemon_json is None and not same:
        return Check("containers.daemon-json", want, "absent", "missing", _restart(subject))
    does = "a flag of the engine does" if found.by_flag else "it does" if same else "it does not"
    return check("containers.daemon-json", same, want, does, _restart(subject))


def _restart(subject: Subject) -> str:
    """The deploy; with leave to stop running containers where it has to restart docker."""
    found = subject.found.containers
    asked = not found.registered and found.running and not subject.settings.restart_docker
    return deploy(subject.inventory, data={"restart_docker": "True"} if asked else None)
