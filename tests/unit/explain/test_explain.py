"""What people paste: each tool, each form of it, told apart, read and judged, or refused in words.

tests/fixtures holds what was recorded; the rest are the forms of pastes in public pages
[@capetron, @eugr, @epappas], issues [@playbooks-25, @playbooks-103, @playbooks-108, @perftest-132, @perftest-342]
and threads [@forum-367853].
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sparkrig.bandwidth import nccl_tests
from sparkrig.explain.explanation import Explained
from sparkrig.explain.tools import exit_code, explain
from sparkrig.verdict import Verdict
from tests.tables import data, each_row
from tests.unit.pastes import FIXTURES, HEALTHY, SLOW, perftest, run

SERIAL, UUID = "MT2402XZ0AB", "0a1b2c3d-1234-5678-9abc-0a1b2c3d4e5f"


def recorded(name: str) -> str:
    return (FIXTURES / name).read_text()


def only(text: str) -> tuple[Explained, Verdict]:
    (one,) = [one for one in explain(text) if one.findings]
    (finding,) = one.findings
    return one, finding.verdict


HEADER = " #bytes     #iterations    BW peak[{0}]    BW average[{0}]   MsgRate[Mpps]\n"


# --- the fault, its twin, and a healthy link


def test_the_unit_twin_is_explained() -> None:
    one, _ = only(perftest("13334.70", "0.213355", "MB/sec"))
    assert one.notes == (
        "printed in MiB/s, because --report_gbits was not given (perftest's MB is 2^20 bytes); "
        "13.33 Gb/s would be a fault, and this is 111.86 Gb/s",
    )


# --- every form of sections 2, 5, 6 and 9

GIDS = """\
DEV	PORT	INDEX	GID					IPv4  		VER	DEV
---	----	-----	---					------------  	---	---
rocep1s0f0	1	0	fe80:0000:0000:0000:3a25:f3ff:fe00:0001			v1	enp1s0f0np0
rocep1s0f0	1	1	fe80:0000:0000:0000:3a25:f3ff:fe00:0001			v2	enp1s0f0np0
rocep1s0f0	1	2	0000:0000:0000:0000:0000:ffff:c0a8:640b	192.168.100.11  	v1	enp1s0f0np0
rocep1s0f0	1	3	0000:0000:0000:0000:0000:ffff:c0a8:640b	192.168.100.11  	v2	enp1s0f0np0
n_gids_found=4
"""
MOVED = (
    GIDS.replace("\t3\t", "\t5\t")
    .replace("\t2\t", "\t4\t")
    .replace(
        "n_gids_found=4\n",
        "rocep1s0f0\t1\t2\tfe80:0000:0000:0000:9d1c:77aa:0102:0304\t\t\tv1\tenp1s0f0np0\n"
        "rocep1s0f0\t1\t3\tfe80:0000:0000:0000:9d1c:77aa:0102:0304\t\t\tv2\tenp1s0f0np0\nn_gids_found=6\n",
    )
)
NO_IPV4 = "\n".join([*GIDS.splitlines()[:4], "n_gids_found=2\n"])
UP = "rocep1s0f1 port 1 ==> enp1s0f1np1 (Up)\nroceP2p1s0f1 port 1 ==> enP2p1s0f1np1 (Up)\n"
VERBOSE = (
    f"0000:01:00.1 rocep1s0f1 (MT4129 - {SERIAL}) NVIDIA ConnectX-7 fw 28.45.4028 port 1 (ACTIVE) "
    "==> enp1s0f1np1 (Up)\n"
)
ETHTOOL = "Settings for enp1s0f0np0:\n\tSpeed: 200000Mb/s\n\tDuplex: Full\n\tLink detected: yes\n"
MODULE = f"\tIdentifier : 0x11 (QSFP28)\n\tVendor name : Mellanox\n\tVendor PN : MCP1650\n\tVendor SN : {SERIAL}\n"
DRIVER = (
    "driver: mlx5_core\nversion: 6.17.0\nfirmware-version: 28.45.4028 (NVD0000000087)\nbus-info: 0000:01:00.0\n"
)
LSPCI = """\
0002:01:00.0 Ethernet controller: Mellanox Technologies MT2910 Family [ConnectX-7]
		LnkCap:	Port #0, Speed 32GT/s, Width x4, ASPM not supported
		LnkSta:	Speed 32GT/s, Width x4
	Capabilities: [140 v1] Device Serial Number 48-b0-2d-ff-ff-01-02-03
0004:01:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller
		LnkSta:	Speed 16GT/s, Width x2
"""
FORUM_LSPCI = "0002:01:00.0  LnkCap: Speed 32GT/s, Width x4    LnkSta: Speed 32GT/s, Width x2 (downgraded)\n"
SMI = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 580.126.09             Driver Version: 580.126.09     CUDA Version: 13.0     |
+-----------------------------------------+------------------------+----------------------+
|   0  NVIDIA GB10                    On  |   0000000F:01:00.0 Off |                  N/A |
| N/A   36C    P8              3W /  N/A  | Not Supported          |      0%      Default |
"""
CSV = "index, name, uuid, utilization.gpu [%], clocks.current.sm [MHz], memory.total [MiB]\n"
NCCL_TESTS = """\
# Collective test starting: all_gather_perf
# nThread 1 nGpus 1 minBytes 17179869184 maxBytes 17179869184 step: 2(factor) warmup iters: 1 iters: 20
# Using devices
#  Rank  0 Group  0 Pid 1935208 on      spark device  0 [000f:01:00] NVIDIA GB10
#  Rank  1 Group  0 Pid 1278829 on spark-3995 device  0 [000f:01:00] NVIDIA GB10
#       size         count      type   redop    root     time   algbw   busbw #wrong    time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
 17179869184    2147483648     float    none      -1   453650   37.87   18.94      0  410049   41.90   20.95      0
# Avg bus bandwidth    : 19.9425
"""
FAST = NCCL_TESTS.replace("18.94", "22.60").replace("20.95", "22.80")
LOG = (
    "spark-9f8f:315:315 [0] NCCL INFO NET/IB : Using [0]rocep1s0f1:1/RoCE [1]roceP2p1s0f1:1/RoCE [RO]; OOB x\n"
    "spark-9f8f:315:401 [0] NCCL INFO Channel 09/0 : 1[0] -> 0[0] [send] via NET/IB/1\n"
)
LATENCY = """\
 #bytes #iterations  t_min[usec]  t_max[usec]  t_typical[usec]  t_avg[usec]  t_stdev[usec]   99% percentile[usec]
 2       1000          1.50           4.19      1.55      1.60    0.02    1.64
 8388608       1000          1.50           4.19      621.5      1.60    0.02    1.64
"""
REPORT = json.dumps(
    {
        "test_info": {"test": "RDMA_Write_BW_Test", "Device": "rocep1s0f0", "Mtu": 4096},
        "results": {"MsgSize": 65536, "n_iterations": 1000, "BW_average": 13334.7, "MsgRate": 0.213355},
    },
    indent=0,
)
SWEEP = HEADER.format("Gb/sec") + " 2  5000  0.042  0.042  2.63\n 65536  5000  112.0  111.8  0.213\n"

