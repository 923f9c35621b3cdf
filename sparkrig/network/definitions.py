"""Who else defines a fabric netdev, and what becomes of it by the setting `adopt`.

Two definitions of one netdev cannot stand: which one wins after a reboot is decided by a race, and netplan
merges the addresses of both. So another one is refused until the setting adopt names it, and it is set aside
whole or not at all. Seen on a virtual machine with NetworkManager 1.46 and netplan 1.0, and in netplan's source
[@netplan-source]; docs/adopting.md explains it to users.
"""

from __future__ import annotations

import fnmatch
import glob
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Interface
from pathlib import PurePosixPath
from urllib.parse import unquote

from sparkrig.cure import deploy, in_turn, on_host, quoted
from sparkrig.network.links import Link
from sparkrig.network.netplan import MOVABLE, File, Netdef, default_renderer
from sparkrig.network.profiles import Profile, uuid
from sparkrig.network.seen import Network
from sparkrig.refusal import Refusal
from sparkrig.text import plain

ADOPT, SET_ASIDE, LEAVE = "adopt", "set-aside", "leave"
_FABRIC_NAME = re.compile(r"en.*f\d+np\d+")  # a ConnectX-7 port that is off the PCI bus is known by its name only
_RELOAD = "sudo netplan generate && sudo nmcli connection reload"


@dataclass(frozen=True)
class Given:
    """What a definition gives a netdev; mtu None is the driver's own; known: whether that could be read.

    fault: why its bytes are no text, or empty.
    """

    addresses: tuple[IPv4Interface, ...] = ()
    mtu: int | None = None
    dhcp: bool = False
    known: bool = True
    fault: str = ""

    def __str__(self) -> str:
        if not self.known:
            return f"not to be read: {self.fault}" if self.fault else "not to be read"
        address = ", ".join(map(str, self.addresses)) or ("DHCP" if self.dhcp else "no fixed address")
        return address + (f", MTU {self.mtu}" if self.mtu else "")


@dataclass(frozen=True)
class Definition:
    """A netplan file or NetworkManager profile, not ours, that binds declared netdevs.

    key: what a refusal calls it in the setting `adopt`; names: all that it may be called there; given: by
    netdev; path: of the netplan file, or empty; uuid: of the profile, or empty; stays: why it cannot be set
    aside, or empty.
    """

    title: str
    key: str
    names: tuple[str, ...]
    given: Mapping[str, Given]
    path: str = ""
    uuid: str = ""
    stays: str = ""

    def policy(self, adopt: Mapping[str, str]) -> str | None:
        """The word that the setting `adopt` has for it; an exact name goes before a pattern."""
        exact = [word for name, word in adopt.items() if name in self.names]
        alike = [
            word
            for pattern, word in adopt.items()
            if any(fnmatch.fnmatchcase(name, pattern) for name in self.names)
        ]
        return next(iter(exact + alike), None)

    def __str__(self) -> str:
        given = " and ".join(f"{netdev} ({what})" for netdev, what in self.given.items())
        return f"{self.title} defines {given}"


@dataclass(frozen=True)
class Settled:
    """What becomes of the definitions: the profiles (uuid, name) and netplan files that go."""

    remove: tuple[tuple[str, str], ...]
    move: tuple[str, ...]


def find(seen: Network, declared: Collection[str]) -> list[Definition]:
    """Every definition, not ours, of the declared netdevs that are there; netplan's files first."""
    links, files = seen.links, seen.netplan
    live = [file for file in files if not file.shadowed]
    ours = {uuid(netdev) for netdev in declared}
    rendered = {netdef.label for file in live for netdef in file.netdefs}
    others = [
        profile
        for profile in seen.profiles.values()
        if profile.uuid not in ours and not profile.generated and _label(profile) not in rendered
    ]
    busy = [link for link in links.values() if link.name not in declared and _in_use(link, seen.carries_ssh)]
    known = [_of_file(file, files, links, declared, busy) for file in live]
    known += [_of_profile(profile, others, links, declared, busy) for profile in others]
    return [definition for definition in known if definition.given]


def _label(profile: Profile) -> str | None:
    """The netplan label that a profile was rendered from; None for one of NetworkManager's own."""
    path = PurePosixPath(profile.filename)
    if not profile.filename.startswith("/run/") or not path.name.startswith("netplan-"):
        return None
    return unquote(path.name.removeprefix("netplan-").removesuffix(".nmconnection"))


def _word(name: str) -> str:
    """What the setting `adopt` calls a file: its name, or a pattern with `?` for what cannot be shown or typed."""
    if name.isprintable():
        return name
    return "".join(each if each.isprintable() else "?" for each in glob.escape(name))


