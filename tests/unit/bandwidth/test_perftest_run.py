"""One trial: its words, its scripts run for real against stand-ins, and what its outputs come to."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path

import pytest

from sparkrig.bandwidth import perftest_preflight, perftest_run
from sparkrig.bandwidth.bands import Expected
from sparkrig.bandwidth.measurement import Case, End
from sparkrig.bandwidth.perftest_preflight import Users
from sparkrig.bandwidth.perftest_run import Client, Pace, Servers, Stopped, Trial
from tests.faults.record import Seen
from tests.tables import each_row
from tests.unit.shells import sh, tool

TABLE = (Path(__file__).resolve().parent.parent.parent / "fixtures" / "bandwidth" / "ib_write_bw.txt").read_text()
AVERAGE = "111.86"
CASE = Case("ib_write_bw", (0, 1), "spark-a", "spark-b", 4)
NEAR = {
    0: End("rocep1s0f0", 3, "enp1s0f0np0", "192.168.100.11"),
    1: End("roceP2p1s0f0", 5, "enP2p1s0f0np0", "192.168.101.11"),
}
FAR = {
    0: End("rocep1s0f1", 3, "enp1s0f1np1", "192.168.100.12"),
    1: End("roceP2p1s0f1", 4, "enP2p1s0f1np1", "192.168.101.12"),
}
PACE = Pace(5, 1.0)
PERFTEST = "ib_write_bw -D 5 -q 4 -s 65536 -F --report_gbits"


# --- words


def test_the_words_of_a_server() -> None:
    assert perftest_run.server_words(CASE, "r1", FAR, PACE) == [
        *("35", "15", "18515", "18614", "r1", PERFTEST),
        *("0", "enp1s0f1np1", "rocep1s0f1", "3"),
        *("1", "enP2p1s0f1np1", "roceP2p1s0f1", "4"),
    ]


def test_the_words_of_a_client_leave_out_a_rail_without_a_server() -> None:
    ends = {rail: (NEAR[rail], FAR[rail]) for rail in (0, 1)}
    assert perftest_run.client_words(CASE, ends, {1: 18520}, PACE) == [
        *("5", "20", PERFTEST),
        *("1", "enP2p1s0f0np0", "roceP2p1s0f0", "5", "192.168.101.12", "18520"),
    ]


def test_a_rail_keeps_its_own_server_whichever_came_up_first() -> None:
    ends = {rail: (NEAR[rail], FAR[rail]) for rail in (0, 1)}
    ports = perftest_run.parse_server("flaps 0 0\nflaps 1 0\nserver 1 18516\nserver 0 18515\n").ports
    assert perftest_run.client_words(CASE, ends, ports, PACE)[3:] == [
        *("0", "enp1s0f0np0", "rocep1s0f0", "3", "192.168.100.12", "18515"),
        *("1", "enP2p1s0f0np0", "roceP2p1s0f0", "5", "192.168.101.12", "18516"),
    ]


def test_a_figure_belongs_to_the_rail_that_it_is_printed_under() -> None:
    said = {0: TABLE, 1: TABLE.replace(AVERAGE, "55.00")}
    parts = {
        rail: [f"rail {rail}", "flaps 0", *(f"table {row}" for row in said[rail].splitlines()), "table exit 0"]
        for rail in (1, 0)
    }
    clients = perftest_run.parse_client("\n".join(row for rows in parts.values() for row in rows))
    trial = Trial(CASE, Servers({0: 18515, 1: 18516}, {0: 0, 1: 0}, {}), clients)
    shares = [perftest_run.judge(trial, rail, Expected()) for rail in CASE.rails]
    assert [(each.rail, each.gbps, each.verdict.level) for each in shares] == [
        (0, float(AVERAGE), "healthy"),
        (1, 55.0, "degraded"),
    ]


def test_the_words_of_the_end() -> None:
    assert perftest_run.stop_words("r1", FAR, {0: 18515, 1: 18517}, why=True) == [
        *("r1", "why"),
        *("0", "enp1s0f1np1", "18515"),
        *("1", "enP2p1s0f1np1", "18517"),
    ]


def test_latency_is_counted_in_rounds() -> None:
    assert perftest_run.command(Case("ib_write_lat", (0,), "a", "b"), PACE) == "ib_write_lat -n 1000 -F"


def test_an_emulated_processor_may_acknowledge_later() -> None:
    slow = Pace(5, 1.0, virtual=True)
    assert perftest_run.command(CASE, slow) == "ib_write_bw -D 5 -q 4 -s 65536 -u 18 -F --report_gbits"


def test_each_deadline_lies_within_the_next() -> None:
    def holds(seconds: int, patience: float) -> None:
        pace = Pace(seconds, patience)
        assert seconds < pace.client < pace.life < pace.script
        assert 2 * pace.ping + pace.client <= pace.life

    each_row(product((2, 60), (1.0, 4.0, 20.0)), holds)


@pytest.mark.fault(27)
def test_message_size_stays_at_what_gb10_carries(seen: Seen) -> None:
    assert perftest_run.MESSAGE_SIZE <= 65536
    seen(f"every measurement asks for messages of {perftest_run.MESSAGE_SIZE} bytes")


# --- the scripts, run


def printed(text: str, *words: str, tools: Path, net: Path) -> str:
    """What a script prints where two netdevs have lost their carrier three times."""
    for netdev in ("a", "b"):
        (net / netdev).mkdir(parents=True, exist_ok=True)
        (net / netdev / "carrier_down_count").write_text("3\n")
        (net / netdev / "mtu").write_text("9000\n")
    done = sh(text.replace("/sys/class/net", str(net)), *words, path=tools)
    done.check_returncode()
    return done.stdout


REPORT = 'for w; do case $w in --out_json_file=*) echo \'{"a": 1}\' >"${w#*=}" ;; esac; done\n'


def client(tmp_path: Path, *, ping: str = "exit 0", perftest: str) -> dict[int, Client]:
    tool(tmp_path / "bin", "ping", ping)
    tool(tmp_path / "bin", "ib_write_bw", perftest)
    words = ["1", "5", "ib_write_bw -q 4"]
    words += ["0", "a", "dev0", "3", "192.0.2.1", "18515", "1", "b", "dev1", "4", "192.0.2.2", "18516"]
    return perftest_run.parse_client(
        printed(perftest_run.CLIENT, *words, tools=tmp_path / "bin", net=tmp_path / "net")
    )


def test_a_client_gives_table_report_and_status_of_each_rail(tmp_path: Path) -> None:
    found = client(tmp_path, perftest=f'{REPORT}echo "$*"; echo oops >&2; exit 7')
    assert list(found) == [0, 1]
    for number, device, gid, address, port in (
        (0, "dev0", 3, "192.0.2.1", 18515),
        (1, "dev1", 4, "192.0.2.2", 18516),
    ):
        words = f"-q 4 -d {device} -x {gid} -p {port} --out_json --out_json_file=/dev/fd/3 {address}"
        assert found[number] == Client(True, f"{words}\noops\n", '{"a": 1}', 7, 0)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["bin", "net"], "nothing is written"


def test_the_rails_run_at_once(tmp_path: Path) -> None:
    """Each waits for the other's mark, so that one after the other would never end."""
    wait = f"touch {tmp_path}/$2; while [ ! -e {tmp_path}/dev0 ] || [ ! -e {tmp_path}/dev1 ]; do sleep 0.05; done"
    found = client(tmp_path, perftest=f"shift 2; {wait}; echo ran")
    assert [found[rail].status for rail in (0, 1)] == [0, 0]


