"""Who announces itself on the network, heard on loopback."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from zeroconf import ServiceInfo, Zeroconf

from sparkrig.onboarding.candidates import Candidate
from sparkrig.onboarding.io import discovery

HERE = ["127.0.0.1"]


@pytest.fixture
def announced() -> Iterator[None]:
    """A Spark that offers ssh, as avahi would say it."""
    with Zeroconf(interfaces=HERE) as network:
        kind = "_ssh._tcp.local."
        address = [socket.inet_aton("127.0.0.1")]
        spark = ServiceInfo(kind, f"spark-1a2b.{kind}", addresses=address, port=2222, server="spark-1a2b.local.")
        network.register_service(
            spark, cooperating_responders=True
        )  # nobody is asked first whether the name is free
        yield


@pytest.mark.slow
def test_a_spark_that_announces_itself_is_found(announced: None) -> None:
    found = next(discovery.look(10, HERE))
    assert found == Candidate("spark-1a2b.local", ("127.0.0.1",), 2222)


def test_silence_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [each for each in discovery.look(0.2, HERE) if each.name == "spark-none.local"] == []


@pytest.mark.parametrize(
    ("found", "how"),
    [
        (Candidate("localhost", ("10.0.0.12",)), "localhost"),
        (Candidate("spark-1a2b.invalid", ("169.254.3.4", "10.0.0.12")), "10.0.0.12"),
        (Candidate("spark-1a2b.invalid", ("169.254.3.4",)), "169.254.3.4"),
    ],
)
def test_a_name_is_used_where_this_machine_can_resolve_it(found: Candidate, how: str) -> None:
    assert discovery.reachable(found) == how
