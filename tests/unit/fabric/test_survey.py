"""What a look at both hosts says: which rails can be measured, what is wrong, what is suspected."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace

import pytest

from sparkrig.bandwidth.measurement import End
from sparkrig.fabric.survey import Survey
from sparkrig.fleet import Fleet
from tests.unit.surveys import RAILS, surveyed

FLEET = Fleet.parse(
    {
        "spark-a": {"pair": "p", "fabric": {"enp1s0f0np0": "192.168.100.11/24"}},
        "spark-b": {"pair": "p", "fabric": {"enp1s0f0np0": "192.168.100.12/24"}},
    }
)


def test_why_a_host_could_not_be_read_is_said_once_and_with_the_picture() -> None:
    why = {"spark-a": "Could not connect (127.0.0.1 port 22: refused)", "spark-b": "Authentication error"}
    seen = Survey(FLEET, tuple(FLEET), {}, {}, why)
    unread = [each for each in seen.topology.findings if each.verdict.cause == "unread"]
    assert {each.subject: each.verdict.evidence for each in unread} == why
    assert [each for each in seen.fabric() if each.verdict.cause == "unread"] == unread


# --- the virtual pair as it was recorded, with one thing changed


def on(host: str, old: str, new: str) -> Callable[[str, str], str]:
    def change(name: str, text: str) -> str:
        assert name != host or old in text
        return text.replace(old, new) if name == host else text

    return change


def test_a_pair_as_it_should_be() -> None:
    seen = surveyed()
    assert [seen.blocked(rail) for rail in seen.rails] == [None, None]
    assert {finding.verdict.level for finding in seen.fabric()} == {"healthy"}
    ends = seen.ends(seen.rails[1])
    assert ends["spark-b"] == End("roceP2p1s0f0", 1, "enP2p1s0f0np0", "192.168.101.12")
    assert [verdict for verdict in seen.suspects(seen.rails[0]) if verdict.level == "degraded"] == []


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (on("spark-b", '"local":"192.168.100.12"', '"local":"192.168.100.99"'), "no-address"),
        (
            on("spark-a", "|0000:0000:0000:0000:0000:ffff:c0a8:640b|RoCE v2", "|::ffff:c0a8:640b|IB/RoCE v1"),
            "gid-type",
        ),
        (on("spark-b", '"netdev":"enp1s0f0np0"', '"netdev":"gone0"'), "no-rdma"),
    ],
)
def test_a_rail_that_cannot_be_measured(change: Callable[[str, str], str], cause: str) -> None:
    seen = surveyed(change)
    blocked = seen.blocked(seen.rails[0])
    assert blocked and (blocked.level, blocked.cause) == ("fault", cause) and blocked.cure
    assert seen.blocked(seen.rails[1]) is None, "the other rail can be"


def test_a_rail_without_a_device_has_one_end() -> None:
    seen = surveyed(on("spark-b", '"netdev":"enp1s0f0np0"', '"netdev":"gone0"'))
    assert list(seen.ends(seen.rails[0])) == ["spark-a"]


def test_a_gid_that_is_missing_for_want_of_its_address_says_so() -> None:
    def change(name: str, text: str) -> str:
        text = on("spark-b", '"local":"192.168.100.12"', '"local":"192.168.100.99"')(name, text)
        return on("spark-b", "ffff:c0a8:640c", "ffff:c0a8:6463")(name, text)

    verdict = surveyed(change).gid("spark-b", "enp1s0f0np0")
    assert (
        verdict.cause == "gid-missing"
        and "; address of enp1s0f0np0: 192.168.100.99/24 (declared: 192.168.100.12/24)" in verdict.evidence
    )


def test_a_small_mtu_is_a_suspect() -> None:
    seen = surveyed(on("spark-b", '"mtu":9000', '"mtu":1500'))
    named = [verdict.evidence for verdict in seen.suspects(seen.rails[0]) if verdict.cause == "mtu"]
    assert named == ["on spark-b, MTU of enp1s0f0np0: 1500 (declared: 9000)"]


def test_environment_files_that_are_stale_missing_or_spoilt() -> None:
    def env(text: str) -> Callable[[str, str], str]:
        def change(name: str, printed: str) -> str:
            row = next(line for line in printed.splitlines() if line.startswith("/etc/sparkrig/container.env"))
            path, mode, owner, _ = row.split(" ")
            new = f"{path} {mode} {owner} {base64.b64encode(text.encode()).decode()}" if text else ""
            return printed.replace(row, new) if name == "spark-a" else printed

        return change

    for text, cause in (
        ("NCCL_IB_GID_INDEX=3\n", "gid-moved"),
        ("", "env-missing"),
        ("NCCL_IB_GID_INDEX=x\n", "env-unreadable"),
    ):
        seen = surveyed(env(text))
        found = [finding for finding in seen.gids() if not finding.verdict.healthy]
        assert {finding.subject for finding in found} == {"spark-a enp1s0f0np0", "spark-a enP2p1s0f0np0"}
        assert found[0].verdict.cause in (cause, "gid-type"), text
        assert seen.blocked(seen.rails[0]) is None, "what the files say does not stop a measurement"


def test_without_a_declaration_no_environment_file_is_missed() -> None:
    seen = surveyed()
    bare = {name: replace(state, files={}) for name, state in seen.found.items()}
    missed = replace(seen, found=bare)
    assert {each.verdict.cause for each in missed.gids()} == {"env-missing"}
    found = Fleet(dict(seen.fleet), declared=False)
    assert all(each.verdict.healthy for each in replace(missed, fleet=found).gids())


def test_two_versions_of_perftest_are_said() -> None:
    seen = surveyed(on("spark-b", "perftest 6.24", "perftest 6.20"))
    (found,) = [finding for finding in seen.health() if finding.verdict.cause == "versions-differ"]
    assert found.verdict.evidence == "perftest is 6.24 on spark-a and 6.20 on spark-b"
    assert not [finding for finding in surveyed().health() if finding.verdict.cause == "versions-differ"]


def test_the_halves_of_two_cages_share_their_pcie_links(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = surveyed()
    assert seen.pcie_links(seen.names[0]) == {}, "virtual machines share none"
    nics = seen.found["spark-a"].condition.nics
    for netdev, address in zip(RAILS, ("0000:01:00.0", "0002:01:00.1"), strict=True):
        real = replace(nics[netdev], driver="mlx5_core", pcie=replace(nics[netdev].pcie, address=address))
        monkeypatch.setitem(nics, netdev, real)
    monkeypatch.setattr(Survey, "virtual", False)
    assert seen.pcie_links(seen.names[0]) == {0: "0000:01:00", 1: "0002:01:00"}
