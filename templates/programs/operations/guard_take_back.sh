#!/bin/sh
# take_back RUN WHY: the network change of that run

take_back() { python3 "/var/lib/sparkrig/runs/$1/guard/guard.py" rollback "$2" >&2 </dev/null; }