FORMS = data(__file__)


def form(row: Mapping[str, Any]) -> str:
    """The text of a row of test_explain.yaml. of: a text of this module; cut: from where on it is left out."""
    text = str(row.get("text") or (recorded(row["file"]) if "file" in row else globals()[row["of"]]))
    for words, others in row.get("put", {}).items():
        assert words in text
        text = text.replace(words, others)
    return (text[: text.index(row["cut"])] if "cut" in row else text) + str(row.get("then", ""))


def test_each_form_of_a_tools_output_gets_the_right_value_or_a_named_refusal() -> None:
    def holds(row: Mapping[str, Any]) -> None:
        tool, read, told = row["is"]
        for text in (form(row), form(row).replace("\n", "\r\n")):
            one, verdict = only(text)
            assert (one.tool, f"{verdict.level} {verdict.cause}".strip()) == (tool, told)
            assert read in one.read and (verdict.evidence or verdict.cause)
            assert row.get("subject", one.findings[0].subject) == one.findings[0].subject
            assert verdict.healthy or verdict.cure or verdict.cause == "unreadable"

    each_row({name: (row,) for name, row in FORMS.items()}, holds)


@pytest.mark.parametrize(
    ("text", "tool", "read"),
    [(DRIVER, "ethtool -i", "mlx5_core, firmware 28.45.4028"), (MODULE, "ethtool -m", "Mellanox, MCP1650")],
)
def test_what_only_informs_has_no_verdict(text: str, tool: str, read: str) -> None:
    (one,) = explain(text)
    assert (one.tool, one.findings) == (tool, ()) and one.read.startswith(read)
    assert exit_code([one]) == 3


@pytest.mark.parametrize(
    "text",
    [
        " Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\nscnt=128, ccnt=0\n",
        "Completion with error at client: syndrome 0x81\n",
        " Completion with error at client\n Failed status 12: wr_id 0 syndrome 0x81\n",
    ],
    ids=["24.01", "syndrome alone", "spelled out"],
)
def test_syndrome_0x81_is_a_peer_that_does_not_acknowledge(text: str) -> None:
    verdict = only(text)[1]
    assert verdict.cause == "retry-exceeded"
    assert "status 12" not in verdict.evidence or "syndrome 0x81" in verdict.evidence


# --- a figure by itself


@pytest.mark.parametrize("text", ["13.35", "13.35\n", "13,35", " BW average: 13.35 "])
def test_a_bare_figure_is_said_to_be_ambiguous(text: str) -> None:
    one, verdict = only(text)
    assert (verdict.level, verdict.cause, exit_code([one])) == ("unknown", "unit-ambiguous", 3)
    for words in (
        "as Gb/s it is a fault (slow-start)",
        "as MiB/s (0.11 Gb/s)",
        "as GB/s (106.80 Gb/s) it is healthy",
    ):
        assert words in verdict.evidence


def test_a_figure_with_a_unit() -> None:
    def holds(text: str, read: str, cause: str) -> None:
        one, verdict = only(text)
        assert read in one.read and verdict.cause == cause

    each_row(
        [
            ("13.35 Gb/s", "13.35 Gb/s", "slow-start"),
            ("111.86Gbps", "111.86 Gbps", ""),
            ("13,334.70 MiB/sec", "= 111.86 Gb/s", ""),
            ("13334.7", "13334.7", "unit-ambiguous"),
            ("13.9 GB/s", "13.9 GB/s", "unit-ambiguous"),  # perftest prints no such unit
        ],
        holds,
    )


# --- what would mislead


def test_both_directions_are_halved() -> None:
    text = HEALTHY.replace("RDMA_Write BW", "RDMA_Write Bidirectional BW")
    one, verdict = only(text.replace("111.86", "26.70"))
    assert verdict.cause == "slow-start" and "13.35 Gb/s" in verdict.evidence
    assert "26.70 Gb/s in both directions together" in one.read and "sum of both directions" in one.notes[0]
    assert only(text.replace("111.86", "196.00"))[1].healthy


def test_a_small_path_mtu_is_said_beside_a_worse_fault() -> None:
    one, verdict = only(SLOW.replace("4096[B]", "1024[B]"))
    assert verdict.cause == "slow-start" and any("path MTU is 1024" in note for note in one.notes)


@pytest.mark.parametrize(
    "prose",
    [
        "Can't get any further. It should be between 92 and 109 Gb/s!",
        "Failed to find a reason. Unable to sleep. In use somewhere.",
    ],
)
def test_the_poster_s_own_words_are_no_failure(prose: str) -> None:
    assert only(f"{prose}\n{HEALTHY}\n{prose}\n")[1].healthy


