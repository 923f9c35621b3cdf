"""From a model of the catalogue and a host's settings to what serves it: container, unit, and the files of both.

Sources: [@nvidia-playbook, @eugr, @epappas, @capetron] (mounts, limits, both forms of a pair), [@docai-122b]
(caches worth keeping, the memory that is left). Ray and vLLM's own multi-node mode are told apart by start.sh.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address

from sparkrig.cure import local, on_host, quoted, quoted_path
from sparkrig.files import File, Found
from sparkrig.host import secrets
from sparkrig.host.images import Image
from sparkrig.parsing import hub
from sparkrig.rdma import environment
from sparkrig.refusal import Refusal
from sparkrig.serving import launch, served
from sparkrig.serving.arguments import read, whole_number
from sparkrig.serving.budget import GIB, Use, budget
from sparkrig.serving.lint import judgement
from sparkrig.serving.lint.case import Case
from sparkrig.serving.lint.judgement import Finding
from sparkrig.serving.lint.version import Version
from sparkrig.serving.model import Checkpoint, Launch, Model, Nodes, Scalar, flag_words
from sparkrig.serving.served import Record, Serving
from sparkrig.settings import Settings

Find = Callable[[str], Model | None]
Flags = Mapping[str, Scalar | dict[str, Scalar]]

_MODELS = "/models"  # where a container sees the folder of weights
_SCRIPT = "/sparkrig/start.sh"
_CACHE = "/var/cache/sparkrig/serve"  # compiled kernels: without them a start takes 40 s more [@docai-122b]
_CACHES = {
    "vllm": "/root/.cache/vllm",
    "flashinfer": "/root/.cache/flashinfer",
    "triton": "/root/.triton",
    # gpt-oss fetches its vocabulary into each container, from the internet [@vllm-22525, @harmony-101].
    # This is where it looks; no variable says so, for that would win over an image that has it elsewhere.
    "tiktoken": "/tmp/tiktoken-rs-cache",  # noqa: S108 - of a container
}
# what decides on them is a setting, or start.sh
_OURS = frozenset(
    {
        "config",
        "distributed-executor-backend",
        "headless",
        "host",
        "master-addr",
        "master-port",
        "model",
        "nnodes",
        "node-rank",
        "port",
    }
)
_PROXYD = "/usr/lib/systemd/systemd-socket-proxyd"
_SPARE_GIB = 5.0  # that stay free on the disk of the weights
_MACHINES = {"aarch64": "arm64", "x86_64": "amd64"}
_HEAD = "# Written by sparkrig: docs/serving.md\n"


@dataclass(frozen=True)
class Wish:
    """What is to be served, by catalogue and settings alone. image: as it is asked for."""

    model: Model
    checkpoint: Checkpoint
    nodes: Nodes
    flags: Flags
    environment: Mapping[str, str]
    image: str

    @property
    def words(self) -> list[str]:
        """`vllm serve ...`, the same on every node; start.sh adds what makes a node a part of one server."""
        names = [] if "served-model-name" in self.flags else ["--served-model-name", *self.names]
        flags = [word for flag in flag_words(self.flags) for word in flag]
        return ["vllm", "serve", f"{_MODELS}/{self.checkpoint.id}", *names, *flags, "--host", "127.0.0.1"]

    @property
    def names(self) -> list[str]:
        """What the API calls the model."""
        return [self.model.name, self.checkpoint.id]

    @property
    def gib(self) -> float | None:
        """Of all weights on a disk; None where nobody knows."""
        return budget(self.model, self.checkpoint, Use(nodes=1)).weights


@dataclass(frozen=True)
class Chosen:
    """What only the hosts can tell: the image by its ID, whether Ray is in it, and which vLLM."""

    id: str
    ray: bool = False
    vllm: str = ""


@dataclass(frozen=True)
class Node:
    """One host's part.

    rank: 0 answers, served.ASIDE has none; head, address: of the network that the nodes use, None for a lone one.
    """

    rank: int = 0
    head: IPv4Address | None = None
    address: IPv4Address | None = None


def remembered(mine: Settings, record: Record | None) -> Settings:
    """The settings, and for a host that serves without a `model` in them, what it was told last."""
    if mine.model or record is None:
        return mine
    return mine.model_copy(
        update={
            "model": record.checkpoint,
            "serve_image": mine.serve_image or record.name,
            "serve_nodes": record.nodes,
            "serve_form": mine.serve_form or (record.form if record.form in ("ray", "multinode") else None),
            "serve_port": record.port,
            "serve_trial_port": record.trial_port,
            "weights": record.weights,
        }
    )


def wish(find: Find, mine: Settings, sparks: int) -> Wish:
    """What the settings ask for. sparks: hosts that can share it. Raises Refusal."""
    if not mine.model:
        raise Refusal(
            "no model is named, and this host serves none yet", "the same with --data model=NAME; sparkrig models"
        )
    model = find(mine.model)
    if model is None:
        raise Refusal(f"the catalogue has no model {mine.model}", local("sparkrig models"))
    checkpoint = model.checkpoint(mine.model)
    if hub.ID.fullmatch(mine.model) and mine.model.lower() != checkpoint.id.lower():
        raise Refusal(
            f"the catalogue has no checkpoint {mine.model}, and {checkpoint.id} is another one",
            local(f"sparkrig models show {quoted(model.name)}"),
        )
    if checkpoint.bad:
        raise Refusal(
            f"{checkpoint.id} is not to be used: {checkpoint.bad}",
            local(f"sparkrig models show {quoted(model.name)}"),
        )
    nodes: Nodes = mine.serve_nodes or max(model.nodes, checkpoint.nodes)
    if nodes > sparks:
        raise Refusal(
            f"{checkpoint.id} is for {nodes} Sparks, and this one is on its own",
            local(f"sparkrig models show {quoted(model.name)}"),
        )
    base = _base(model, checkpoint, nodes)
    image = mine.serve_image or (base.image if base else "")
    if not image:
        raise Refusal(
            f"the catalogue names no image for {checkpoint.id}", "the same with --data serve_image=IMAGE"
        )
    variables = base.environment if base else {}
    return Wish(model, checkpoint, nodes, _flags(base, nodes, mine), variables, image)


def _base(model: Model, checkpoint: Checkpoint, nodes: Nodes) -> Launch | None:
    """The launch of the catalogue to begin from: of that checkpoint, best of all on as many Sparks."""
    of_it = [each for each in model.launches if (each.checkpoint or model.best().id) == checkpoint.id]
    return next((each for each in of_it if each.nodes == nodes), of_it[0] if of_it else None)


def _flags(base: Launch | None, nodes: Nodes, mine: Settings) -> Flags:
    if taken := sorted(_OURS & set(mine.serve_flags)):
        raise Refusal(f"--{taken[0]} is not for serve_flags: other settings decide on it", "docs/serving.md")
    flags: dict[str, Scalar | dict[str, Scalar]] = dict(base.flags) if base else {}
    for name in (*_OURS, "served-model-name"):
        flags.pop(name, None)
    if nodes > 1 or flags.get("tensor-parallel-size", 1) != 1:
        flags["tensor-parallel-size"] = nodes
    flags |= mine.serve_flags
    return flags


# --- before anything is changed


def judge(asked: Wish, found: Serving, machine: str, memory_gib: float, mine: Settings, *, leads: bool) -> None:
    """Raise Refusal where a host cannot serve that, by what was seen of it.

    machine: as uname calls it; memory_gib: of the host; leads: whether it answers the API.
    """
    _fits(asked, mine.memory_gib or memory_gib)
    image = found.find(asked.image)
    _runs_here(asked.image, image, machine)
    if leads and image is None and served.is_id(asked.image):
        raise Refusal(
            f"there is no image {asked.image[:19]}, and no registry can be asked for an ID",
            on_host("docker image ls -a"),
        )
    have = found.weights.get(asked.checkpoint.id, served.Weights("partial", 0))
    folder = f"{mine.weights}/{asked.checkpoint.id}"
    _reachable(have, folder)
    _revision(have, folder, mine.serve_revision)
    if not have.there:
        _room(asked, have, found.room, mine)
    if leads:
        _ports(found, mine)


def _runs_here(name: str, image: Image | None, machine: str) -> None:
    wanted = _MACHINES.get(machine)
    if image and wanted and image.architecture != wanted:
        raise Refusal(
            f"{name} is an image for {image.architecture}, and this host is {wanted}",
            on_host(f"docker pull --platform {quoted(f'linux/{wanted}', name)}"),
        )


def _fits(asked: Wish, memory_gib: float) -> None:
    use = _use(asked, memory_gib)
    made = budget(asked.model, asked.checkpoint, use)
    if made.fit == "no":
        raise Refusal(
            f"{asked.checkpoint.id} does not fit: {made.weights or 0:.1f} GiB of weights a node, and "
            f"{made.share:.1f} GiB are for all of it ({use.utilization:g} of {memory_gib:.1f} GiB)",
            local(f"sparkrig models show {quoted(asked.model.name)}"),
        )


def _use(asked: Wish, memory_gib: float) -> Use:
    """The budget's view of the flags; vLLM's own defaults where one is not given."""
    flags = read(asked.words[2:]).flags
    drafts = flags.get("speculative-config")
    context = whole_number(str(flags.get("max-model-len", "")))
    step = whole_number(str(flags.get("max-num-batched-tokens", "")))
    return Use(
        context=context or asked.model.context or Use.context,
        sequences=1,
        utilization=float(str(flags.get("gpu-memory-utilization", 0.9))),
        memory=memory_gib,
        kv="fp8" if str(flags.get("kv-cache-dtype", "")).startswith("fp8") else "bf16",
        nodes=asked.nodes,
        drafted=int(drafts.get("num_speculative_tokens", 0)) if isinstance(drafts, Mapping) else 0,
        step=step or Use.step,
        prefix_caching=flags.get("enable-prefix-caching", True) is not False,
    )


def _reachable(have: served.Weights, folder: str) -> None:
    """Docker mounts that folder alone, and the hub's own cache is all links to another."""
    if have.stray:
        linked = f"{folder}.linked"
        raise Refusal(
            f"{folder}/{have.stray} is a link that leads out of its folder, and a container would not find it",
            on_host(f"sudo mv {quoted(folder, linked)}; sudo cp -rL {quoted(linked, folder)}"),
        )


