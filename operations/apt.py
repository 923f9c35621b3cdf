"""What every use of apt here has in common."""

from __future__ import annotations

from pyinfra.api import StringCommand

from operations.shell import limited

APT_LOCK = "DPkg::Lock::Timeout=300"  # wait for unattended-upgrades instead of failing at once


def update() -> StringCommand:
    """Fetch the package lists, with an end to it."""
    return limited(600, "apt-get", "-q", "-o", APT_LOCK, "update")
