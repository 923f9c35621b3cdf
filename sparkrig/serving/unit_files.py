"""The files that make a node serve: the unit, its environment, docker's command, the socket, the record."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sparkrig import programs
from sparkrig.files import SECRETS_FILE, File, Found
from sparkrig.host import images, ray
from sparkrig.host.images import Image
from sparkrig.network import environment
from sparkrig.refusal import Refusal
from sparkrig.serving import last_deploy, listen, served, service_settings, steps
from sparkrig.serving.last_deploy import Record
from sparkrig.serving.runtimes import VLLM
from sparkrig.serving.served import Service, Serving
from sparkrig.serving.wish import MODELS, Chosen, Node, Sizing, Wish
from sparkrig.settings import Settings

_SCRIPT = "/sparkrig/start.sh"
_STEPS = "/sparkrig/steps.py"
_CACHE = "/var/cache/sparkrig/serve"  # compiled kernels: without them a start takes 40 s more [@docai-122b]
_CACHES = {
    "vllm": "/root/.cache/vllm",
    "flashinfer": "/root/.cache/flashinfer",
    "triton": "/root/.triton",
    # gpt-oss fetches its vocabulary into each container, from the internet [@vllm-22525, @harmony-101].
    # This is where it looks; no variable names it, for that would win over an image that has it elsewhere.
    "tiktoken": "/tmp/tiktoken-rs-cache",  # noqa: S108 - of a container
}
_MASTER_PORT = 29501  # MASTER_PORT of start.sh
_PROXYD = "/usr/lib/systemd/systemd-socket-proxyd"
_SSH_FIRST = "After=ssh.service ssh.socket sshd.service"  # whatever it does to a host, there is a way in
_HEAD = "# Written by sparkrig: docs/serving.md\n"


def form(asked: Wish, chosen: Chosen, settings: Settings) -> str:
    """How the nodes become one server of their own: beside a standing Ray, which has Ray's port, by vLLM's.

    Raises Refusal for Ray in an image without it.
    """
    if asked.nodes == 1:
        return "solo"
    if asked.runtime is not VLLM:
        return "multinode"
    if settings.serve_form == "ray" and not chosen.ray:
        raise Refusal(f"{asked.image} has no Ray", "set serve_form to multinode, or take another serve_image")
    return settings.serve_form or ("ray" if chosen.ray and not settings.ray_image else "multinode")


def files(asked: Wish, chosen: Chosen, node: Node, mine: Settings) -> list[File]:
    """Every file of one host."""
    if node.rank == served.ASIDE:
        return [_record(asked, Chosen(""), "", node, mine, [])]
    how = served.STANDING if node.standing else form(asked, chosen, mine)
    if node.standing and node.rank:
        return [_record(asked, chosen, how, node, mine, [])]
    sized, at = asked.sized(chosen.sizing), Service(mine.serve_name).of
    made = [
        File(at(served.START), at(programs.file("serving/start.sh")), "0755"),
        File(at(served.BRAKE), at(programs.file("serving/brake.sh")), "0755"),
        File(at(served.ENVIRONMENT), _environment(asked, how, node, mine)),
        File(at(served.SERVICE), _service(sized, chosen, how, node, mine)),
    ]
    if asked.steps:
        made.append(File(at(served.STEPS), steps.program(asked.steps), "0755"))
    if node.rank == 0:
        made += [File(at(served.SOCKET), _socket(mine, node)), File(at(served.PROXY), _proxy(mine))]
    if words := _watched(asked, how, node, mine):
        watcher = File(at(served.WATCHER), at(programs.file("serving/watch.py")), "0755")
        made += [watcher, File(at(served.WATCH), _watch(words, mine))]
    return [*made, _record(asked, chosen, how, node, mine, made)]


def _record(asked: Wish, chosen: Chosen, how: str, node: Node, settings: Settings, made: Sequence[File]) -> File:
    sized = chosen.sizing or Sizing(0.0, 0)
    return Record(
        model=asked.model.name,
        checkpoint=asked.checkpoint.id,
        image=chosen.id,
        name=asked.image,
        form=how,
        nodes=asked.nodes,
        rank=node.rank,
        port=settings.serve_port,
        trial_port=settings.serve_trial_port,
        weights=settings.weights,
        ray=chosen.ray,
        vllm=chosen.vllm,
        files={file.path: last_deploy.digest(file.content) for file in made},
        wish=asked.digest if chosen.sizing else "",
        utilization=sized.utilization,
        context=sized.context,
        **_access(node, settings),
        entrypoint=chosen.entrypoint,
        draft=(settings.serve_draft or asked.draft) if asked.draft else "",
        engine=asked.engine,
        share=sized.share,
        held=sized.held,
        cache=sized.cache,
        gguf=asked.gguf,
        on=tuple(settings.serve_on),
        service=settings.serve_name,
        settings=service_settings.given(settings) if settings.serve_name else {},
    ).file()


def _access(node: Node, settings: Settings) -> dict[str, Any]:
    """What a record keeps of who reaches the API, on the host that answers."""
    if node.rank != 0:
        return {}
    stands = listen.place(settings) == listen.MANAGEMENT and node.management
    return {
        "listen": "" if listen.place(settings) == listen.default(settings) else listen.place(settings),
        "at": listen.sockets(settings, node.management),
        "management": str(node.management) if stands else "",
        "key": listen.asks(settings),
    }


def image_of(asked: Wish, serving: Serving, record: Record | None, head: Serving | None = None) -> Image | None:
    """The image that a host has for it. head: of the host that leads, where it was looked at.

    A digest is of a repository, and `docker save` keeps none; an ID is of the head's own store. Such a copy is
    known by what the head's image holds, or as the image of the last deploy, for neither name ever moves.
    """
    there = serving.find(asked.image)
    if there or not ("@" in asked.image or images.is_id(asked.image)):
        return there
    if head and (theirs := head.find(asked.image)):
        return serving.copy_of(theirs)
    return serving.find(record.image) if record and record.name == asked.image else None


def chosen(asked: Wish, serving: Serving, record: Record | None) -> Chosen | None:
    """The image as it is known from the last deploy; None where it is not there, or was never looked into."""
    there = image_of(asked, serving, record)
    if there is None or record is None or record.image != there.id:
        return None
    return Chosen(there.id, record.ray, record.vllm, record.entrypoint, decided(asked, record))


def decided(asked: Wish, record: Record | None) -> Sizing | None:
    """What was decided for this very wish; what the memory is now does not change it."""
    return record.sizing if record and record.wish == asked.digest else None


def surplus(wanted: Sequence[File], found: Mapping[str, Found], service: Service = served.UNNAMED) -> list[str]:
    """Files of a service that stand on a host and are not wanted there."""
    paths = {file.path for file in wanted}
    return [path for path in service.paths if path in found and path not in paths]


def goes_on(wanted: Sequence[File], found: Mapping[str, Found], service: Service) -> bool:
    """Whether what runs may go on under these files: they differ from those that stand in the brake at most."""
    if surplus(wanted, found, service):
        return False
    return all(
        file.path == service.of(served.BRAKE)
        or _unbraked(file, service) == _unbraked(found.get(file.path), service)
        for file in wanted
    )


def _unbraked(file: File | Found | None, service: Service) -> object:
    """A unit without the rows of the brake; a record without the digests, which follow the files."""
    if file is None:
        return None
    if record := last_deploy.load(Found(file.content, "", "")):
        return replace(record, files={})
    brake = service.of(served.BRAKE)
    return [row for row in file.content.splitlines() if row != _SSH_FIRST and brake not in row]


def _environment(asked: Wish, how: str, node: Node, settings: Settings) -> str:
    orders = {
        "SPARKRIG_FORM": how,
        "SPARKRIG_PORT": str(settings.serve_trial_port),
        "NVIDIA_VISIBLE_DEVICES": "all",
        "HF_HUB_OFFLINE": "1",  # the weights are there, and a hub that is down is no reason not to start
    }
    if asked.runtime is not VLLM:
        orders["SPARKRIG_ENGINE"] = asked.engine
    if asked.nodes == 1:
        # vLLM would take the address of the way to the internet, and a lone server needs no network at all
        orders |= {"VLLM_HOST_IP": "127.0.0.1", **environment.alone(settings.environment)}
    else:
        orders |= {
            "SPARKRIG_RANK": str(node.rank),
            "SPARKRIG_NODES": str(asked.nodes),
            "SPARKRIG_HEAD": str(node.head),
            "SPARKRIG_ADDRESS": str(node.address),
        }
    if how == served.STANDING:  # where vLLM has its sockets: its worker beside it is in another container
        orders["VLLM_RPC_BASE_PATH"] = ray.STATE
    return _HEAD + "".join(f"{name}={value}\n" for name, value in {**asked.environment, **orders}.items())


def docker_words(
    asked: Wish,
    weights: str,
    secret: Sequence[str],
    *,
    through: bool = False,
    service: Service = served.UNNAMED,
    standing: bool = False,
) -> list[str]:
    """`run` and its options, up to the image. secret: files of variables that root alone may read.

    through: whether the image's own entrypoint starts the script, which follows the image then; standing: whether
    it is on the standing Ray cluster.
    The nvidia runtime is the one that the cluster deploy registers; --gpus would need the toolkit's other hook.
    The journal has what the server prints, so docker keeps no second copy.
    """
    rdma = ["--device", "/dev/infiniband", "--cap-add", "IPC_LOCK"] if asked.nodes > 1 else []
    fabric = [environment.CONTAINER_ENV] if asked.nodes > 1 else []
    files = [service.of(served.ENVIRONMENT), *fabric, *secret]
    mounts = [
        *(f"{weights}/{path}:{MODELS}/{path}:ro" for path in asked.ids),
        f"{service.of(served.START)}:{_SCRIPT}:ro",
        *([f"{service.of(served.STEPS)}:{_STEPS}:ro"] if asked.steps else []),
        *cached(service),
        *([f"{ray.STATE}:{ray.STATE}"] if standing else []),
    ]
    # its workers are processes of that container: they share memory, and Ray looks up the process it speaks to
    shared = [word for kind in ("--ipc", "--pid") for word in (kind, f"container:{ray.UNIT}")] if standing else []
    return [
        *("run", "--rm", "--name", service.unit, "--log-driver", "none", "--runtime", "nvidia"),
        *(
            "--network",
            "host",
            *(shared or ("--ipc", "host")),
            "--ulimit",
            "memlock=-1",
            "--ulimit",
            "nofile=1048576",
        ),
        *("--oom-score-adj", "500"),  # if the kernel must end a process, then the server and not ssh
        *rdma,
        *(word for file in files for word in ("--env-file", file)),
        *(word for mount in mounts for word in ("--volume", mount)),
        *(() if through else ("--entrypoint", _first(asked))),
    ]


def cached(service: Service = served.UNNAMED) -> list[str]:
    """The mounts of what is worth keeping from one start to the next."""
    return [f"{service.of(_CACHE)}/{name}:{inside}" for name, inside in _CACHES.items()]


def _first(asked: Wish) -> str:
    """The program that a container begins with."""
    return _STEPS if asked.steps else _SCRIPT


def _service(asked: Wish, chosen: Chosen, how: str, node: Node, mine: Settings) -> str:
    """The unit of a node. It drops the page cache, for CUDA cannot take its memory [@conselara-hardware]."""
    service = Service(mine.serve_name)
    wants = [f"{service.port_unit}.socket"] if node.rank == 0 else []
    wants += [f"{service.watch_unit}.service"] if _watched(asked, how, node, mine) else []
    rows = [
        "[Unit]",
        f"Description={_description(asked, node)}",
        "After=docker.service network-online.target",
        _SSH_FIRST,
        "Wants=network-online.target",
        "Requires=docker.service",
        *([f"Requires={ray.UNIT}.service", f"After={ray.UNIT}.service"] if how == served.STANDING else []),
        f"RequiresMountsFor={unit_word(mine.weights)}",  # or docker makes an empty folder where a disk is late
        *([f"Wants={' '.join(wants)}"] if wants else []),
        # a load takes minutes, so that five of them are some hours of trying; a node whose peer is off waits for
        # it ten minutes each time, and does not give up
        "StartLimitIntervalSec=6h",
        f"StartLimitBurst={5 if asked.nodes == 1 else 40}",
        "",
        "[Service]",
        "Type=exec",
        f"ExecCondition={service.of(served.BRAKE)} begin",
        f"ExecStartPre=-/usr/bin/docker rm -f {service.unit}",
        "ExecStartPre=/bin/sh -c 'sync; echo 3 >/proc/sys/vm/drop_caches'",
        f"ExecStart={command_line(_docker(asked, chosen, how, mine))}",
        f"ExecStartPost={service.of(served.BRAKE)} loads{f' {mine.serve_trial_port}' if node.rank == 0 else ''}",
        f"ExecStop=/usr/bin/docker stop -t 30 {service.unit}",
        f"ExecStopPost={service.of(served.BRAKE)} end",
        "TimeoutStopSec=90",
        "SuccessExitStatus=137 143",  # of docker run, where the container was stopped
        "Restart=always",
        "RestartSec=10",
        "",
        "[Install]",
        "WantedBy=multi-user.target",
    ]
    return _text(rows)


def _docker(asked: Wish, chosen: Chosen, how: str, mine: Settings) -> list[str]:
    """The command of a node, which docker runs."""
    service = Service(mine.serve_name)
    secret = [
        *([SECRETS_FILE] if mine.secrets else []),
        *([service.of(served.RAY_ENV)] if served.makes_token(how, mine.secrets) else []),
    ]
    begin = docker_words(
        asked,
        mine.weights,
        secret,
        through=bool(chosen.entrypoint),
        service=service,
        standing=how == served.STANDING,
    )
    script = [_first(asked)] if chosen.entrypoint else []
    return ["/usr/bin/docker", *begin, chosen.id, *script, *asked.words]


def _description(asked: Wish, node: Node) -> str:
    where = f"node {node.rank} of {asked.nodes}" if asked.nodes > 1 else "one Spark"
    where = "on the standing Ray cluster" if node.standing else where
    return f"{asked.runtime.name} serves {asked.gguf or asked.checkpoint.id} ({where})"


def unit_word(word: str) -> str:
    """A word as a unit has it: quotes, backslashes and `%` have a meaning there (systemd.syntax(7))."""
    if re.fullmatch(r"[A-Za-z0-9_./:=,@+-]+", word):
        return word
    for special in ("\\", '"'):
        word = word.replace(special, f"\\{special}")
    return f'"{word.replace("%", "%%")}"'


def command_line(words: Sequence[str]) -> str:
    """Words of ExecStart=, where `$` has a meaning too, but for the path of the program (systemd.service(5))."""
    return " ".join([unit_word(words[0]), *(unit_word(word).replace("$", "$$") for word in words[1:])])


def _socket(mine: Settings, node: Node) -> str:
    """The public port. It stops with the server, and stays closed while the server is on trial.

    An address may come later than the unit does (FreeBind). No default dependencies: sockets.target would come
    before the server, and after it.
    """
    service = Service(mine.serve_name)
    rows = [
        "[Unit]",
        f"Description=port {mine.serve_port} of the server",
        f"After={service.unit}.service",
        f"BindsTo={service.unit}.service",
        f"ConditionPathExists=!{service.of(served.TRIAL)}",
        "DefaultDependencies=no",
        "Conflicts=shutdown.target",
        "Before=shutdown.target",
        "",
        "[Socket]",
        *(f"ListenStream={socket.removeprefix('*:')}" for socket in listen.sockets(mine, node.management)),
        "FreeBind=yes",
        "Backlog=1024",
    ]
    return _text(rows)


def _proxy(mine: Settings) -> str:
    service = Service(mine.serve_name)
    rows = [
        "[Unit]",
        f"Description=leads port {mine.serve_port} to the server on {mine.serve_trial_port}",
        f"After={service.unit}.service",
        f"BindsTo={service.unit}.service {service.port_unit}.socket",
        "",
        "[Service]",
        "LimitNOFILE=16384",  # six of a connection, and the usual limit is 1024
        f"ExecStart={_PROXYD} --connections-max=1024 127.0.0.1:{mine.serve_trial_port}",
        "DynamicUser=yes",
    ]
    return _text(rows)


def _watched(asked: Wish, how: str, node: Node, mine: Settings) -> list[str]:
    """What the watch of a host is started with; empty where it has nothing to do.

    `patience` is not in it: another unit would put the server on trial again, for a run that was slow.
    """
    words = [f"--least {round(mine.memory_guard * 10)}"] if mine.memory_guard else []
    metrics = asked.runtime.metrics
    if mine.serve_watch_seconds and node.rank == 0 and metrics:
        words += [f"--port {mine.serve_trial_port}", f"--seconds {mine.serve_watch_seconds}"]
        words += (
            [f"--running {metrics.running}", f"--counters {','.join(metrics.counters)}"] if metrics.running else []
        )
    elif mine.serve_watch_seconds and how == "multinode":
        words += [f"--head {node.head}:{_MASTER_PORT}"]
    return words


def _watch(words: Sequence[str], settings: Settings) -> str:
    service = Service(settings.serve_name)
    rows = [
        "[Unit]",
        "Description=restarts a server that stands still, or takes the last of the memory",
        f"After={service.unit}.service",
        f"BindsTo={service.unit}.service",
        "",
        "[Service]",
        f"ExecStart=/usr/bin/python3 -IB {service.of(served.WATCHER)} {' '.join(words)}",
        "OOMScoreAdjust=-900",
        "Restart=on-failure",
    ]
    return _text(rows)


def _text(rows: Sequence[str]) -> str:
    return _HEAD + "\n".join(rows) + "\n"