def _revision(have: served.Weights, folder: str, wanted: str | None) -> None:
    if wanted and have.there and have.revision != wanted:
        raise Refusal(
            f"{folder} is of commit {have.revision or 'unknown'} of the hub, and serve_revision is {wanted}",
            on_host(f"sudo mv {quoted(folder, f'{folder}.other')}", ", then the same again downloads it"),
        )


def _room(asked: Wish, there: served.Weights, room: int | None, mine: Settings) -> None:
    if asked.gib is None or room is None:
        return
    have, free = there.size / GIB, room / GIB
    needed = asked.gib - have + _SPARE_GIB
    if needed > free:
        raise Refusal(
            f"the weights of {asked.checkpoint.id} take {asked.gib:.1f} GiB, {have:.1f} GiB of them are there, "
            f"and {free:.1f} GiB are free for {mine.weights} ({_SPARE_GIB:g} GiB are to stay free)",
            on_host(
                f"df -h {quoted_path(mine.weights)}",
                "; then make room, or set weights to a folder on another disk",
            ),
        )


def _ports(found: Serving, mine: Settings) -> None:
    """Ports that somebody else has; ours are where our own units run."""
    for name, port, ours in (
        ("serve_port", mine.serve_port, found.port == "active"),
        ("serve_trial_port", mine.serve_trial_port, found.unit.get("ActiveState") in ("active", "activating")),
    ):
        if port in found.listening and not ours:
            raise Refusal(
                f"somebody else listens on port {port}",
                on_host(f"sudo ss -ltnp sport = :{port:d}", f"; or set {name}"),
            )


