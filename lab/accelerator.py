"""KVM where it really works, emulation elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

from lab.errors import LabError
from lab.paths import home
from lab.progress import say
from lab.qemu import BINARY
from lab.waiting import wait_until

DEVICE = Path("/dev/kvm")
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
PROBE_S = 15


def choose(kernel: Path) -> str:
    """`kvm` or `tcg`, decided once per boot of this machine by starting `kernel` under KVM."""
    boot = BOOT_ID.read_text().strip()
    verdict = home() / "accelerator.json"
    known = json.loads(verdict.read_text()) if verdict.is_file() else {}
    if known.get("boot") != boot:
        known = {"boot": boot, "accelerator": "kvm" if kvm_boots(kernel) else "tcg"}
        verdict.write_text(json.dumps(known))
        if known["accelerator"] == "tcg":
            say("KVM does not work here, so the guests are emulated: the same, some ten times slower")
    return str(known["accelerator"])


def kvm_boots(kernel: Path) -> bool:
    """Whether `kernel` reaches its first console line under KVM; a /dev/kvm that is there proves nothing."""
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        return False
    with tempfile.TemporaryDirectory(dir=home()) as folder:
        console = Path(folder) / "console"
        probe = subprocess.Popen(
            probe_command(kernel, console), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            return speaks(probe, console)
        finally:
            probe.kill()
            probe.wait()


def speaks(probe: subprocess.Popen[bytes], console: Path) -> bool:
    """Whether the probe's kernel has printed its version before qemu ended or the time was up."""

    def spoke() -> bool:
        return console.exists() and b"Linux version" in console.read_bytes()

    try:
        wait_until(
            lambda: spoke() or probe.poll() is not None,
            PROBE_S,
            happened="no word under KVM",
            attempt="sparkrig lab up",
        )
    except LabError:
        return False
    return spoke()


def probe_command(kernel: Path, console: Path) -> list[str]:
    """A machine with nothing but a kernel and a console."""
    return [
        *(
            BINARY,
            "-accel",
            "kvm",
            "-cpu",
            "host",
            "-m",
            "256",
            "-nodefaults",
            "-display",
            "none",
            "-no-reboot",
        ),
        *("-kernel", str(kernel), "-append", "console=ttyS0 panic=-1", "-serial", f"file:{console}"),
    ]
