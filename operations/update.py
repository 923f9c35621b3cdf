"""The steps of an update on one Spark. Each can be done again, and is noted on the host once it is done."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from time import monotonic, sleep

from pyinfra.api import Host

from sparkrig import programs
from sparkrig.cure import quoted
from sparkrig.facts.firmware import Firmware
from sparkrig.facts.gpu import Gpu
from sparkrig.facts.grub import NextBoot
from sparkrig.facts.resources import of_resource
from sparkrig.facts.update_record import UpdateRecord
from sparkrig.host import update_record
from sparkrig.host.update_record import BEGAN, DONE, OTHER, UNWRITTEN, Record, Standing, Task
from sparkrig.operations import unit
from sparkrig.resources.driver import DRIVER
from sparkrig.serving.served import Service
from sparkrig.ssh import remote
from sparkrig.ssh.remote import Failed
from sparkrig.update import firmware, update_proof

# In seconds, times `patience`.
STEP_S = 120
DRAIN_S = 300  # a server may take its time to stop
LOOK_S = 120
PREPARE_S = 600  # update-grub, once or twice
INSTALL_S = 3 * 3600  # apt took 4.3 minutes [@spark-fleet-updates]; a slow line must not cut dpkg short
FIRMWARE_S = 1500  # as NVIDIA's dashboard waits for fwupd [@spark-fleet-updates]
PROOF_S = 120
POLL_S = 5  # not times `patience`
TRIAL_S = 900  # that a new kernel has for its proof, before the earlier one is booted again

BEGIN = programs.text("operations/update_begin.sh")
BACK = programs.text("operations/update_back.sh")
DRAIN = programs.text("operations/update_drain.sh")
KEEP = programs.text("operations/update_keep.sh")
INSTALL = programs.text("operations/update_install.sh")
BOOT = programs.text("operations/update_boot.sh")
REBOOT = programs.text("operations/update_reboot.sh")
PROVE = programs.text("operations/update_prove.sh")
FIRMWARE = programs.text("operations/update_firmware.sh")
STEP = programs.text("operations/update_step.sh")
CLOSE = programs.text("operations/update_close.sh")


def look(at: Host, patience: float) -> Standing:
    """How far the update of a host is. Raises Failed or Lost."""
    return remote.read(at, UpdateRecord(), seconds=int(LOOK_S * patience))


def begin(at: Host, record: Record, limits: str, patience: float) -> None:
    """Keep on the host what was agreed to; nothing else changes. Raises Failed or Lost."""
    remote.shell(at, BEGIN, limits, seconds=int(STEP_S * patience), stdin=update_record.text(record))


def back(at: Host, patience: float) -> None:
    """Turn an update round. Raises Failed or Lost."""
    remote.shell(at, BACK, seconds=int(STEP_S * patience))


def drain(at: Host, services: Sequence[str], patience: float, *, node: bool) -> None:
    """Stop servers by name, `-` for the one without, until they are started again. Raises Failed or Lost.

    node: whether the host's node of Ray stops after them, until the next boot or deploy.
    Nothing is noted: a host that has no update open drains, too.
    """
    units = [Service("" if name == "-" else name).unit for name in services]
    remote.shell(at, DRAIN, "ray" if node else "-", *units, seconds=int(DRAIN_S * patience))


def close(at: Host, patience: float, only: str = "") -> None:
    """End an update: GRUB's menu is what it was, and the record is kept as the last one. Raises Failed or Lost.

    only: the id of the update that is to be ended; another one stays.
    """
    remote.shell(at, CLOSE, only, seconds=int(PREPARE_S * patience))


def perform(at: Host, task: Task, standing: Standing, patience: float) -> None:
    """One task that is done on the host itself; a reboot begins as this ends. Raises Failed or Lost."""
    record = standing.record
    assert record is not None
    match task:
        case "install":
            _keep(at, standing, patience)
            _unit(at, update_record.UNIT, ("sh", "-c", INSTALL), INSTALL_S, patience)
        case "boot":
            _boot(at, standing, patience)
        case "prove":
            _prove(at, standing, patience)
        case "firmware":
            _hand_over(at, record, patience)
        case "apply":
            note(at, "apply", patience)
            remote.shell(at, REBOOT, seconds=int(STEP_S * patience))
        case "verify":
            _verify(at, record, patience)
        case "close":
            close(at, patience)
        case _:
            raise ValueError(f"{task} is done from here, not on the host")


def note(at: Host, task: Task, patience: float) -> None:
    """That a task is done. Raises Failed or Lost."""
    _noted(at, DONE[task], patience)


def _noted(at: Host, step: str, patience: float) -> None:
    remote.shell(at, STEP, step, seconds=int(STEP_S * patience))


# what unit_run.sh prints behind the last words of a unit that failed
_OF_UNIT = re.compile(r" ?sparkrig-\w+: \S+, exit status .*$", re.DOTALL)


def _unit(at: Host, name: str, words: Sequence[str], seconds: int, patience: float) -> None:
    """A long task as a unit, which goes on if the connection is lost. Raises Failed or Lost."""
    try:
        cure = f"journalctl -u {quoted(f'sparkrig-{name}')}"
        unit.carry_out(at, name, *words, seconds=int(seconds * patience), cure=cure)
    except Failed as error:
        raise Failed(_OF_UNIT.sub("", str(error)) or str(error)) from None


def _keep(at: Host, standing: Standing, patience: float) -> None:
    """Let GRUB boot the kernel that runs, whatever is installed; it is seen to before anything is."""
    if not standing.steps:
        _noted(at, BEGAN, patience)
    if standing.kernel == standing.kernel_to_be or standing.back or standing.working:
        return
    remote.shell(at, KEEP, seconds=int(PREPARE_S * patience))
    if why := _misled(at, standing.kernel, patience):
        raise Failed(f"nothing is installed: {why}")


def _misled(at: Host, kernel: str, patience: float) -> str:
    """Why GRUB would boot another kernel than this one, as its menu is now."""
    return update_proof.misled(kernel, remote.read(at, NextBoot(), seconds=int(LOOK_S * patience)))


def _boot(at: Host, standing: Standing, patience: float) -> None:
    """Reboot into the kernel of the update, once it was seen that it has all it needs, and that GRUB boots it."""
    packages = remote.read(at, of_resource(DRIVER)(), seconds=int(LOOK_S * patience))
    if why := update_proof.unready(standing, packages):
        raise Failed(f"what is installed is not booted: {why}")
    if parts := firmware.staged(remote.read(at, Firmware(), seconds=int(LOOK_S * patience))):
        raise Failed(f"the reboot would write firmware that was handed over before ({', '.join(parts)})")
    trial = int(TRIAL_S * patience)
    remote.shell(at, BOOT, standing.kernel_to_be, f"{trial}s", seconds=int(PREPARE_S * patience))
    if why := _misled(at, standing.kernel_to_be, patience):
        raise Failed(why)
    remote.shell(at, REBOOT, seconds=int(STEP_S * patience))


def _prove(at: Host, standing: Standing, patience: float) -> None:
    """Kernel, driver and GPU; the GPU may answer some time after the first login of a boot."""
    end = monotonic() + PROOF_S * patience
    while why := update_proof.unproven(
        standing,
        remote.read(at, of_resource(DRIVER)(), seconds=int(LOOK_S * patience)),
        remote.read(at, Gpu(), seconds=int(LOOK_S * patience)),
    ):
        if monotonic() >= end or standing.kernel != standing.kernel_to_be:
            raise Failed(f"not proven: {why}")
        sleep(POLL_S)
    remote.shell(at, PROVE, seconds=int(PREPARE_S * patience))
    if why := _misled(at, standing.kernel_to_be, patience):
        raise Failed(f"proven, but {why}")


def _hand_over(at: Host, record: Record, patience: float) -> None:
    """Let fwupd take the firmware that was agreed to, and none where it has another version by now.

    It takes the newest one, whatever was shown. The rest of the update goes on either way.
    """
    due = _due(at, record, patience)
    if all(part.state == "pending" or part.offered == agreed.version for part, agreed in due):
        _unit(at, "firmware", ("sh", "-c", FIRMWARE, "sparkrig", *record.firmware), FIRMWARE_S, patience)
    else:
        _noted(at, OTHER, patience)


def _verify(at: Host, record: Record, patience: float) -> None:
    """Note whether the board has what fwupd was given, by its own word. The rest goes on either way.

    What fwupd offers next is another version, and comes with another update.
    """
    amiss = any(
        part.state in ("pending", "failed") or part.offered == agreed.version
        for part, agreed in _due(at, record, patience)
    )
    _noted(at, UNWRITTEN if amiss else DONE["verify"], patience)


def _due(at: Host, record: Record, patience: float) -> Iterator[tuple[firmware.Part, update_record.Firmware]]:
    """The parts whose firmware is to be written yet, of those of an update, with what was agreed to."""
    board = remote.read(at, Firmware(), seconds=int(LOOK_S * patience))
    for part in firmware.judge(board, None, ""):
        if part.device in record.firmware and (part.due or part.state == "failed"):
            yield part, record.firmware[part.device]
