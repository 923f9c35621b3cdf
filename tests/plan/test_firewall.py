"""T1: the firewall, as a whole deploy has it. Its resource has no file in deploys/."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.plan.conftest import Deploy, Host, converged, pair, well
from tests.plan.guarded import COMMIT, GUARDED, START, asked, told

SSH = "ssh 10.0.2.11"


FILE = "deploys/firewall.py"


def hosts(rows: str = "nft\n", caller: str = "10.0.2.2", **data: Any) -> list[Host]:
    """A pair in spec, of which the first host says that of its firewall. data: its settings."""
    seen, end = converged("a"), "\n#sparkrig:end firewall 0"
    assert end in seen and f"{SSH}\n" in seen
    seen = seen.replace(f"{SSH}\n", f"{SSH} {caller} 22\n")
    first, second = pair(seen.replace(end, f"{rows}{end}"), converged("b"))
    return [replace(first, data={**first.data, **data}, responses=GUARDED), second]


def test_it_is_loaded_under_guard_and_proven_twice_from_outside(deploy: Deploy) -> None:
    run = well(deploy(hosts(firewall_allow=[8000]), "-y", file=FILE))
    assert asked(run, "spark-a") == ["start", "wait", "link", "wait", "commit"] and asked(run, "spark-b") == []
    start = next(command for name, command in run.changes if name == "spark-a" and START in command)
    assert "ct original proto-dst 8000 accept" in start and "nft -c -f /etc/sparkrig/firewall.nft" in start


def test_one_that_shuts_the_run_out_is_as_before(deploy: Deploy) -> None:
    found = hosts(firewall_allow=[8000])
    found[0].responses = {**GUARDED, COMMIT: told("rolled-back", "it was not confirmed within 90 s")}
    run = deploy(found, "-y", file=FILE)
    assert run.code == 1 and asked(run, "spark-a")[-1] == "revert"
    assert "the firewall of @fake/spark-a is as it was before" in run.stderr


def test_the_plan_says_what_comes(deploy: Deploy) -> None:
    run = well(deploy(hosts(firewall_allow=[8000]), "--dry"))
    assert "file /etc/sparkrig/firewall.nft: none -> a new file" in run.stderr
    assert "Firewall" not in deploy(hosts(), "--dry").stderr


def test_what_would_shut_the_run_out_is_refused_before_any_change(deploy: Deploy) -> None:
    for rows, allow, why in (
        ("", ["8000"], "nft is not installed"),
        ("other ufw\nnft\n", ["8000"], "ufw is this host's firewall"),
        ("nft\n", ["ssh from 192.168.7.0/24"], "this run comes from 10.0.2.2, which is in no network"),
    ):
        run = deploy(hosts(rows, firewall_allow=allow), "-y")
        assert run.code == 1 and run.changes == [] and why in run.stderr, run.stderr