def test_a_forced_link_type_is_judged_by_the_device() -> None:
    forced = recorded("paste/ib_write_bw-force-link-ib.txt")
    by_another_name = forced.replace("rocep1s0f1", "mlx5_1")

    def holds(text: str, level: str, cause: str, noted: bool) -> None:
        one = explain(text)[-1]
        (finding,) = one.findings
        assert (finding.verdict.level, finding.verdict.cause) == (level, cause)
        assert any("--force-link" in note for note in one.notes) is noted

    each_row(
        {
            "recorded": (forced, "degraded", "path-mtu", True),
            "at the path MTU of a Spark": (forced.replace("1024[B]", "4096[B]"), "healthy", "", True),
            "slow": (forced.replace("111.71", "13.35"), "fault", "slow-start", True),
            "the other half": (forced.replace("rocep1s0f1", "roceP2p1s0f0"), "degraded", "path-mtu", True),
            "real InfiniBand": (forced.replace("rocep1s0f1", "ibp12s0"), "unknown", "other-hardware", False),
            "mlx5_1 of any machine": (by_another_name, "unknown", "other-hardware", False),
            "mlx5_1 of a Spark": (
                f"mlx5_1 port 1 ==> enp1s0f1np1 (Up)\n{by_another_name}",
                "degraded",
                "path-mtu",
                True,
            ),
            "mlx5_1 beside a Spark's mlx5_0": (
                f"mlx5_0 port 1 ==> enp1s0f1np1 (Up)\nmlx5_1 port 1 ==> ens5 (Up)\n{by_another_name}",
                "unknown",
                "other-hardware",
                False,
            ),
        },
        holds,
    )


def test_a_broken_run_is_not_saved_by_its_figure() -> None:
    one, verdict = only(HEALTHY + " Completion with error at client\n Failed status 5: wr_id 0 syndrom 0xf5\n")
    assert verdict.cause == "flushed" and "proves nothing" in one.notes[0]


def test_a_narrow_pcie_link_in_the_same_paste_explains_the_figure() -> None:
    found = explain(FORUM_LSPCI + "$ ib_write_bw 10.0.0.2 --report_gbits\n" + perftest("55.2", "0.105"))
    assert [each.findings[0].verdict.cause for each in found] == ["pcie-width", "pcie-width"]
    assert "55.20 Gb/s" in found[1].findings[0].verdict.evidence


def test_several_speeds_below_one_command_line_are_each_judged() -> None:
    def holds(command: str, *subjects: str) -> None:
        (one,) = explain(f"$ {command}\n\tSpeed: 25000Mb/s\n\tSpeed: 200000Mb/s\n")
        assert [finding.subject for finding in one.findings] == [*subjects]
        assert [finding.verdict.healthy for finding in one.findings] == [False, True]

    pair = ("enp1s0f0np0", "enP2p1s0f0np0")
    each_row(
        [
            ("ethtool enp1s0f0np0 | grep Speed; ethtool enP2p1s0f0np0 | grep Speed", *pair),
            ("for i in enp1s0f0np0 enP2p1s0f0np0; do ethtool $i | grep Speed; done", *pair),
            ("for i in $(ls /sys/class/net); do ethtool $i | grep Speed; done", "the link", "the link"),
        ],
        holds,
    )


def test_a_cable_that_calls_itself_40g_is_no_fault() -> None:
    (one,) = explain(recorded("paste/ethtool-m-njaakk-n911.txt"))
    assert (one.read, one.findings, exit_code([one])) == ("Amphenol, NJAAKK-N911", (), 3)
    assert "calls itself 40G Ethernet: 40G Base-CR4" in one.notes[0]


def test_one_twin_down_and_one_twin_without_an_address() -> None:
    (one,) = explain(UP.replace("enP2p1s0f1np1 (Up)", "enP2p1s0f1np1 (Down)"))
    assert [finding.verdict.cause for finding in one.findings] == ["twin-down"]
    rows = "\n".join(row.replace("rocep1s0f0", "roceP2p1s0f0") for row in NO_IPV4.splitlines()[2:4])
    (one,) = explain(GIDS.replace("n_gids_found=4", rows))
    assert "roceP2p1s0f0 has no IPv4 address, though its twin rocep1s0f0 has one" in one.notes[0]


def test_twins_in_one_subnet_are_a_fault() -> None:
    shared = recorded("paste/show_gids-twins-in-one-subnet.txt")
    link_local = shared.replace("c0a8:640a", "a9fe:0101").replace("c0a8:640e", "a9fe:fe02")
    narrow = "inet 192.168.100.10/30 scope global enp1s0f0np0\ninet 192.168.100.14/30 scope global enP2p1s0f0np0\n"

    def holds(text: str, causes: list[str], code: int) -> None:
        found = explain(text)
        assert [each.verdict.cause for each in found[0].findings if each.subject == "the fabric"] == causes
        assert exit_code(found) == code

    each_row(
        {
            "recorded": (shared, ["one-subnet"], 2),
            "subnets of their own": (shared.replace("c0a8:640e", "c0a8:650e"), [], 0),
            "link-local, a /16": (link_local, ["one-subnet"], 2),
            "as /30, which the paste tells": (f"$ show_gids\n{shared}$ ip -4 addr\n{narrow}", [], 0),
            "as /16, which the paste tells": (
                f"{shared.replace('c0a8:640e', 'c0a8:650e')}$ ip -4 addr\n{narrow.replace('/30', '/16')}",
                ["one-subnet"],
                2,
            ),
            "another machine": (shared.replace("0f", "9f"), [], 0),
        },
        holds,
    )
    (one,) = explain(shared)
    assert one.findings[-1].verdict.evidence.startswith(
        "enP2p1s0f0np0 (192.168.100.14/24) and enp1s0f0np0 (192.168.100.10/24) share a subnet"
    )


def test_indexes_that_differ_by_device() -> None:
    other = MOVED.replace("rocep1s0f0", "roceP2p1s0f0").replace("enp1", "enP2p1").replace("c0a8:640b", "c0a8:650b")
    (one,) = explain(GIDS + "\n".join(other.splitlines()[2:]))
    assert "NCCL_IB_ADDR_FAMILY=AF_INET" in one.notes[0] and exit_code([one]) == 0


# --- one paste of many tools

