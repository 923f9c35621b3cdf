"""Who holds apt's locks."""

from __future__ import annotations

from facts.noun import Noun
from sparkrig import apt

# A shell function that prints who holds a lock of apt's, `lock PATH PID NAME`. A lock of another file system
# may have the same inode, so the process must have the very file open.
HOLDERS = (
    r"""
holders() {
  for lock in """
    + " ".join(apt.LOCKS)
    + r"""; do
    inode=$(stat -c %i $lock 2>/dev/null) || continue
    sed -n "s/^[0-9]*: POSIX  *ADVISORY  *WRITE  *\([0-9]*\) [^ ]*:$inode .*/\1/p" /proc/locks |
      while read -r pid; do
        open=$(find -L /proc/$pid/fd -maxdepth 1 -samefile $lock 2>/dev/null) || :
        if [ -n "$open" ]; then printf 'lock %s %s %s\n' $lock $pid "$(cat /proc/$pid/comm)"; fi
      done
  done
}
""".strip("\n")
)


class Holders(Noun[tuple[apt.Holder, ...]]):
    """The processes that hold a lock of apt's now."""

    parse = staticmethod(apt.parse)
    script = f"{HOLDERS}\nholders\n"
