"""What onboarding would do, host by host, and what of it users notice: reboots, restarts, a way back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sparkrig.cure import deployment
from sparkrig.drift.plan import Planned, Step
from sparkrig.fleet import Fleet
from sparkrig.refusal import Refusal, Refused
from sparkrig.resources.state import State
from sparkrig.text import listed

SUDOERS = "/etc/sudoers.d/sparkrig"


@dataclass(frozen=True)
class Plan:
    """What is done to one host.

    login: what lets pyinfra in; steps: what the deploy changes then; refusals: why it would not; docker: whether
    it restarts; restarts: how many running containers that stops; reverts_s: after how many seconds a network
    change that is not confirmed goes back, None where the network stays as it is.
    """

    host: str
    login: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    docker: bool = False
    restarts: int = 0
    reverts_s: int | None = None

    def __bool__(self) -> bool:
        return bool(self.login or self.steps or self.refusals)


def of(host: str, seen: State, fleet: Fleet, planned: Planned, login: Sequence[str] = ()) -> Plan:
    """The plan of a host. planned: what the deploy itself would do to it, or why it would not (deploys/dry.py)."""
    refusals = tuple(_curable(refusal) for refusal in planned.refusals)
    steps = (
        () if refusals else tuple(replace(each, name=each.name.replace(" | ", ": ", 1)) for each in planned.steps)
    )
    docker = any(step.name.startswith("Containers: docker") for step in steps)
    network = any(step.name.startswith("Network: ") for step in steps)
    return Plan(
        host,
        tuple(login),
        steps,
        refusals,
        docker,
        seen.containers.running if docker else 0,
        fleet[host].rollback_seconds if network else None,
    )


def _curable(refusal: Refusal) -> Refusal:
    """The same, where its cure names the inventory, with one that this very command has an option for."""
    run = deployment(refusal.cure)
    if '"adopt"' in refusal.cure or (run and "adopt" in run.data):
        return Refusal(refusal.what, "the same with --adopt set-aside, adopt or leave (sparkrig docs adopting)")
    if run and "restart_docker" in run.data:
        return Refusal(refusal.what, "stop them, or the same with --restart-docker")
    return refusal


def total(plans: Sequence[Plan], here: Sequence[str]) -> str:
    """`9 changes, no reboot; docker restarts, ...`; here: what is written on this machine."""
    changes = len(here) + sum(len(plan.login) + len(plan.steps) for plan in plans)
    said = f"{_count(changes, 'change')}, no reboot"
    if docker := [plan.host for plan in plans if plan.docker]:
        stopped = sum(plan.restarts for plan in plans)
        said += f"; docker of {listed(docker)} restarts, " + (
            f"and {_count(stopped, 'container')} with it" if stopped else "no container runs there"
        )
    guarded = [plan for plan in plans if plan.reverts_s is not None]
    if guarded:
        names = listed(plan.host for plan in guarded)
        said += (
            f"; the network of {names} reverts by itself after {max(plan.reverts_s or 0 for plan in guarded)} s"
        )
        said += " unless it is proven"
    return said


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


# --- for programs


@dataclass(frozen=True)
class Onboarding:
    """What is done to one host: to let pyinfra in, and by the deploy.

    container_restarts: running containers that a restart of docker stops; network_reverts_s: after how many
    seconds a network change that was not proven goes back by itself, None where there is none.
    """

    login: tuple[str, ...]
    steps: list[str]
    refusals: list[Refused]
    reboots: int
    container_restarts: int
    network_reverts_s: int | None


def document(plan: Plan) -> Onboarding:
    """One host for programs."""
    steps, refusals = [step.name for step in plan.steps], [refusal.told for refusal in plan.refusals]
    return Onboarding(plan.login, steps, refusals, 0, plan.restarts, plan.reverts_s)
