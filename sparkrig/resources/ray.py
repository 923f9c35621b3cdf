"""A standing Ray cluster of all hosts of a group: settings `ray_...`. One unit on each host, and nothing else.

The nodes meet in the network that `container.env` names, each in a container of the same image, with the
words that `ray start --help` of 2.60 has. A token is asked for everywhere [@ray-auth], since Ray listens on all
addresses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address

from sparkrig import programs
from sparkrig.cure import Cure, advice, on_host, quoted, with_setting
from sparkrig.files import SECRETS_FILE, File, Managed
from sparkrig.fleet import Fleet
from sparkrig.host.ray import PORT, STATE, UNIT, Ray, parse
from sparkrig.network.environment import CONTAINER_ENV
from sparkrig.refusal import Refusal
from sparkrig.resources import file_diff
from sparkrig.resources.bandwidth import BANDWIDTH
from sparkrig.resources.check import Check, Subject, check
from sparkrig.resources.kind import Kind
from sparkrig.resources.rdma import RDMA
from sparkrig.resources.resource import Changes, Resource
from sparkrig.resources.time import TIME
from sparkrig.serving import last_deploy
from sparkrig.serving.budget import BESIDE_GIB, GIB, MEMORY_GIB
from sparkrig.serving.served import ASIDE, STANDING, Service
from sparkrig.serving.unit_files import cached, command_line, unit_word
from sparkrig.serving.wish import MODELS
from sparkrig.text import bare_name, listed

UNIT_FILE = f"/etc/systemd/system/{UNIT}.service"
NODE_PORT, OBJECT_PORT, DASHBOARD_PORT = 6380, 6381, 8265
SETTLE = programs.text("operations/ray_settle.sh")

_TOKEN = "RAY_AUTH_TOKEN"  # noqa: S105 - its name
_KEPT_DAYS = 7
_FULL = "0.9"  # of the disk: nothing is spilled beyond it (RAY_local_fs_capacity_threshold, ray_config_def.h)
_WORKER_PORTS = ("11000", "11999")  # Ray's own, from 10002 on, would take ports that servers have here
_PAGE = "docs/ray.md#what-is-checked"


@dataclass(frozen=True)
class RayChanges(Changes):
    """What makes the node what is declared. lack: of the unit; fetch: whether the image may have to be fetched."""

    lack: str = ""
    fetch: bool = False

    def __bool__(self) -> bool:
        return bool(super().__bool__() or self.lack)


def _kind(name: str, meaning: str, cause: str) -> Kind:
    return Kind(name, "containers", meaning, cause, _PAGE)


class RayCluster(Resource[Ray]):
    """The unit of this host's node, and on the head what Ray knows of all nodes."""

    name = "ray"
    files = (Managed(UNIT_FILE, reload=SETTLE),)
    script = programs.text("facts/ray.sh")
    absent = Ray()
    kinds = (
        _kind(
            "ray.files",
            "the unit of Ray is as declared, with one image and head on all hosts",
            "it was edited or removed by hand, or the inventory changed since the last deploy",
        ),
        _kind(
            "ray.unit",
            "the node runs in the declared image, and starts with the host",
            "it was stopped by hand, or Ray ends at once: journalctl -u sparkrig-ray",
        ),
        _kind(
            "ray.nodes",
            "each host is a living node with one GPU, as the head has it",
            "a host is off, its rail is down, or its node has another version: journalctl -u sparkrig-ray there",
        ),
        _kind(
            "ray.held",
            "no ended launch holds a placement group, and with it GPUs",
            "a launch made a detached one, or was killed: nobody else gets its GPUs",
        ),
        _kind(
            "ray.restarts",
            "the head runs since it was started",
            "it ended by itself, and with it all jobs: journalctl -u sparkrig-ray",
        ),
    )

    def parse(self, lines: Iterable[str]) -> Ray:
        return parse(lines)

    def judge(self, subject: Subject) -> None:
        """Raises Refusal for what the settings of the group, or the servers of the host, rule out."""
        if subject.settings.ray_image:
            head(subject)
            _alike(subject)
            _fits(subject)

    def changes(self, subject: Subject) -> RayChanges:
        """Raises Refusal where an address is not known yet."""
        on, found = subject.settings.ray_image is not None, self.seen(subject)
        wanted = [File(UNIT_FILE, unit_text(subject))] if on else []
        made = Changes.of(wanted, subject.found.files, self.files)
        lack = (_lack(found) or _other_token(subject)) if on else "it still runs" if found.up else ""
        reload = (UNIT_FILE,) if made or lack else ()
        fetch = bool(made.write) or not found.image
        return RayChanges(made.wanted, made.write, made.remove, reload, lack=lack, fetch=on and fetch)

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Nothing is declared of a host without the setting, unless a node is there."""
        want = "a node of Ray" if subject.settings.ray_image else "no node of Ray"
        try:
            self.judge(subject)
            changes = self.changes(subject)
        except Refusal as refusal:
            yield Check("ray.files", want, refusal.what, "drift", refusal.cure)
            return
        if not subject.settings.ray_image:
            if changes:
                yield check("ray.files", False, want, f"{UNIT}.service is there", subject.apply)
            return
        odd = file_diff.differences(changes.write, changes.remove, subject.found.files)
        yield check("ray.files", not odd, want, listed(odd) or want, subject.apply)
        if odd:
            return
        runs = "it runs in the declared image"
        yield check("ray.unit", not changes.lack, runs, changes.lack or runs, subject.apply)
        if not changes.lack and head(subject) == subject.name:
            yield from of_head(subject, self.seen(subject))


RAY = RayCluster()


# --- what is declared


def leads(fleet: Fleet, name: str) -> str:
    """The host that leads the cluster of a host. Raises Refusal where there is none, or it is not of the group."""
    group, wanted = fleet.group(name), fleet[name].ray_head
    if fleet[name].ray_image is None:
        raise Refusal(f"{bare_name(name)} has no Ray cluster", advice("set ray_image (sparkrig docs ray)"))
    found = [each for each in group if wanted in (None, each, bare_name(each))]
    if not found:
        cure = with_setting("ray_head", bare_name(group[0]))
        raise Refusal(f"ray_head is {wanted}, and the hosts are {listed(map(bare_name, group))}", cure)
    return found[0]


def head(subject: Subject) -> str:
    """The same of the host that is looked at. Raises Refusal."""
    return leads(subject.fleet, subject.name)


def address(subject: Subject, name: str) -> IPv4Address:
    """Where the node of a host is, in the network that `container.env` names. Raises Refusal where unknown."""
    if meeting := subject.fleet[name].meeting:
        return meeting
    state = subject.found if name == subject.name else subject.peers.get(name)
    if state is None or state.network.management is None:
        raise Refusal(f"the management address of {bare_name(name)} is not known", advice("run without --limit"))
    return state.network.management[1].ip


def _alike(subject: Subject) -> None:
    """Nodes of two versions do not join, so all hosts declare the same."""
    mine = subject.settings
    for setting in ("ray_image", "ray_head"):
        for peer in subject.fleet.peers(subject.name):
            here, there = getattr(mine, setting), getattr(subject.fleet[peer], setting)
            if here != there:
                raise Refusal(
                    f"{setting} is {here or 'none'} here and {there or 'none'} on {bare_name(peer)}, and a Ray "
                    f"cluster has one",
                    advice(f"give all hosts of the group the same {setting} in the inventory"),
                )


def _fits(subject: Subject) -> None:
    """The memory has room for Ray beside the servers of the host, as they were deployed."""
    mine, serving = subject.settings, subject.found.serving
    total = mine.memory_gib or (serving.memory.total if serving.memory else MEMORY_GIB)
    records = last_deploy.records(subject.found.files, serving).values()
    servers = sum(record.utilization * total + BESIDE_GIB for record in records if record.rank != ASIDE)
    asked = mine.ray_memory_gib + mine.ray_store_gib
    if asked + servers > total:
        raise Refusal(
            f"Ray would take {asked:.1f} GiB and the servers take {servers:.1f} GiB of {total:.1f} GiB",
            with_setting("ray_memory_gib", "GIB", ", with fewer"),
        )


def unit_text(subject: Subject) -> str:
    """The unit of this host's node; its X-Sparkrig is for the look. Raises Refusal where an address is unknown."""
    mine, leads = subject.settings, head(subject) == subject.name
    dashboard = f"{_dashboard(subject)}:{DASHBOARD_PORT}" if leads else ""
    many = len(subject.fleet.group(subject.name)) > 1
    rows = [
        "# Written by sparkrig: docs/ray.md",
        "[Unit]",
        f"Description=Ray: {'the head' if leads else 'a node'} of the cluster",
        "After=docker.service network-online.target",
        "Wants=network-online.target",
        "Requires=docker.service",
        f"RequiresMountsFor={unit_word(mine.weights)}",
        "StartLimitIntervalSec=0",  # a node whose head is off tries until it is back
        "",
        "[Service]",
        "Type=exec",
        f"ExecStartPre=-/usr/bin/docker rm -f {UNIT}",
        f"ExecStartPre=/usr/bin/rm -rf {STATE}/spill",  # of a session that was killed
        f"ExecStartPre=-/usr/bin/find {STATE} -mindepth 1 -maxdepth 1 -mtime +{_KEPT_DAYS} -exec rm -rf {{}} +",
        f"ExecStart={command_line([*_docker(subject, many=many), *_ray(subject, leads=leads)])}",
        f"ExecStop=/usr/bin/docker stop -t 30 {UNIT}",
        "TimeoutStopSec=90",
        "SuccessExitStatus=137 143",
        "Restart=always",
        "RestartSec=10",
        "",
        "[Install]",
        "WantedBy=multi-user.target",
        "",
        "[X-Sparkrig]",
        f"Image={mine.ray_image}",
        f"Dashboard={dashboard}",
    ]
    return "\n".join(rows) + "\n"