def test_a_long_output_of_one_rail_does_not_mix_with_the_others(tmp_path: Path) -> None:
    found = client(tmp_path, perftest='for i in $(seq 900); do echo "$4 some words of a long table $i"; done')
    for rail in (0, 1):
        assert set(found[rail].table.split("\n")) - {""} == {
            f"dev{rail} some words of a long table {i}" for i in range(1, 901)
        }


def test_a_client_pings_first_and_stops_where_nobody_answers(tmp_path: Path) -> None:
    found = client(
        tmp_path, ping='case "$*" in *192.0.2.1) exit 1 ;; esac', perftest=f"touch {tmp_path}/$4; exit 0"
    )
    assert (found[0].reached, found[0].status) == (False, None)
    assert (found[1].reached, found[1].status) == (True, 0)
    assert not (tmp_path / "dev0").exists()


def test_a_client_stops_where_frames_of_the_mtu_do_not_cross(tmp_path: Path) -> None:
    found = client(
        tmp_path, ping='case "$*" in *"-s 8972"*192.0.2.1) exit 1 ;; esac', perftest=f"touch {tmp_path}/$4; exit 0"
    )
    assert (found[0].reached, found[0].short, found[0].status) == (True, 9000, None)
    assert (found[1].short, found[1].status) == (None, 0)
    assert not (tmp_path / "dev0").exists()


