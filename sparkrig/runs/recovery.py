"""What mends a run that failed or broke off: the command of ours that goes on, and what to look at before it."""

from __future__ import annotations

import re

from sparkrig.cure import deploy, quoted, verb
from sparkrig.runs.journal import Journal, Run, outcome
from sparkrig.serving.served import Service

# The one option that a run is noted with: which service it was for.
NAMED = re.compile(r'(?<![\w-])serve_name="?([a-z0-9][a-z0-9-]{0,23})"?$')
_UNREACHED = "no answer on rail"  # sparkrig.network.guard's words for a host that does not reach the other


def advice(run: Run, journal: Journal) -> str:
    """What mends a run that failed or broke off.

    That command does what is missing, but for a change that was rolled back: it fails for the same reason.
    """
    if outcome(run, journal) != "rolled back":
        return f"this does what is missing: {again(run)}"
    if run.trial:
        named = NAMED.search(run.owner.why)
        unit = Service(named[1] if named else "").unit
        log = f"sudo journalctl -u {quoted(unit)} --since -1h"
        then = again(run)
        return f"the server is as it was before; mend first what its log shows: {log}; and then: {then}"
    look = verb("topology" if _UNREACHED in run.guard else "doctor")
    return f"the network is as it was before; mend first what this shows: {look}; and then: {again(run)}"


def again(run: Run) -> str:
    """The command of ours that a run was begun by, without what else was typed.

    What its operator typed is a note on the host, where another one may have written it: it is shown as that, and
    is never a command.
    """
    if run.owner.undoes:
        return verb("undo", run.owner.undoes)
    words = run.owner.why.split()
    if words[:2] == ["sparkrig", "storage"]:
        return verb("storage")
    if "deploys/serve.py" not in words:
        return deploy()
    named = NAMED.search(run.owner.why)
    return deploy("serve", data={"serve_name": named[1]} if named else {})
