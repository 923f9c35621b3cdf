#!/bin/sh
# known PATH...: those, and each file of a named service that a run noted as one that it may write, a row each


known() {
  {
    printf '%s\n' "$@"
    grep -D skip -d skip -ahxsE \
      -e '/etc/sparkrig/serve/[a-z0-9-]+/serve\.(json|env)' \
      -e '/usr/local/lib/sparkrig/serve/[a-z0-9-]+/(start\.sh|watch\.py)' \
      -e '/etc/systemd/system/sparkrig-serve-[a-z0-9-]+\.(service|socket)' /var/lib/sparkrig/runs/*/paths
  } | LC_ALL=C sort -u
}