def _docker(subject: Subject, *, many: bool) -> Sequence[str]:
    """The command, up to the image.

    Its shared memory and its processes are its own, and go with it; a server on the cluster shares them, for its
    workers start here (`unit_files.docker_words`).
    """
    mine = subject.settings
    rdma = ["--device", "/dev/infiniband", "--cap-add", "IPC_LOCK"] if many else []
    environment = {
        "RAY_ADDRESS": f"{address(subject, head(subject))}:{PORT}",
        "RAY_AUTH_MODE": "token",
        "RAY_local_fs_capacity_threshold": _FULL,
        "VLLM_HOST_IP": str(address(subject, subject.name)),  # a worker of vLLM would guess it [@vllm-source]
        "NVIDIA_VISIBLE_DEVICES": "all",
    }
    return [
        *(
            "/usr/bin/docker",
            "run",
            "--rm",
            "--pull",
            "never",
            "--name",
            UNIT,
            "--log-driver",
            "none",
            "--runtime",
            "nvidia",
        ),
        *("--network", "host", "--ipc", "shareable", "--shm-size", f"{_bytes(mine.ray_store_gib + 1)}"),
        *("--ulimit", "memlock=-1", "--ulimit", "nofile=1048576", "--oom-score-adj", "500"),
        *rdma,
        *("--env-file", CONTAINER_ENV, "--env-file", SECRETS_FILE),
        *(word for name, value in environment.items() for word in ("--env", f"{name}={value}")),
        *("--volume", f"{STATE}:{STATE}", "--volume", f"{mine.weights}:{MODELS}:ro"),
        *(word for mount in cached() for word in ("--volume", mount)),
        *("--entrypoint", "ray", str(mine.ray_image)),
    ]