def test_a_client_counts_the_carrier_losses_of_its_own_time(tmp_path: Path) -> None:
    found = client(tmp_path, perftest=f"[ $4 != dev0 ] || echo 5 >{tmp_path}/net/a/carrier_down_count")
    assert (found[0].flaps, found[1].flaps) == (2, 0)


def test_a_netdev_that_goes_in_mid_test_is_a_flap(tmp_path: Path) -> None:
    found = client(tmp_path, perftest=f"[ $4 != dev0 ] || rm -r {tmp_path}/net/a")
    assert (found[0].flaps, found[1].flaps) == (1, 0)
    tool(tmp_path / "bin", "systemctl", "exit 0")
    gone = perftest_run.STOP.replace("/net/$1", "/net/gone")
    said = printed(gone, "r1", "", "0", "a", "18515", tools=tmp_path / "bin", net=tmp_path / "net")
    assert perftest_run.parse_stop(said).flaps == {0: None}


def test_a_client_that_hangs_is_ended(tmp_path: Path) -> None:
    tool(tmp_path / "bin", "ping", "exit 0")
    tool(tmp_path / "bin", "ib_write_bw", "sleep 60")
    words = ["1", "0.1", "ib_write_bw", "0", "a", "dev0", "3", "192.0.2.1", "18515"]
    found = perftest_run.parse_client(
        printed(perftest_run.CLIENT, *words, tools=tmp_path / "bin", net=tmp_path / "net")
    )
    assert found[0].status == 124


SS = 'echo "LISTEN 0 128 *:18515 *:*"'


def server(
    tmp_path: Path, *, ss: str, systemctl: str = "exit 0", systemd_run: str = "exit 0", wait: int = 60
) -> Servers:
    tool(tmp_path / "bin", "ss", ss)
    tool(tmp_path / "bin", "systemctl", systemctl)
    tool(tmp_path / "bin", "systemd-run", f'echo "$*" >>{tmp_path}/started\n{systemd_run}')
    tool(tmp_path / "bin", "journalctl", "echo Unable to find device; echo it ended")
    words = [
        "35",
        str(wait),
        "18515",
        "18517",
        "r1",
        "ib_write_bw -q 4",
        "0",
        "a",
        "dev0",
        "3",
        "1",
        "b",
        "dev1",
        "4",
    ]
    return perftest_run.parse_server(
        printed(perftest_run.SERVER, *words, tools=tmp_path / "bin", net=tmp_path / "net")
    )


def test_a_server_takes_the_next_free_port_and_is_a_unit_with_an_end(tmp_path: Path) -> None:
    listening = f"sed -n 's/.*-p \\(.*\\)/LISTEN 0 5 0.0.0.0:\\1 0.0.0.0:*/p' {tmp_path}/started 2>/dev/null"
    found = server(tmp_path, ss=f"{SS}\n{listening}\nexit 0")
    assert found == Servers(ports={0: 18516, 1: 18517}, flaps={0: 3, 1: 3}, failed={})
    assert (tmp_path / "started").read_text().splitlines() == [
        f"--quiet --collect --unit=sparkrig-bandwidth-{port}-r1 --property=RuntimeMaxSec=35 "
        f"ib_write_bw -q 4 -d {device} -x {gid} -p {port}"
        for port, device, gid in ((18516, "dev0", 3), (18517, "dev1", 4))
    ]


def test_every_port_taken(tmp_path: Path) -> None:
    found = server(tmp_path, ss='for port in 5 6 7; do echo "LISTEN 0 128 *:1851$port *:*"; done')
    assert found.ports == {} and set(found.failed) == {0, 1}
    assert found.failed[0] == "every port up to 18517 is taken"
    assert not (tmp_path / "started").exists()


