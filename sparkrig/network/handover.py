"""Fabric netdevs that NetworkManager does not manage, and how they are given to it.

Ubuntu's NetworkManager manages no Ethernet netdev unless netplan orders it: its `unmanaged-devices` cannot be
overruled by `nmcli device set` [@nm-unmanaged]. Netplan lifts that for all netdevs at once, as soon as it gives
NetworkManager a single one; then it keeps those that it gives to networkd away by name, and no others
[@netplan-handover].
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from sparkrig.cure import on_host, quoted
from sparkrig.network.links import Link
from sparkrig.network.netplan import MOVABLE, NETWORK_MANAGER, NETWORKD, File, defining, renderer
from sparkrig.refusal import Refusal
from sparkrig.text import listed, plain

FILE = f"{MOVABLE}/90-sparkrig-fabric.yaml"
KEPT = "/etc/NetworkManager/conf.d/90-sparkrig-management.conf"
_PAGE = "sparkrig docs adopting#netdevs-of-networkd"
_UDEV = (  # as netplan's own apply has udev read its rules [@netplan-handover]
    "sudo udevadm control --reload",
    "sudo udevadm trigger --action=move --subsystem-match=net --settle",
)
_PLAIN = re.compile(r"[A-Za-z0-9_.-]+")  # what YAML takes for text without quotes


def refusal(
    ports: Sequence[Link],
    declared: Collection[str],
    links: Mapping[str, Link],
    files: Sequence[File],
    management: Sequence[Link],
) -> Refusal:
    """Why unmanaged fabric netdevs cannot be used, with the netplan file that gives them to NetworkManager.

    ports: those netdevs; declared: all that NetworkManager has to manage; files: of netplan; management: the
    netdevs that SSH or the default route is on, and that NetworkManager does not manage either.
    """
    names = listed(port.name for port in ports)
    theirs = [port for port in ports if renderer(files, port) == NETWORKD]
    loaded = " && ".join(_loaded(ports, networkd=bool(theirs)))
    if all(renderer(files, port) == NETWORK_MANAGER for port in ports):
        return Refusal(
            f"NetworkManager does not manage {names}, although netplan says that it does",
            on_host(loaded, "; where that changes nothing: grep -rs unmanaged /etc/NetworkManager"),
        )
    why = _why(ports, theirs, files) + _warning(management, files, theirs)
    what = f"NetworkManager does not manage {names}{why}; {_PAGE}"
    if by_hand := _by_hand(ports, declared, links, files):
        return Refusal(what, f"{'; '.join(by_hand)}, then: {loaded}")
    undefined = [link.name for link in management if renderer(files, link) is None]
    written = [*([_kept(undefined)] if undefined else []), _given(declared, links, files)]
    return Refusal(f"{what} says what each command does", on_host(" && ".join([*written, loaded])))


def text(labels: Iterable[str]) -> str:
    """A whole netplan file, in one line, which gives netdevs to NetworkManager and sets nothing else of them."""
    entries = ", ".join(f"{label}: {{renderer: {NETWORK_MANAGER}}}" for label in labels)
    return f"network: {{version: 2, ethernets: {{{entries}}}}}"


def _loaded(ports: Iterable[Link], *, networkd: bool) -> list[str]:
    """What makes the files of netplan count, without taking down a link that is not ours.

    networkd: whether it has to let go of a netdev; it would add its addresses again at the next carrier.
    udev comes first: by its rules netplan keeps networkd's other netdevs away from NetworkManager, which would
    take them, the way in among them, as soon as it reads that it may have Ethernet (seen on the virtual pair).
    """
    return [
        "sudo netplan generate",
        *_UDEV,
        *(["sudo networkctl reload"] if networkd else []),
        "sudo nmcli general reload",
        "sudo nmcli connection reload",
        *(f"sudo nmcli device set {quoted(port.name)} managed yes" for port in ports),
    ]


def _why(ports: Sequence[Link], theirs: Sequence[Link], files: Sequence[File]) -> str:
    if not theirs:
        return f", and no netplan file gives {'it' if len(ports) == 1 else 'them'} to it"
    paths = dict.fromkeys(plain(file.path) for port in theirs for file, _ in defining(files, port))
    return f": netplan gives {listed(port.name for port in theirs)} to networkd ({listed(paths)})"


def _given(declared: Collection[str], links: Mapping[str, Link], files: Sequence[File]) -> str:
    """Writes the file: each netdev by the label that netplan knows it by, and by its name, for when that goes."""
    labels: dict[str, None] = {}
    for name in declared:
        if name in links:
            labels |= dict.fromkeys(netdef.label for _, netdef in defining(files, links[name]))
        labels[name] = None
    return _write(FILE, text(labels), "600")


def _kept(names: Sequence[str]) -> str:
    """Keeps netdevs that no netplan file defines away from NetworkManager, which would take them otherwise."""
    specs = ";".join(f"interface-name:{name}" for name in names)
    return _write(KEPT, f"[keyfile]\nunmanaged-devices+={specs}", "644")


def _write(path: str, content: str, mode: str) -> str:
    lines = quoted(*content.splitlines())
    return f"printf '%s\\n' {lines} | sudo install -m {mode} /dev/stdin {path}"


def _warning(management: Sequence[Link], files: Sequence[File], theirs: Sequence[Link]) -> str:
    """What becomes of a management network that is not NetworkManager's."""
    if not management:
        return ""
    said = f"; {listed(plain(link.name) for link in management)}, which SSH or the default route is on, "
    said += "is not NetworkManager's either, and stays so"
    if theirs and any(renderer(files, link) == NETWORKD for link in management):
        said += ", but networkd sets it up anew at its reload: have another way in"
    return f"{said}; `netplan try` would take down more"


def _by_hand(
    ports: Iterable[Link], declared: Collection[str], links: Mapping[str, Link], files: Sequence[File]
) -> list[str]:
    """What has to be edited where a file of ours would be overruled, or would take more than the ports."""
    # By file, and by the entry and its other netdevs where it is not the port's alone.
    edits: dict[tuple[str, str, str], dict[str, None]] = {}
    for port in ports:
        for file, netdef in defining(files, port):
            others = [link.name for link in links.values() if link.name not in declared and netdef.binds(link)]
            overruled = netdef.renderer and file.name > PurePosixPath(FILE).name
            if file.readable and others:
                where = (plain(file.path), plain(netdef.label), listed(others))
            elif not file.readable or overruled or not _PLAIN.fullmatch(netdef.label):
                where = (plain(file.path), "", "")
            else:
                continue
            edits.setdefault(where, {})[port.name] = None
    return [_edit([*names], *where) for where, names in edits.items()]


def _edit(names: Sequence[str], path: str, label: str, others: str) -> str:
    if not others:
        return f"give {listed(names)} renderer: {NETWORK_MANAGER} in {path}"
    each = "" if len(names) == 1 else "each "
    return (
        f"give {listed(names)} {each}an entry of its own with renderer: {NETWORK_MANAGER} in {path}, "
        f"where {label} is also {others}"
    )
