"""What one half of a pair has to log in to the other."""

from sparkrig.facts.noun import Noun
from sparkrig.host import trust

# Whom the connection logged in as: sudo says who called it.
_USER = """
user=${SUDO_USER:-$(id -un)}
home=$(getent passwd "$user" | cut -d: -f6)
"""

# $user, $home; of the private key only mode and owner are read
LOOK = rf"""
printf 'user %s\n' "$user"
k=$home/{trust.KEY}
if [ -f "$k" ]; then printf 'private %s\n' "$(stat -c '%a %U' "$k")"; fi
if [ -f "$k.pub" ]; then printf 'public %s\n' "$(head -n 1 "$k.pub")"; fi
for f in /etc/ssh/ssh_host_*_key.pub; do
  if [ -f "$f" ]; then printf 'host %s\n' "$(head -n 1 "$f")"; fi
done
f=$home/.ssh/authorized_keys
if [ -f "$f" ]; then sed -n '/ {trust.MARK}\r*$/s/^/authorized /p' "$f"; fi
"""


class Trust(Noun[trust.Trust]):
    """The ssh user, our key pair's public half, sshd's public keys, and our lines of authorized_keys."""

    parse = staticmethod(trust.parse)
    script = _USER + LOOK
