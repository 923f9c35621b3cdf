"""T1: who logs in by ssh, as a whole deploy has it. Its resource has no file in deploys/."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.plan.conftest import Deploy, Host, converged, pair, well
from tests.plan.guarded import COMMIT, GUARDED, START, asked, told

FRESH = "user nvidia\nkeys 1\nreads\npassword yes\nkeyboard no\nfiles .ssh/authorized_keys .ssh/authorized_keys2\n"


def hosts(rows: str = FRESH, **data: Any) -> list[Host]:
    """A pair in spec, of which the first host says that of its sshd. data: its settings."""
    seen, end = converged("a"), "\n#sparkrig:end login 0"
    assert end in seen
    first, second = pair(seen.replace(end, f"\n{rows.rstrip()}{end}"), converged("b"))
    return [replace(first, data={**first.data, **data}, responses=GUARDED), second]


def test_passwords_end_under_guard_and_a_new_connection_is_proven_twice(deploy: Deploy) -> None:
    run = well(deploy(hosts(login_passwords=False), "-y"))
    assert asked(run, "spark-a") == ["start", "wait", "link", "wait", "commit"] and asked(run, "spark-b") == []
    start = next(command for name, command in run.changes if name == "spark-a" and START in command)
    assert "PasswordAuthentication no" in start and "sshd -t" in start


def test_what_lets_nobody_in_is_as_before(deploy: Deploy) -> None:
    found = hosts(login_passwords=False)
    found[0].responses = {**GUARDED, COMMIT: told("rolled-back", "it was not confirmed within 90 s")}
    run = deploy(found, "-y")
    assert run.code == 1 and asked(run, "spark-a")[-1] == "revert"
    assert "the login of @fake/spark-a is as it was before" in run.stderr
