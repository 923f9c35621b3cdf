"""What a host is like apart from NIC and GPU: kernel, memory, load, temperature, and what waits for the next boot.

Sources: [@forum-383254] for KHO, [@forum-383450] for the next kernel, [@capetron] for memory, [@sparkrun] for CDI
and RemoveIPC; Linux, Documentation/core-api/kho and filesystems/proc.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from sparkrig.cure import on_host, quoted
from sparkrig.host import branches, grub
from sparkrig.host.branches import BRANCH
from sparkrig.host.driver import boots_next, modules_cure
from sparkrig.parsing import bounds, grammar
from sparkrig.parsing.rows import path
from sparkrig.text import plain
from sparkrig.value import Value
from sparkrig.verdict import Verdict

MEMORY_FLOOR_PERCENT = 12  # of MemAvailable; below it [@capetron], ssh dies and only a hard reset helps
# The SoC has no limit that it shows. Its GPU, on the same chip, was slowed by heat at 91 C [@open-gpu-1358].
SOC_HOT_ABOVE_C = 90
# A kexec handover gives its memory to the page allocator as CMA page blocks of no CMA area: free CMA memory beyond
# the total is its, and nothing else's. On a Spark 9.3 GiB, with CmaTotal 0 [@nv-kernels-591] or
# 32 MiB [@miaai-259]; with kho=off 0. What uses it is not free, so any excess counts: a host that ran a model had
# 919 MiB [@miaai-259].
BUSY_LOAD_PER_CORE = 1.0  # more tasks want to run than there are cores, so perftest waits for one
# The zones that measure the SoC; radios and SSDs have zones too, and normal ranges of their own.
SOC_ZONE = re.compile(r"acpitz|(?:.*[-_])?(?:soc|cpu|tj|pkg|cluster)(?:[-_\d].*)?", re.I)


@dataclass(frozen=True)
class ThermalZone:
    """A thermal zone of the kernel: its type (acpitz) and temperature in degrees Celsius."""

    type: str
    celsius: float


@dataclass(frozen=True)
class Kernel:
    """An installed kernel: whether an nvidia.ko lies with it, and of which driver version (empty: unknown)."""

    release: str
    nvidia: bool
    version: str = ""


@dataclass(frozen=True)
class Health(Value):
    """The condition of a host.

    kernel: the release that runs; cmdline: its command line without UUIDs; memory_total_kb,
    memory_available_kb, cma_total_kb, cma_free_kb: kB, as in /proc/meminfo; load: of the last minute;
    driver: version of the loaded nvidia module; cdi: CDI files; cdi_missing: host paths that they name and that
    are not there; perftest: its version; grub: what GRUB boots next, where it has a menu.
    Each None, or empty, where it is unknown.
    """

    boot_id: str
    kernel: str
    cmdline: str = ""
    memory_total_kb: int | None = None
    memory_available_kb: int | None = None
    load: float | None = None
    cores: int | None = None
    zones: tuple[ThermalZone, ...] = ()
    kernels: tuple[Kernel, ...] = ()
    driver: str = ""
    cdi: tuple[str, ...] = ()
    cdi_missing: tuple[str, ...] = ()
    perftest: str = ""
    cma_total_kb: int | None = None
    cma_free_kb: int | None = None
    grub: grub.Boot | None = None

    @property
    def running(self) -> Kernel | None:
        return next((kernel for kernel in self.kernels if kernel.release == self.kernel), None)

    @property
    def next(self) -> Kernel | None:
        """The kernel that boots next, None where it is unknown; one that is not installed has no module."""
        release = boots_next((kernel.release for kernel in self.kernels), self.grub)
        installed = next((kernel for kernel in self.kernels if kernel.release == release), None)
        return installed or (Kernel(release, False) if release else None)


def parse(lines: Iterable[str]) -> Health:
    """Read the `KEY VALUE` rows of the health fact. Raises ValueError where one makes no sense or is missing."""
    lines = list(lines)
    rows = [(word, rest.strip()) for word, _, rest in (line.strip().partition(" ") for line in lines)]
    first = dict(rows)
    absent = [key for key in ("boot_id", "kernel") if not first.get(key)]
    if absent:
        raise ValueError(f"the health of the host lacks {', '.join(absent)}")
    return Health(
        boot_id=first["boot_id"],
        kernel=grammar.KERNEL.held(first["kernel"]),
        cmdline=first.get("cmdline", ""),
        memory_total_kb=_count(first.get("MemTotal:")),
        memory_available_kb=_count(first.get("MemAvailable:")),
        load=bounds.finite(first["load"].split()[0]) if first.get("load") else None,
        cores=_count(first.get("cores")),
        zones=tuple(_zone(rest) for word, rest in rows if word == "zone"),
        kernels=tuple(_kernel(rest) for word, rest in rows if word == "modules"),
        driver=first.get("driver", ""),
        cdi=tuple(path(rest) for word, rest in rows if word == "cdi"),
        cdi_missing=tuple(rest for word, rest in rows if word == "missing"),
        perftest=first.get("perftest", ""),
        cma_total_kb=_count(first.get("CmaTotal:")),
        cma_free_kb=_count(first.get("CmaFree:")),
        grub=grub.read(lines),
    )


def _count(text: str | None) -> int | None:
    return int(text.removesuffix("kB")) if text else None


def _zone(row: str) -> ThermalZone:
    millidegrees, _, kind = row.partition(" ")
    return ThermalZone(kind, int(millidegrees) / 1000)


def _kernel(row: str) -> Kernel:
    release, nvidia, version, *_ = [*row.split(" "), "", ""]
    return Kernel(grammar.KERNEL.held(release), nvidia == "yes", version)


# --- verdicts; one that is healthy without evidence found nothing that it could judge


def memory(health: Health) -> Verdict:
    """Whether enough memory is left that the host itself goes on living."""
    total, available = health.memory_total_kb, health.memory_available_kb
    if not total or available is None:
        return Verdict("unknown", "memory-unknown", "/proc/meminfo tells no MemTotal or no MemAvailable")
    share = 100 * available / total
    evidence = f"{available / 2**20:.1f} GiB of {total / 2**20:.1f} GiB memory is available ({share:.0f} %)"
    if share < MEMORY_FLOOR_PERCENT:
        return Verdict(
            "degraded",
            "memory-low",
            f"{evidence}, {MEMORY_FLOOR_PERCENT} % is the least",
            "stop a model server, or start it with a GPU memory utilization of 0.80",
        )
    return Verdict("healthy", evidence=evidence)


def kho(health: Health) -> Verdict:
    """Whether memory is kept for a kexec handover, which breaks ibv_reg_mr: by what /proc/meminfo shows of it.

    A kernel 7.0 keeps some by default, and some builds of it do not: the version alone proves nothing.
    """
    settings = re.findall(r"(?:^|\s)kho=(\S+)", health.cmdline)
    if settings and is_off(settings[-1]):
        return Verdict("healthy", evidence=f"kernel {health.kernel} was booted with kho={settings[-1]}")
    total, free = health.cma_total_kb, health.cma_free_kb
    if total is not None and free is not None and free > total:
        return Verdict(
            "fault",
            "kho",
            f"{_the_kernel(health)} keeps memory for a kexec handover, {(free - total) / 2**20:.1f} GiB of it "
            f"free ({_cma(total, free)}), and ibv_reg_mr fails",
            "add kho=off to GRUB_CMDLINE_LINUX_DEFAULT, then: sudo update-grub, and reboot",
        )
    if not keeps_by_default(health.kernel):
        return Verdict("healthy")
    if total == free == 0:
        return Verdict("healthy", evidence=f"kernel {health.kernel} keeps none for a kexec handover: CmaFree is 0")
    return Verdict(
        "unknown",
        "kho-unknown",
        f"a kernel 7.0 may keep 9.3 GiB for a kexec handover, and {_cma(total, free)} does not show it",
        on_host("sudo cat /sys/kernel/debug/kho/out/scratch_len", ", which is there where it does"),
    )


def is_off(word: str) -> bool:
    """Whether kho= with that word keeps nothing, as the kernel reads a yes or no."""
    return bool(re.match(r"[nf0]|of", word, re.I))


def keeps_by_default(kernel: str) -> bool:
    """Whether a release of the kernel may keep memory for a kexec handover, unless it is told not to."""
    return bool(re.match(r"7\.0(?:\D|$)", kernel))


def _the_kernel(health: Health) -> str:
    """Its name in a sentence; a memory table alone does not tell the release."""
    return f"kernel {health.kernel}" if health.kernel else "the kernel"


def _cma(total: int | None, free: int | None) -> str:
    if total is None or free is None:
        return "a /proc/meminfo without CmaTotal or CmaFree"
    return f"CmaTotal {total} kB, CmaFree {free} kB"


def next_kernel(health: Health) -> Verdict:
    """Whether the kernel of the next boot has the nvidia.ko that the running one has."""
    now, then = health.running, health.next
    if now is None or not now.nvidia:
        return Verdict("unknown", "no-nvidia-module", f"the running kernel {health.kernel} has no nvidia.ko")
    if then is None:
        return _untold(health, now)
    if then not in health.kernels:
        evidence = f"the next boot takes kernel {then.release} by GRUB's menu, and no modules of it are installed"
        return Verdict("fault", "next-kernel", evidence, on_host("sudo update-grub"))
    cure = modules_cure(then.release, branches.of(now.version) or BRANCH)
    if not then.nvidia:
        evidence = f"the next boot takes kernel {then.release}, which has no nvidia.ko ({now.release} has one)"
        return Verdict("fault", "next-kernel", evidence, cure)
    if now.version and then.version and now.version != then.version:
        evidence = (
            f"the next boot takes kernel {then.release} with an nvidia.ko of {then.version} "
            f"({now.release} has {now.version})"
        )
        return Verdict("fault", "next-kernel", evidence, cure)
    return Verdict("healthy", evidence=f"the next boot takes kernel {then.release}, which has an nvidia.ko")


def _untold(health: Health, now: Kernel) -> Verdict:
    """The verdict where GRUB's menu leaves the kernel open: healthy only if each installed one would do."""
    if all(kernel.nvidia and kernel.version == now.version for kernel in health.kernels):
        return Verdict("healthy", evidence="each installed kernel has the nvidia.ko of the running one")
    why = health.grub.why if health.grub else ""
    return Verdict(
        "unknown",
        "next-kernel-unknown",
        f"GRUB's menu does not tell which kernel the next boot takes: {why}",
        on_host("sudo grub-editenv list; sudo grep 'set default=' /boot/grub/grub.cfg"),
    )


