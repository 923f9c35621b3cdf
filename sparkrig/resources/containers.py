"""Docker with the NVIDIA runtime: what is there, and what its configuration should be.

DGX OS ships docker-ce and the toolkit. docker.io conflicts with docker-ce, so docker is never installed
here; the toolkit is, from NVIDIA's repository, only where it is absent [@epappas].
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sparkrig import programs
from sparkrig.cure import Cure, as_root, deploy, on_host, started
from sparkrig.files import File, Managed
from sparkrig.parsing import bounds, encoding, grammar
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Check, Subject, check, refused, there
from sparkrig.resources.kind import DIFFER, Kind
from sparkrig.resources.resource import Resource
from sparkrig.value import Value

DAEMON_JSON = "/etc/docker/daemon.json"
KEYRING = "/etc/apt/keyrings/sparkrig-nvidia-container-toolkit.gpg"
SOURCE_PATH = "/etc/apt/sources.list.d/sparkrig-nvidia-container-toolkit.sources"
TOOLKIT = "nvidia-container-toolkit"
TOOLKIT_PARTS = (TOOLKIT, f"{TOOLKIT}-base", "libnvidia-container-tools", "libnvidia-container1")
_RUNTIME = {"args": [], "path": "nvidia-container-runtime"}  # what nvidia-ctk itself writes


@dataclass(frozen=True)
class Containers(Value):
    """The container engine as it stands.

    docker: whether the engine answers; trouble: what it printed where it does not; runtimes: those it has
    loaded; running: count of containers that a restart would stop, paused ones included; daemon_json: the
    file's text, None where it is absent; toolkit: installed version, or None; sources: apt source files in
    use that name the toolkit's repository; by_flag: whether the engine was started with --add-runtime nvidia;
    fault: why the bytes of daemon.json are no text, or empty.
    """

    installed: bool
    docker: bool
    trouble: str
    runtimes: tuple[str, ...]
    running: int
    daemon_json: str | None
    toolkit: str | None
    sources: tuple[str, ...]
    by_flag: bool = False
    fault: str = ""

    @property
    def registered(self) -> bool:
        """Whether the engine has the nvidia runtime now; its file takes effect at its next start."""
        return "nvidia" in self.runtimes


class Docker(Resource[Containers]):
    """The engine, its runtimes and running containers, its configuration, and the toolkit."""

    name = "containers"
    files = (
        Managed(SOURCE_PATH),
        Managed(DAEMON_JSON, "shared", form="json", restarts=True),
        Managed(KEYRING, "shared"),
    )
    packages = TOOLKIT_PARTS
    script = programs.text("facts/containers.sh")
    shared = (programs.text("facts/packages.sh"), programs.text("facts/docker_about.sh"))
    kinds = (
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

    def parse(self, lines: Iterable[str]) -> Containers:
        rows = [line.partition(" ")[::2] for line in lines]
        first = dict(rows)
        info = bounds.loads(first["info"]) if first.get("info") else None
        if info and info["runtimes"] is None:  # docker up to 28.0 answers for an engine that is not there
            info = None
        daemon = base64.b64decode(first["daemon"]) if "daemon" in first else None
        return Containers(
            installed="docker" in first,
            docker="docker" in first and info is not None,
            trouble=first.get("trouble", ""),
            runtimes=tuple(sorted(info["runtimes"])) if info else (),
            running=int(info["running"]) + int(info.get("paused", 0)) if info else 0,
            daemon_json=None if daemon is None else daemon.decode("utf-8", "replace"),
            toolkit=grammar.VERSION.held(first["toolkit"]) if first.get("toolkit") else None,
            sources=tuple(rest for word, rest in rows if word == "source"),
            by_flag="flag" in first,
            fault=encoding.fault(daemon or b""),
        )

    def judge(self, subject: Subject) -> None:
        """Raises Refusal where docker cannot be changed, or not without stopping containers."""
        containers = subject.found.containers
        if not containers.docker:
            raise stopped(containers, subject.run)
        plan(containers, restart_docker=subject.settings.restart_docker)

    def due(self, subject: Subject) -> Iterator[str]:
        """The files that a deploy would write."""
        changes = plan(subject.found.containers, restart_docker=subject.settings.restart_docker)
        yield from (SOURCE_PATH, KEYRING) if changes.add_source else ()
        yield from (DAEMON_JSON,) if changes.daemon_json else ()

    def checks(self, subject: Subject) -> Iterator[Check]:
        containers = subject.found.containers
        yield there("containers.toolkit", TOOLKIT, containers.toolkit, subject.apply, alike=True)
        if not containers.installed:
            absent = stopped(containers, subject.run)
            yield Check("containers.docker", "docker", absent.what, "missing", absent.cure)
            return
        yield _daemon_json(subject)
        id, want = "containers.runtime", "docker has the nvidia runtime"
        if not containers.docker:
            yield refused("containers.docker", "docker runs", stopped(containers, subject.run))
            yield Check(id, want, "docker does not run", "skipped")
            return
        yield Check("containers.docker", "docker runs", f"{containers.running} running")
        if stops := _stops(containers, restart_docker=subject.settings.restart_docker):
            yield refused(id, want, stops)
        else:
            has = "it has" if containers.registered else f"it has {', '.join(containers.runtimes) or 'none'}"
            yield check(id, containers.registered, want, has, subject.apply)


CONTAINERS = Docker()


def _daemon_json(subject: Subject) -> Check:
    containers, want = subject.found.containers, f"{DAEMON_JSON} names the nvidia runtime"
    try:
        same = wanted(containers) == containers.daemon_json
    except Refusal as refusal:
        return refused("containers.daemon-json", want, refusal)
    if containers.daemon_json is None and not same:
        return Check("containers.daemon-json", want, "absent", "missing", _restart(subject))
    does = "a flag of the engine does" if containers.by_flag else "it does" if same else "it does not"
    return check("containers.daemon-json", same, want, does, _restart(subject))


def _restart(subject: Subject) -> str:
    """The deploy; with leave to stop running containers where it has to restart docker."""
    stops = _stops(subject.found.containers, restart_docker=subject.settings.restart_docker)
    return stops.cure if stops else subject.apply


@dataclass(frozen=True)
class Needs:
    """What the containers of one host need: the toolkit, a daemon.json, a restart of docker."""

    install_toolkit: bool
    add_source: bool
    daemon_json: File | None
    restart: bool

    def __bool__(self) -> bool:
        return self.install_toolkit or self.daemon_json is not None or self.restart


def plan(containers: Containers, *, restart_docker: bool) -> Needs:
    """What to do so that docker has the nvidia runtime, now and after its next start.

    Raises Refusal where docker is absent or dead, its configuration cannot be read, or a restart would stop
    running containers without leave.
    """
    if not containers.docker:
        raise stopped(containers)
    merged = wanted(containers)
    if stops := _stops(containers, restart_docker=restart_docker):
        raise stops
    return Needs(
        install_toolkit=containers.toolkit is None,
        # ours is written anew, for its URL or key may have been wrong
        add_source=containers.toolkit is None and not set(containers.sources) - {SOURCE_PATH},
        daemon_json=File(DAEMON_JSON, merged, "keep") if merged and merged != containers.daemon_json else None,
        restart=not containers.registered,
    )


def stopped(found: Containers, start: Callable[[str], Cure] = as_root) -> Refusal:
    """Why nothing is done with a docker that is absent or does not answer. start: makes a cure of a command."""
    if not found.installed:
        return Refusal("docker is not installed; DGX OS ships docker-ce", start("apt-get install docker-ce"))
    load = "masked" if found.trouble.startswith("docker is masked") else ""
    return Refusal(
        f"docker does not answer ({found.trouble or 'no reason given'})",
        start(started("docker", load, socket="docker.socket")),
    )


def _stops(found: Containers, *, restart_docker: bool) -> Refusal | None:
    """Why docker is not restarted: containers that run would stop, and nobody allowed that."""
    if found.registered or not found.running or restart_docker:
        return None
    return Refusal(
        f"docker must restart for its nvidia runtime, and {found.running} container(s) are running",
        deploy(data={"restart_docker": True}).then(", which stops them"),
    )


def wanted(found: Containers) -> str | None:
    """What daemon.json should be. Raises Refusal where it is no JSON object, or no text.

    It stays as it is where a flag names the runtime: dockerd does not start where both do.
    """
    if found.by_flag:
        return found.daemon_json
    if found.fault:
        raise Refusal(f"{DAEMON_JSON} is {found.fault}", encoding.look(DAEMON_JSON))
    return merge(found.daemon_json)


def merge(text: str | None) -> str:
    """daemon.json with the nvidia runtime in it and all else as it was; the text itself where it has it.

    A registered runtime keeps the path and arguments that its owner chose. Raises Refusal where the file is
    no JSON object, for then it is unknown what it should be.
    """
    try:
        document: Any = bounds.loads(text) if text and text.strip() else {}
    except ValueError as error:
        raise Refusal(
            f"{DAEMON_JSON} is not valid JSON ({error})", on_host(f"sudo python3 -m json.tool {DAEMON_JSON}")
        ) from None
    if not isinstance(document, dict) or not isinstance(document.get("runtimes", {}), dict):
        raise Refusal(
            f"{DAEMON_JSON} is not a JSON object with an object of runtimes", on_host(f"cat {DAEMON_JSON}")
        )
    registered = document.get("runtimes", {}).get("nvidia")
    if text and isinstance(registered, dict) and (registered.get("path") or registered.get("runtimeType")):
        return text
    document["runtimes"] = {**document.get("runtimes", {}), "nvidia": _RUNTIME}
    return json.dumps(document, indent=4, ensure_ascii=False) + "\n"


def to_install(version: str | None) -> list[str]:
    """The packages to ask apt for, by name and version; apt gives no dependency that version by itself."""
    if version is None:
        return [TOOLKIT]
    return [f"{name}={version}" for name in TOOLKIT_PARTS]


def source_file(url: str) -> File:
    """The deb822 source of the toolkit's flat repository, signed by its own keyring alone."""
    return File(
        SOURCE_PATH,
        f"# Written by sparkrig\nTypes: deb\nURIs: {url}\nSuites: /\nSigned-By: {KEYRING}\n",
    )