def _in_use(link: Link, carries_ssh: Callable[[str], bool]) -> bool:
    """Whether a netdev that the inventory does not declare is in use, so that its definition would be missed."""
    addressed = any(not address.ip.is_link_local for address in link.addresses)
    return not link.port or carries_ssh(link.name) or bool(link.master) or (link.carrier and addressed)


def _of_file(
    file: File,
    files: Sequence[File],
    links: Mapping[str, Link],
    declared: Collection[str],
    busy: Iterable[Link],
) -> Definition:
    same = [netdef for other in files if not other.shadowed for netdef in other.netdefs]
    # what only gives a netdev to NetworkManager competes with none: its profile has neither address nor priority
    defining = [netdef for netdef in file.netdefs if not netdef.handover]
    given = {
        netdev: Given(
            tuple(address for netdef in netdefs for address in netdef.addresses),
            next((netdef.mtu for netdef in netdefs if netdef.mtu), None),
            any(netdef.dhcp for netdef in netdefs),
            file.readable,
            file.fault,
        )
        for netdev in declared
        if netdev in links and (netdefs := [each for each in defining if _bound(each, same, links[netdev])])
    }
    beside = [
        *file.others,
        *(link.name for link in busy if any(_bound(netdef, same, link) for netdef in file.netdefs)),
        *(
            netdef.label
            for netdef in file.netdefs
            if not any(_bound(netdef, same, link) for link in links.values()) and not _of_a_fabric(netdef)
        ),
    ]
    return Definition(
        title=f"netplan file {file.shown}",
        key=_word(file.name),
        names=(file.path, file.name),
        given=given,
        path=file.path,
        stays=_file_stays(file, files, beside),
    )


def _bound(netdef: Netdef, same: Iterable[Netdef], link: Link) -> bool:
    """Whether it defines that netdev, by itself or through what another file has under its label."""
    return any(other.binds(link) for other in (netdef, *same) if other.label == netdef.label)


def _of_a_fabric(netdef: Netdef) -> bool:
    return any(_FABRIC_NAME.fullmatch(name) for name in netdef.names)


def _file_stays(file: File, files: Sequence[File], beside: Sequence[str]) -> str:
    if not file.readable:
        return f"it is {file.fault or 'not understood'}, so what else it defines is unknown"
    if PurePosixPath(file.path).parent != PurePosixPath(MOVABLE):
        return f"only files in {MOVABLE} are moved"
    if beside:
        return f"it also defines {plain(', '.join(beside))}"
    hidden = next((other.path for other in files if other.shadowed and other.name == file.name), None)
    if hidden:
        return f"{plain(hidden)} would take its place"
    return ""


def _of_profile(
    profile: Profile,
    profiles: Iterable[Profile],
    links: Mapping[str, Link],
    declared: Collection[str],
    busy: Iterable[Link],
) -> Definition:
    namesakes = Counter(each.name for each in profiles)[profile.name]
    beside = [link.name for link in busy if profile.binds(link)]
    bound = [netdev for netdev in declared if netdev in links and profile.binds(links[netdev])]
    return Definition(
        title=f"NetworkManager profile {profile.name!r} ({plain(profile.filename)})",
        key=profile.uuid if namesakes > 1 else profile.name,
        names=(profile.uuid, profile.name),
        given=dict.fromkeys(bound, Given(profile.addresses, profile.mtu, profile.dhcp)) if bound else {},
        uuid=profile.uuid,
        stays=f"it also binds {', '.join(beside)}" if beside else "",
    )


def settle(
    found: Sequence[Definition],
    adopt: Mapping[str, str],
    fabric: Mapping[str, IPv4Interface],
    profiles: Collection[str],
    files: Sequence[File],
    decided: Mapping[str, str],
) -> Settled:
    """What becomes of each definition. Raises one Refusal for all that cannot stand, or that adopt does not name.

    fabric: the declared address of each netdev; profiles: UUIDs of all that NetworkManager has; decided: as of
    `undecided`.
    """
    said = [(definition, definition.policy(adopt)) for definition in found]
    left = left_alone(found, adopt)
    going = [definition for definition, word in said if word in (ADOPT, SET_ASIDE)]
    refusals = [
        refusal
        for definition, word in said
        if word and (refusal := _objection(definition, word, fabric, left, profiles))
    ]
    unsaid = [definition for definition, word in said if word is None]
    if unsaid:
        refusals.insert(0, undecided(unsaid, fabric, decided))
    if not refusals and (refusal := _renderer_lost(going, files)):
        refusals.append(refusal)
    if refusals:
        raise Refusal("; ".join(each.what for each in refusals), in_turn(*(each.cure for each in refusals)))
    return Settled(
        remove=tuple((each.uuid, each.names[1]) for each in going if each.uuid),
        move=tuple(each.path for each in going if each.path),
    )