def _ray(subject: Subject, *, leads: bool) -> Sequence[str]:
    """The command of a node, which is no daemon there."""
    mine = subject.settings
    at = address(subject, head(subject))
    part = [f"--address={at}:{PORT}"]
    if leads:
        part = ["--head", f"--port={PORT}", "--include-dashboard=true", f"--dashboard-port={DASHBOARD_PORT}"]
        part += [f"--dashboard-host={_dashboard(subject)}", f"--temp-dir={STATE}"]  # which Ray hands to the others
    return [
        *("start", *part, f"--node-ip-address={address(subject, subject.name)}", "--block"),
        *(f"--num-cpus={mine.ray_cpus}", "--num-gpus=1", f"--memory={_bytes(mine.ray_memory_gib)}"),
        *(f"--object-store-memory={_bytes(mine.ray_store_gib)}", f"--object-spilling-directory={STATE}/spill"),
        *(f"--node-manager-port={NODE_PORT}", f"--object-manager-port={OBJECT_PORT}"),
        *(f"--min-worker-port={_WORKER_PORTS[0]}", f"--max-worker-port={_WORKER_PORTS[1]}"),
        "--disable-usage-stats",
    ]


def _dashboard(subject: Subject) -> str:
    if subject.settings.ray_dashboard == "local":
        return "127.0.0.1"
    management = subject.found.network.management
    if management is None:
        raise Refusal("no management address was found on this host", on_host("ip -4 addr; ip -4 route"))
    return str(management[1].ip)


