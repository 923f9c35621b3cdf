"""What nvidia-smi's answers prove about the GPU of a Spark: its clock, its power, its firmware, its temperature.

Sources: [@throttle-check] for the clamp; nvidia-smi(1) for T.Limit, the margin to the highest
operating temperature.
"""

from __future__ import annotations

from collections.abc import Iterable

from sparkrig.cure import on_host
from sparkrig.host.apt import install_as_installed, reinstall_past_the_hold
from sparkrig.host.branches import BRANCH, of
from sparkrig.host.nvidia_smi import THERMAL, Gpu
from sparkrig.signatures import table
from sparkrig.verdict import Verdict

# a clamped GPU runs at 500-850 MHz, a healthy one at 2200 MHz and more, under load [@throttle-check]
LOADED_PERCENT = 80
CLAMPED_BELOW_MHZ = 1400
HEALTHY_FROM_MHZ = 2200
CLAMPED_UP_TO_MHZ = 850
CLAMPED_UP_TO_W = 20  # what a clamped GPU draws under load [@throttle-check]

_LIBRARY = f"libnvidia-compute-{BRANCH}"  # which has libnvidia-ml
# by cause of what nvidia-smi prints in the place of an answer: the cures that depend on the branch of the driver
_INSTALLS = {
    "no-nvidia-smi": on_host(install_as_installed(f"nvidia-utils-{BRANCH}", like=_LIBRARY)),
    "driver-incomplete": on_host(reinstall_past_the_hold(_LIBRARY)),
}
# People cap the clock at round figures to keep a Spark cool: -lgc 0,2000 [@miaai-146], 0,2100 [@open-gpu-1358].
# nvidia-smi shows a locked clock nowhere, and no reason is active under one [@cuda-jl-2194].
CAP_STEP_MHZ = 100
CAP_SLACK_MHZ = 15  # the clock moves in steps, and stays up to one below what was asked for
# Where a GB10 shows neither its margin nor why its clock is low: one was slowed by heat at 91 and 92 C, and not at
# 80 C [@open-gpu-1358].
HOT_ABOVE_C = 90
_POWER = frozenset({"SW Power Cap", "HW Slowdown", "HW Power Brake Slowdown"})
_UNPLUG = "unplug the power brick from the wall and from the Spark for a minute or more (a reboot does not help)"
_ASK_REASONS = on_host(
    "nvidia-smi --query-gpu=name,utilization.gpu,clocks.sm,clocks_event_reasons.active --format=csv",
    ", under the same load",
)
_COOL = "free the air inlets, and leave room above and behind"


def answers(gpu: Gpu) -> Verdict:
    """Whether nvidia-smi reports a GPU at all, and what keeps it from that."""
    if not gpu.trouble:
        return Verdict("healthy", evidence=f"nvidia-smi tells of {gpu.name or 'a GPU'}")
    trouble = next(signature for signature in table("nvidia-smi") if signature.search(gpu.trouble))
    cure = _INSTALLS.get(trouble.cause, trouble.cure)
    return Verdict(trouble.level, trouble.cause, f"nvidia-smi: {gpu.trouble.rstrip('.')}", cure)


def branch(driver: str) -> Verdict:
    """Whether a driver is of a branch that NVIDIA supports on a Spark. driver: its version."""
    number = of(driver)
    if number <= BRANCH:
        return Verdict("healthy", evidence=f"driver {driver}, of branch {number}")
    why = (
        f"driver {driver} is of branch {number}, which NVIDIA does not support on a Spark, though the GPU answers"
    )
    return Verdict("degraded", "driver-later", why, f"go back to branch {BRANCH}: sparkrig docs troubleshooting")


def power_clamp(gpu: Gpu) -> Verdict:
    """Whether USB-C power delivery holds the GPU at a low clock; only a loaded GPU can show it.

    An active SW Power Cap is no fault: healthy units show it too. Nor is a cap that a person set on the clock.
    """
    if gpu.foreign:
        return Verdict("unknown", "not-gb10", f"the clocks of a GB10 are no measure for {gpu.name}")
    loaded = gpu.utilization is not None and gpu.utilization >= LOADED_PERCENT
    if loaded and gpu.sm_mhz is None and _draws_little(gpu):
        return Verdict(
            "unknown",
            "power-low",
            f"the GPU draws {gpu.power_w:g} W at {gpu.utilization:g} % utilization, as a clamped one does, "
            "and its clock is not told",
            on_host(
                "nvidia-smi --query-gpu=name,utilization.gpu,clocks.sm,power.draw --format=csv",
                ", under the same load",
            ),
        )
    if gpu.utilization is None or gpu.sm_mhz is None or gpu.utilization < LOADED_PERCENT:
        busy = "unknown" if gpu.utilization is None else f"{gpu.utilization:g} %"
        clock = "" if gpu.sm_mhz is not None else ", its SM clock unknown"
        return Verdict(
            "unknown",
            "inconclusive",
            f"GPU utilization is {busy}{clock}, and the clock tells only at {LOADED_PERCENT} % and more",
            "look again while a model answers requests",
        )
    evidence = f"the SM clock is {gpu.sm_mhz:g} MHz at {gpu.utilization:g} % utilization"
    if gpu.power_w is not None:
        evidence += f" and {gpu.power_w:g} W"
    if gpu.sm_mhz >= HEALTHY_FROM_MHZ:
        return Verdict("healthy", evidence=evidence)
    return _capped(gpu, evidence) or _low(gpu, evidence)