def lint_of(asked: Wish, find: Find, form: str, vllm: Version | None, machine: str) -> list[Finding]:
    """What `sparkrig lint` says of the very command that is to run."""
    given = ["--platform", f"linux/{_MACHINES[machine]}"] if machine == "aarch64" else []
    given += [word for name, value in asked.environment.items() for word in ("-e", f"{name}={value}")]
    meeting = ["--nnodes", str(asked.nodes), "--node-rank", "0", "--master-addr", "$SPARKRIG_HEAD"]
    more = {  # as start.sh does
        "ray": ["--distributed-executor-backend", "ray"],
        "multinode": ["--distributed-executor-backend", "mp", *meeting],
    }
    words = ["docker", *_docker(asked, "/srv/models", [])]
    words = [*words[:2], *given, *words[2:], asked.image, *asked.words, *(more[form] if asked.nodes > 1 else [])]
    (found,) = launch.typed(words)
    return judgement.judge(Case(found, find, asked.nodes, vllm))


def refuse(found: Sequence[Finding]) -> None:
    """Raise Refusal for the first hard fact among them."""
    for each in found:
        if each.severity == "error":
            raise Refusal(f"{each.rule.id}: {each.found}", each.better)


# --- what lands on a host


def form(asked: Wish, chosen: Chosen, mine: Settings) -> str:
    """How the nodes become one server. Raises Refusal for Ray in an image without it."""
    if asked.nodes == 1:
        return "solo"
    if mine.serve_form == "ray" and not chosen.ray:
        raise Refusal(f"{asked.image} has no Ray", "set serve_form to multinode, or take another serve_image")
    return mine.serve_form or ("ray" if chosen.ray else "multinode")