FORUM = f"""\
Hi all, I can't get more than 13 Gb/s:

> nvidia@spark-a:~$ ib_write_bw -d rocep1s0f0 -x 3 -q 4 -D 10 --report_gbits 192.168.100.12
{"".join(f"> {line}{chr(10)}" for line in SLOW.splitlines())}> nvidia@spark-a:~$ ibdev2netdev
> rocep1s0f1 port 1 ==&gt; enp1s0f1np1 (Up)
> nvidia@spark-a:~$ uptime
>  20:36:03 up 1 day,  load average: 0.15, 0.24, 0.18
```bash
[root@spark-b ~]# show_gids
{GIDS}
```
sudo lspci -vv -d 15b3:
{LSPCI}
(base) nvidia@spark-b ~ % nvidia-smi
{SMI}
$ nvidia-smi -q
{recorded("gpu/gb10-stand-in-q.txt")}
nvidia@spark-b:~$ sudo ethtool enp1s0f0np0
{ETHTOOL}{DRIVER}{MODULE}
{NCCL_TESTS}
Thanks! Can't wait for an answer.
"""


@pytest.mark.parametrize("coloured", [False, True], ids=["plain", "ANSI"])
def test_a_forum_post_is_taken_apart(coloured: bool) -> None:
    text = FORUM.replace("nvidia@", "\x1b]0;title\x07\x1b[01;32mnvidia@\x1b[00m") if coloured else FORUM
    text = text.replace(" 13.35 ", " \x1b[1;31m13.35\x1b[0m ") if coloured else text
    tools = "ib_write_bw ibdev2netdev show_gids lspci nvidia-smi nvidia-smi+-q ethtool ethtool+-i ethtool+-m NCCL"
    found = explain(text)
    assert [each.tool.replace(" ", "+") for each in found] == tools.split()
    assert {finding.verdict.cause for each in found for finding in each.findings} == {
        "slow-start",
        "",
        "below-pass",
    }


def test_two_runs_without_a_prompt_between_them() -> None:
    found = explain(HEALTHY + SLOW.replace("rocep1s0f0", "roceP2p1s0f0"))
    assert [(each.findings[0].subject, each.findings[0].verdict.cause) for each in found] == [
        ("rocep1s0f0", ""),
        ("roceP2p1s0f0", "slow-start"),
    ]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("nvidia@a:~$ show_gids\nshow_gids: command not found\n", "not-installed"),
        ("nvidia@a:~$ sudo ethtool -m enp1s0f1np1\nnetlink error: No such device\n", "no-answer"),
        ("bash: ib_write_bw: command not found\n", "perftest-missing"),
        ("$ ib_write_bw -d rocep1s0f0\n\n* Waiting for client to connect... *\n", "no-client"),
    ],
)
def test_a_tool_without_an_answer(text: str, cause: str) -> None:
    assert only(text)[1].cause == cause


def test_a_server_in_the_background_says_nothing() -> None:
    assert len(explain(f"nvidia@a:~$ ib_write_bw &\n[1] 4242\nnvidia@a:~$ ib_write_bw 10.0.0.2\n{HEALTHY}")) == 1


# --- package lists

SPARKS = {name: recorded(f"sparks/{name}-packages.csv") for name in ("sparketa", "sparkjr", "sparky")}
NEXT = "linux-modules-nvidia-580-open-6.17.0-1029-nvidia"


def rows(text: str, form: str) -> str:
    return "".join(form.format(*line.split(",")) for line in text.splitlines())


# As each tool prints a row.
DPKG = "ii  {0:<60}  {1:<40} arm64        ethtool, nvidia-smi and what else it may say\n"
LISTS = {
    "NAME,VERSION": "{0},{1}\n",
    "dpkg-query -W": "{0}\t{1}\n",
    "dpkg-query -W, tabs lost": "{0} {1}\n",
    "dpkg -l": DPKG,
    "dpkg -l, held": DPKG.replace("ii", "hi"),
    "apt list": "{0}/noble-updates,noble-security,now {1} arm64 [installed,automatic]\n",
    "apt list, behind": "{0}/noble,now {1} arm64 [installed,upgradable to: 999.9-1]\n",
    "with its state": "{0},{1},install ok installed\n",
}
TITLES = {
    "dpkg -l": "Desired=Unknown/Install/Remove/Purge/Hold\n||/ Name   Version   Architecture Description\n",
    "apt list": "Listing... Done\n",
}


def without(text: str, *names: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if line.split(",")[0] not in names)


def causes(text: str) -> list[str]:
    (one,) = explain(text)
    return [finding.verdict.cause for finding in one.findings]


def test_the_recorded_lists_are_healthy_in_each_form() -> None:
    def holds(spark: str, form: str, command: str) -> None:
        text = command + TITLES.get(form, "") + rows(SPARKS[spark], LISTS[form])
        (one,) = explain(text)
        assert one.tool == "package list"
        assert [finding.verdict.evidence for finding in one.findings] == [
            "580.173.02, of branch 580",
            f"kernel 6.17.0-1029-nvidia with the nvidia.ko of {NEXT}",
        ]
        assert exit_code([one]) == 0 and any("no sign of another driver" in note for note in one.notes)

    each_row([(spark, form, "") for spark in SPARKS for form in LISTS], holds)
    each_row([("sparky", form, "$ dpkg -l\n") for form in LISTS], holds)


def test_a_list_with_several_kernels_says_that_it_does_not_tell_a_pin() -> None:
    newer = "linux-image-7.0.0-12-generic,7.0.0-12.12\n"
    sparky = SPARKS["sparky"]
    kernels = [name for line in sparky.splitlines() if (name := line.split(",")[0]).startswith("linux-image-6")]

    def holds(text: str, release: str) -> None:
        (found,) = explain(text)
        pins = [note for note in found.notes if "GRUB's menu has a pin" in note]
        assert [release in note for note in pins] == ([True] if release else [])

    one = without(sparky, *kernels[1:])
    each_row(
        {"several": (sparky + newer, "7.0.0-12-generic"), "two": (one + newer, "7.0"), "one": (one, "")}, holds
    )


