"""Every setting of a host and of a fleet, checked before anything connects.

A setting is plain pyinfra data: in an inventory file beside the host, in a group, or in `group_data/`.
This model is the one place that knows names, types, defaults and meaning; `docs/settings.md` and
`inventories/group_data/all.py` are made from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from sparkrig.host.branches import BRANCH
from sparkrig.network import openings
from sparkrig.network.links import ROCE_HEADERS, in_one_subnet
from sparkrig.parsing import bounds, expected, public_key
from sparkrig.parsing.grammar import SERVER
from sparkrig.redaction.forms import shows_a_secret
from sparkrig.redaction.secret_names import names_a_secret
from sparkrig.shapes import (
    DefinitionName,
    Digest,
    DraftName,
    Fingerprint,
    FlagName,
    Folder,
    GgufName,
    GroupName,
    ImageName,
    ListenPlace,
    ModelName,
    NetdevName,
    OneLine,
    RecipeName,
    Revision,
    ServiceName,
    Source,
    ToolkitVersion,
    UserName,
    VariableName,
)

# What sparkrig.network.gid finds on each host.
_DISCOVERED = frozenset(
    {"NCCL_IB_GID_INDEX", "NCCL_IB_ROCE_VERSION_NUM", "NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE"}
)


# what vLLM reads in place of such a flag (vllm/envs.py; huggingface_hub's constants.py)
_VARIABLES = {"api-key": "VLLM_API_KEY", "hf-token": "HF_TOKEN"}
_TWO_SUBNETS = 23  # prefix length of the smallest network with two subnets of /24
# RFC 6890: this network, loopback, multicast, reserved
_NO_LINKS = tuple(IPv4Network(each) for each in ("0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/4", "240.0.0.0/4"))
_YES_OR_NO = (bool, bool | None)
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class SettingsError(ValueError):
    """A setting that cannot stand; the message is one sentence with the host, the field and a cure."""


class Settings(BaseModel):
    """What one Spark should be."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)

    pair: GroupName | None = Field(
        None,
        description="Name of the pair that this Spark belongs to; exactly two hosts share it. None for a "
        "Spark on its own.",
    )
    cluster: GroupName | None = Field(
        None,
        description="Name of its cluster, in place of `pair`: two to eight hosts share it, and are set up "
        "together.",
    )
    topology: Literal["cable", "ring", "switch"] | None = Field(
        None,
        description="What joins the hosts of a cluster: a `cable` two, a `ring` of cables three, a `switch` "
        "two to eight (docs/clusters.md). The same on all of them; None for `cable`, which three and more "
        "cannot have.",
    )
    fabric: dict[NetdevName, IPv4Interface] = Field(
        {},
        description="Address of each fabric netdev, as `netdev: address/prefix`; rail 0 first. "
        "Each twin in a subnet of its own. Empty on a Spark that has no cable.",
    )
    fabric_network: IPv4Network | None = Field(
        None,
        description="Network that the addresses of a cluster are taken from by a rule, in place of `fabric` "
        "(docs/clusters.md#addresses). The same on all of them; the plan shows each address.",
    )
    fabric_cage: Literal["p0", "p1"] = Field(
        "p0",
        description="Cage that has the plug, with `fabric_network`: `p0` is next to the RJ45. A ring uses both.",
    )
    allow_non_spark: bool = Field(
        False, description="Go on although the host does not look like a DGX Spark (GB10)."
    )
    driver_branch: int = Field(
        BRANCH,
        ge=BRANCH,
        le=999,
        description="Driver branch that is held; later ones are pinned away. Another one than 580 needs a "
        "recipe of NVIDIA's on the Spark that has it "
        "(docs/updating.md#when-a-release-brings-another-branch).",
    )
    mtu: int = Field(
        9000,
        ge=1280,
        le=9216,
        description="MTU of the fabric netdevs, in bytes; path MTU 4096 needs 4200 or more.",
    )
    hostname: str | None = Field(
        None,
        description="The host's own name, one label without a domain, in /etc/hostname and /etc/hosts. What "
        "reaches the Spark by its old name, such as spark-1b3b.local, needs the new one then. None for the "
        "name that it has.",
    )
    ntp: list[str] = Field(
        [],
        description="Time servers, by name or address: systemd-timesyncd asks them in place of its own, "
        "chrony beside its own. Empty for those that the host came with.",
    )
    firewall_allow: list[str] | None = Field(
        None,
        description="What a firewall lets in on every network but the fabric: `8000` or `51820/udp` for a "
        "port, `ssh`, `serve` (serve_port) or `metrics` (9100) by name, each for everyone or `from` a "
        "network; `from` a network alone is every port. None for no firewall (docs/access.md#firewall).",
    )
    toolkit_url: OneLine = Field(
        "https://nvidia.github.io/libnvidia-container/stable/deb/$(ARCH)",
        min_length=1,
        description="Flat apt repository of nvidia-container-toolkit, used only where the toolkit is "
        "absent; a mirror of yours where the hosts cannot reach NVIDIA's.",
    )
    toolkit_key_url: OneLine = Field(
        "https://nvidia.github.io/libnvidia-container/gpgkey",
        min_length=1,
        description="Where that repository's public key is fetched.",
    )
    toolkit_key_fingerprint: Fingerprint = Field(
        "C95B321B61E88C1809C4F759DDCAE044F796ECB0",
        description="Full fingerprint that the fetched key must have, 40 hex digits in capitals.",
    )
    toolkit_version: ToolkitVersion | None = Field(
        None,
        description="Version of nvidia-container-toolkit to install; None for the newest in the repository.",
    )
    restart_docker: bool = Field(
        False,
        description="Restart docker although containers are running, where its configuration must change.",
    )
    login_keys: list[OneLine] = Field(
        [],
        description="Public keys that log in as the user of the run, beside those in that user's "
        "authorized_keys (docs/access.md#login).",
    )
    login_passwords: bool = Field(
        True,
        description="Whether ssh takes passwords, from any user; False for keys alone (docs/access.md#login).",
    )
    docker_users: list[UserName] = Field(
        [],
        description="Users of the host in the group docker, which is as good as root (docs/alone.md). Empty "
        "for the group as it is.",
    )
    socket_interface: Literal["fabric", "management"] = Field(
        "fabric",
        description="Network of the control sockets of NCCL, Gloo and Ray. A Spark without a fabric and a "
        "ring always use management.",
    )
    merge_nics: bool | None = Field(
        None,
        description="Whether NCCL merges the two ports of a NIC into one device (NCCL_IB_MERGE_NICS). None "
        "for False in a ring, where it is contested (docs/clusters.md), and for NCCL's own default "
        "elsewhere.",
    )
    environment: dict[VariableName, OneLine] = Field(
        {},
        description="More variables for the container environment file; one named here replaces ours. No "
        "secrets: everyone can read the file.",
    )
    nccl_conf: dict[VariableName, OneLine] = Field(
        {},
        description="More variables for /etc/nccl.conf, which NCCL reads on the host itself; one named here "
        "replaces ours. What is added to that file by hand is overwritten. No secrets: everyone can read the "
        "file.",
    )
    secrets: dict[VariableName, Source] = Field(
        {},
        description="Variables whose values are secret, as `NAME: source`; a source is `env:NAME` or "
        "`file:/path` (or `file:~/path`) on the machine that runs pyinfra (docs/security.md#secrets).",
    )
    node_ssh: bool = Field(
        False,
        description="Let the ssh user of each host of a cluster log in to the others over the fabric "
        "(docs/security.md#from-one-spark-to-the-other). Set it on all of them.",
    )
    bandwidth_floor: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description="Least healthy RDMA write bandwidth of one rail alone, in Gb/s. None for the bands of a "
        "ConnectX-7 cable (docs/fabric.md#the-bands); set it for any other link.",
    )
    bandwidth_path_mtu: Literal[1024, 2048, 4096] = Field(
        4096, description="Least RDMA path MTU that a bandwidth check accepts, in bytes."
    )
    bandwidth_seconds: int = Field(
        5, ge=2, le=60, description="Duration of each bandwidth measurement, in seconds."
    )
    nccl_image: ImageName | None = Field(
        None,
        description="Container image with PyTorch in which the bandwidth check runs NCCL's all_gather; the "
        "same must be on all hosts already. None for no NCCL check.",
    )
    model: ModelName | None = Field(
        None,
        description="Model that deploys/serve.py serves: a name or a checkpoint of the catalogue (sparkrig "
        "models). None for what the host serves already.",
    )
    recipe: RecipeName | None = Field(
        None,
        description="File of a recipe that deploys/serve.py serves instead; FILE#VARIANT for one with "
        "variants. Settings serve_... win over it (docs/serving.md#recipes).",
    )
    serve_engine: Literal["vllm", "sglang", "llama.cpp"] = Field(
        "vllm",
        description="Engine that serves it. SGLang and llama.cpp need serve_image, and their flags are not "
        "judged (docs/serving-inside.md).",
    )
    serve_gguf: GgufName | None = Field(
        None,
        description="File that llama.cpp serves, as OWNER/NAME/FILE.gguf below `weights`, where it has to "
        "be already; of several parts the first. `model` is the one that it was made of.",
    )
    serve_image: ImageName | None = Field(
        None,
        description="Container image to serve it with: name and tag, name and digest, or an image's own "
        "sha256:ID. None for the one that the catalogue has with the model.",
    )
    serve_revision: Revision | None = Field(
        None,
        description="Commit of the checkpoint on the hub, 40 hexadecimal digits; weights of another one are "
        "refused. None for those that are there, and for a download the newest.",
    )
    serve_nodes: Literal[1, 2, 3, 4, 5, 6, 7, 8] | None = Field(
        None,
        description="Sparks that share the model; None for as many as it needs (docs/serving-several.md).",
    )
    serve_on: list[OneLine] = Field(
        [],
        description="Hosts of the cluster that serve, by their names in the inventory: the first one "
        "answers the API. Where more are needed, the others follow in the inventory's order. Empty for that "
        "order.",
    )
    serve_form: Literal["ray", "multinode"] | None = Field(
        None,
        description="How several Sparks become one server: by Ray, or by vLLM's own multi-node mode. None for Ray "
        "where the image has it, or a standing Ray cluster is declared (docs/ray.md).",
    )
    serve_name: ServiceName = Field(
        "",
        description="Name of the server, where a host has more than one "
        "(docs/serving-several.md#more-than-one-server). Empty for the server without a name.",
    )
    serve_port: int = Field(
        8000, ge=1, le=65535, description="Port that answers the OpenAI-compatible API, where serve_listen says."
    )
    serve_listen: ListenPlace | None = Field(
        None,
        description="Where it answers: `local` for its own host alone, `management` for the network that "
        "ssh came in on, `all` for every address, or one address of the host. None for `management` where "
        "VLLM_API_KEY is among the secrets, and else for `local` (docs/serving.md#who-reaches-it).",
    )
    serve_trial_port: int = Field(
        18000,
        ge=1,
        le=65535,
        description="Port that the engine itself listens on, for the host alone. A new configuration is "
        "tested there before serve_port leads to it.",
    )
    serve_flags: dict[FlagName, str | int | float | bool] = Field(
        {},
        description="More flags of the engine without their dashes, or other values for those of the catalogue; "
        "True for a flag without a value, False to leave one out.",
    )
    serve_draft: DraftName | None = Field(
        None,
        description="Draft model that speculates for it: OWNER/NAME on the hub, or a folder "
        "/srv/models/OWNER/NAME of the first host. False (or `none`) for no draft at all; None for what the "
        "catalogue has (docs/serving-inside.md).",
    )
    serve_mods: Digest | None = Field(
        None,
        description="Consent to what a recipe runs in its container before the server: the digest of all "
        "that text, which `sparkrig models show FILE` shows. None for none.",
    )
    serve_seconds: int = Field(
        2700,
        ge=10,
        le=14400,
        description="Seconds, times patience, in which a server must answer once it was started; a pair's "
        "first start took 15 minutes.",
    )
    serve_watch_seconds: int = Field(
        300,
        ge=0,
        le=86400,
        description="Seconds after which an engine that stands still while requests run is restarted, once "
        "in an hour; the second time it is stopped (docs/serving.md#it-stays-up). Not multiplied by "
        "patience. 0 for no watch.",
    )
    ray_image: ImageName | None = Field(
        None,
        description="Container image of a standing Ray cluster of all hosts of the group: "
        "NAME@sha256:DIGEST, or sha256:ID of one that is there. Needs RAY_AUTH_TOKEN among the secrets. None "
        "for no such cluster (docs/ray.md).",
    )
    ray_head: OneLine | None = Field(
        None, min_length=1, description="Host that leads the Ray cluster, by its name; None for the first one."
    )
    ray_cpus: int = Field(
        4, ge=1, le=256, description="CPUs of each host that Ray hands out, one process for each."
    )
    ray_memory_gib: float = Field(
        8.0,
        gt=0,
        le=1024,
        allow_inf_nan=False,
        description="GiB of each host's memory that Ray's tasks may ask for; refused where servers of the host "
        "leave less. Ray counts them, and holds no task to it.",
    )
    ray_store_gib: float = Field(
        1.0,
        ge=0.1,
        le=512,
        allow_inf_nan=False,
        description="GiB of each host's memory for Ray's objects; more are spilled to /var/lib/sparkrig/ray until "
        "the disk is 90 % full.",
    )
    ray_dashboard: Literal["local", "management"] = Field(
        "local",
        description="Where Ray's dashboard and its jobs answer, at port 8265 of the head: for its own host alone, "
        "or on the network that ssh came in on, without TLS. Both ask for the token.",
    )
    ray_wait: int = Field(
        600,
        ge=5,
        le=86400,
        description="Seconds, times patience, that a deploy waits for a missing host to join the Ray cluster; one "
        "that comes later joins by itself.",
    )
    weights: Folder = Field(
        "/srv/models", description="Folder of the weights on each host; a checkpoint lies in OWNER/NAME below it."
    )
    memory_gib: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description="GiB of memory that the budget of a model counts with; None for what the host has.",
    )
    memory_guard: float = Field(
        2.0,
        ge=0,
        le=20,
        description="Least memory to stay free, in percent; with less, the server is restarted before the "
        "whole Spark hangs (docs/serving.md#it-stays-up). 0 for no guard.",
    )
    headless: bool = Field(
        False,
        description="Start without a desktop, and end the login screen now unless somebody is logged in "
        "there (docs/alone.md). False for how the host starts now.",
    )
    swap_gib: int | None = Field(
        None,
        ge=0,
        le=256,
        description="GiB of swap in a file of its own, /swap.sparkrig; 0 for none. Swap that is there "
        "already stands under `adopt`, by its path (docs/alone.md). None for the swap that the host has.",
    )
    oom: Literal["earlyoom"] | None = Field(
        None,
        description="What ends a process before the memory does: `earlyoom`, the engines of models first "
        "(docs/alone.md). None for what the host has.",
    )
    gpu_clock_max: int | None = Field(
        None,
        ge=300,
        le=3003,
        description="Most MHz of the GPU's clock, now and at each start (docs/alone.md). None for no cap.",
    )
    watch: bool = Field(
        False,
        description="Keep a black box on the host: every ten seconds, what precedes a hang or a reset, on 34 "
        "MiB of the disk (docs/watching.md).",
    )
    watch_guard: bool = Field(
        False,
        description="Let the black box act: it stops the servers where the memory ends, and caps the GPU's "
        "clock where the host stays hot (docs/watching.md#the-guard). Needs `watch`.",
    )
    watch_metrics: bool = Field(
        False,
        description="Hand the readings of the black box to Prometheus, through Debian's node exporter on "
        "port 9100 (docs/watching.md#metrics). Needs `watch`.",
    )
    adopt: dict[DefinitionName, Literal["adopt", "set-aside", "leave"]] = Field(
        {},
        description="What becomes of a netplan file or NetworkManager profile that is not sparkrig's and "
        "defines a fabric netdev. The key is its name as the refusal shows it, its path or UUID, or a "
        "pattern. `adopt` takes over its address, `set-aside` lets the inventory win, both with a backup; "
        "`leave` keeps it in charge. What is not named is refused (docs/adopting.md).",
    )
    allow_management_interface: bool = Field(
        False,
        description="Let the fabric name a netdev that SSH or the default route is on, or rides on (bond, "
        "bridge, VLAN): for a Spark that you only reach over its QSFP cable. The rollback is armed all the "
        "same.",
    )
    allow_unwitnessed: bool = Field(
        False,
        description="Let sparkrig change the network, login and firewall of the Spark that it runs on, although "
        "no other member proves that this Spark can still be reached (docs/safety.md#from-a-spark-itself). The "
        "rollback is armed all the same.",
    )
    management_interface: NetdevName | None = Field(
        None,
        description="Netdev of the management network, which is never touched. None for the one that SSH "
        "came in on; needed where a host cannot tell, as behind a tunnel "
        "(docs/safety.md#a-way-in-that-cannot-be-named).",
    )
    rollback_seconds: int = Field(
        90,
        ge=30,
        le=600,
        description="Seconds after which a host rolls back a network change that was not confirmed "
        "(docs/safety.md#changing-the-network).",
    )
    patience: float = Field(
        1.0, ge=1, le=20, description="Factor on every deadline, for hosts that are slow (emulated ones)."
    )

    @property
    def group_name(self) -> str | None:
        """Of the hosts that it is set up with; None for a Spark on its own."""
        return self.cluster or self.pair

    @property
    def form(self) -> Literal["cable", "ring", "switch"]:
        """What joins them, where a fabric does."""
        return self.topology or "cable"

    @property
    def meeting(self) -> IPv4Address | None:
        """The fabric address at which hosts of a group meet; None where only the management network joins them."""
        joins = self.socket_interface == "fabric" and self.form != "ring"
        return next((address.ip for address in self.fabric.values()), None) if joins else None

    @model_validator(mode="before")
    @classmethod
    def _plain_text(cls, values: Any) -> Any:
        """A line break would add a line of its own to a unit or a file, and an escape would move the terminal.

        Of yes and no only True and False have one reading; "no" or 0 would count as False, too.
        """
        for name, value in values.items() if isinstance(values, Mapping) else ():
            if (
                name in cls.model_fields
                and cls.model_fields[name].annotation in _YES_OR_NO
                and not _is_said(value)
            ):
                raise ValueError(f"setting {name}: True or False is expected (found {expected.shown(value)})")
            if any(_CONTROL.search(text) for text in bounds.texts(value)):
                raise ValueError(
                    f"setting {name}: text without control characters is expected (line breaks, tabs, escapes)"
                )
        return values

    @field_validator("ray_image")
    @classmethod
    def _one_version(cls, image: str | None) -> str | None:
        """A tag moves, and nodes of two versions do not join."""
        if image is not None and not _fits(Digest, image.rpartition("@")[2]):
            raise ValueError(
                f"{image} may be another image on each host; NAME@sha256:DIGEST or sha256:ID is expected"
            )
        return image

    @field_validator("serve_flags")
    @classmethod
    def _no_secret_flag(cls, flags: dict[str, Any]) -> dict[str, Any]:
        """A flag stands in the unit, in docker's words and in every list of processes."""
        for name, value in flags.items():
            if shows_a_secret(name, value):
                variable = _VARIABLES.get(name, name.replace("-", "_").upper())
                which = f", as {variable}," if names_a_secret(name) else ""
                raise ValueError(
                    f"--{name} would show a secret in the list of processes; name its source under secrets"
                    f"{which} instead"
                )
        return flags

    @field_validator("serve_name")
    @classmethod
    def _apart(cls, name: str) -> str:
        if name and name.rpartition("-")[2] in ("port", "watch", "memory"):
            raise ValueError(
                f"a service {name} would have the units of another one; a name without {name.rpartition('-')[2]} "
                "at its end is expected"
            )
        return name

    @field_validator("serve_on", mode="before")
    @classmethod
    def _each_once(cls, hosts: Any) -> Any:
        names = [name.strip() for name in hosts.split(",")] if isinstance(hosts, str) else hosts
        if isinstance(names, list | tuple) and len({*map(str, names)}) < len(names):
            raise ValueError(f"{', '.join(map(str, names))} names a host twice; each host once is expected")
        return names

    @field_validator("serve_draft", mode="before")
    @classmethod
    def _no_draft(cls, draft: Any) -> Any:
        return "none" if draft is False else draft

    @field_validator("fabric", mode="before")
    @classmethod
    def _one_each(cls, fabric: Any) -> Any:
        """Two subnets on one twin would leave its peer's twin without one."""
        for netdev, address in fabric.items() if isinstance(fabric, Mapping) else ():
            if isinstance(address, list | tuple | set) and len(address) > 1:
                raise ValueError(
                    f"{netdev} has {len(address)} addresses; a twin carries one subnet, and the other subnet "
                    "belongs on its twin"
                )
        return fabric

    @field_validator("fabric_network", mode="before")
    @classmethod
    def _no_address(cls, network: Any) -> Any:
        """The address of a host with its prefix is no network, and looks like one."""
        try:
            found = IPv4Interface(network) if isinstance(network, str) and "/" in network else None
        except ValueError:
            return network  # the type's own sentence says what is expected
        if found and found.ip != found.network.network_address:
            raise ValueError(f"{found} is an address of {found.network}; {found.network} is expected")
        return network

    @field_validator("fabric_network")
    @classmethod
    def _room_for_subnets(cls, network: IPv4Network | None) -> IPv4Network | None:
        if network is not None and network.prefixlen > _TWO_SUBNETS:
            raise ValueError(
                f"{network} has no room for two subnets of /24; /{_TWO_SUBNETS} or a larger network is expected"
            )
        if network is not None and any(network.overlaps(other) for other in _NO_LINKS):
            raise ValueError(f"{network} has addresses that no link can have; such as 192.168.96.0/20 is expected")
        return network

    @field_validator("fabric")
    @classmethod
    def _usable_addresses(cls, fabric: dict[str, IPv4Interface]) -> dict[str, IPv4Interface]:
        for netdev, address in fabric.items():
            network = address.network
            if network.prefixlen > 31:
                raise ValueError(
                    f"{address} on {netdev} has no room for a peer; ADDRESS/PREFIX is expected, such as /24"
                )
            if network.prefixlen < 31 and address.ip in (network.network_address, network.broadcast_address):
                raise ValueError(f"{address} on {netdev} is no host address of {network}")
            if any(address.ip in other for other in _NO_LINKS):
                raise ValueError(f"{address} on {netdev} is not an address that a link can have")
        if shared := in_one_subnet(fabric):
            raise ValueError(shared[0])
        return fabric

    @field_validator("hostname")
    @classmethod
    def _label(cls, name: str | None) -> str | None:
        """hostnamed takes localhost for no name at all."""
        if name is not None and (not _LABEL.fullmatch(name) or name.lower() == "localhost"):
            raise ValueError(
                f"{name!r} is no name of a host; 1 to 63 letters, digits and - are expected (RFC 1123), none of "
                "them - at an end, and not localhost"
            )
        return name

    @field_validator("ntp")
    @classmethod
    def _servers(cls, servers: list[str]) -> list[str]:
        return [SERVER.held(server) for server in servers]

    @field_validator("login_keys")
    @classmethod
    def _public_keys(cls, keys: list[str]) -> list[str]:
        for number, key in enumerate(keys, 1):
            if fault := public_key.fault(key):
                raise ValueError(f"key {number}: {fault}")
        return keys

    @field_validator("firewall_allow", mode="before")
    @classmethod
    def _openings(cls, entries: Any) -> Any:
        """A port may stand as a number."""
        if not isinstance(entries, list | tuple):
            return entries
        texts = [entry if isinstance(entry, str) else repr(entry) for entry in entries]
        for text in texts:
            openings.parse(text)
        return texts

    @field_validator("environment", "nccl_conf")
    @classmethod
    def _no_fixed_gid(cls, environment: dict[str, str]) -> dict[str, str]:
        for name in _DISCOVERED.intersection(environment):
            raise ValueError(f"{name} is looked up on the host, because it moves; leave it out")
        for name in (name for name, value in environment.items() if shows_a_secret(name, value)):
            raise ValueError(
                f"{name} looks like a secret, and this file is for everyone to read; "
                "name its source under secrets instead"
            )
        return environment

    @field_validator("secrets", mode="before")
    @classmethod
    def _sources_only(cls, secrets: Any) -> Any:
        """The error is made here, without the value, which may be the secret itself."""
        if not isinstance(secrets, Mapping):
            raise ValueError("a mapping of variable to source is expected")  # noqa: TRY004 - pydantic's
        for name, source in secrets.items():
            if not _fits(VariableName, name):
                raise ValueError("one of its names is no name of a variable (letters, digits and _)")
            if not _fits(Source, source):
                raise ValueError(
                    f"a source is expected for {name} (env:{name}, or file:/path), never the secret itself, "
                    "which would land in git"
                )
        return secrets

    @model_validator(mode="after")
    def _two_ports(self) -> Settings:
        if self.serve_port == self.serve_trial_port:
            raise ValueError(
                f"serve_port and serve_trial_port are both {self.serve_port}; a new configuration is tested on a "
                "port of its own"
            )
        return self

    @model_validator(mode="after")
    def _guard_watches(self) -> Settings:
        for name in ("watch_guard", "watch_metrics"):
            if getattr(self, name) and not self.watch:
                raise ValueError(f"setting {name} is of the black box; set watch = True too, or leave it out")
        return self

    @model_validator(mode="after")
    def _joined_once(self) -> Settings:
        if self.pair and self.cluster:
            raise ValueError(
                f"pair {self.pair} and cluster {self.cluster} are given; one of them is expected, which for two "
                "hosts are the same"
            )
        if self.group_name is None and (self.topology or self.fabric_network):
            which = "topology" if self.topology else "fabric_network"
            raise ValueError(f"setting {which} is of a cluster; set cluster too, or leave it out")
        if self.fabric and self.fabric_network:
            raise ValueError(
                f"the addresses stand under fabric, and fabric_network {self.fabric_network} is given too; one of "
                "them is expected"
            )
        return self

    @model_validator(mode="after")
    def _ray_asks_for_a_token(self) -> Settings:
        if self.ray_image and "RAY_AUTH_TOKEN" not in self.secrets:
            raise ValueError(
                "setting ray_image: whoever reaches Ray runs programs on all hosts, so RAY_AUTH_TOKEN is expected "
                "among the secrets (docs/ray.md)"
            )
        return self

    @model_validator(mode="after")
    def _told_once(self) -> Settings:
        for name in self.secrets.keys() & self.environment.keys():
            raise ValueError(f"{name} stands under environment and under secrets; one of them is expected")
        return self

    @model_validator(mode="after")
    def _room_for_the_path_mtu(self) -> Settings:
        needed = self.bandwidth_path_mtu + ROCE_HEADERS
        if self.mtu < needed:
            raise ValueError(
                f"mtu {self.mtu} has no room for bandwidth_path_mtu {self.bandwidth_path_mtu}; "
                f"{needed} or more is expected"
            )
        return self


def _is_said(value: Any) -> bool:
    """Whether a value says yes, no or nothing: on pyinfra's command line as a text."""
    return isinstance(value, bool | None) or value in ("True", "true", "False", "false")


def _fits(kind: Any, value: Any) -> bool:
    """Whether a value is a text of that kind; pydantic's own error would print it."""
    pattern = kind.__metadata__[0].pattern
    return isinstance(value, str) and re.fullmatch(pattern, value) is not None


DEFAULTS: dict[str, Any] = {name: field.default for name, field in Settings.model_fields.items()}
