"""What is changed on a host before pyinfra can log in to it: our key is let in, and sudo asks for no password."""

from __future__ import annotations

from sparkrig.io.first_login import Door
from sparkrig.io.remote import Failed
from sparkrig.onboarding.operator import PublicKey
from sparkrig.refusal import Refusal

# $1 our public key without its comment, $2 the whole line. Lines of others stay, byte for byte
AUTHORIZE = r"""
set -e; umask 077; cd
mkdir -p .ssh
file=$(readlink -f .ssh/authorized_keys)
if [ -e "$file" ] && [ ! -f "$file" ]; then echo "$file is a $(stat -Lc %F "$file"), not a file" >&2; exit 1; fi
if [ -e "$file" ]; then chmod go-w .ssh "$file"; fi # sshd ignores what others may write
if [ -e "$file" ] && grep -q "^$1\( \|\$\)" "$file"; then exit 0; fi
new=$(mktemp "$file.XXXXXX"); trap 'rm -f "$new"' EXIT
if [ -e "$file" ]; then
  sed '$a\' "$file" >"$new" # the last line may lack its end
  chmod --reference="$file" "$new"
fi
printf '%s\n' "$2" >>"$new"
sync "$new"; mv -fT "$new" "$file"; sync "${file%/*}"
"""

SUDOERS = "/etc/sudoers.d/sparkrig"
# $1 the file, $2 its line for our user. sudo reads no file with a dot in its name (sudoers(5))
ALLOW = r"""
set -e; umask 077
if [ -e "$1" ] && [ ! -f "$1" ]; then echo "$1 is a $(stat -Lc %F "$1"), not a file" >&2; exit 1; fi
if [ -e "$1" ] && grep -qxF "$2" "$1"; then exit 0; fi
new=$(mktemp "${1%/*}/.sparkrig.XXXXXX"); trap 'rm -f "$new"' EXIT
if [ -e "$1" ]; then cat "$1" >"$new"; else echo '# Written by sparkrig onboard' >"$new"; fi
printf '%s\n' "$2" >>"$new"
chmod 0440 "$new"
visudo -cf "$new" >/dev/null
sync "$new"; mv -fT "$new" "$1"; sync "${1%/*}"
"""


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