def test_a_list_whose_next_kernel_has_no_module_is_torn() -> None:
    sparky = SPARKS["sparky"]
    older = "linux-modules-nvidia-580-open-6.17.0-1026-nvidia"
    newer = "linux-image-7.0.0-12-generic,7.0.0-12.12\n"
    other_branch = NEXT.replace("580", "570")

    def holds(text: str, code: int, *expected: str) -> None:
        found = explain(text)
        assert (causes(text), exit_code(found)) == ([*expected], code)

    each_row(
        {
            "no module": (without(sparky, NEXT), 2, "", "next-kernel"),
            "no module, dpkg -l": (rows(without(sparky, NEXT), DPKG), 2, "", "next-kernel"),
            "only removed": (
                rows(without(sparky, NEXT), DPKG) + rows(f"{NEXT},1", DPKG.replace("ii", "rc")),
                2,
                "",
                "next-kernel",
            ),
            "a newer kernel of another flavour": (sparky + newer, 2, "", "next-kernel"),
            "that kernel removed": (rows(sparky, DPKG) + rows(newer, DPKG.replace("ii", "rc")), 0, "", ""),
            "the module of another branch": (sparky.replace(NEXT, other_branch), 2, "", "next-kernel"),
            "images and modules alone": (
                "".join(f"{line}\n" for line in sparky.splitlines() if "-image-" in line or older in line),
                2,
                "",
                "next-kernel",
            ),
            "built on the Spark": (
                f"{without(sparky, NEXT)}nvidia-dkms-580-open,580.173.02-0ubuntu0.24.04.1\n",
                3,
                "",
                "dkms",
            ),
            "cut: no kernel": (
                "".join(f"{line}\n" for line in sparky.splitlines() if "-image-" not in line),
                3,
                "",
                "not-listed",
            ),
            "cut: no modules": (
                "".join(f"{line}\n" for line in sparky.splitlines() if "-modules-nvidia-5" not in line),
                3,
                "",
                "not-listed",
            ),
            "whole, and no modules": (
                "acl,2.3.2-1build1.1\ndpkg,1.22.6ubuntu6.5\n"
                + "".join(f"{line}\n" for line in sparky.splitlines() if "-modules-nvidia-5" not in line),
                2,
                "",
                "next-kernel",
            ),
            "whole, and cut before them": (
                "acl,2.3.2-1build1.1\ndpkg,1.22.6ubuntu6.5\n"
                + sparky[: sparky.index("linux-modules-nvidia-580-open-6.17.0-1026")],
                3,
                "",
                "not-listed",
            ),
            "unfinished": (
                rows(sparky, DPKG).replace("ii  nvidia-driver", "iF  nvidia-driver"),
                2,
                "",
                "",
                "dpkg-interrupted",
            ),
            "driver 590": (
                sparky.replace("580.173.02", "590.48.01").replace("-580", "-590"),
                2,
                "driver-later",
                "",
            ),
            "no driver": (
                "adduser\t3.137-1ubuntu1\nethtool\t1:6.7-1build1\ndpkg\t1.22.6-1\n",
                3,
                "no-driver-listed",
            ),
            "tools alone": (
                "$ dpkg -l | grep nvidia-s\nii  nvidia-settings 610.57.04-1ubuntu1 arm64 x\n",
                3,
                "no-driver-listed",
            ),
            "nothing found": (
                "$ dpkg -l nvidia-x\ndpkg-query: no packages found matching nvidia-x\n",
                3,
                "no-driver-listed",
            ),
        },
        holds,
    )


# What apt prints in a language: an automatic package, one that is behind, what is left of a removed one.
APT_MARKS = {
    "English": ("[installed,automatic]", "[upgradable from: {}]", "[residual-config]"),
    "Chinese": ("[已安装，自动]", "[可从该版本升级：{}]", "[配置文件残留]"),  # noqa: RUF001
}
MARKED = "dpkg -l | sparkrig explain"
DOUBT = "this list does not mark removed packages, and dpkg -l decides"


def test_the_marks_of_apt_are_read_in_each_language() -> None:
    """What is left of a removed package is not installed, and what is behind is."""
    sparky = SPARKS["sparky"]

    def holds(automatic: str, behind: str, residual: str) -> None:
        (here,) = re.findall(r"\s*\[[\w ]+", automatic)
        kept = rows(without(sparky, NEXT), "{0}/noble-updates,now {1} arm64 " + automatic + "\n")
        for last, code in (
            (f"{NEXT}/noble-updates,now 1-1 arm64 {residual}\n", 2),
            (f"{NEXT}/now 1-1 arm64 {residual}\n", 2),
            (f"{NEXT}/noble-updates 1-2 arm64 {residual}\n", 2),
            (f"{NEXT}/noble-updates 1-2 arm64\n", 2),
            (f"{NEXT}/noble-updates 1-2 arm64 {behind.format('1-1')}\n", 0),
            (f"{NEXT}/noble-updates,now 1-1 arm64 {here}]\n", 0),
        ):
            found = explain(kept + last)
            assert exit_code(found) == code, last
            assert DOUBT not in str(found), last

    each_row(APT_MARKS, holds)


def test_apt_list_of_a_chinese_host_without_its_automatic_packages() -> None:
    """As a guide has it: apt list | grep nvidia, with what is only offered."""
    (one,) = explain(
        "nvidia-driver-575/jammy-updates,jammy-security 575.64.03-0ubuntu0.22.04.3 amd64\n"
        "nvidia-driver-580-open/jammy-updates,jammy-security,jammy,now 580.95.05-0ubuntu0.22.04.1 amd64 [已安装]\n"
        "nvidia-driver-590-open/jammy-updates 590.48.01-0ubuntu0.22.04.2 amd64\n"
    )
    assert one.findings[0].verdict.evidence == "580.95.05, of branch 580"
    assert one.notes == (f"this list does not mark what is on hold; {MARKED} tells",)


