"""Every check by name: what it is about, what it means, what usually breaks it, and which page tells more.

NETDEV in a name stands for any netdev, FILE for any file. What a verdict found has a cause of its own
(docs/fabric.md, The causes).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

from sparkrig.parsing import grammar

Category = Literal["access", "time", "packages and driver", "containers", "network", "RDMA", "pair", "health"]
CATEGORIES: tuple[Category, ...] = get_args(Category)

_STANDS_FOR = {"NETDEV": grammar.NETDEV.pattern, "FILE": r"[A-Za-z0-9_.-]+"}
_CAUSES = "docs/fabric.md#the-hosts"
_PREFLIGHT = "docs/safety.md#waiting-and-preflight"
_DIFFER = "docs/doctor.md#hosts-that-differ"
_GID = "docs/design.md#the-gid-index"


@dataclass(frozen=True)
class Kind:
    """A check, or one of each netdev.

    name: with NETDEV or FILE where there are several; meaning: one line of what holds; cause: what usually breaks
    it, as a sentence without a full stop; docs: page and section.
    """

    name: str
    category: Category
    meaning: str
    cause: str
    docs: str

    def fits(self, id: str) -> bool:
        pattern = re.sub("|".join(_STANDS_FOR), lambda word: _STANDS_FOR[word[0]], re.escape(self.name))
        return re.fullmatch(pattern, id) is not None

    def begins(self, prefix: str) -> bool:
        """Whether the name up to some dot is that prefix."""
        pairs = zip(self.name.split("."), prefix.split("."), strict=False)
        return prefix.count(".") < self.name.count(".") and all(
            part == word or (part == "NETDEV" and word) for part, word in pairs
        )


KINDS: tuple[Kind, ...] = (
    Kind(
        "access.ssh",
        "access",
        "ssh gets in by key, and the host key is the known one",
        "the host is off, in another network, was installed anew, or has not this machine's public key",
        "docs/security.md#host-keys",
    ),
    Kind(
        "access.sudo",
        "access",
        "commands become root without a password",
        "the ssh user has no line in sudoers that asks for none",
        "docs/settings.md#how-to-log-in",
    ),
    Kind(
        "access.look",
        "access",
        "the host answers every question about itself",
        "a command there hangs or fails; the host may be out of memory or disk",
        _PREFLIGHT,
    ),
    Kind(
        "identity.spark",
        "access",
        "the machine is a DGX Spark",
        "an address in the inventory leads to another machine",
        "docs/settings.md#what-a-spark-should-be",
    ),
    Kind(
        "host.clock",
        "time",
        "the clock is this machine's, give or take five minutes",
        "nothing keeps the clock since it was set by hand, or since a long time without power",
        _PREFLIGHT,
    ),
    Kind(
        "time.synchronised",
        "time",
        "NTP keeps the clock, or it is right all the same",
        "no time server is reached, or no service asks one",
        _PREFLIGHT,
    ),
    Kind(
        "driver.version",
        "packages and driver",
        "the driver is installed, in one version on all hosts",
        "it was purged, or one host was updated and the others were not",
        _DIFFER,
    ),
    Kind(
        "driver.branch",
        "packages and driver",
        "no driver of 590 or later is installed",
        "somebody asked apt for it by name and version, which no pin keeps away",
        "docs/troubleshooting.md#the-gpu-is-gone-after-an-upgrade",
    ),
    Kind(
        "driver.hold",
        "packages and driver",
        "driver and kernel packages are on hold",
        "apt-mark unhold, or an update that released them; or packages that came since the last deploy",
        "docs/troubleshooting.md#the-gpu-is-gone-after-an-upgrade",
    ),
    Kind(
        "driver.pin",
        "packages and driver",
        "apt's pin keeps 590 and later away",
        "the file was edited or removed by hand",
        "docs/safety.md#the-journal",
    ),
    Kind(
        "driver.unattended-upgrades",
        "packages and driver",
        "unattended upgrades leave driver and kernel alone",
        "the file was edited or removed by hand",
        "docs/safety.md#the-journal",
    ),
    Kind(
        "driver.upgrade",
        "packages and driver",
        "apt's own simulation moves neither driver nor kernel",
        "hold or pin do not cover a package, or apt has no package lists",
        "docs/troubleshooting.md#the-gpu-is-gone-after-an-upgrade",
    ),
    Kind(
        "host.dpkg",
        "packages and driver",
        "dpkg has finished what it began",
        "an installation was killed, or the power went in the middle of it",
        _PREFLIGHT,
    ),
    Kind(
        "host.first-upgrade",
        "packages and driver",
        "NVIDIA's own upgrade at the first start is done, or there is none",
        "the Spark was just unpacked, or the update that brought the unit came after its last start",
        "docs/onboarding.md#nvidias-first-boot-upgrade",
    ),
    Kind(
        "containers.toolkit",
        "containers",
        "nvidia-container-toolkit is installed, in one version on all hosts",
        "it was removed, or one host was updated and the others were not",
        _DIFFER,
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
    Kind(
        "secrets.values",
        "containers",
        "the secrets of the inventory are on the host, by digest",
        "a secret changed on this machine, or on the host",
        "docs/security.md#secrets",
    ),
    Kind(
        "secrets.mode",
        "containers",
        "only root can read them",
        "the file's mode or owner was changed by hand",
        "docs/security.md#secrets",
    ),
    Kind(
        "net.manager",
        "network",
        "NetworkManager runs",
        "the service was stopped or masked",
        _PREFLIGHT,
    ),
    Kind(
        "net.NETDEV.carrier",
        "network",
        "the link has a carrier",
        "no cable, a plug that is not seated, or a peer that is off",
        "docs/fabric.md#cabling",
    ),
    Kind(
        "net.NETDEV.others",
        "network",
        "nothing else defines the netdev",
        "NVIDIA's assistant, another tool or a person left a profile or a netplan file",
        "docs/adopting.md",
    ),
    Kind(
        "net.NETDEV.profile",
        "network",
        "our profile is saved, and says what is declared",
        "nmcli changed it, or the inventory did since the last deploy",
        "docs/safety.md#changing-the-network",
    ),
    Kind(
        "net.NETDEV.active",
        "network",
        "our profile is the active one",
        "nmcli took it down, or another profile came up on the netdev",
        "docs/safety.md#changing-the-network",
    ),
    Kind(
        "net.NETDEV.mtu",
        "network",
        "the link itself has the declared MTU",
        "the link was changed by hand (ip link set), or its profile was never activated",
        "docs/fabric.md#bandwidth",
    ),
    Kind(
        "net.NETDEV.address",
        "network",
        "the link has the declared address, and no other",
        "an address was added or taken away by hand, or somebody else has it too",
        "docs/troubleshooting.md#addresses-are-gone-after-a-reboot",
    ),
    Kind(
        "net.NETDEV.ipv6",
        "network",
        "the link has no IPv6 address, which would move the GID",
        "IPv6 was switched on by hand, or another profile is active",
        _GID,
    ),
    Kind(
        "net.plan",
        "network",
        "the deploy could set the network up",
        "a route of a VPN or of the LAN has the fabric's addresses, or a netdev is not managed",
        "docs/safety.md#changing-the-network",
    ),
    Kind(
        "rdma.NETDEV.device",
        "RDMA",
        "an RDMA device sits on the netdev",
        "its kernel module is not loaded, or the ConnectX-7 did not come up",
        "docs/fabric.md#address-and-gid",
    ),
    Kind(
        "rdma.NETDEV.gid",
        "RDMA",
        "the declared address has a RoCE v2 GID",
        "the address is not on the link, or RoCE is off",
        "docs/fabric.md#address-and-gid",
    ),
    Kind(
        "rdma.NETDEV.path-mtu",
        "RDMA",
        "RDMA messages are as large as they may be",
        "the link's MTU is too small for them",
        "docs/fabric.md#bandwidth",
    ),
    Kind(
        "rdma.gid-index",
        "RDMA",
        "the files name the GID index of now",
        "the link came up again, which moves the index, and nothing followed it",
        _GID,
    ),
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
    Kind(
        "identity.kernel",
        "pair",
        "all hosts run the same kernel",
        "one host was updated, or rebooted after an update, and the others were not",
        _DIFFER,
    ),
    Kind(
        "identity.dgx-os",
        "pair",
        "all hosts have the same DGX OS",
        "one host was updated and the others were not",
        _DIFFER,
    ),
    Kind(
        "pair.cabling",
        "pair",
        "frames show that each cage reaches the declared one",
        "a cable is out, half seated, dead, or in another cage",
        "docs/fabric.md#cabling",
    ),
    Kind(
        "pair.halves",
        "pair",
        "what a run did stands on both halves, or on none",
        "a controller died between the commits of the two halves, or one half alone was undone",
        "docs/safety.md#one-half-alone",
    ),
    Kind(
        "pair.NETDEV.mtu",
        "pair",
        "both ends of the rail have one MTU",
        "one end was changed by hand, or deployed without the other",
        "docs/fabric.md#bandwidth",
    ),
    Kind(
        "pair.NETDEV.ping",
        "pair",
        "frames of full size reach the peer over the rail",
        "a switch in between takes no large frames, or a firewall drops pings",
        "docs/fabric.md#bandwidth",
    ),
    Kind(
        "pair.name",
        "pair",
        "the host's own name is no trap for Ray and PyTorch",
        "DGX OS maps the name to loopback, and no file gives an address instead",
        "docs/troubleshooting.md",
    ),
    Kind(
        "pair.perftest",
        "pair",
        "both hosts have one version of perftest",
        "one host was updated and the other was not",
        "docs/fabric.md#bandwidth",
    ),
    Kind(
        "pair.machine-id",
        "pair",
        "the host has a machine-id that no other one has",
        "one disk image was copied to both, by the maker or later (CVE-2026-24218)",
        "docs/doctor.md#sparks-from-one-image",
    ),
    Kind(
        "pair.host-keys",
        "pair",
        "the host has ssh host keys that no other one has",
        "one disk image was copied to both, by the maker or later (CVE-2026-24218)",
        "docs/doctor.md#sparks-from-one-image",
    ),
    Kind(
        "trust.key",
        "pair",
        "the host has a key of its own for its peer",
        "the key was removed by hand",
        "docs/security.md#from-one-spark-to-the-other",
    ),
    Kind(
        "trust.login",
        "pair",
        "the halves let each other in, where that is declared",
        "a host was installed anew, or authorized_keys was edited",
        "docs/security.md#from-one-spark-to-the-other",
    ),
    Kind(
        "serve.model",
        "containers",
        "the model that is declared is the one that is served",
        "nobody ran deploys/serve.py since the inventory changed, or the server was undone",
        "docs/serving.md#drift-and-undo",
    ),
    Kind(
        "serve.files",
        "containers",
        "the files of the server are as they were deployed",
        "somebody edited a unit, or took one away",
        "docs/serving.md#drift-and-undo",
    ),
    Kind(
        "serve.unit",
        "containers",
        "the server is up, and will be after a reboot",
        "it was stopped by hand, or ended five times in six hours: journalctl -u sparkrig-serve",
        "docs/serving.md#drift-and-undo",
    ),
    Kind(
        "serve.image",
        "containers",
        "the image that was deployed is there and runs",
        "docker image rm or prune took it, or the container was started by hand",
        "docs/serving.md#drift-and-undo",
    ),
    Kind(
        "serve.alike",
        "containers",
        "both nodes of a server run the same image",
        "one half was pulled anew by hand",
        "docs/serving.md#drift-and-undo",
    ),
    Kind(
        "serve.token",
        "containers",
        "both nodes of a server with Ray have the same token, for root alone",
        "somebody removed it, or opened it to others",
        "docs/serving.md#drift-and-undo",
    ),
    Kind(
        "serve.weights",
        "containers",
        "every file of the weights is there in its size",
        "a file was removed, or the disk lost it",
        "docs/serving.md#drift-and-undo",
    ),
    Kind(
        "serve.revision",
        "containers",
        "the weights are of the commit that is declared, else of its peer's",
        "one half was downloaded anew by hand, after its publisher had changed it",
        "docs/serving.md#drift-and-undo",
    ),
    Kind(
        "serve.answer",
        "containers",
        "the server answers, and its port leads to it",
        "it is still loading, or one of its nodes is lost: journalctl -u sparkrig-serve",
        "docs/serving.md#drift-and-undo",
    ),
    Kind(
        "serve.trial",
        "containers",
        "no configuration was left on trial",
        "the deploy broke off before the new server had answered",
        "docs/serving.md#drift-and-undo",
    ),
    Kind(
        "bandwidth.NETDEV",
        "pair",
        "the rail was measured in this boot of both hosts, and was good",
        "it was never measured, or was changed or slow when it was, or a host was booted since",
        "docs/fabric.md#after-a-reboot",
    ),
    Kind(
        "host.mounts",
        "health",
        "the file systems can be written",
        "a file system with errors is mounted read-only",
        _PREFLIGHT,
    ),
    Kind(
        "host.room",
        "health",
        "the disk has room for a run",
        "models, images or logs fill it",
        _PREFLIGHT,
    ),
    Kind(
        "host.shutdown",
        "health",
        "no shutdown is about to come",
        "somebody, or an update, scheduled one",
        _PREFLIGHT,
    ),
    Kind("nic.NETDEV.pcie", "health", "the NIC's PCIe link is x4 at 32 GT/s", "", _CAUSES),
    Kind("gpu.answers", "health", "nvidia-smi tells of the GPU", "", _CAUSES),
    Kind("gpu.clock", "health", "under load the GPU's clock is not clamped", "", _CAUSES),
    Kind("gpu.gsp", "health", "the GSP firmware is the driver's", "", _CAUSES),
    Kind("gpu.temperature", "health", "the GPU is no warmer than it should be", "", _CAUSES),
    Kind("health.memory", "health", "the host has memory enough to stay alive", "", _CAUSES),
    Kind("health.temperature", "health", "the SoC is no warmer than it should be", "", _CAUSES),
    Kind("health.kho", "health", "no kernel keeps the memory that RDMA needs", "", _CAUSES),
    Kind("health.next-kernel", "health", "the kernel of the next boot has a driver", "", _CAUSES),
    Kind("health.cdi", "health", "the CDI files name what is there", "", _CAUSES),
)


@cache
def kind(id: str) -> Kind:
    """The kind of a check. Raises LookupError for one that is in no catalogue."""
    found = [each for each in KINDS if each.fits(id)]
    if not found:
        raise LookupError(f"no check is called {id}")
    return min(found, key=lambda each: each.name != id)


def named(category: Category, name: str) -> bool:
    """Whether a person who types that name means the category: its name, or the first word of it."""
    return name.lower() in (category.lower(), category.lower().split()[0])


def kinds(name: str) -> list[Kind]:
    """Those that a person may mean by a name: a check, the beginning of one up to a dot, or a category."""
    itself = [each for each in KINDS if each.name == name]
    return itself or [each for each in KINDS if each.fits(name) or each.begins(name) or named(each.category, name)]


def means(name: str, id: str) -> bool:
    """Whether a person who types that name wants to see that check."""
    return id == name or id.startswith(f"{name}.") or named(kind(id).category, name)
