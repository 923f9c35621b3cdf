"""What is wrong with a cage or a host by itself, whatever joins it to the others: a cable, a ring or a switch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sparkrig.cure import on_host, over_ssh, quoted
from sparkrig.fabric.cabling import End, Host, Topology
from sparkrig.text import listed
from sparkrig.verdict import Verdict


def missing(shown: Topology, gone: Mapping[End, Sequence[str]], between: str) -> Verdict:
    """Declared netdevs that are not there, by end; between: where the plugs of their cable belong, in words."""
    where = "; ".join(f"{end.host} has no {' and no '.join(names)}" for end, names in gone.items())
    if all(shown.at(end).state != "missing" for end in gone):
        return Verdict(
            "fault",
            "netdev-missing",
            f"{where}, and its twin is there: one of the cage's two PCIe links did not come up",
            f"switch {listed(end.host for end in gone)} off, cut the power for a minute, start with the cable in",
        )
    return Verdict(
        "fault",
        "netdev-missing",
        f"{where}: an uncabled ConnectX-7 leaves the PCI bus",
        f"seat a QSFP cable in {between}, wait half a minute, then: ip -br link",
    )


def down(end: End, names: Sequence[str]) -> Verdict:
    """Declared netdevs that are switched off, so that it is unknown what their cage reaches."""
    return Verdict(
        "fault",
        "netdev-down",
        f"{listed(names)} on {end.host} {'is' if len(names) == 1 else 'are'} administratively down",
        on_host(" && ".join(f"sudo ip link set {quoted(name)} up" for name in names), at=end.host),
    )


def half_lit(end: End, names: Sequence[str]) -> Verdict:
    """Netdevs without a carrier whose twin has one."""
    return Verdict(
        "fault",
        "half-plugged",
        f"{listed(names)} on {end.host} {'has' if len(names) == 1 else 'have'} no carrier, and its twin has one: "
        "the plug is half seated, or one half of the port did not start",
        f"pull the plug out of {end} and seat it again until it clicks; if that does not help, reboot {end.host}",
    )


def not_probed(hosts: Iterable[Host]) -> Verdict | None:
    """Where the neighbour probe did not run on one of these hosts, though it was looked at."""
    silent = [host for host in hosts if host.silence and host.read]
    if not silent:
        return None
    why = listed(f"the neighbour probe did not run on {host.name} ({host.silence})" for host in silent)
    return Verdict("unknown", "no-probe", why, over_ssh(silent[0].name, "sudo -n python3 --version"))
