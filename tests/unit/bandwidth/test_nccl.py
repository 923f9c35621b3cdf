"""What NCCL's ranks printed, and whether RDMA carried it fast enough. Exit 0 is no evidence."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from sparkrig.bandwidth import nccl, nccl_preflight
from sparkrig.bandwidth.nccl import Nccl, judge, parse
from sparkrig.bandwidth.nccl_preflight import GIB, Preflight, message_size, obstacle, parse_preflight
from sparkrig.host.images import Image
from sparkrig.host.nic import Nic
from sparkrig.verdict import Verdict
from tests.tables import each_row, rows

ROOT = Path(__file__).resolve().parents[3]
RECORDED = ROOT / "tests" / "fixtures" / "nccl"
TEMPLATE = ROOT / "templates" / "all_gather.py"


def recorded(name: str, status: int | None = 0) -> Nccl:
    return parse((RECORDED / f"{name}.log").read_text(), status)


# --- recorded: NVLink and sockets on one host, and every way to fail


def test_a_recorded_result() -> None:
    def holds(case: str, transport: str, busbw: float, why: str) -> None:
        rank = recorded(case)
        assert (rank.transport, rank.why_socket, rank.plugin) == (transport, why, "Socket")
        assert rank.busbw == pytest.approx(busbw, abs=1e-3)
        assert (rank.size, rank.sent, rank.wrong) == (4 * GIB, 12 * 2 * GIB, 0)
        assert (rank.version, rank.stage, rank.devices, rank.error) == ("2.28.9", "check", (), "")

    each_row(
        [
            ("p2p.0", "P2P", 304.557, "NCCL found no RDMA device"),
            ("p2p.1", "P2P", 304.576, "NCCL found no RDMA device"),
            ("socket.0", "Socket", 4.414, "NCCL_IB_DISABLE is set"),
            ("socket.1", "Socket", 4.414, "NCCL_IB_DISABLE is set"),
            ("socket-no-rdma.0", "Socket", 4.613, "NCCL found no RDMA device"),
            ("socket-no-rdma.1", "Socket", 4.613, "NCCL found no RDMA device"),
        ],
        holds,
    )


def test_a_recorded_failure() -> None:
    def holds(case: str, status: int | None, error: str, stage: str, detail: str) -> None:
        rank = recorded(case, status)
        assert (rank.busbw, rank.error, rank.stage) == (None, error, stage)
        assert rank.detail.startswith(detail) and len(rank.detail) <= 160

    each_row(rows(__file__, "a recorded failure"), holds)


def test_the_verdict_on_a_recorded_run() -> None:
    def holds(case: str, statuses: tuple[int | None, int | None], level: str, cause: str, evidence: str) -> None:
        ranks = {
            host: recorded(f"{case}.{number}", status)
            for number, (host, status) in enumerate(zip(("spark-a", "spark-b"), statuses, strict=True))
        }
        verdict = judge(ranks, {})
        assert (verdict.level, verdict.cause) == (level, cause)
        assert verdict.evidence.startswith(evidence) and verdict.cure and not verdict.evidence.endswith(".")

    each_row(
        [
            ("killed-p2p", (142, 137), "unknown", "killed", "spark-b: it was killed (exit 137) in stage measure"),
            ("killed-socket", (None, 137), "unknown", "killed", "spark-b: it was killed"),
            (
                "too-large",
                (1, 1),
                "unknown",
                "cuda-memory",
                "spark-a: no memory for the GPU in stage warm-up (torch.",
            ),
            ("no-interface", (1, 1), "fault", "no-interface", "spark-a: NCCL_SOCKET_IFNAME names no interface"),
            ("port-taken", (1, 142), "unknown", "port-busy", "spark-a: the rendezvous port is taken"),
            ("no-gpu", (1, 1), "unknown", "no-gpu", "spark-a: the container has no GPU"),
            ("alarm", (142, 142), "fault", "timeout", "spark-a: it did not end in time in stage measure"),
            (
                "socket",
                (0, 0),
                "fault",
                "nccl-socket",
                "spark-a: NCCL went over NET/Socket at 4.41 GB/s; NCCL_IB_DISABLE",
            ),
            (
                "p2p",
                (0, 0),
                "unknown",
                "nccl-transport",
                "spark-a: the log names P2P as the transport, and not NET/IB",
            ),
        ],
        holds,
    )


# --- written after NCCL's source (net_ib.cc, transport/net.cc)


def result(busbw: object = 23.74, size: object = 8 * GIB, **more: object) -> str:
    figures = {"rank": 0, "bytes": size, "rounds": 12, "busbw": busbw, "wrong": 0, "nccl": "2.28.9"} | more
    return f"sparkrig-nccl stage check\nsparkrig-nccl {json.dumps(figures)}\n"


USING = "NET/IB : Using [0]rocep1s0f0:1/RoCE [1]roceP2p1s0f0:1/RoCE [RO]; OOB enp1s0f0np0:192.168.100.11<0>"
IB = f"""spark-a:7:7 [0] NCCL INFO NCCL version 2.28.9+cuda13.0
spark-a:7:19 [0] NCCL INFO {USING}
spark-a:7:19 [0] NCCL INFO Using network IB
spark-a:7:19 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0
spark-a:7:19 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[0] [send] via NET/IB/1
spark-a:7:21 [0] NCCL INFO NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn 371 mtu 5 GID 3 (0/B64A8C0FFFF0000) fifoRkey=0x0
"""


def test_rdma_is_told_by_the_log() -> None:
    def holds(log: str, devices: tuple[str, ...], plugin: str, gids: tuple[int, ...]) -> None:
        rank = parse(log + result())
        assert (rank.transport, rank.devices, rank.plugin, rank.gid_indexes) == ("IB", devices, plugin, gids)

    each_row(
        [
            (IB, ("rocep1s0f0", "roceP2p1s0f0"), "IB", (3,)),
            (IB.replace("\n", "\r\n"), ("rocep1s0f0", "roceP2p1s0f0"), "IB", (3,)),
            ("x" * 50 + " banner\n[2026-11-20 10:00:00] " + IB, ("rocep1s0f0", "roceP2p1s0f0"), "IB", (3,)),
            (IB.replace(" [RO]; OOB", " ; OOB"), ("rocep1s0f0", "roceP2p1s0f0"), "IB", (3,)),
            (
                IB.replace("via NET/IB/", "via NET/IBext_v10/").replace("network IB", "network IBext_v10"),
                ("rocep1s0f0", "roceP2p1s0f0"),
                "IBext_v10",
                (3,),
            ),  # NVIDIA's own plugin in its containers
            (
                IB.replace("[0]rocep1s0f0:1/RoCE [1]roceP2p", "[0]={[0] rocep1s0f0:1/RoCE, [1] roceP2p"),
                ("rocep1s0f0", "roceP2p1s0f0"),
                "IB",
                (3,),
            ),  # 2.21 joined devices
            (
                IB.replace(
                    "NCCL Dev 0 IbDev 0 Port 1 qpn 371", "ncclIbConnectImpl: NCCL Dev 0 IbDev 0 Port 1 qp_num 371"
                ),
                ("rocep1s0f0", "roceP2p1s0f0"),
                "IB",
                (3,),
            ),  # 2.30.7
            (IB + IB.replace("GID 3 ", "GID 5 "), ("rocep1s0f0", "roceP2p1s0f0"), "IB", (3, 5)),
            (
                IB.replace("GID 3 ", "GID -1 "),
                ("rocep1s0f0", "roceP2p1s0f0"),
                "IB",
                (),
            ),  # 2.18 prints the variable
            (IB.replace("/0\n", "/0/GDRDMA/Shared\n"), ("rocep1s0f0", "roceP2p1s0f0"), "IB", (3,)),
            ("NET/IB : No device found.\n" + IB, ("rocep1s0f0", "roceP2p1s0f0"), "IB", (3,)),
            (IB.partition("Channel")[0], ("rocep1s0f0", "roceP2p1s0f0"), "IB", ()),  # cut before the channels
        ],
        holds,
    )


def test_what_is_not_rdma() -> None:
    def holds(log: str, transport: str) -> None:
        assert parse(log + result()).transport == transport

    each_row(
        [
            (IB + "Channel 02/0 : 0[0] -> 1[0] [send] via NET/Socket/0\n", "Socket"),  # one channel is enough
            (IB.replace("via NET/IB/", "via NET/Socket/"), "Socket"),  # what is chosen is not what is used
            (IB.replace("via NET/IB/", "via NET/AWS Libfabric/"), "AWS Libfabric"),
            (IB.replace("via NET/IB/0", "via SHM/direct/direct"), "IB+SHM"),
            ("", ""),
        ],
        holds,
    )


def test_the_version_of_a_rank_without_a_result() -> None:
    assert parse(IB, 1).version == "2.28.9"


def test_why_a_rank_has_no_result() -> None:
    def holds(line: str, status: int | None, cause: str) -> None:
        rank = parse(f"sparkrig-nccl stage warm-up\n{line}\n", status)
        assert (rank.error, rank.stage) == (cause, "warm-up")
        verdict = judge({"spark-a": rank, "spark-b": parse("", None)}, {})
        assert verdict.cause == cause and verdict.cure and verdict.level in ("fault", "unknown")

    each_row(rows(__file__, "why a rank has no result"), holds)


def test_trouble_after_a_result_does_not_undo_it() -> None:
    rank = parse(IB + result() + "socketProgress: Connection closed by remote peer\n", 1)
    assert (rank.busbw, rank.error) == (23.74, "")


def test_a_result_that_makes_no_sense_is_refused_in_words() -> None:
    def holds(text: str) -> None:
        with pytest.raises(ValueError, match="the rank's result cannot be read"):
            parse(text)

    each_row(
        [
            "sparkrig-nccl {}",
            'sparkrig-nccl {"busbw": 23.7}',
            "sparkrig-nccl {busbw}",
            result(busbw="fast"),
            result(busbw=0),
            result(busbw=float("nan")),
            result(size=None),
        ],
        holds,
    )


def test_a_result_that_is_cut_off_is_none() -> None:
    assert parse(result().rstrip()[:-5], 0).error == "no-result"


# --- the verdict

SENT = 12 * 4 * GIB
MOVED = {"rocep1s0f0": SENT // 2 + 10**9, "roceP2p1s0f0": SENT // 2}
BOTH = {"spark-a": MOVED, "spark-b": MOVED}


def pair(busbw: float = 23.74, **changes: object) -> dict[str, Nccl]:
    rank = replace(parse(IB + result(busbw)), **changes)  # type: ignore[arg-type]
    return {"spark-a": rank, "spark-b": replace(rank, busbw=busbw + 0.02)}


def test_bands() -> None:
    def holds(busbw: float, level: str, cause: str) -> None:
        verdict = judge(pair(busbw), BOTH)
        assert (verdict.level, verdict.cause) == (level, cause)
        assert verdict.evidence.startswith(
            f"{busbw:.2f} GB/s at 8 GiB by NCCL 2.28.9 over rocep1s0f0 and roceP2p1s0f0"
        )
        assert bool(verdict.cure) == (level != "healthy")

    each_row(rows(__file__, "bands"), holds)


def test_the_slower_rank_counts() -> None:
    ranks = pair(23.74)
    ranks["spark-b"] = replace(ranks["spark-b"], busbw=3.0)
    assert judge(ranks, BOTH).cause == "slow-start"


@pytest.mark.parametrize(
    ("version", "words", "cure"),
    [
        (
            "2.27.7",
            "NCCL 2.27.7 is known to be slow",
            "measure the rails alone with sparkrig bandwidth; if they are healthy, set nccl_image to one with "
            "NCCL 2.28.9 or 2.30.7, and libibverbs",
        ),
        ("2.28.9", "NCCL 2.28.9 is known to work", "measure the rails alone with sparkrig bandwidth"),
        (
            "2.29.2",
            "NCCL 2.29.2 is not among the releases that are known to work (2.28.9, 2.30.7)",
            "measure the rails alone with sparkrig bandwidth; at 13 Gb/s reboot both Sparks",
        ),
    ],
)
def test_the_release_is_evidence(version: str, words: str, cure: str) -> None:
    """Beside a link that started slow, until that was measured: 2.8 GB/s was seen with a release that works."""
    verdict = judge(pair(3.04, version=version), BOTH)
    assert verdict.evidence.endswith(words) and verdict.cure.startswith(cure)
    assert ("(slow-start)" in verdict.evidence) == (version != "2.27.7")
    assert ("nccl_image" in verdict.cure) == (version != "2.28.9")
    assert verdict.cause == ("nccl-build" if version == "2.27.7" else "slow-start")
    measured = judge(pair(3.04, version=version), BOTH, Verdict("healthy"))
    assert "slow-start" not in measured.evidence and measured.evidence.endswith(words)
    assert measured.cause == "nccl-build"
    assert measured.cure == cure or measured.cure.startswith("set nccl_image")


def test_a_slow_rail_explains_a_slow_figure_and_no_good_one() -> None:
    rails = Verdict("fault", "slow-start", "rail 0 carries 13.35 Gb/s", "reboot both hosts")
    verdict = judge(pair(3.3), BOTH, rails)
    assert (verdict.level, verdict.cause, verdict.cure) == ("fault", "rails-slow", "reboot both hosts")
    assert "rail 0 carries 13.35 Gb/s" in verdict.evidence
    assert judge(pair(3.3), BOTH, Verdict("healthy")).cause == "nccl-build"
    assert judge(pair(23.74), BOTH, rails).healthy


def test_the_idle_device_is_named() -> None:
    moved = BOTH | {"spark-b": {"rocep1s0f0": SENT, "roceP2p1s0f0": 4096}}
    verdict = judge(pair(11.0), moved)
    assert verdict.cause == "one-hca"
    assert verdict.evidence.endswith("what one HCA carries; roceP2p1s0f0 of spark-b carried nothing")


def test_the_log_alone_proves_nothing() -> None:
    def holds(moved: dict[str, dict[str, int]], level: str, cause: str) -> None:
        verdict = judge(pair(), moved)
        assert (verdict.level, verdict.cause) == (level, cause)

    each_row(
        {
            "moved": (BOTH, "healthy", "nccl"),
            "none": ({}, "unknown", "counters-unread"),
            "one host": ({"spark-a": MOVED}, "unknown", "counters-unread"),
            "no device": ({"spark-a": MOVED, "spark-b": {}}, "unknown", "counters-unread"),
            "still": (
                {"spark-a": MOVED, "spark-b": {"rocep1s0f0": 0, "roceP2p1s0f0": 0}},
                "fault",
                "counters-still",
            ),
            "a quarter": ({"spark-a": {"rocep1s0f0": SENT // 4}, "spark-b": MOVED}, "fault", "counters-still"),
            "a quarter, and unread": ({"spark-a": {"rocep1s0f0": SENT // 4}}, "fault", "counters-still"),
        },
        holds,
    )


def test_sockets_are_a_fault_whatever_the_figure() -> None:
    verdict = judge(pair(24.0, transport="Socket"), BOTH)
    assert (verdict.level, verdict.cause) == ("fault", "nccl-socket")


def test_why_it_went_over_sockets() -> None:
    def holds(line: str, cure: str) -> None:
        log = f"{line}\nUsing network Socket\nChannel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0\n{result(0.9)}"
        assert cure in judge({"spark-a": parse(log)}, {}).cure

    each_row(
        [
            ("NCCL_IB_DISABLE set by environment to 1.", "NCCL_IB_DISABLE"),
            ("NCCL_NET set by environment to Socket", "NCCL_NET"),
            ("Failed to open libibverbs.so[.1]", "libibverbs"),
            ("NET/IB : No device found.", "NCCL_IB_HCA"),
            ("NCCL_IB_DISABLE set by environment to 0.", "look for NET/IB"),
        ],
        holds,
    )


def test_wrong_values_are_a_fault_at_any_speed() -> None:
    verdict = judge(pair(wrong=3), BOTH)
    assert (verdict.level, verdict.cause) == ("fault", "wrong-values")
    assert "3 on spark-a" in verdict.evidence


# --- what is asked of a host before

SPARK = Preflight("29.2.1", Image("sha256:" + "a" * 64), 1, True, True, 127_535_084 * 1024, 110 * GIB, 29600)


def test_message_size_leaves_memory_free() -> None:
    def holds(available: float, size: int | None) -> None:
        host = replace(SPARK, available=int(available * GIB))
        wanted = None if size is None else size * GIB
        assert message_size([host]) == message_size([SPARK, host]) == message_size([host, SPARK]) == wanted
        if wanted:
            assert host.available - wanted - nccl_preflight.OVERHEAD >= nccl_preflight.KEPT_SHARE * host.total

    each_row([(110, 8), (26.6, 8), (26.5, 7), (23.6, 5), (22.6, 4), (22.5, None), (5, None), (0, None)], holds)


@pytest.mark.promise(9)
def test_a_check_that_cannot_be_run_is_not_passed() -> None:
    def holds(change: dict[str, object], cause: str, words: str) -> None:
        lacking = replace(SPARK, **change)  # type: ignore[arg-type]
        verdict = obstacle({"spark-a": SPARK, "spark-b": lacking}, "nccl:1")
        assert verdict and (verdict.level, verdict.cause) == ("unknown", cause)
        assert verdict.evidence.startswith("spark-b: ") and words in verdict.evidence and verdict.cure

    each_row(
        [
            ({"gpus": 0}, "no-gpu", "nvidia-smi lists no GPU"),
            ({"docker": ""}, "no-docker", "docker does not answer"),
            ({"image": None}, "no-image", "the image nccl:1 is not there"),
            ({"rdma": False}, "no-rdma", "no /dev/infiniband"),
            ({"environment": False}, "no-environment", "/etc/sparkrig/container.env"),
            ({"port": None}, "port-busy", "29600 to 29699"),
            ({"available": 20 * GIB}, "memory-low", "20.0 GiB of memory available, 22.6 GiB needed"),
        ],
        holds,
    )


def test_one_image_on_both() -> None:
    assert obstacle({"spark-a": SPARK, "spark-b": SPARK}, "nccl:1") is None
    other = replace(SPARK, image=Image("sha256:" + "b" * 64))
    verdict = obstacle({"spark-a": SPARK, "spark-b": other}, "nccl:1")
    assert verdict and (verdict.level, verdict.cause) == ("unknown", "image-differs")
    assert verdict.evidence == "nccl:1 is not one image: spark-a aaaaaaaaaaaa, spark-b bbbbbbbbbbbb"


def test_one_image_in_two_stores_is_one() -> None:
    rows = ["docker 29.2.1", "image sha256:1", f"content sha256:1 {'c' * 64}", *MEMORY]
    first, second = (parse_preflight([row.replace("sha256:1", f"sha256:{id}") for row in rows]) for id in "12")
    assert second.image and second.image.id == "sha256:2"
    held = {"spark-a": replace(SPARK, image=first.image), "spark-b": replace(SPARK, image=second.image)}
    assert obstacle(held, "nccl:1") is None
    other = replace(SPARK, image=Image("sha256:2", content="d" * 64))
    assert obstacle({**held, "spark-b": other}, "nccl:1") is not None


MEMORY = ["MemTotal 127535084", "MemAvailable 115343360"]


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (
            ["docker 29.2.1", "image sha256:" + "a" * 64, "gpus 1", "rdma", "environment", *MEMORY, "port 29600"],
            SPARK,
        ),
        (["gpus 0", *MEMORY], Preflight("", None, 0, False, False, SPARK.total, SPARK.available, None)),
        (["gpus 0\r", *(f"{row}\r" for row in MEMORY)], parse_preflight(["gpus 0", *MEMORY])),
    ],
    ids=["all", "nothing", "CRLF"],
)
def test_parse_preflight(lines: list[str], found: Preflight) -> None:
    assert parse_preflight(lines) == found


@pytest.mark.parametrize("lines", [[], ["gpus 1", "MemTotal 1"], ["gpus x", *MEMORY]])
def test_half_a_preflight_is_refused(lines: list[str]) -> None:
    with pytest.raises(ValueError, match=r"memory|invalid literal"):
        parse_preflight(lines)


def test_preflight_runs(tmp_path: Path) -> None:
    """The script itself, on this machine, with a docker and an nvidia-smi of our own."""
    (tmp_path / "docker").write_text(
        '#!/bin/sh\n[ "$1" = version ] && echo 29.2.1 || { shift 4; echo "sha256:$1"; }\n'
    )
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\necho 'GPU 0: NVIDIA GB10'\n")
    for name in ("docker", "nvidia-smi"):
        (tmp_path / name).chmod(0o755)
    (tmp_path / "env").touch()
    words = ["nccl:1", "29600", "29699", str(tmp_path / "env")]
    found = _preflight(words, f"{tmp_path}:{os.environ['PATH']}")
    assert (found.docker, found.image, found.gpus, found.environment) == (
        "29.2.1",
        Image("sha256:nccl:1"),
        1,
        True,
    )
    assert found.port is not None and 29600 <= found.port <= 29699 and found.total > found.available > 0


def test_preflight_runs_where_nothing_is(tmp_path: Path) -> None:
    for name in ("docker", "nvidia-smi"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    found = _preflight(["nccl:1", "2", "1", "/nonexistent"], f"{tmp_path}:{os.environ['PATH']}")
    assert (found.docker, found.image, found.gpus, found.environment, found.port) == ("", None, 0, False, None)


def _preflight(words: list[str], path: str) -> Preflight:
    command = ["sh", "-c", nccl_preflight.PREFLIGHT, "sparkrig", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={"PATH": path})
    return parse_preflight(done.stdout.splitlines())


# --- the commands


def test_the_commands_to_the_word() -> None:
    assert nccl_preflight.preflight_words("nccl:1") == ["nccl:1", "29600", "29699", "/etc/sparkrig/container.env"]
    assert " ".join(nccl.rank_words("7f3a", "nccl:1", 1, "192.168.100.11", 29600, 8 * GIB, 2.0)) == (
        "timeout -k 10 390 docker run --rm -i --init --pull never --name sparkrig-nccl-7f3a --gpus all"
        " --network host --ipc host --device /dev/infiniband --ulimit memlock=-1 --cap-add IPC_LOCK"
        " --env-file /etc/sparkrig/container.env -e NCCL_DEBUG=INFO -e NCCL_DEBUG_SUBSYS=INIT,BOOTSTRAP,ENV,NET"
        " -e NCCL_DEBUG_FILE=/dev/stderr --entrypoint python3 nccl:1"
        " - --rank 1 --address 192.168.100.11 --port 29600 --bytes 8589934592 --limit 360"
    )


def test_how_a_rank_ended() -> None:
    def holds(printed: str, log: str, status: int | None) -> None:
        assert nccl.ended(printed) == (log, status)

    each_row(
        [
            ("one\ntwo\n\nsparkrig-nccl exit 0\n", "one\ntwo\n", 0),
            ("\nsparkrig-nccl exit 137", "", 137),  # nothing was printed
            ("one\ntw", "one\ntw", None),  # it broke off
            ("one\nsparkrig-nccl exit ", "one\nsparkrig-nccl exit ", None),
            ("", "", None),
        ],
        holds,
    )


def nics(**sent: int | None) -> dict[str, Nic]:
    return {netdev: Nic(netdev, "p0", device=f"roce-{netdev}", sent_bytes=count) for netdev, count in sent.items()}


def test_bytes_that_moved() -> None:
    def holds(before: dict[str, Nic], after: dict[str, Nic], found: dict[str, int]) -> None:
        assert nccl.moved(before, after, ["one", "two"]) == found

    each_row(
        {
            "two": (nics(one=100, two=200), nics(one=150, two=200), {"roce-one": 50, "roce-two": 0}),
            "other cage": (
                nics(one=100, other=0),
                nics(one=150, other=900),
                {"roce-one": 50},
            ),  # not of this fabric
            "anew": (nics(one=100), nics(one=40), {"roce-one": 40}),  # the counter started anew
            "not counted": (nics(one=None), nics(one=None), {}),  # soft-RoCE
            "gone": (nics(one=100), {}, {}),
            "none": ({}, {}, {}),
        },
        holds,
    )


def test_the_script_knows_its_words() -> None:
    """The script needs a GPU to run; tests/record_nccl.py proved it on one (fixtures/nccl/README.md)."""
    words = nccl.rank_words("7f3a", "nccl:1", 0, "192.168.100.11", 29600, GIB)
    options = [word for word in words[words.index("-") :] if word.startswith("--")]
    known = re.findall(r'add_argument\("(--\w+)"', TEMPLATE.read_text())
    assert set(options) <= set(known)
    assert set(re.findall(r'add_argument\("(--\w+)".*required=True', TEMPLATE.read_text())) <= set(options)
