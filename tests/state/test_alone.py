"""A Spark that runs alone: what is declared of it, by plain commands."""

from __future__ import annotations

from testinfra.host import Host

from tests.state.conftest import Spark


def test_the_declared_users_are_in_the_group_docker(host: Host, spark: Spark) -> None:
    for user in spark.settings.docker_users:
        assert "docker" in host.check_output(f"id -nG {user}").split(), user


def test_the_host_starts_without_a_desktop(host: Host, spark: Spark) -> None:
    if spark.settings.headless:
        assert host.check_output("systemctl get-default") == "multi-user.target"


def test_the_swap_in_use_is_the_declared_one(host: Host, spark: Spark) -> None:
    size, adopt = spark.settings.swap_gib, spark.settings.adopt
    if size is None:
        return
    rows = [row.split() for row in host.check_output("swapon --show=NAME,SIZE --bytes --noheadings").splitlines()]
    counted = [int(held) for name, held in rows if adopt.get(name) != "leave"]
    assert round(sum(counted) / 2**30) == size, rows


def test_earlyoom_runs(host: Host, spark: Spark) -> None:
    if spark.settings.oom:
        words = host.check_output("tr '\\0' ' ' </proc/$(pgrep -x earlyoom)/cmdline")
        assert "-m 2,1 -s 100,100" in words and "--avoid ^(sshd|" in words


def test_the_cap_of_the_gpus_clock_is_set(host: Host, spark: Spark) -> None:
    if cap := spark.settings.gpu_clock_max:
        assert host.check_output("systemctl is-active sparkrig-gpu-clock") == "active"
        assert host.check_output("systemctl is-enabled sparkrig-gpu-clock") == "enabled"
        assert (
            float(host.check_output("nvidia-smi --query-gpu=clocks.sm --format=csv,noheader,nounits")) <= cap + 15
        )