def left_alone(found: Iterable[Definition], adopt: Mapping[str, str]) -> set[str]:
    """The netdevs that another definition stays in charge of."""
    return {netdev for each in found if each.policy(adopt) == LEAVE for netdev in each.given}


def setting(words: Mapping[str, str]) -> str:
    """The setting `adopt` as it is written in an inventory."""
    return f'"adopt": {json.dumps(words, ensure_ascii=False)}'


def undecided(
    found: Sequence[Definition], fabric: Mapping[str, IPv4Interface], decided: Mapping[str, str]
) -> Refusal:
    """Shows all, and the run that decides; where one has to stay, the setting to write.

    decided: the setting as it is, of all hosts, since what is given for a run takes its place.
    """
    whats = [str(each) + (f" and cannot be set aside, as {each.stays}" if each.stays else "") for each in found]
    words = {definition.key: _suggestion(definition, fabric) for definition in found}
    what = f"fabric netdevs have a second definition: {'; '.join(whats)}"
    if LEAVE not in words.values():
        run = deploy(data={"adopt": {**decided, **words}})
        return Refusal(what, run.then(", or another word in the inventory (sparkrig docs adopting)"))
    by_hand = "".join(f"; {_edit(definition)}, or leave it in charge" for definition in found if definition.stays)
    return Refusal(
        what, f"say in the inventory what becomes of it: {setting(words)}{by_hand} (sparkrig docs adopting)"
    )


def _suggestion(definition: Definition, fabric: Mapping[str, IPv4Interface]) -> str:
    if definition.stays:
        return LEAVE
    same = all(given.addresses == (fabric[netdev],) for netdev, given in definition.given.items())
    return ADOPT if same else SET_ASIDE


def _edit(definition: Definition) -> str:
    netdevs = ", ".join(definition.given)
    if definition.path:
        return f"take {netdevs} out of {plain(definition.path)} by hand, then: {_RELOAD}"
    return f"let it bind no {netdevs}: sudo nmcli connection edit {quoted(definition.uuid)}"


def _objection(
    definition: Definition,
    word: str,
    fabric: Mapping[str, IPv4Interface],
    left: Collection[str],
    profiles: Collection[str],
) -> Refusal | None:
    """Why the word of adopt for a definition cannot be carried out."""
    shared = [netdev for netdev in definition.given if netdev in left]
    if word == LEAVE:
        return _two_in_charge(definition, profiles)
    if definition.stays:
        return Refusal(f"{definition} and cannot be set aside, as {definition.stays}", _edit(definition))
    if shared:
        return Refusal(
            f"{', '.join(shared)}: another definition is left in charge, and {definition.title} is to go",
            f"say one word for both: {setting({definition.key: LEAVE})}",
        )
    return _another_address(definition, fabric) if word == ADOPT else None


def _two_in_charge(definition: Definition, profiles: Collection[str]) -> Refusal | None:
    ours = [netdev for netdev in definition.given if uuid(netdev) in profiles]
    if not ours:
        return None
    return Refusal(
        f"{definition.title} is left in charge of {', '.join(ours)}, and a profile of sparkrig's is there too",
        on_host(
            f"sudo nmcli connection delete {quoted(*map(uuid, ours))}",
            f", or {setting({definition.key: SET_ASIDE})}",
        ),
    )


def _another_address(definition: Definition, fabric: Mapping[str, IPv4Interface]) -> Refusal | None:
    """Adopting takes the very address that stands there."""
    odd = {netdev: given for netdev, given in definition.given.items() if given.addresses != (fabric[netdev],)}
    if not odd:
        return None
    whats = [f"{netdev} ({given}; the inventory says {fabric[netdev]})" for netdev, given in odd.items()]
    entries = {netdev: str(given.addresses[0]) for netdev, given in odd.items() if len(given.addresses) == 1}
    write = f'"fabric": {json.dumps(entries)} in the inventory, or ' if entries else ""
    return Refusal(
        f"{definition.title} has no such address to adopt for {' and '.join(whats)}",
        f"{write}{setting({definition.key: SET_ASIDE})}",
    )


def _renderer_lost(going: Iterable[Definition], files: Sequence[File]) -> Refusal | None:
    """A file may also set what renders all others, the management netdev's among them."""
    paths = {definition.path for definition in going}
    rest = [file for file in files if file.path not in paths and not file.shadowed]
    before, after = default_renderer(files), default_renderer(rest)
    heirs = [file.shown for file in rest if file.borrows]
    if before == after or not heirs:
        return None
    gone = ", ".join(sorted(plain(path) for path in paths if path))
    return Refusal(
        f"without {gone} netplan would hand {', '.join(heirs)} from {before} to {after}",
        f"write renderer: {before} into {heirs[0]}",
    )
