"""One guest: its state, and the steps that change it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from lab import qmp, ssh
from lab.commands import run
from lab.errors import LabError
from lab.nodes import fabric
from lab.process import Process
from lab.progress import say
from lab.qemu import BINARY, PRISTINE, Plan, command, hardware, lan_words
from lab.waiting import STRETCH, cancelled, wait_until
from lab.wiring import carriers, rails

SSH_S = 30
BOOT_S = 60
SETTLE_S = 40
RESTORE_S = 20
# A guest that rests takes 2 to 4 hundredths of a processor, one that logs in all of it.
REST_LOOK_S = 1.0
REST_SHARE = 0.1
REST_LOOKS = 20

# The RTC has this machine's time, to the second. Not by sudo, which costs an emulated guest the most of it all.
SET_CLOCK = (
    "read -r now </sys/class/rtc/rtc0/since_epoch && /usr/lib/sparkrig-lab/set-clock --set=@$now.5 >/dev/null"
)

# Everything a deploy may rely on is up: boot finished, engine answering, network manager running, every
# fabric netdev with its RDMA device. Prints what is still amiss.
SETTLED = """
state=$(systemctl is-system-running --wait)
[ "$state" = running ] ||
    { echo "system is $state:" $(systemctl --failed --plain --no-legend | cut -d" " -f1); exit 1; }
sudo docker info >/dev/null 2>&1 || { echo "docker does not answer"; exit 1; }
[ "$(nmcli -g RUNNING general)" = running ] || { echo "NetworkManager does not run"; exit 1; }
for netdev in $netdevs; do
    rdma link show 2>/dev/null | grep -q " netdev $netdev " || { echo "no RDMA device on $netdev"; exit 1; }
