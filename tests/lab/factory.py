"""A guest as a Spark is out of the box: a user with a password, sudo that asks for it, keys that nobody knows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from lab import USER, ssh, ssh_data
from sparkrig.onboarding.io import first_login
from sparkrig.onboarding.io.first_login import Door, Target
from tests.lab.guests import Guest

PASSWORD = "correct horse"

# $1 the user, $2 its password; the way back in is the last to go
_FRESH = r"""
set -e
printf '%s:%s\n' "$1" "$2" | chpasswd
rm -f /etc/ssh/ssh_host_*; ssh-keygen -q -A
systemctl restart ssh
rm -f /home/"$1"/.ssh/authorized_keys; rmdir /home/"$1"/.ssh
echo "$1 ALL=(ALL:ALL) ALL" >/etc/sudoers.d/new; chmod 0440 /etc/sudoers.d/new
rm -f /etc/sudoers.d/"$1"
sync
"""


@dataclass(frozen=True)
class Fresh:
    """A guest that was just unpacked; fingerprint: what its own screen would show."""

    node: str
    target: Target
    fingerprint: str

    @contextmanager
    def login(self) -> Iterator[Door]:
        """In by the password, as whoever looks at what onboarding did; root by it, too."""
        key = first_login.scan(self.target)
        assert key.fingerprint == self.fingerprint
        with first_login.door(self.target, key, SecretStr(PASSWORD)) as entered:
            assert entered
            entered.become_root(SecretStr(PASSWORD))
            yield entered


def unpack(guest: Guest) -> Fresh:
    """Make a pristine guest one that was just unpacked."""
    script = _FRESH.replace("'", "'\\''")
    guest.output(f"sudo sh -c '{script}' unpack {USER} '{PASSWORD}'")
    shown = guest.output("ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub")
    ssh.hang_up(guest.node)
    port = int(ssh_data(guest.node)["ssh_port"])
    target = Target("127.0.0.1", "127.0.0.1", port, USER, Path("/dev/null"))
    return Fresh(guest.node, target, shown.split()[1])
