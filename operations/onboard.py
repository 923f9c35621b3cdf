"""What is changed on a host before pyinfra can log in to it: our key is let in, and sudo asks for no password."""

from __future__ import annotations

from sparkrig import programs
from sparkrig.onboarding.io.first_login import Door
from sparkrig.onboarding.operator import PublicKey
from sparkrig.refusal import Refusal
from sparkrig.ssh.remote import Failed

AUTHORIZE = programs.text("operations/onboard_authorize.sh")

SUDOERS = "/etc/sudoers.d/sparkrig"
ALLOW = programs.text("operations/onboard_allow.sh")


def authorize(at: Door, key: PublicKey) -> None:
    """Let our key in, once. Raises Failed or Lost."""
    at.shell(AUTHORIZE, key.bare, key.line)


def allow_sudo(at: Door) -> None:
    """Let the user of a login become root without a password. Raises Refusal, or Lost."""
    line = f"{at.at.user} ALL=(ALL:ALL) NOPASSWD: ALL"
    try:
        at.root(ALLOW, SUDOERS, line)
    except Failed as error:
        raise Refusal(
            f"{SUDOERS} was not written: {error}", f"sudo visudo -f {SUDOERS}, with the line {line}"
        ) from None
