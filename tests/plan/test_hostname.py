"""T1: a host's own name, as a whole deploy has it. Its resource has no file in deploys/."""

from __future__ import annotations

from dataclasses import replace

from tests.plan.conftest import Deploy, Host, converged, pair, well

TOLD = "name spark-1b3b\nstatic spark-1b3b\nhosts\n"


def hosts(rows: str = TOLD, **data: str) -> list[Host]:
    """A pair in spec, of which the first host says that of its name. data: its settings."""
    seen, end = converged("a"), "\n#sparkrig:end hostname 0"
    assert end in seen
    first, second = pair(seen.replace(end, f"{rows}{end}"), converged("b"))
    return [replace(first, data={**first.data, **data}), second]


def test_a_name_is_set_in_one_step_and_then_settled(deploy: Deploy) -> None:
    run = well(deploy(hosts(hostname="spark-a"), "-y"))
    assert [("awk" in text, "hostnamectl" in text) for _, text in run.changes] == [(True, False), (False, True)]
    assert {*run.steps} == {("spark-a", "Hostname | name of the host")}
    settled = deploy(hosts(TOLD.replace("1b3b", "a"), hostname="spark-a"), "-y")
    assert settled.code == 0 and settled.changes == []


def test_the_plan_says_what_changes(deploy: Deploy) -> None:
    run = deploy(hosts(hostname="spark-a"), "--dry")
    assert "file /etc/hostname: spark-1b3b -> spark-a" in run.stderr
    assert "file /etc/hosts: 127.0.1.1 spark-1b3b -> 127.0.1.1 spark-a" in run.stderr
    assert "Hostname" not in deploy(hosts(), "--dry").stderr


def test_a_name_that_the_host_does_not_tell_is_refused_before_any_change(deploy: Deploy) -> None:
    run = deploy(hosts("", hostname="spark-a"), "-y")
    assert run.code == 1 and run.changes == []
    assert "Refused: the host does not tell its name" in run.stderr
