"""The brake of a boot loop (templates/serving/brake.sh), run for real in a folder, boot after boot."""

from __future__ import annotations

import http.server
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from sparkrig import programs
from sparkrig.serving import served
from sparkrig.serving.served import Service, events_of
from tests.unit.simulated import SimulatedHost

STUCK = "2026-11-24T12:03:00Z stuck restarted the engine stood still for 300 s"
HELD = "/run/sparkrig-serve-held"


class Spark(SimulatedHost):
    """A host that is switched off and on. boot: how often it was."""

    own = r"/(?:var/lib/sparkrig|run/sparkrig|proc/sys/kernel/random/boot_id)"
    boot = 0

    def power(self) -> None:
        """The power goes, and comes again."""
        self.boot += 1
        self.has("/proc/sys/kernel/random/boot_id", f"00000000-0000-4000-8000-{self.boot:012}\n")
        self.has("/run/sparkrig/x", "")
        self.at(HELD).unlink(missing_ok=True)

    def brake(self, *words: str) -> int:
        return self.sh(programs.file("serving/brake.sh"), *words).returncode

    def begins(self) -> bool:
        """Whether the unit is started."""
        return self.brake("begin") == 0

    @property
    def lost(self) -> list[int]:
        return [int(row.rpartition("-")[2]) for row in self.lines(served.LOADS)]

    @property
    def held(self) -> list[str]:
        return [event.seen for event in events_of(self.lines(served.EVENTS)) if event.done == "held"]


@pytest.fixture
def spark(tmp_path: Path) -> Spark:
    made = Spark(tmp_path / "spark")
    made.power()
    return made


@pytest.fixture
def answering() -> Iterator[str]:
    """The port of a server that answers all with 200."""

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """A test prints nothing."""

    with http.server.HTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=partial(server.serve_forever, 0.05), daemon=True).start()
        yield str(server.server_port)
        server.shutdown()


def until_forgotten(spark: Spark) -> None:
    end = time.monotonic() + 15
    while spark.at(served.LOADS).exists() or spark.held:
        assert time.monotonic() < end
        time.sleep(0.05)


def loop(spark: Spark) -> None:
    """Two boots that end while it loads, and a third."""
    for _ in range(2):
        assert spark.begins()
        spark.power()


def test_the_third_boot_does_not_start_it_and_says_why(spark: Spark) -> None:
    spark.has(served.EVENTS, f"{STUCK}\n")
    loop(spark)
    done = spark.sh(programs.file("serving/brake.sh"), "begin")
    assert done.returncode == 1 and spark.lost == [1, 2]
    assert done.stdout.startswith("sparkrig: trouble boots 20") and "not started with the host" in done.stdout
    assert spark.held == ["2 boots ended while it loaded, and it has not answered since"]
    assert spark.lines(served.EVENTS)[0] == STUCK, "what the watch did stays"


def test_it_is_held_in_each_boot_until_it_answered(spark: Spark, answering: str) -> None:
    loop(spark)
    for _ in range(2):
        assert not spark.begins() and len(spark.held) == 1
        assert spark.brake("end") == 0 and spark.lost == [1, 2], "systemd runs it after a condition, too"
        spark.power()
    assert not spark.begins() and spark.begins(), "the second start of a boot is a person's"
    spark.power()
    assert spark.lost == [1, 2, 5] and not spark.begins() and spark.begins()
    assert spark.brake("loads", answering) == 0
    until_forgotten(spark)
    spark.power()
    assert spark.begins() and spark.lost == [7]


def test_what_ends_in_order_is_no_lost_boot(spark: Spark) -> None:
    for _ in range(4):  # it crashes, is stopped, or the host shuts down
        assert spark.begins() and spark.lost == [spark.boot]
        assert spark.brake("end") == 0 and spark.lost == []
        spark.power()


def test_a_boot_in_order_between_two_lost_ones_does_not_make_good_for_them(spark: Spark) -> None:
    assert spark.begins()
    spark.power()
    assert spark.begins() and spark.brake("end") == 0
    spark.power()
    assert spark.lost == [1] and spark.begins()
    spark.power()
    assert not spark.begins()


def test_a_power_cut_while_it_answers_is_no_lost_boot(spark: Spark, answering: str) -> None:
    for _ in range(3):
        assert spark.begins() and spark.brake("loads", answering) == 0
        until_forgotten(spark)
        spark.power()


def test_a_node_without_an_api_has_loaded_after_a_while(spark: Spark) -> None:
    spark.noting("sleep")
    assert spark.begins() and spark.brake("loads") == 0
    until_forgotten(spark)
    assert spark.did == ["sleep 1200"]


def test_a_start_again_in_one_boot_counts_once(spark: Spark) -> None:
    assert spark.begins() and spark.begins() and spark.lost == [1]


def test_a_disk_that_cannot_be_written_holds_nothing(spark: Spark) -> None:
    spark.has("/var/lib/sparkrig/serve", "in its place")
    assert spark.begins() and spark.brake("end") == 0


def test_a_named_server_has_a_brake_of_its_own() -> None:
    text = Service("embed").of(programs.file("serving/brake.sh"))
    for own in ("/var/lib/sparkrig/serve-embed", "/run/sparkrig-serve-embed-held"):
        assert own in text
        text = text.replace(own, "")
    assert "sparkrig-serve" not in text and "sparkrig/serve" not in text