def test_rows_of_ibdev2netdev_that_a_web_page_put_into_one_line() -> None:
    (one,) = explain(
        "rocep1s0f0 port 1 ==> enp1s0f0np0 (Up) 物理端口1/路径A rocep1s0f1 port 1 ==> enp1s0f1np1 (Down) 物理2 "
        "roceP2p1s0f0 port 1 ==> enP2p1s0f0np0 (Down) ← B roceP2p1s0f1 port 1 ==> enP2p1s0f1np1 (Down)\n"
    )
    assert one.read == (
        "rocep1s0f0 = enp1s0f0np0 (up), rocep1s0f1 = enp1s0f1np1 (down), "
        "roceP2p1s0f0 = enP2p1s0f0np0 (down), roceP2p1s0f1 = enP2p1s0f1np1 (down)"
    )
    assert [(each.subject, each.verdict.cause) for each in one.findings] == [("cage p0", "twin-down")]


def test_show_gids_whose_owner_masked_the_link_local_addresses() -> None:
    """What they hide is no address of a rail; the twins in one subnet still show."""
    head, row = "DEV\tPORT\tINDEX\tGID\tIPv4\tVER\tDEV\n", "{0}\t1\t{1}\t{2}\t{3}\t{4}\t{5}\n"

    def table(hidden: str, shown: str = "0000:0000:0000:0000:0000:ffff:c0a8:64") -> str:
        ports = (("rocep1s0f0", "enp1s0f0np0", "0a", "10"), ("roceP2p1s0f0", "enP2p1s0f0np0", "0e", "14"))
        return head + "".join(
            row.format(device, 1, f"fe80:0000:0000:0000:{hidden}", "", "v2", netdev)
            + row.format(device, 3, f"{shown}{last}", f"192.168.100.{host}", "v2", netdev)
            for device, netdev, last, host in ports
        )

    def holds(text: str, *expected: str) -> None:
        assert causes(text) == [*expected]

    twins = causes(table("4ebb:47ff:fe2a:6531"))
    assert "one-subnet" in twins
    each_row(
        {
            "x": (table("xxxx:xxxx:xxxx:xxxx"), *twins),
            "X, in part": (table("4ebb:47XX:XXXX:XXXX"), *twins),
            "stars": (table("****:****:****:****"), *twins),
            "an address of a rail": (table("x:x:x:x", "0000:0000:0000:0000:0000:ffff:xxxx:xx"), "unreadable"),
        },
        holds,
    )


def test_the_version_that_is_installed_is_read_in_each_language() -> None:
    def holds(automatic: str, behind: str, residual: str) -> None:
        row = f"nvidia-driver-580-open/noble-updates 580.173.02-1 arm64 {behind.format('580.95.05-1')}\n"
        (one,) = explain(f"$ apt list --upgradable\n{row}")
        assert one.findings[0].verdict.evidence == "580.95.05, of branch 580"
        gone = f"nvidia-driver-590-open/now 590.48.01-1 arm64 {residual}\n"
        (one,) = explain(f"{row}{gone}")
        assert one.findings[0].verdict.evidence == "580.95.05, of branch 580"

    each_row(APT_MARKS, holds)


def test_a_mark_of_apt_in_unknown_words_leaves_a_doubt() -> None:
    """A language pack may have words of its own; what has no comma in its mark may be a removed one."""
    newer = "linux-image-7.0.0-12-generic/now 7.0.0-12.12 arm64 [{0}]\n"
    kept = rows(SPARKS["sparky"], "{0}/noble-updates,now {1} arm64 [dagetan, vunsich]\n")

    def holds(mark: str, doubted: bool) -> None:
        (one,) = explain(kept + newer.format(mark))
        verdict = one.findings[1].verdict
        assert (verdict.level, verdict.cause) == ("fault", "next-kernel")
        assert verdict.evidence.endswith(DOUBT) is doubted and (verdict.cure == MARKED) is doubted

    each_row(
        [("weg, net ganz", False), ("已安装", False), ("Installiert", True), ("dagetan", True), ("weg", True)],
        holds,
    )


def test_a_list_of_what_can_be_upgraded_does_not_tell_what_boots_next() -> None:
    """An older kernel may be the only one that is offered anew; the newest stands in no such list."""
    behind = rows(SPARKS["sparky"], "{0}/noble-updates 999.9-1 arm64 [upgradable from: {1}]\n")
    dpkg = "dpkg/noble-updates 1.22.6ubuntu6.6 arm64 [upgradable from: 1.22.6ubuntu6.5]\n"
    torn = "".join(line for line in behind.splitlines(keepends=True) if NEXT not in line)

    def holds(text: str) -> None:
        (one,) = explain(text)
        driver, boot = (finding.verdict for finding in one.findings)
        assert (driver.level, boot.level, boot.cause) == ("healthy", "unknown", "not-listed")
        assert "only what can be upgraded" in boot.evidence and boot.cure == f"{MARKED}, without grep"

    whole = f"{dpkg}{torn}zip/noble 3 arm64 [upgradable from: 2]\n"
    each_row({"all": behind, "torn": torn, "with dpkg": whole}, holds)


def test_a_list_without_marks_says_that_it_does_not_tell_removed_packages() -> None:
    """dpkg-query -W lists what only has its configuration left, too."""
    sparky = SPARKS["sparky"]
    later = "nvidia-driver-590-open,590.48.01-1\nlinux-image-7.0.0-12-generic,7.0.0-12.12\n"

    def holds(form: str) -> None:
        (one,) = explain(rows(sparky, form))
        assert exit_code([one]) == 0
        assert any(note.endswith("what was removed; dpkg -l | sparkrig explain tells") for note in one.notes)
        (one,) = explain(rows(sparky + later, form))
        driver, boot = (finding.verdict for finding in one.findings)
        assert (driver.cause, boot.cause) == ("driver-later", "next-kernel")
        for verdict in (driver, boot):
            assert verdict.evidence.endswith(f"; {DOUBT}") and verdict.cure == MARKED

    each_row({form: LISTS[form] for form in ("NAME,VERSION", "dpkg-query -W", "dpkg-query -W, tabs lost")}, holds)