def files(asked: Wish, chosen: Chosen, node: Node, mine: Settings, texts: Mapping[str, str]) -> list[File]:
    """Every file of one host. texts: of start.sh and memory.sh, by their paths."""
    if node.rank == served.ASIDE:
        return [_record(asked, Chosen(""), "", node, mine, [])]
    how = form(asked, chosen, mine)
    made = [
        File(served.START, texts[served.START], "0755"),
        File(served.ENVIRONMENT, _environment(asked, how, node, mine)),
        File(served.SERVICE, _service(asked, chosen.id, how, node, mine)),
    ]
    if node.rank == 0:
        made += [File(served.SOCKET, _socket(mine)), File(served.PROXY, _proxy(mine))]
    if mine.memory_guard:
        made += [File(served.MEMORY, texts[served.MEMORY], "0755"), File(served.WATCH, _watch(mine))]
    return [*made, _record(asked, chosen, how, node, mine, made)]


def _record(asked: Wish, chosen: Chosen, how: str, node: Node, mine: Settings, made: Sequence[File]) -> File:
    return Record(
        model=asked.model.name,
        checkpoint=asked.checkpoint.id,
        image=chosen.id,
        name=asked.image,
        form=how,
        nodes=asked.nodes,
        rank=node.rank,
        port=mine.serve_port,
        trial_port=mine.serve_trial_port,
        weights=mine.weights,
        ray=chosen.ray,
        vllm=chosen.vllm,
        files={file.path: served.digest(file.content) for file in made},
    ).file()


def image_of(asked: Wish, found: Serving, record: Record | None, head: Serving | None = None) -> Image | None:
    """The image that a host has for it. head: of the host that leads, where it was looked at.

    A digest is of a repository, and `docker save` keeps none; an ID is of the head's own store. Such a copy is
    known by what the head's image holds, or as the image of the last deploy, for neither name ever moves.
    """
    there = found.find(asked.image)
    if there or not ("@" in asked.image or served.is_id(asked.image)):
        return there
    if head and (theirs := head.find(asked.image)):
        return found.copy_of(theirs)
    return found.find(record.image) if record and record.name == asked.image else None