def _capped(gpu: Gpu, evidence: str) -> Verdict | None:
    """A low clock that a person asked for; None where power or heat holds it, or may do so."""
    if _POWER.union(THERMAL).intersection(gpu.reasons or ()):
        return None
    if "Applications Clocks Setting" in (gpu.reasons or ()):
        return Verdict("healthy", evidence=f"{evidence}: the applications clocks are set so, a cap and no fault")
    cap = _round_cap(gpu)
    if cap is None:
        return None
    evidence += f", as a cap near {cap:g} MHz gives it (nvidia-smi -lgc)"
    if gpu.reasons is None:
        return Verdict("unknown", "clock-cap", f"{evidence}; the active reasons are not shown", _ASK_REASONS)
    return Verdict(
        "healthy", evidence=f"{evidence}: no power or thermal reason is active (sudo nvidia-smi -rgc lifts a cap)"
    )


def _round_cap(gpu: Gpu) -> float | None:
    """The round figure in MHz that the clock stays just below; None where it is none, or a clamp may be."""
    if gpu.sm_mhz is None or gpu.sm_mhz <= CLAMPED_UP_TO_MHZ or _draws_little(gpu):
        return None
    below = -gpu.sm_mhz % CAP_STEP_MHZ
    return gpu.sm_mhz + below if below <= CAP_SLACK_MHZ else None


def _draws_little(gpu: Gpu) -> bool:
    return gpu.power_w is not None and gpu.power_w <= CLAMPED_UP_TO_W


def _low(gpu: Gpu, evidence: str) -> Verdict:
    evidence += f", {HEALTHY_FROM_MHZ} MHz and more expected"
    if gpu.reasons:
        evidence += f" (active: {', '.join(gpu.reasons)})"
    if gpu.slowed:
        return Verdict("degraded", "low-clock", evidence, _COOL)
    if gpu.sm_mhz is not None and gpu.sm_mhz < CLAMPED_BELOW_MHZ:
        return Verdict("fault", "power-clamp", evidence, _UNPLUG)
    return Verdict(
        "degraded", "low-clock", evidence, on_host("sudo nvidia-smi -rgc", f", which lifts a cap; else {_UNPLUG}")
    )


def power_clamp_under_load(looks: Iterable[Gpu]) -> Verdict | None:
    """power_clamp of several looks at one GPU while it works; None where none of them is conclusive.

    The best one counts: a clamped clock stays low, and a free one is low for a moment as a load comes and goes.
    """
    verdicts = [verdict for verdict in map(power_clamp, looks) if verdict.level != "unknown"]
    return min(verdicts, key=lambda verdict: ("healthy", "degraded", "fault").index(verdict.level), default=None)


def gsp(gpu: Gpu) -> Verdict:
    """Whether the GSP firmware is that of the driver."""
    if gpu.gsp is None or gpu.driver is None:
        return Verdict(
            "unknown", "gsp-unknown", "nvidia-smi -q does not tell both GSP firmware and driver version"
        )
    if gpu.gsp != gpu.driver:
        package = f"nvidia-firmware-{gpu.driver.split('.')[0]}-{gpu.driver}"
        return Verdict(
            "degraded",
            "gsp-mismatch",
            f"the GSP firmware is {gpu.gsp}, the driver {gpu.driver}",
            on_host(reinstall_past_the_hold(package), "; and reboot"),
        )
    return Verdict("healthy", evidence=f"GSP firmware and driver are both {gpu.driver}")


def temperature(gpu: Gpu) -> Verdict:
    """Whether the GPU is too warm: by what slows it, by its own margin, or else by a bound for a GB10.

    80 to 86 C under load are no fault. The evidence names what it was judged by.
    """
    if gpu.slowed:
        active = f"{' and '.join(gpu.slowed)} {'is' if len(gpu.slowed) == 1 else 'are'} active"
        return Verdict("degraded", "gpu-hot", f"{_warmth(gpu)}: {active}, so heat slows it", _COOL)
    if gpu.margin_c is not None:
        return _by_margin(gpu, gpu.margin_c)
    if gpu.temperature_c is None:
        return Verdict("unknown", "no-temperature", "nvidia-smi does not tell the temperature of the GPU")
    if gpu.reasons is not None:
        return Verdict("healthy", evidence=f"{_warmth(gpu)}, and no thermal slowdown is active")
    return _by_bound(gpu, gpu.temperature_c)


def _warmth(gpu: Gpu) -> str:
    return "the GPU" if gpu.temperature_c is None else f"the GPU has {gpu.temperature_c:g} C"


def _by_margin(gpu: Gpu, margin: float) -> Verdict:
    if margin <= 0:
        evidence = f"{_warmth(gpu)}: it is {-margin:g} C above its highest operating temperature (T.Limit)"
        return Verdict("degraded", "gpu-hot", evidence, _COOL)
    return Verdict("healthy", evidence=f"{_warmth(gpu)}, {margin:g} C are left up to its limit (T.Limit)")


def _by_bound(gpu: Gpu, celsius: float) -> Verdict:
    if gpu.foreign:
        return Verdict("unknown", "not-gb10", f"the temperature of a GB10 is no measure for {gpu.name}")
    evidence = (
        f"{_warmth(gpu)}, a GB10 was slowed by heat above {HOT_ABOVE_C} C; "
        "nvidia-smi shows neither T.Limit nor a slowdown reason"
    )
    if celsius > HOT_ABOVE_C:
        return Verdict("degraded", "gpu-hot", evidence, _COOL)
    return Verdict("healthy", evidence=evidence)