def cdi(health: Health) -> Verdict:
    """Whether the CDI files still name what is there; after a change of driver they do not."""
    if not health.cdi:
        return Verdict("healthy")
    files = plain(", ".join(health.cdi))
    if not health.cdi_missing:
        return Verdict("healthy", evidence=f"every host path of {files} exists")
    count = len(health.cdi_missing)
    paths = "1 host path that does not exist" if count == 1 else f"{count} host paths that do not exist"
    return Verdict(
        "fault",
        "cdi-stale",
        f"{files} names {paths} ({plain(health.cdi_missing[0])}{', ...' if count > 1 else ''})",
        on_host(f"sudo nvidia-ctk cdi generate --output={quoted(health.cdi[0])}"),
    )


def busy(health: Health) -> Verdict:
    """Whether something else wants the processor, which a measurement would show as a slow link."""
    if health.load is None or not health.cores:
        return Verdict("unknown", "load-unknown", "the host does not tell its load")
    evidence = f"the load is {health.load:g} on {health.cores} {'core' if health.cores == 1 else 'cores'}"
    if health.load > BUSY_LOAD_PER_CORE * health.cores:
        return Verdict("degraded", "busy", evidence, "stop what keeps the processor busy (top), and measure again")
    return Verdict("healthy", evidence=evidence)


def thermal(health: Health) -> Verdict:
    """Whether the SoC is too warm, by a bound that has a source: its own limit is unknown."""
    zones = [zone for zone in health.zones if SOC_ZONE.fullmatch(zone.type) and zone.celsius > 0]
    if not zones:
        return Verdict("unknown", "no-temperature", "no thermal zone tells the temperature of the SoC")
    hottest = max(zones, key=lambda zone: zone.celsius)
    evidence = (
        f"the SoC has {hottest.celsius:g} C ({hottest.type}), a GB10 was slowed by heat above {SOC_HOT_ABOVE_C} C"
    )
    if hottest.celsius > SOC_HOT_ABOVE_C:
        return Verdict("degraded", "soc-hot", evidence, "free the air inlets, and leave room above and behind")
    return Verdict("healthy", evidence=evidence)