def chosen(asked: Wish, found: Serving, record: Record | None) -> Chosen | None:
    """The image as it is known from the last deploy; None where it is not there, or was never looked into."""
    there = image_of(asked, found, record)
    if there is None or record is None or record.image != there.id:
        return None
    return Chosen(there.id, record.ray, record.vllm)


def surplus(wanted: Sequence[File], found: Mapping[str, Found]) -> list[str]:
    """Files of ours that stand on a host and are not wanted there."""
    paths = {file.path for file in wanted}
    return [path for path in served.PATHS if path in found and path not in paths]


def _environment(asked: Wish, how: str, node: Node, mine: Settings) -> str:
    orders = {
        "SPARKRIG_FORM": how,
        "SPARKRIG_PORT": str(mine.serve_trial_port),
        "NVIDIA_VISIBLE_DEVICES": "all",
        "HF_HUB_OFFLINE": "1",  # the weights are there, and a hub that is down is no reason not to start
    }
    if asked.nodes > 1:
        orders |= {
            "SPARKRIG_RANK": str(node.rank),
            "SPARKRIG_NODES": str(asked.nodes),
            "SPARKRIG_HEAD": str(node.head),
            "SPARKRIG_ADDRESS": str(node.address),
        }
    return _HEAD + "".join(f"{name}={value}\n" for name, value in {**asked.environment, **orders}.items())


def _docker(asked: Wish, weights: str, secret: Sequence[str]) -> list[str]:
    """`run` and its options, up to the image. secret: files of variables that root alone may read.

    The nvidia runtime is the one that the cluster deploy registers; --gpus would need the toolkit's other hook.
    The journal has what the server prints, so docker keeps no second copy.
    """
    path = asked.checkpoint.id
    rdma = ["--device", "/dev/infiniband", "--cap-add", "IPC_LOCK"] if asked.nodes > 1 else []
    files = [served.ENVIRONMENT, environment.CONTAINER_ENV, *secret]
    mounts = [
        f"{weights}/{path}:{_MODELS}/{path}:ro",
        f"{served.START}:{_SCRIPT}:ro",
        *(f"{_CACHE}/{name}:{inside}" for name, inside in _CACHES.items()),
    ]
    return [
        *("run", "--rm", "--name", served.UNIT, "--log-driver", "none", "--runtime", "nvidia"),
        *("--network", "host", "--ipc", "host", "--ulimit", "memlock=-1", "--ulimit", "nofile=1048576"),
        *("--oom-score-adj", "500"),  # if the kernel must end somebody, then the server and not ssh
        *rdma,
        *(word for file in files for word in ("--env-file", file)),
        *(word for mount in mounts for word in ("--volume", mount)),
        *("--entrypoint", _SCRIPT),
    ]


