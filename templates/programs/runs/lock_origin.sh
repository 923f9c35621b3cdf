#!/bin/sh
# sudo drops SSH_CONNECTION, so an ancestor's is read. It is shown, and nothing depends on it.


origin() {
  pid=$$
  while [ "${pid:-0}" -gt 1 ]; do
    from=$(tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ" | sed -n 's/^SSH_CONNECTION=\([^ "\\]*\).*/\1/p')
    if [ -n "$from" ]; then printf %s "$from"; return; fi
    pid=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$pid/status")
  done
}
