"""A Spark that runs alone: what is declared of it, by plain commands."""

from __future__ import annotations

import pytest

from tests.state.conftest import Said, Spark


@pytest.mark.asks(groups=lambda spark: [f"id -nG {user}" for user in spark.settings.docker_users])
def test_the_declared_users_are_in_the_group_docker(said: Said) -> None:
    for groups in said.each("groups"):
        assert "docker" in groups.good.split(), groups.command


@pytest.mark.asks(target="systemctl get-default")
def test_the_host_starts_without_a_desktop(said: Said, spark: Spark) -> None:
    if spark.settings.headless:
        assert said.target.good == "multi-user.target"


@pytest.mark.asks(swaps="swapon --show=NAME,SIZE --bytes --noheadings")
def test_the_swap_in_use_is_the_declared_one(said: Said, spark: Spark) -> None:
    size, adopt = spark.settings.swap_gib, spark.settings.adopt
    if size is None:
        return
    rows = [row.split() for row in said.swaps.good.splitlines()]
    counted = [int(held) for name, held in rows if adopt.get(name) != "leave"]
    assert round(sum(counted) / 2**30) == size, rows


@pytest.mark.asks(words="tr '\\0' ' ' </proc/$(pgrep -x earlyoom)/cmdline")
def test_earlyoom_runs(said: Said, spark: Spark) -> None:
    if spark.settings.oom:
        words = said.words.good
        assert "-m 2,1 -s 100,100" in words and "--avoid ^(sshd|" in words


@pytest.mark.asks(
    unit="systemctl is-active sparkrig-gpu-clock && systemctl is-enabled sparkrig-gpu-clock",
    clock="nvidia-smi --query-gpu=clocks.sm --format=csv,noheader,nounits",
)
def test_the_cap_of_the_gpus_clock_is_set(said: Said, spark: Spark) -> None:
    if cap := spark.settings.gpu_clock_max:
        assert said.unit.good.split() == ["active", "enabled"]
        assert float(said.clock.good) <= cap + 15
