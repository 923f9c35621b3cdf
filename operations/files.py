"""Writing the files that this toolkit owns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from pyinfra import host
from pyinfra.api import StringCommand, operation

from operations.refusal import Commands
from operations.shell import script
from sparkrig.files import File, Found, stale


@operation()
def place(wanted: Iterable[File], found: Mapping[str, Found]) -> Commands:
    """Write the files that are missing or differ, each as a whole and atomically.

    + wanted: the files as they should be
    + found: the files as the facts of this run saw them
    """
    late = stale(wanted, found)
    for file in late:
        yield write(file)
    if not late:
        host.noop("files are as they should be")


# $1 folder, $2 name, $3 mode or `keep`, $4 a command that checks the new file, or nothing; content on stdin
WRITE = r"""
set -e
umask 022; mkdir -p "$1"; cd "$1"
new=$(mktemp "$1/.$2.XXXXXX"); trap 'rm -f "$new"' EXIT
cat >"$new"
mode=$3
if [ "$mode" = keep ]; then mode=$(stat -c %a "$2" 2>/dev/null) || mode=0644; fi
chmod "$mode" "$new"; chown root:root "$new"; sync "$new"
# shellcheck disable=SC2086 # the check is a command with arguments
if [ -n "$4" ]; then $4 "$new" >&2; fi
case $1/$2 in
*sparkrig*) ;; # ours by its name
*)
  if [ -e "$2" ] && [ ! -e "$2.before-sparkrig" ] && ! grep -qi sparkrig "$2"; then
    cp -p "$2" "$2.before-sparkrig"
  fi
  ;;
esac
mv -f "$new" "$2"; sync .
"""


def write(file: File, check: str = "") -> StringCommand:
    """One command that replaces a file: a power cut leaves the old one or the new one, never half of it.

    check: a command that is given the new file's path, and whose failure leaves the old file in place.
    The content travels on standard input: neither the process list nor a log shows it. What stood there
    before and was not ours is kept once, beside it, as `NAME.before-sparkrig`.
    """
    path = PurePosixPath(file.path)
    return script(WRITE, str(path.parent), path.name, file.mode, check, _stdin=file.content)