def test_what_marks_a_package_outweighs_what_only_lists_it() -> None:
    sparky = SPARKS["sparky"]
    gone = "linux-image-7.0.0-12-generic,7.0.0-12.12\n"
    marked = rows(sparky, DPKG) + rows(gone, DPKG.replace("ii", "rc"))
    bare = rows(sparky + gone, LISTS["dpkg-query -W"])

    def holds(text: str) -> None:
        assert exit_code(explain(text)) == 0 and DOUBT not in str(explain(text))

    each_row({"marks first": marked + bare, "marks last": bare + marked}, holds)


def test_modules_that_are_listed_as_not_installed_are_missing() -> None:
    """However the list was cut: it shows the package, and that it is not there."""
    image = rows("linux-image-6.17.0-1029-nvidia,1\nnvidia-driver-580-open,580.173.02-1\n", DPKG)

    def holds(row: str, *expected: str) -> None:
        assert causes(image + row) == [*expected]

    each_row(
        {
            "not shown": ("", "", "not-listed"),
            "removed": (f"rc  {NEXT} 1-1 arm64 x\n", "", "next-kernel"),
            "purged": (f"pn  {NEXT} <none> <none> (no description available)\n", "", "next-kernel"),
            "never there": (f"un  {NEXT} <none> <none> (no description available)\n", "", "next-kernel"),
            "there": (f"ii  {NEXT} 1-1 arm64 x\n", "", ""),
            "offered": (f"{NEXT}/noble-updates 1-1 arm64\n", "", "next-kernel"),
        },
        holds,
    )
    unknown = "un  nvidia-driver-580-open <none> <none> (no description available)\n"
    assert causes(unknown) == ["no-driver-listed"]


def test_the_cure_of_a_torn_list_releases_installs_and_holds_again() -> None:
    (one,) = explain(rows(without(SPARKS["sparky"], NEXT), DPKG))
    verdict = one.findings[1].verdict
    assert "kernel 6.17.0-1029-nvidia has no nvidia.ko; linux-modules-nvidia-580-open-6.11" in verdict.evidence
    words = ("apt-mark unhold $held", f"apt-get install {NEXT}", "apt-mark hold $held")
    places = [verdict.cure.find(word) for word in words]
    assert -1 not in places and places == sorted(places)


def test_packages_named_like_tools_stay_in_their_list() -> None:
    whole = "".join(
        sorted(
            rows(SPARKS["sparkjr"] + "ethtool,1:6.7-1build1\nmdadm,4.3-1\n", LISTS["dpkg-query -W"]).splitlines(
                keepends=True
            )
        )
    )
    assert causes(whole) == ["", ""]
    found = explain(
        f"$ nvidia-smi\n{SMI}$ dpkg -l | grep nvidia\n{rows(SPARKS['sparkjr'], DPKG)}$ show_gids\n{GIDS}"
    )
    assert [each.tool for each in found] == ["nvidia-smi", "package list", "show_gids"]


def test_a_slow_figure_of_nccl_names_a_slow_start_beside_the_build() -> None:
    slow = NCCL_TESTS.replace("18.94", "2.82").replace("20.95", "2.83")
    by_library = {
        "": "measure each rail alone with ib_write_bw; at 13 Gb/s reboot both Sparks",
        "# nccl-tests version 2.18.3 nccl-headers=22809 nccl-library=22809\n": "measure each rail alone",
    }
    for head, cure in by_library.items():
        ((finding,),) = (each.findings for each in explain(head + slow))
        verdict = finding.verdict
        assert verdict.cause == "slow-start" and "what two twins of 13 Gb/s carry" in verdict.evidence
        assert verdict.cure.startswith(cure) and ("take NCCL" in verdict.cure) == (not head)
        assert verdict.evidence.endswith("NCCL 2.28.9 is known to work" if head else "2.8 to 3 GB/s")


# --- refusals, and what is never shown

PRIVATE = {
    "ethtool -m": MODULE,
    "ibdev2netdev -v": VERBOSE,
    "ibdev2netdev -v, unreadable": VERBOSE.replace("port 1", "port x"),
    "show_gids, unreadable": GIDS.replace("192.168.100.11", SERIAL),
    "fwupdmgr, without a label": f"$ fwupdmgr update\nfailed to write-firmware: device {SERIAL} did not answer\n",
    "csv": f"{CSV}0, NVIDIA GB10, GPU-{UUID}, 96 %, 2418 MHz, [N/A]\n",
    "csv, columns moved": f"{CSV}0, NVIDIA GB10, 1, {SERIAL}, 2418 MHz, [N/A]\n",
    "nvidia-smi -L": f"GPU 0: NVIDIA GB10 (UUID: GPU-{UUID})\n",
    "nvidia-smi -q": recorded("gpu/gb10-stand-in-q.txt").replace("Minor", f"Serial Number : {SERIAL}\n Minor"),
    "lspci VPD": f"{LSPCI}\t\t\t[SN] Serial number: {SERIAL}\n",
    "beside a failure": f"IB device {UUID} not found\nSerial Number: {SERIAL}\n",
    "not understood": f"DGX_SERIAL_NUMBER={SERIAL}\n",
}


def test_serial_numbers_and_uuids_are_never_shown() -> None:
    def holds(text: str, *options: str) -> None:
        shown = run(*options, text=text).output
        assert shown and SERIAL not in shown and UUID not in shown

    each_row(PRIVATE, holds)
    each_row({f"{name}, JSON": (text, "--json") for name, text in PRIVATE.items()}, holds)


def test_what_cannot_be_read_is_refused_with_a_list_of_what_can() -> None:
    def holds(text: str) -> None:
        done = run(text=text)
        assert done.exit_code == 1 and "ib_write_bw" in done.output and "show_gids" in done.output

    each_row(
        {
            "prose": "My Spark is slow.\n",
            "lstopo": "Machine (119GB total)\n  Package L#0\n",
            "a point or thousands": "13,334\n",
            "a command alone": "nvidia-smi\n",
            "a title in prose": "I ran the RDMA_Write BW Test twice.\n",
        },
        holds,
    )


@pytest.mark.parametrize("text", ["", " \n\n"])
def test_nothing_at_all_is_told_apart(text: str) -> None:
    """A tool that failed wrote to its standard error, which the pipe left out."""
    done = run(text=text)
    assert done.exit_code == 1 and "nothing was given" in done.output and "2>&1 | sparkrig explain" in done.output


