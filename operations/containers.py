"""The NVIDIA container toolkit, and docker's runtime for it."""

from __future__ import annotations

from pyinfra import host, state
from pyinfra.api import StringCommand, operation

from sparkrig import programs
from sparkrig.facts.resources import of_resource
from sparkrig.operations import apt, unit
from sparkrig.operations import plan as plans
from sparkrig.operations.again import again
from sparkrig.operations.files import write
from sparkrig.operations.journal import recorded
from sparkrig.operations.refusal import Commands, refusing
from sparkrig.resources import containers, file_diff
from sparkrig.runs.change import Change
from sparkrig.settings import Settings
from sparkrig.ssh.shell import in_turn, script


@operation()
@refusing
@recorded
def toolkit(found: containers.Containers, settings: Settings) -> Commands:
    """Install nvidia-container-toolkit where it is absent, from a repository whose key is pinned.

    + found: docker as the facts of this run saw it
    + settings: the host's settings, for repository, key and version
    """
    plan = containers.plan(found, restart_docker=settings.restart_docker)
    if not plan.install_toolkit:
        host.noop(f"{containers.TOOLKIT} {found.toolkit} is installed")
        return
    plans.report(_installed(plan, settings))
    if state.is_executing:
        apt.wait(host, settings.patience)
    source = [
        _fetch_key(settings.toolkit_key_url, settings.toolkit_key_fingerprint),
        write(containers.source_file(settings.toolkit_url)),
    ]
    yield in_turn(
        *(source if plan.add_source else ()),
        apt.update(containers.SOURCE_PATH if plan.add_source and apt.fetched(host) else ""),
        apt.install(*containers.to_install(settings.toolkit_version)),
    )


def _installed(plan: containers.Needs, settings: Settings) -> list[Change]:
    found = []
    if plan.add_source:
        key = f"the key {settings.toolkit_key_fingerprint} and no other, fetched from {settings.toolkit_key_url}"
        source = containers.source_file(settings.toolkit_url)
        text = file_diff.diff(source.path, "", source.content)
        found += [
            Change("file", containers.KEYRING, None, key),
            Change("file", source.path, None, "a new file", text),
        ]
    version = settings.toolkit_version or "the newest of its repository"
    return [
        *found,
        *(
            Change("package", each.partition("=")[0], None, version)
            for each in containers.to_install(settings.toolkit_version)
        ),
    ]


FETCH_KEY = programs.text("operations/containers_fetch_key.sh")


def _fetch_key(url: str, fingerprint: str) -> StringCommand:
    """Fetch a repository key, and keep it only if it is the one that was pinned."""
    return script(FETCH_KEY, url, fingerprint, containers.KEYRING, seconds=180)


LOAD = programs.text("operations/containers_load.sh")


@operation()
@refusing
@recorded
def runtime(found: containers.Containers, restart_docker: bool) -> Commands:
    """Register the nvidia runtime with docker by merging, and have docker read it where it lacks the runtime.

    A reload is tried first; docker is restarted where that does not do.

    + found: docker as the facts of this run saw it; looked at again before anything is changed
    + restart_docker: whether running containers may be stopped by that restart
    """
    plan = containers.plan(found, restart_docker=restart_docker)
    plans.report(_registered(plan, found))
    if (plan.daemon_json or plan.restart) and state.is_executing:
        plan = containers.plan(again(of_resource(containers.CONTAINERS)), restart_docker=restart_docker)
    commands = []
    if plan.daemon_json:
        commands.append(write(plan.daemon_json, check="dockerd --validate --config-file"))
    if plan.restart:
        commands.append(unit.run("docker", "sh", "-c", LOAD, seconds=240, cure="sudo journalctl -u docker -n 30"))
    if commands:
        yield in_turn(*commands)
    else:
        host.noop("docker has the nvidia runtime")


def _registered(plan: containers.Needs, found: containers.Containers) -> list[Change]:
    changes = []
    if plan.daemon_json:
        file, old = plan.daemon_json, found.daemon_json
        before = None if old is None else "as its owner wrote it"
        text = file_diff.diff(file.path, old or "", file.content)
        changes.append(Change("file", file.path, before, "with the nvidia runtime", text))
    if plan.restart:
        stopped = f"{found.running} running container{'' if found.running == 1 else 's'}" if found.running else ""
        changes.append(
            Change(
                "service",
                "docker",
                "without the nvidia runtime",
                "reloaded, or restarted, with it",
                interrupts=stopped,
            )
        )
    return changes
