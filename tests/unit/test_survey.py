"""A survey of hosts that could not all be read."""

from __future__ import annotations

from sparkrig import settings
from sparkrig.survey import Survey

FLEET = settings.parse(
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