def _service(asked: Wish, id: str, how: str, node: Node, mine: Settings) -> str:
    """The unit of a node. It drops the page cache, for CUDA cannot take its memory [@conselara-hardware]."""
    secret = [
        *([secrets.PATH] if mine.secrets else []),
        *([served.RAY_ENV] if served.makes_token(how, mine.secrets) else []),
    ]
    words = ["/usr/bin/docker", *_docker(asked, mine.weights, secret), id, *asked.words]
    where = f"node {node.rank} of {asked.nodes}" if asked.nodes > 1 else "one Spark"
    wants = [f"{served.PORT_UNIT}.socket"] if node.rank == 0 else []
    wants += [f"{served.MEMORY_UNIT}.service"] if mine.memory_guard else []
    rows = [
        "[Unit]",
        f"Description=vLLM serves {asked.checkpoint.id} ({where})",
        "After=docker.service network-online.target",
        "Wants=network-online.target",
        "Requires=docker.service",
        f"RequiresMountsFor={_unit_word(mine.weights)}",  # or docker makes an empty folder where a disk is late
        *([f"Wants={' '.join(wants)}"] if wants else []),
        # a load takes minutes, so that five of them are some hours of trying; a node whose peer is off waits for
        # it ten minutes each time, and does not give up
        "StartLimitIntervalSec=6h",
        f"StartLimitBurst={5 if asked.nodes == 1 else 40}",
        "",
        "[Service]",
        "Type=exec",
        f"ExecStartPre=-/usr/bin/docker rm -f {served.UNIT}",
        "ExecStartPre=/bin/sh -c 'sync; echo 3 >/proc/sys/vm/drop_caches'",
        f"ExecStart={' '.join(map(_unit_word, words))}",
        f"ExecStop=/usr/bin/docker stop -t 30 {served.UNIT}",
        "TimeoutStopSec=90",
        "SuccessExitStatus=137 143",  # of docker run, where the container was stopped
        "Restart=always",
        "RestartSec=10",
        "",
        "[Install]",
        "WantedBy=multi-user.target",
    ]
    return _text(rows)


def _unit_word(word: str) -> str:
    """A word as systemd reads a command line: quotes, `%` and `$` have a meaning there (systemd.service(5))."""
    if re.fullmatch(r"[A-Za-z0-9_./:=,@+-]+", word):
        return word
    for special in ("\\", '"'):
        word = word.replace(special, f"\\{special}")
    return f'"{word.replace("%", "%%").replace("$", "$$")}"'


def _socket(mine: Settings) -> str:
    """The port for everybody. It goes with the server, and stays closed while that is on trial.

    No default dependencies: sockets.target would come before the server, and after it.
    """
    rows = [
        "[Unit]",
        f"Description=port {mine.serve_port} of the server",
        f"After={served.UNIT}.service",
        f"BindsTo={served.UNIT}.service",
        f"ConditionPathExists=!{served.TRIAL}",
        "DefaultDependencies=no",
        "Conflicts=shutdown.target",
        "Before=shutdown.target",
        "",
        "[Socket]",
        f"ListenStream={mine.serve_port}",
        "Backlog=1024",
    ]
    return _text(rows)


def _proxy(mine: Settings) -> str:
    rows = [
        "[Unit]",
        f"Description=leads port {mine.serve_port} to the server on {mine.serve_trial_port}",
        f"After={served.UNIT}.service",
        f"BindsTo={served.UNIT}.service {served.PORT_UNIT}.socket",
        "",
        "[Service]",
        "LimitNOFILE=16384",  # six of a connection, and the usual limit is 1024
        f"ExecStart={_PROXYD} --connections-max=1024 127.0.0.1:{mine.serve_trial_port}",
        "DynamicUser=yes",
    ]
    return _text(rows)


def _watch(mine: Settings) -> str:
    rows = [
        "[Unit]",
        f"Description=ends the server before less than {mine.memory_guard:g} % of the memory is free",
        f"After={served.UNIT}.service",
        f"BindsTo={served.UNIT}.service",
        "",
        "[Service]",
        f"ExecStart={served.MEMORY} {round(mine.memory_guard * 10)} {served.UNIT}",
        "OOMScoreAdjust=-900",
        "Restart=on-failure",
    ]
    return _text(rows)


def _text(rows: Sequence[str]) -> str:
    return _HEAD + "\n".join(rows) + "\n"


# --- one sentence each


def told(asked: Wish, found: Sequence[Finding]) -> Iterator[str]:
    """What a person should know before it is served."""
    warnings = [each.rule.id for each in found if each.severity == "warning"]
    if warnings:
        yield (
            f"sparkrig lint warns of {', '.join(warnings)}; what is said for and against each: "
            f"sparkrig lint --catalogue {quoted(asked.model.name)}"
        )
