"""Long steps that outlive the connection they were begun over."""

from __future__ import annotations

from pyinfra.api import Host, StringCommand

from sparkrig.io import remote
from sparkrig.io.shell import script

_GRACE_S = 60  # for systemd to start the unit and to end it

PROXIES = "http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY"


def proxies(option: str) -> str:
    """Shell lines that put `option NAME` before "$@" for each proxy that is set.

    A login has them from /etc/environment; a service knows nothing of them, and a container nothing of its
    client's. By name, and only those that are set: others would hide what docker's config.json says.
    """
    return f"""for name in {PROXIES}; do
  if printenv $name >/dev/null; then set -- {option} $name "$@"; fi
done"""


# $1 unit, $2 seconds after which systemd ends it, $3 what to try where it fails, then the command. A unit of that
# name that still works was begun over a connection that is gone: it is waited for.
RUN = (
    r"""
unit=$1 limit=$2 cure=$3
shift 3
about() { systemctl show --value -p "$1" "$unit"; }
works() { case $(about SubState) in running | start* | stop* | final*) true ;; *) false ;; esac; }
while works; do sleep 0.2; done
if [ "$(about ActiveState)" != inactive ]; then
  systemctl stop "$unit"
  systemctl reset-failed "$unit" 2>/dev/null || :
fi
set -- -- "$@"
"""
    + proxies("-E")
    + r"""
systemd-run -q --unit="$unit" -p Type=exec -p RemainAfterExit=yes -p RuntimeMaxSec="$limit" \
  -E LC_ALL=C.UTF-8 "$@" || exit
while works; do sleep 0.2; done
result=$(about Result) status=$(about ExecMainStatus)
if [ "$result" = success ]; then systemctl stop "$unit"; exit 0; fi
{
  journalctl --sync
  journalctl -q -o cat -n 30 _SYSTEMD_INVOCATION_ID="$(about InvocationID)"
  printf '%s: %s, exit status %s; all it said: journalctl -u %s. Try: %s, then the deploy again\n' \
    "$unit" "$result" "$status" "$unit" "$cure"
} >&2
systemctl reset-failed "$unit"
exit 1
"""
)


def run(name: str, *words: str, seconds: int, cure: str) -> StringCommand:
    """One exec of a long command as the unit `sparkrig-NAME`, ended by systemd after `seconds`.

    The unit goes on where the connection is lost; the next command of that name waits for it. What it prints is
    kept in the host's journal, and shown where it fails, with the cure: one command to try.
    """
    return script(RUN, f"sparkrig-{name}", str(seconds), cure, *words, seconds=seconds + _GRACE_S)


def carry_out(at: Host, name: str, *words: str, seconds: int, cure: str) -> None:
    """The same, done on a host outside of an operation. Raises Failed or Lost."""
    remote.execute(at, run(name, *words, seconds=seconds, cure=cure), seconds + 2 * _GRACE_S)