done
"""


class State(StrEnum):
    """What `lab status` shows of a guest."""

    ABSENT = "absent"
    STOPPED = "stopped"
    RUNNING = "running"
    BOOTING = "booting"


@dataclass(frozen=True)
class MadeWith:
    """What a snapshot fits (see `fingerprint`), and the image that its disk is laid over."""

    fingerprint: str
    image: str


@dataclass(frozen=True)
class Machine(Process):
    """One guest, by name; everything else about it is read from its folder."""

    @property
    def disk(self) -> Path:
        return self.folder / "disk.qcow2"

    @property
    def monitor(self) -> Path:
        return self.folder / "qmp"

    @property
    def console(self) -> Path:
        return self.folder / "console.log"

    @property
    def marker(self) -> Path:
        """The file that records that the snapshot `ready` exists, and what it fits."""
        return self.folder / "ready.json"

    def wired_as(self, plan: Plan) -> bool:
        """Whether the guest runs with the cables of `plan`, which only a new start lays."""
        words = self.words()
        laid = [word for word in lan_words(plan) if os.fsencode(word) in words]
        return bool(laid) == plan.lan and all(
            os.fsencode(word) in words for word in rails(plan.node, plan.cabling, plan.home)
        )

    def state(self) -> State:
        """Where the guest stands."""
        if self.pid():
            return State.RUNNING if self.marker.is_file() else State.BOOTING
        return State.STOPPED if self.marker.is_file() and self.disk.is_file() else State.ABSENT

    def made_with(self) -> MadeWith | None:
        """What the snapshot was made with; None where there is none."""
        return MadeWith(**json.loads(self.marker.read_text())) if self.marker.is_file() else None

    def boot(self, plan: Plan) -> None:
        """From nothing to the snapshot `ready`: a fresh disk, a whole boot. LabError if it does not settle."""
        self.discard()
        self.folder.mkdir(mode=0o700)
        overlay = ["-f", "qcow2", "-F", "qcow2", "-b", str(plan.image / "base.qcow2"), str(self.disk)]
        run(["qemu-img", "create", "-q", *overlay], attempt="sparkrig lab up")
        self.power_on(plan)
        self.leave_factory(SSH_S * STRETCH[plan.accelerator])
        self.save(PRISTINE)
        self.marker.write_text(json.dumps(asdict(MadeWith(fingerprint(plan), str(plan.image)))))
        self.wake(plan)

    def save(self, snapshot: str) -> None:
        """Keeps the guest as it is now under a name; its clock stands still meanwhile, so wake it after.

        What it is busy with then (the end of its boot, a login that ends) it does once more after each reset,
        before a login succeeds: that took 1 s of a reset's 5.0 s. So it may come to rest first.
        """
        ssh.hang_up(self.node)
        if not any(self.rests() for _ in range(REST_LOOKS)):
            say(f"{self.node} is saved while it is busy; each reset to {snapshot!r} goes on with that")
        qmp.monitor(self.monitor, f"savevm {snapshot}")

    def rests(self) -> bool:
        """Whether the guest does next to nothing, by what its qemu takes of a processor for a moment."""
        before, began = self._processor_s(), time.monotonic()
        cancelled.wait(REST_LOOK_S)
        return self._processor_s() - before < REST_SHARE * (time.monotonic() - began)

    def _processor_s(self) -> float:
        """Seconds of processor time that all threads of the guest's qemu have had; 0 where none runs."""
        try:
            stat = Path(f"/proc/{self.pid()}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return 0.0
        times = stat.rpartition(")")[2].split()[11:13]  # proc(5): utime, stime
        return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")

    def require(self, snapshot: str) -> None:
        """LabError where the guest has no such snapshot."""
        kept = [row["name"] for row in json.loads(self.disk_info()).get("snapshots", [])]
        if snapshot not in kept:
            raise LabError(
                f"{self.node} was never saved as {snapshot!r}",
                expected=f"one of {', '.join(kept)}",
                attempt="sparkrig lab reset",
            )

    def disk_info(self) -> str:
        """What qemu-img prints about the disk, snapshots included, as JSON."""
        return run(
            ["qemu-img", "info", "--force-share", "--output=json", str(self.disk)], attempt="sparkrig lab up"
        )

    def leave_factory(self, seconds: float) -> None:
        """A factory-fresh Spark has MTU 1500; virtio starts at the largest that its cable carries."""
        line = "for n in " + " ".join(fabric(self.node)) + "; do sudo ip link set $n mtu 1500 || exit 1; done"
        try:
            done = ssh.execute(self.node, line, seconds)
        except subprocess.TimeoutExpired as error:
            done = ssh.Result(ssh.NO_CONNECTION, "", f"an answer within {error.timeout:.0f} s")
        if done.rc:
            raise LabError(
                f"{self.node} kept its MTU", expected=done.stderr.strip() or "1500", attempt="sparkrig lab down"
            )

    def power_on(self, plan: Plan) -> None:
        """Boots the guest from its disk as it is and waits until it has settled."""
        self.start(plan, snapshot=None)
        self.settle(plan)

    def settle(self, plan: Plan) -> None:
        """Waits for a boot under way to come to its end. LabError if it does not."""
        self.wait_for_ssh(BOOT_S * STRETCH[plan.accelerator])
        self.wait_until_settled(SETTLE_S * STRETCH[plan.accelerator])

    def resume(self, plan: Plan, snapshot: str = PRISTINE) -> None:
        """From stopped to a snapshot, with the clock set."""
        self.require(snapshot)
        self.start(plan, snapshot=snapshot)
        self.wake(plan)

    def restore(self, plan: Plan, snapshot: str = PRISTINE) -> None:
        """Back to a snapshot, running or not, with the clock set.

        In a new qemu: one that runs never turns its time stamp counter back (its `cpu_get_ticks`), so that after
        `loadvm` the guest would find itself hours ahead, and do at once what all its timers had to do meanwhile.
        """
        self.require(snapshot)
        self.stop()
        self.resume(plan, snapshot)

    def start(self, plan: Plan, *, snapshot: str | None) -> None:
        """Starts qemu in the background and lays the cables. LabError with qemu's own words if it will not run."""
        run(
            command(plan, snapshot=snapshot),
            attempt=f"rm -r {self.folder} && sparkrig lab up",
            timeout=SSH_S * STRETCH[plan.accelerator],
        )
        self.lay_cables(plan)

    def lay_cables(self, plan: Plan) -> None:
        """Gives every fabric netdev the carrier that the cabling gives it."""
        self.set_carriers(carriers(self.node, plan.cabling))

    def set_carriers(self, carriers: Mapping[str, bool]) -> None:
        """Plugs or unplugs this end of cables, by netdev.

        By qemu's backend, which takes its NIC along: what is sent to an unplugged end is lost then even where the
        guest has no driver for it. Else it is kept, and the peer's qemu tries to send the next without end: every
        process on spark-a took ten times longer.
        """
        orders = [("set_link", {"name": netdev, "up": up}) for netdev, up in carriers.items()]
        qmp.execute(self.monitor, *orders)

    def cut_power(self) -> None:
        """A power cut and its return: nothing is shut down, the guest boots again."""
        ssh.hang_up(self.node)
        qmp.execute(self.monitor, ("system_reset", {}))

    def wake(self, plan: Plan) -> None:
        """Waits for ssh and sets the clock, which a snapshot brings back as it was: one command does both."""
        self.wait_for_ssh(RESTORE_S * STRETCH[plan.accelerator], SET_CLOCK)

    def wait_for_ssh(self, seconds: float, line: str = "true") -> None:
        """Waits until the guest runs a command. LabError after `seconds`, or when qemu has ended."""
        wait_until(
            lambda: self.runs(line),
            seconds,
            happened=f"{self.node} does not answer ssh",
            attempt=f"tail {self.console}",
        )

    def runs(self, line: str) -> bool:
        """Whether the guest runs a command now. LabError where waiting cannot help."""
        if not self.pid():
            raise LabError(f"{self.node} ended", expected="it running", attempt=f"tail {self.console}")
        try:
            result = ssh.execute(self.node, line, timeout=SSH_S)
        except subprocess.TimeoutExpired:
            return False
        if "Host key verification failed" in result.stderr:
            raise LabError(
                f"{self.node} shows another host key than its image has",
                expected=f"the one in {ssh.known_hosts()}",
                attempt="sparkrig lab down && sparkrig lab up",
            )
        if result.rc not in (0, ssh.NO_CONNECTION):
            raise LabError(
                f"{self.node} does not {line}: {result.stderr.strip()}",
                expected="exit code 0",
                attempt="sparkrig lab reset",
            )
        return result.rc == 0

    def wait_until_settled(self, seconds: float) -> None:
        """Waits until a deploy may begin. LabError with what is still amiss after `seconds`."""
        netdevs = " ".join(fabric(self.node))
        amiss = ["still booting"]

        def settled() -> bool:
            line = f"netdevs='{netdevs}'{SETTLED}"
            result = ssh.execute(self.node, line, timeout=seconds)
            amiss[0] = result.stdout.strip()
            return result.rc == 0

        try:
            wait_until(settled, seconds, happened="", attempt="")
        except (LabError, subprocess.TimeoutExpired) as error:
            raise LabError(
                f"{self.node} has not settled: {amiss[0]}",
                expected=f"all its services within {seconds:.0f} s",
                attempt=f"sparkrig lab ssh {self.node} systemctl --failed",
            ) from error

    def stop(self) -> None:
        """Ends the guest's qemu; its snapshot stays. LabError if it does not end."""
        if self.pid():
            ssh.hang_up(self.node)
            self.end()

    def discard(self) -> None:
        """Stops the guest and forgets everything about it."""
        self.stop()
        if self.folder.exists():
            shutil.rmtree(self.folder)


def fingerprint(plan: Plan) -> str:
    """What a snapshot fits: the very same machine under the very same qemu."""
    version = run([BINARY, "--version"], attempt="sparkrig lab status")
    return hashlib.sha256("\0".join([*hardware(plan), version]).encode()).hexdigest()[:16]
