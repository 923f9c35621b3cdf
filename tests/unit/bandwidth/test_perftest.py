"""What perftest prints: every form of its table and its report, and its many ways to say that it failed.

tests/fixtures/perftest was recorded with perftest 25.01 on the virtual pair; tests/fixtures/bandwidth is a
published capture of a DGX Spark. Other headers and sentences are those of perftest's source.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sparkrig.bandwidth.perftest import Bandwidth, Latency, parse_bandwidth, parse_latency
from sparkrig.bandwidth.perftest_errors import failure
from tests.tables import each_row, rows

FIXTURES = Path(__file__).resolve().parent.parent.parent / "fixtures"
SPARK = (FIXTURES / "bandwidth" / "ib_write_bw.txt").read_text()
ROW = " 65536      640000           0.00               111.86             0.213358\n"
RULE = "-" * 87


def recorded(name: str) -> str:
    return (FIXTURES / "perftest" / name).read_text()


def table(unit: str, *rows: str, before: str = "", more: str = "") -> str:
    header = f" #bytes     #iterations    BW peak[{unit}]    BW average[{unit}]   MsgRate[Mpps]{more}"
    return "\n".join((before, header, *rows, RULE, ""))


def row(average: str, *, peak: str = "0.00", size: int = 65536, iterations: int = 1000, rate: str = "0.2") -> str:
    return f" {size:<7}    {iterations:<10}       {peak}            {average} \t\t     {rate}"


# --- bandwidth

RECORDED = {
    "a DGX Spark": (SPARK, Bandwidth(111.86, "Gb/sec", 65536, 1024102, 4096, 4, 3, "Ethernet", False)),
    "-D": (recorded("bw-duration.txt"), Bandwidth(0.18, "Gb/sec", 65536, 1004, 1024, 2, 1, "Ethernet", False)),
    "a report alone": (
        recorded("bw-duration.json"),
        Bandwidth(0.18, "Gb/sec", 65536, 1004, 1024, 2, 1, "Ethernet", False),
    ),
    "both ways, six decimals": (
        recorded("bw-bidirectional.txt"),
        Bandwidth(0.060693, "Gb/sec", 65536, 200, 1024, 1, 1, "Ethernet", True),
    ),
    "--run_infinitely, the last line without an end": (
        recorded("bw-infinite.txt"),
        Bandwidth(0.18, "Gb/sec", 65536, 689, 1024, 1, 2, "Ethernet", False),
    ),
}


def test_recorded() -> None:
    def holds(text: str, expected: Bandwidth) -> None:
        for end in ("\n", "\r\n"):
            assert parse_bandwidth(text.replace("\n", end)) == expected, repr(end)

    each_row(RECORDED, holds)


def test_both_directions_are_read_as_their_sum() -> None:
    """--report-both prints each direction below it, under headers of their own (perftest's src/write_bw.c)."""
    parts = [table("Gb/sec", row(average)) for average in ("222.10", "111.00", "111.10")]
    said = (
        "RDMA_Write Bidirectional BW Test",
        parts[0],
        " Local results: ",
        parts[1],
        " Remote results: ",
        parts[2],
    )
    text = "\n".join(said)
    found = parse_bandwidth(text)
    assert (found.gbps, found.bidirectional) == (222.10, True)


def test_recorded_without_report_gbits() -> None:
    read = parse_bandwidth(recorded("bw-iterations-mib.txt"))
    assert read.unit == "MiB/sec" and read.gbps == pytest.approx(22.46 * 2**20 * 8 / 1e9)


def test_the_unit_is_taken_from_the_header() -> None:
    def holds(unit: str, average: str, gbps: float) -> None:
        read = parse_bandwidth(table(unit, row(average)))
        assert read.gbps == pytest.approx(gbps, rel=1e-4) and read.unit == unit

    each_row(
        [
            ("Gb/sec", "111.86", 111.86),
            ("MB/sec", "13334.7", 111.86),  # perftest 24.01 without --report_gbits
            ("MiB/sec", "13334.7", 111.86),  # later ones; its MB was 2^20 bytes too
            ("Gb/sec", "13.35", 13.35),  # the degraded start-up: the same digits, a factor of eight apart
            ("MB/sec", "1591.44", 13.35),
            ("Gb/sec", "0.123456", 0.123456),
            ("Gb/sec", "0.00", 0.0),
            ("Gb/sec", "195", 195.0),
        ],
        holds,
    )


def test_average_not_peak() -> None:
    assert parse_bandwidth(table("Gb/sec", row("95.01", peak="112.40"))).gbps == 95.01


FORMS = {
    "-a, the largest message": table(
        "Gb/sec", row("0.01", size=2), row("111.86", size=8388608), row("7", size=9)[:20]
    ),
    "CPU utilization": table("Gb/sec", row("111.86") + "\t    12.50", more="    CPU_Util[%]"),
    "per port": table(
        "Gb/sec",
        row("111.86") + "        55.93            0.1              55.93            0.1",
        more="   BW Port1[Gb/sec]   MsgRate Port1[Mpps]   BW Port2[Gb/sec]   MsgRate Port2[Mpps]",
    ),
    "service level": (
        " #bytes    #sl      #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
        " 65536    3           1000           0.00            111.86                  0.213358\n"
    ),
    "spaces before the unit": table("Gb/sec", row("111.86")).replace("[", " [ ").replace("]", " ]"),
    "words glued to the row": table("Gb/sec", row("111.86", rate="0.213358ethernet_read_keys: Couldn't")),
    "warnings in front": table(
        "Gb/sec",
        row("111.86"),
        before="libibverbs: Warning: couldn't load driver 'libfoo-rdmav34.so'\n"
        "Conflicting CPU frequency values detected: 1.0 != 2.0. CPU Frequency is not max.",
    ),
    "words glued before the header": "Changing to this size:" + table("Gb/sec", row("111.86")).lstrip("\n"),
    "a completion dump behind": table("Gb/sec", row("111.86"), "00000000 00008914 10000032 0000aed2"),
    "two runs, the last": table("Gb/sec", row("13.35")) + table("Gb/sec", row("111.86")),
}


def test_forms_of_the_table() -> None:
    def holds(text: str) -> None:
        assert parse_bandwidth(text).gbps == 111.86

    each_row(FORMS, holds)


NOTHING = {
    "empty": ("", "no result header"),
    "no server": (recorded("no-listener.txt"), "no result header"),
    "a row alone": (ROW, "no result header"),
    "a number alone (--output=bandwidth)": ("111.86\n", "no result header"),
    "header alone": (table("Gb/sec"), "header and no result row.*GID index"),
    "header cut off": (table("Gb/sec").splitlines()[1], "header and no result row"),
    "row cut off in the average": (
        table("Gb/sec", " 65536      640000           0.00      111."),
        "no result row",
    ),
    "row before the header": (ROW + table("Gb/sec"), "no result row"),
    "the second run failed": (table("Gb/sec", row("111.86")) + table("Gb/sec"), "no result row"),
    "unknown unit": (table("Tb/sec", row("0.11")), "unknown unit, Tb/sec"),
    "GB/sec is none of perftest's": (table("GB/sec", row("13.9")), "unknown unit, GB/sec"),
    "the server was killed": (recorded("bw-server-killed.txt"), "completed no message"),
    "not a number": (table("Gb/sec", row("-nan")), "completed no message"),
    "infinite": (table("Gb/sec", row("inf")), "completed no message"),
}


def test_what_proves_nothing_is_refused_in_words() -> None:
    def holds(text: str, words: str) -> None:
        with pytest.raises(ValueError, match=words):
            parse_bandwidth(text)

    each_row(NOTHING, holds)


# --- the JSON report


def report(average: float, rate: float | None, **info: object) -> str:
    results = {"MsgSize": 65536, "n_iterations": 1000, "BW_peak": 0.0, "BW_average": average}
    return json.dumps({"test_info": info, "results": results | ({"MsgRate": rate} if rate is not None else {})})


@pytest.mark.parametrize(("average", "unit", "gbps"), [(111.86, "Gb/sec", 111.86), (13334.7, "MiB/sec", 111.86)])
def test_a_report_alone_has_its_unit_from_the_message_rate(average: float, unit: str, gbps: float) -> None:
    for read in (parse_bandwidth("", report(average, 0.213358)), parse_bandwidth(report(average, 0.213358))):
        assert read.unit == unit and read.gbps == pytest.approx(gbps, rel=1e-4)


def test_a_report_alone_tells_the_degraded_start_up() -> None:
    assert parse_bandwidth("", report(13.35, 0.025463)).gbps == 13.35


def test_a_report_alone_that_proves_nothing() -> None:
    def holds(text: str, words: str) -> None:
        with pytest.raises(ValueError, match=words):
            parse_bandwidth("", text)

    each_row(
        [
            (report(111.86, 0.0), "names no unit"),
            (report(111.86, None), "names no unit"),
            (report(111.86, 0.013335), "names no unit"),  # fits neither
            ('{"results": {"MsgSize": 65536, "n_iter', "no JSON report"),
            ('{"results": {"bw_avg": 111.86}}', "no JSON report"),  # --output=bandwidth
            ('{"results": null}', "no JSON report"),
            ("[]", "no JSON report"),
        ],
        holds,
    )


def test_a_report_does_not_stand_in_for_a_missing_row() -> None:
    with pytest.raises(ValueError, match="no result row"):
        parse_bandwidth(table("Gb/sec"), report(111.86, 0.213358))


def test_path_mtu_from_the_report_or_else_from_the_table() -> None:
    def holds(text: str | None, mtu: int) -> None:
        assert parse_bandwidth(SPARK, text).path_mtu == mtu

    each_row(
        [
            (json.dumps({"test_info": {"Mtu": 1024}}), 1024),  # the report wins
            (None, 4096),
            ("", 4096),
            ('{"test_info": {"Mtu": ', 4096),  # cut off
            ("{}", 4096),
            ('{"test_info": null}', 4096),
        ],
        holds,
    )


def test_what_is_nowhere_is_none() -> None:
    read = parse_bandwidth(table("Gb/sec", row("111.86")))
    assert (read.path_mtu, read.queue_pairs, read.gid_index, read.link_type, read.bidirectional) == (None,) * 5


@pytest.mark.parametrize("order", ["before", "behind"])
def test_a_report_in_the_midst_of_the_table(order: str) -> None:
    """As with --out_json_file=/dev/stdout; the unit is the table's all the same."""
    words, plain = recorded("bw-duration.json"), table("MB/sec", row("13334.7"))
    read = parse_bandwidth(words + plain if order == "before" else plain + words)
    assert read.gbps == pytest.approx(111.86, rel=1e-4)
    assert (read.path_mtu, read.queue_pairs) == (1024, 2)


# --- latency

ITERATIONS = Latency(540.69, 2, 1000, 248.70, 1024, 2)
DURATION = Latency(557.02, 2, 1796, path_mtu=1024, gid_index=1)


def test_latency() -> None:
    def holds(text: str, expected: Latency) -> None:
        assert parse_latency(text) == expected
        assert (
            parse_latency("", text) == expected if text.startswith("{") else parse_latency(text, "{") == expected
        )

    each_row(
        {
            "iterations": (recorded("lat-iterations.txt"), ITERATIONS),
            "iterations, report": (recorded("lat-iterations.json"), ITERATIONS),
            "iterations, both": (recorded("lat-iterations.txt") + recorded("lat-iterations.json"), ITERATIONS),
            "-D": (recorded("lat-duration.txt"), DURATION),
            "-D, report": (recorded("lat-duration.json"), DURATION),
        },
        holds,
    )


LAT_HEADER = " #bytes        #iterations       t_avg[usec]    tps average\n"


def test_latency_that_proves_nothing() -> None:
    def holds(text: str, words: str) -> None:
        with pytest.raises(ValueError, match=words):
            parse_latency(text)

    each_row(
        [
            ("", "no result header"),
            (SPARK, "no result header"),  # of the other test
            (LAT_HEADER, "header and no result row"),
            (LAT_HEADER + " 2             0            inf         0.00   \n", "completed no message"),
            (LAT_HEADER.replace("usec", "cycles") + " 2  10  5.5  0.00\n", "unknown unit, cycles"),
        ],
        holds,
    )


# --- failures

SAID = {
    name: (recorded(text) if text.endswith(".txt") else text, level, cause)
    for name, (text, level, cause) in rows(__file__, "failures").items()
}


def test_failure() -> None:
    def holds(text: str, level: str, cause: str) -> None:
        said = failure(text)
        assert said is not None and (said.level, said.cause) == (level, cause)
        assert said.evidence and not said.evidence.endswith(".") and "\n" not in said.evidence and said.cure

    each_row(SAID, holds)
    each_row({f"{name}, CRLF": (text.replace("\n", "\r\n"), *said) for name, (text, *said) in SAID.items()}, holds)


FINE = {
    "nothing": "",
    "a whole test": SPARK,
    "peak": recorded("bw-duration.txt"),
    "memlock, and yet it ran": "libibverbs: Warning: RLIMIT_MEMLOCK is 65536 bytes.\n"
    "    This will severely limit memory registrations.\n" + SPARK,
    "CPU frequency": "Conflicting CPU frequency values detected: 3851.49 != 3990.68. CPU Frequency is not max.\n",
    "a driver": "libibverbs: Warning: couldn't load driver 'libfoo-rdmav34.so'\n",
    "inline": "  Actual inline-size(0) < requested inline-size(220)\n",
    "MTU": "Requested mtu is higher than active mtu \nChanging to active mtu - 3\n",
    "NUMA": "Warning: Failed to migrate memory to node 0\n",
    "a server that waits": "\n* Waiting for client to connect... *\n",
}


def test_no_failure() -> None:
    def holds(text: str) -> None:
        assert failure(text) is None

    each_row(FINE, holds)


@pytest.mark.parametrize(
    ("text", "evidence"),
    [
        (recorded("no-listener.txt"), "no server answered: Couldn't connect to 10.77.5.2:18799"),
        (
            recorded("bw-server-killed.txt"),
            "the other end broke off: ethernet_read_keys: Couldn't read remote address",
        ),
        (recorded("memlock.txt"), "the kernel refused to register memory for RDMA: RLIMIT_MEMLOCK is 16384 bytes"),
        (SAID["retries"][0], "the peer's RDMA device did not acknowledge (completion status 12, syndrome 0x81)"),
    ],
)
def test_evidence_has_perftest_s_own_words(text: str, evidence: str) -> None:
    said = failure(text)
    assert said is not None and said.evidence == evidence
