"""Whether another host proves that the machine which runs sparkrig can still be reached.

A new connection of a machine to itself crosses no network, so it proves nothing. Another member of the cluster
asks its ssh server for the host key, over the management network: what answers is that machine, and it lets
connections in.
Sources: ssh-keyscan(1); ip-route(8).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from sparkrig import programs
from sparkrig.cure import Cure, over_ssh, quoted
from sparkrig.refusal import Refusal
from sparkrig.text import plain

SEEN = programs.text("network/witness.sh")
ANSWER_S = 5  # for an ssh server to show its key
ASK_S = 20  # for a witness to answer, times patience
PORT = 22
_KINDS = {"ssh-ed25519": "ed25519", "ssh-rsa": "rsa"}
_CONSENT = "allow_unwitnessed set to True in the inventory"


@dataclass(frozen=True)
class Place:
    """Where the machine that runs sparkrig is to be reached.

    host: its name in the inventory; address: of its management network; keys: the public keys of its ssh server.
    """

    host: str
    address: str
    port: int
    keys: tuple[str, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The words of SEEN."""
        return self.address, str(self.port), str(ANSWER_S), self.kind

    @property
    def kind(self) -> str:
        """The one kind of key that is asked for, as ssh-keyscan calls it: each kind is a connection of its own."""
        kind = min(self.keys, key=lambda key: (not key.startswith("ssh-ed25519 "), key)).partition(" ")[0]
        return _KINDS.get(kind, "ecdsa")


def unseen(place: Place, witness: str, rows: Iterable[str], fabric: Collection[str]) -> str:
    """Why a witness did not see that place, or nothing.

    rows: as SEEN prints them; fabric: netdevs of the witness that are not its management network.
    """
    told = [row.partition(" ")[::2] for row in rows]
    over = next((rest for word, rest in told if word == "over"), "")
    shown = {rest for word, rest in told if word == "key"}
    if ("absent", "") in told:
        return f"{witness} has no ssh-keyscan (package openssh-client) to look with"
    if not over:
        return f"{witness} has no route to {place.address}"
    if over in fabric or over == "lo":
        return f"{witness} reaches {place.address} over {plain(over)[:20]}, which is not its management network"
    if not shown:
        return f"no ssh server answers {witness} at {place.address} port {place.port}"
    if shown.isdisjoint(place.keys):
        return f"another ssh server than that of {place.host} answers {witness} at {place.address}"
    return ""


def unwitnessed(host: str) -> Refusal:
    """That a Spark has no witness."""
    return Refusal(
        f"sparkrig runs on {host} itself, and no other member of a cluster is there to prove that it can "
        "still be reached once its network, login or firewall has changed",
        f"the same from another machine; or, at the screen and keyboard of {host}, with {_CONSENT}",
    )


def blind(place: Place, reasons: Iterable[str], witness: str) -> Refusal:
    """That no witness sees that place, before anything has changed."""
    return Refusal(
        f"sparkrig runs on {place.host} itself, and no other member of its cluster proves that it can be reached: "
        f"{'; '.join(reasons)}",
        look(place, witness).then(f", which shows its host key once it can be; or {_CONSENT}"),
    )


def look(place: Place, witness: str) -> Cure:
    """The command by which a person sees what a witness sees."""
    return over_ssh(witness, f"ssh-keyscan -p {place.port} {quoted(place.address)}")


def nowhere(host: str) -> Refusal:
    """That no address of the management network is known, or no key."""
    return Refusal(
        f"sparkrig runs on {host} itself, and the address at which others reach it is not known: it has no "
        "default route, and no ssh session came in",
        "set management_interface in the inventory to the netdev of its RJ45 network (ip -br addr)",
    )


def keyless(host: str) -> Refusal:
    """That its ssh server has no key to be known by."""
    return Refusal(
        f"sparkrig runs on {host} itself, and no host key was found in /etc/ssh by which others would know it",
        over_ssh(host, "sudo ssh-keygen -A"),
    )