def _bytes(gib: float) -> int:
    return int(gib * GIB)


# --- what is there


def _other_token(subject: Subject) -> str:
    """That a deploy writes another token before it comes to the node, which reads it when it starts."""
    value = subject.secrets.get(_TOKEN) if isinstance(subject.secrets, Mapping) else None
    other = RAY.seen(subject).up and value is not None and not subject.found.secrets.holds(_TOKEN, value)
    return "the declared token is another one" if other else ""


def on_it(subject: Subject) -> list[str]:
    """The units of the servers that run on the cluster, as this host has a part in them."""
    records = last_deploy.records(subject.found.files, subject.found.serving)
    return [Service(name).unit for name, record in records.items() if record.form == STANDING]


def _lack(found: Ray) -> str:
    if found.lack or not found.image or found.image == found.runs:
        return found.lack or ("" if found.image else "the declared image is not there")
    return f"it runs {found.runs[:19] or 'nothing'}, and the declared image is {found.image[:19]}"


def missing(subject: Subject, found: Ray) -> list[str]:
    """The hosts that are no living node with one GPU, in words."""
    gpus = {node.address: node.gpus for node in found.nodes or () if node.alive}
    places = {name: _place(subject, name) for name in subject.fleet.group(subject.name)}
    strangers = [at for at in gpus if at not in places.values()]
    said = []
    for name, place in places.items():
        at = place or (strangers.pop() if strangers else "")  # of a host that was not read
        if gpus.get(at) != 1:
            said.append(f"{bare_name(name)} {'is missing' if at not in gpus else f'has {gpus[at]:g} GPUs'}")
    return said


def _place(subject: Subject, name: str) -> str:
    """Where the node of a host is; empty where only a look at that host tells it, and there was none."""
    try:
        return str(address(subject, name))
    except Refusal:
        return ""


def of_head(subject: Subject, found: Ray) -> Iterator[Check]:
    """What Ray knows of the whole cluster, by its head."""
    many, log = len(subject.fleet.group(subject.name)), f"sudo journalctl -u {UNIT} -n 50"
    want = f"{many} nodes with one GPU each" if many > 1 else "one node with one GPU"
    if found.nodes is None:
        why = "the dashboard of the head does not answer"
        yield Check("ray.nodes", want, why, "unknown", on_host(log), environment=True)
        return
    store = f", {found.store[0]:.1f} of {found.store[1]:.1f} GiB of objects" if found.store else ""
    said = f"{want}, Ray {found.version}{store}"
    lacking = missing(subject, found)
    cure = on_host(log, ", on each host that is missing")
    yield check("ray.nodes", not lacking, want, listed(lacking) or said, cure, environment=True)
    first = found.held[0] if found.held else None
    left = f"{first.id} of {first.launch!r}, which has ended" if first else ""
    none = "no ended launch holds a placement group"
    yield check("ray.held", not first, none, left or none, free(first.id if first else ""), environment=True)
    want, more = "the head was not started again", f"it was started again {found.restarts:d} times; its jobs ended"
    reset = on_host(log, f"; once that is mended: sudo systemctl reset-failed {UNIT}")
    yield check(
        "ray.restarts", not found.restarts, want, more if found.restarts else want, reset, environment=True
    )


def free(group: str) -> Cure:
    """The command that removes a placement group. group: its ID."""
    program = (
        "import ray; from ray.util import remove_placement_group as remove; "
        "from ray.util.placement_group import PlacementGroup as Group; ray.init(); "
        f'remove(Group(ray.PlacementGroupID(bytes.fromhex("{group}"))))'
    )
    return on_host(f"sudo docker exec {UNIT} python3 -c {quoted(program)}")


def unfit(subject: Subject) -> Refusal | None:
    """Why no node may start: a rail, a GID or a clock that is not as it should be, as their own checks have it."""
    said = {
        "bandwidth": "the rail is not known to be good",
        "rdma": "the files name another GID than that of now",
        "time": "the clocks differ",
    }
    judged = [*BANDWIDTH.checks(subject), *RDMA.checks(subject), TIME.synchronised(subject)]
    for each in judged:
        if each.told:
            return Refusal(f"Ray is not started, for {said[each.noun]} ({each.id}: {each.found})", each.cure)
    return None
