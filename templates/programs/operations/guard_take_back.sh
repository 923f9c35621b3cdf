#!/bin/sh
# take_back RUN WHY: what that run changed under guard; what was confirmed stays

take_back() {
  for guard in "/var/lib/sparkrig/runs/$1"/guard*; do python3 "$guard/guard.py" rollback "$2" >&2 </dev/null; done
}