def test_more_than_any_tool_prints_is_refused_unread(tmp_path: Path) -> None:
    file = tmp_path / "much"
    for noise, bound in ((b"x" * 2_000_000, "2 MB"), (b"\n" * 200_001, "200,000 lines")):
        file.write_bytes(HEALTHY.encode() + noise)
        for words, name in ((("-",), "standard input"), ((str(file),), str(file))):
            done = run(*words, text=file.read_bytes())
            assert done.exit_code == 1 and done.output.startswith(f"Error: {name} has more than {bound}"), (
                done.output
            )
            assert "Try: tail -n 20000 " in done.output


def test_of_hundreds_of_outputs_those_that_are_not_well_are_shown() -> None:
    wrong = "# cat /proc/meminfo\nCmaTotal: 100 kB\nCmaFree: 500000 kB\n"
    done = run(text="".join(f"$ uname -r\n6.17.0-{number}-nvidia\n" for number in range(1000, 1150)) + wrong)
    assert done.exit_code == 2 and "CmaFree" in done.output
    assert "and 51 more outputs of tools: the same with --json" in done.output


# --- the command


def test_exit_codes() -> None:
    def holds(text: str, code: int) -> None:
        assert run(text=text).exit_code == code

    each_row(
        {
            "healthy": (HEALTHY, 0),
            "informative": (DRIVER, 3),
            "fault": (SLOW, 2),
            "degraded": (HEALTHY.replace("4096[B]", "1024[B]"), 2),
            "unknown": ("13.35", 3),
            "not understood": ("", 1),
        },
        holds,
    )


def test_a_fault_outweighs_what_is_unknown() -> None:
    assert run(text=f"{UP.replace('Up', 'Down')}{SLOW}").exit_code == 2


def test_files_standard_input_and_utf_16(tmp_path: Path) -> None:
    file = tmp_path / "paste.txt"
    file.write_bytes(HEALTHY.encode("utf-16"))  # as PowerShell's > writes it
    done = run(str(file), "-", text=SLOW)
    assert done.exit_code == 2 and "111.86 Gb/s" in done.output and "a degraded start-up" in done.output
    assert "slow-start" not in done.output  # a name for programs (--json), and no word of an answer
    assert run(str(tmp_path / "nothing")).exit_code == 2  # click's own; main() makes it 1


def test_json() -> None:
    document = json.loads(run("--json", text=SLOW).output)
    (one,) = document["explained"]
    assert (document["schema"], one["tool"]) == ("sparkrig.explain/2", "ib_write_bw")
    assert one["findings"][0]["verdict"]["cause"] == "slow-start"


def test_it_starts_without_pyinfra_and_pydantic() -> None:
    loads = "import sys; from sparkrig.explain import tools; from sparkrig.explain.render import explained"
    words = [sys.executable, "-c", f"{loads}; print(*sys.modules)"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert not {"pyinfra", "gevent", "paramiko", "pydantic", "matplotlib"} & {*done.stdout.split()}


# --- nccl-tests


def test_rows_of_nccl_tests() -> None:
    def holds(row: str, busbw: float) -> None:
        header = "#       size   count   type   redop   time   algbw   busbw\n"
        found = nccl_tests.parse(f"{header}        8  2  float  none  -1  1  0  0  0\n{row}\n")
        assert found is not None and (found.busbw, found.size, found.wrong) == (busbw, 2**32, 0)

    each_row(
        {
            "2.17": ("  4294967296  67108864  float  none  -1  1  2  22.00  0  1  2  23.00  0", 22.5),
            "not checked": ("  4294967296  67108864  float  none  -1  1  2  22.00  N/A  1  2  23.00  N/A", 22.5),
            # without root
            "2.8": ("  4294967296  67108864  float   sum       1  2  22.00  4e-07  1  2  23.00  4e-07", 22.5),
            "all_gather before 2.9": (
                "  4294967296  67108864  float         1  2  22.00  0e+00  1  2  23.00  0e+00",
                22.5,
            ),
            "out of place only": ("  4294967296  67108864  float  none  -1  1  2  22.00  0", 22.0),
        },
        holds,
    )


# --- what looks healthy and proves nothing


def test_a_gpu_that_is_busy_at_the_power_of_a_clamped_one_is_not_healthy() -> None:
    text = """
| NVIDIA-SMI 580.95.05              Driver Version: 580.95.05      CUDA Version: 13.0     |
|   0  NVIDIA GB10                    On  |   0000000F:01:00.0 Off |                  N/A |
| N/A   52C    P0             14W /  N/A  | Not Supported          |     96%      Default |
"""
    (found,) = explain(text)
    assert [finding.verdict.cause for finding in found.findings] == ["power-low", ""]
    assert exit_code([found]) == 3


def test_the_pcie_link_of_another_machine_is_not_judged_by_a_sparks() -> None:
    link = "\tLnkCap: Port #0, Speed 32GT/s, Width x16\n\tLnkSta: Speed 16GT/s (downgraded), Width x16\n"
    _, verdict = only(f"ca:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]\n{link}")
    assert (verdict.level, verdict.cause) == ("unknown", "other-hardware")


@pytest.mark.parametrize("average", ["390.10", "13334.70"])
def test_more_than_a_rail_can_carry_is_not_healthy(average: str) -> None:
    _, verdict = only(perftest(average, "0.2"))
    assert (verdict.level, verdict.cause) == ("unknown", "impossible")


def test_of_hundreds_of_findings_in_one_output_those_that_are_not_well_are_shown() -> None:
    """Two megabytes of `ip addr` took 27 s, most of it to draw 18,571 findings."""
    netdevs = "".join(
        f"{number}: enp1s0f0np{number % 2}: <UP,LOWER_UP> mtu 9000 state UP\n" for number in range(90)
    )
    done = run(text=f"$ ip addr\n{netdevs}")
    assert re.search(r"and \d+ more findings: the same with --json", done.output), done.output[-600:]
    assert done.output.count("✓") + done.output.count("✗") + done.output.count("~") + done.output.count("?") <= 60
