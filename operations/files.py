"""Writing the files that this toolkit owns."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from pyinfra import host
from pyinfra.api import StringCommand, operation

from sparkrig.files import File, Found, stale
from sparkrig.io.shell import script
from sparkrig.operations import plan
from sparkrig.operations.journal import recorded
from sparkrig.operations.refusal import Commands
from sparkrig.runs import journal
from sparkrig.runs.change import of_files


@operation()
@recorded
def place(wanted: Iterable[File], found: Mapping[str, Found]) -> Commands:
    """Write the files that are missing or differ, each as a whole and atomically.

    + wanted: the files as they should be
    + found: the files as the facts of this run saw them
    """
    wanted = list(wanted)
    late = stale(wanted, found)
    if late:
        plan.report(of_files(wanted, found))
        yield write(*late)
    else:
        host.noop("files are as they should be")


# $1 a command that checks each new file, or nothing; on stdin, a line a file: FOLDER NAME MODE|keep BASE64
WRITE = (
    journal.INTENDS
    + r"""
set -e
umask 022
new=; trap 'rm -f "$new"' EXIT
while read -r folder name mode content; do
  mkdir -p "$folder"; cd "$folder"
  if [ -d "$name" ]; then
    echo "$folder/$name is a directory, a file is expected; try: sudo rmdir $folder/$name" >&2; exit 1
  elif [ -e "$name" ] && [ ! -f "$name" ]; then # a FIFO has no end, and a device is not ours to replace
    echo "$folder/$name is a $(stat -Lc %F "$name"), not a file; try: sudo mv $folder/$name $folder/$name.old" >&2
    exit 1
  fi
  new=$(mktemp "$folder/.$name.XXXXXX")
  printf %s "$content" | base64 -d >"$new"
  if [ "$mode" = keep ]; then mode=$(stat -c %a "$name" 2>/dev/null) || mode=0644; fi
  chmod "$mode" "$new"; chown root:root "$new"; sync "$new"
  # shellcheck disable=SC2086 # the check is a command with arguments
  if [ -n "$1" ]; then $1 "$new" >&2 </dev/null; fi
  case $folder/$name in
  *sparkrig*) ;; # ours by its name
  *)
    if [ -e "$name" ] && [ ! -e "$name.before-sparkrig" ] && ! grep -qi sparkrig "$name"; then
      intends "$folder/$name.before-sparkrig" "$name"
      cp -p "$name" "$name.before-sparkrig"
    fi
    ;;
  esac
  intends "$folder/$name" "$new"
  mv -fT "$new" "$name"; sync .
done
"""
)


def write(*files: File, check: str = "") -> StringCommand:
    """One command that replaces files: a power cut leaves the old or the new of each, never half of one.

    check: a command that is given each new file's path, and whose failure leaves the old one in place.
    The content travels on standard input: neither the process list nor a log shows it. What stood there
    before and was not ours is kept once, beside it, as `NAME.before-sparkrig`.
    """
    return script(WRITE, check, _stdin="".join(map(_line, files)))


def _line(file: File) -> str:
    path = PurePosixPath(file.path)
    return f"{path.parent} {path.name} {file.mode} {base64.b64encode(file.content.encode()).decode()}\n"
