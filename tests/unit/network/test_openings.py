"""The entries of firewall_allow."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from sparkrig.fleet import Fleet
from sparkrig.network.openings import Opening, parse
from sparkrig.settings import SettingsError
from tests.tables import each_row

LAN = ip_network("192.168.1.0/24")
READ = {
    "8000": Opening(8000),
    "8000/tcp": Opening(8000),
    "51820/udp": Opening(51820, udp=True),
    "ssh": Opening("ssh"),
    "metrics from 192.168.1.0/24": Opening("metrics", source=LAN),
    " 9100   from 192.168.1.0/24 ": Opening(9100, source=LAN),
    "from 192.168.1.20": Opening("", source=ip_network("192.168.1.20/32")),
    "serve from fd00::/64": Opening("serve", source=ip_network("fd00::/64")),
}
NONE = {
    "": "is no entry of a firewall",
    "from": "'from' is no name of a port",
    "8000from 10.0.0.0/8": "is no entry",
    "shh": "did you mean ssh?",
    "http": "a number or ssh, serve, metrics is expected",
    "ssh/udp": "is no entry",
    "0": "0 is no port",
    "65536": "65536 is no port",
    "-1": "is no entry",
    "8000 to 10.0.0.0/8": "is no entry",
    "8000 from lan": "'lan' is no network",
    "8000 from 10.0.0.1/8": "'10.0.0.1/8' is no network",
    "\u0668\u0660": "is no entry",
}


def test_entries() -> None:
    def holds(entry: str, expected: Opening) -> None:
        assert parse(entry) == expected

    each_row([*READ.items()], holds)


def test_what_is_none_is_refused_before_any_connection() -> None:
    def refused(entry: str, why: str) -> None:
        with pytest.raises(SettingsError) as told:
            Fleet.parse({"spark-a": {"firewall_allow": [entry]}})
        assert why in str(told.value), told.value

    each_row([*NONE.items()], refused)
    with pytest.raises(SettingsError, match="setting firewall_allow: 'True' is no entry"):
        Fleet.parse({"spark-a": {"firewall_allow": [True]}})
    assert Fleet.parse({"spark-a": {"firewall_allow": [8000]}})["spark-a"].firewall_allow == ["8000"]


def test_whom_an_entry_admits() -> None:
    assert parse("ssh").admits("fe80::1%enP7s7")
    assert parse("ssh from 192.168.1.0/24").admits("192.168.1.20")
    assert not parse("ssh from 192.168.1.0/24").admits("192.168.2.20")
    assert parse("ssh from fe80::/10").admits("fe80::1%enP7s7") and not parse("ssh from fe80::/10").admits(
        "10.0.0.1"
    )