def test_ports_that_are_left_for_one_rail_alone(tmp_path: Path) -> None:
    listening = f"[ ! -e {tmp_path}/started ] || echo 'LISTEN 0 5 *:18517 *:*'"
    found = server(tmp_path, ss=f"{SS}\necho 'LISTEN 0 128 [::]:18516 [::]:*'\n{listening}")
    assert (found.ports, found.failed) == ({0: 18517}, {1: "every port up to 18517 is taken"})


def test_servers_are_started_before_the_first_is_waited_for(tmp_path: Path) -> None:
    """And one that ended hides nothing of the other."""
    both = f"[ \"$(wc -l <{tmp_path}/started 2>/dev/null)\" != 2 ] || echo 'LISTEN 0 5 *:18516 *:*'"
    found = server(tmp_path, ss=both, systemctl="case $* in *18515*) exit 3 ;; esac")
    assert (found.ports, found.failed) == ({1: 18516}, {0: "Unable to find device it ended"})


@pytest.mark.parametrize(
    ("systemctl", "systemd_run", "said"),
    [
        (
            "exit 0",
            "echo 'Failed to find executable ib_write_bw' >&2; exit 1",
            "systemd-run refused the server: Failed to find executable ib_write_bw",
        ),
        ("case $1 in is-active) exit 3 ;; esac", "exit 0", "Unable to find device it ended"),
        ("exit 0", "exit 0", "Unable to find device it ended"),  # runs and never listens
    ],
)
def test_a_server_that_does_not_come_up(tmp_path: Path, systemctl: str, systemd_run: str, said: str) -> None:
    wait = 0 if (systemctl, systemd_run) == ("exit 0", "exit 0") else 60
    found = server(tmp_path, ss="exit 0", systemctl=systemctl, systemd_run=systemd_run, wait=wait)
    assert found.ports == {}
    assert found.failed == {0: said, 1: said}


def test_the_end_stops_each_unit_and_asks_why(tmp_path: Path) -> None:
    tool(tmp_path / "bin", "systemctl", f'echo "$*" >>{tmp_path}/stopped; exit 5')
    tool(tmp_path / "bin", "journalctl", 'echo "first of $2"; echo second')
    words = ["r1", "why", "0", "a", "18515", "1", "b", "18516"]
    found = perftest_run.parse_stop(
        printed(perftest_run.STOP, *words, tools=tmp_path / "bin", net=tmp_path / "net")
    )
    assert found.flaps == {0: 3, 1: 3}
    assert found.said[1] == "first of sparkrig-bandwidth-18516-r1\nsecond"
    assert (tmp_path / "stopped").read_text().splitlines() == ["stop sparkrig-bandwidth-*-r1.service"]


def test_the_end_stops_servers_that_nobody_heard_of(tmp_path: Path) -> None:
    """As after a Ctrl-C while the servers came up."""
    tool(tmp_path / "bin", "systemctl", f'echo "$*" >>{tmp_path}/stopped')
    words = perftest_run.stop_words("r1", FAR, {}, why=False)
    printed(perftest_run.STOP, *words, tools=tmp_path / "bin", net=tmp_path / "net")
    assert (tmp_path / "stopped").read_text().splitlines() == ["stop sparkrig-bandwidth-*-r1.service"]


# --- what is there before


def test_who_else_uses_perftest() -> None:
    def holds(users: Users, causes: list[tuple[str, str]]) -> None:
        assert [(verdict.level, verdict.cause) for verdict in perftest_preflight.judge_preflight(users)] == causes

    each_row(
        [
            (Users(), []),
            (Users(others=(("ib_write_bw", 77, True),), holder=("ib_write_bw", 77)), [("healthy", "port-busy")]),
            (Users(holder=("nc", 9)), [("healthy", "port-busy")]),
            (Users(others=(("ib_read_lat", 77, False),)), [("degraded", "host-busy")]),
            (Users(ended=("sparkrig-bandwidth-18515-x.service",)), [("healthy", "stale-server")]),
        ],
        holds,
    )


def test_reading_who_else() -> None:
    text = "running u1\nended u2\nother 77 ib_write_bw waits\nother 78 ib_send_lat runs\nheld 18515 nc 9\n"
    assert perftest_preflight.parse_preflight(text) == Users(
        ("u1",), ("u2",), (("ib_write_bw", 77, True), ("ib_send_lat", 78, False)), ("nc", 9)
    )
    assert perftest_preflight.parse_preflight("held 18515 tokio runtime w 9\n").holder == ("tokio runtime w", 9)
    assert perftest_preflight.parse_preflight("") == Users()


# --- what it came to

SERVERS = Servers({0: 18515}, {0: 3}, {})
GOOD = Client(True, TABLE, "", 0)
KILLED = (
    "sparkrig-bandwidth-18515-r1.service: Main process exited, code=killed, status=9/KILL\n"
    "sparkrig-bandwidth-18515-r1.service: Failed with result 'signal'."
)
COMPLETION = " Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\n"


def came_to(
    client: Client | None = GOOD,
    *,
    servers: Servers = SERVERS,
    flaps: Mapping[int, int | None] = {0: 3},
    said: str = "",
    lost: str = "",
) -> tuple[str, str]:
    case = Case("ib_write_bw", (0,), "spark-a", "spark-b", 4)
    clients = {0: client} if client else {}
    done = Trial(case, servers, clients, Stopped(flaps, {0: said} if said else {}), lost)
    measured = perftest_run.judge(done, 0, Expected(path_mtu=4096))
    assert measured.verdict.level == "healthy" or measured.verdict.cure
    return measured.verdict.level, measured.verdict.cause


def test_a_good_trial() -> None:
    assert came_to() == ("healthy", "")


@pytest.mark.promise(9)
def test_what_it_came_to() -> None:
    def holds(found: tuple[str, str], expected: tuple[str, str]) -> None:
        assert found == expected

    each_row(
        [
            (came_to(Client(True, COMPLETION, "", 1), said=KILLED), ("fault", "peer-died")),
            (came_to(Client(True, COMPLETION, "", 1)), ("fault", "retry-exceeded")),
            (came_to(Client(True, "", "", 124)), ("fault", "timed-out")),
            (came_to(Client(False)), ("fault", "unreachable")),
            (came_to(Client(True, short=9000)), ("fault", "short-frames")),
            (came_to(None), ("unknown", "no-result")),
            (came_to(None, lost="spark-b does not answer (timed out)"), ("unknown", "host-lost")),
            (came_to(Client(True, "something odd", "", 9)), ("unknown", "no-result")),
            (came_to(Client(True, "", "", 0)), ("unknown", "no-result")),  # exit 0 is no evidence
            (came_to(Client(True, TABLE[: TABLE.index(" 65536")], "", 0)), ("unknown", "no-result")),
            (
                came_to(None, servers=Servers({}, {}, {0: "every port up to 18614 is taken"})),
                ("unknown", "port-busy"),
            ),
            (
                came_to(None, servers=Servers({}, {}, {0: "systemd-run refused the server"})),
                ("unknown", "no-server"),
            ),
            (
                came_to(
                    None, servers=Servers({}, {}, {0: "... Failed to find executable ib_write_bw: No such file"})
                ),
                ("unknown", "perftest-missing"),
            ),
            # the link went down: seen here, seen there, with a figure and without
            (came_to(Client(True, TABLE, "", 0, flaps=1)), ("degraded", "link-flap")),
            (came_to(flaps={0: 5}), ("degraded", "link-flap")),
            # a ConnectX-7 without its cable leaves the PCI bus: the netdev is gone, or back and counting anew
            (came_to(flaps={0: None}), ("degraded", "link-flap")),
            (came_to(Client(True, COMPLETION, "", 1), flaps={0: None}), ("fault", "link-flap")),
            (came_to(flaps={0: 0}), ("degraded", "link-flap")),
            (came_to(flaps={}), ("healthy", "")),
            (came_to(Client(True, COMPLETION, "", 1), flaps={0: 4}), ("fault", "link-flap")),
            (came_to(Client(True, TABLE.replace("4096[B]", "1024[B]"), "", 0)), ("degraded", "path-mtu")),
            (came_to(Client(True, TABLE.replace("111.86", " 13.35"), "", 0)), ("fault", "slow-start")),
        ],
        holds,
    )


def test_a_flap_says_how_often() -> None:
    case = Case("ib_write_bw", (0,), "spark-a", "spark-b", 4)
    done = Trial(case, SERVERS, {0: Client(True, TABLE, "", 0, flaps=1)}, Stopped({0: 5}, {}))
    evidence = perftest_run.judge(done, 0, Expected()).verdict.evidence
    assert evidence.startswith("the link lost its carrier 2 times during the test (111.86 Gb/s")
