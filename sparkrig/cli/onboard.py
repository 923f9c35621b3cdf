"""`sparkrig onboard`: a new Spark, from out of the box to in the inventory and as declared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig.cli import extras, files
from sparkrig.onboarding.io.newcomer import Asked
from sparkrig.refusal import Refusal

if TYPE_CHECKING:
    from sparkrig.drift.plan import Planned
    from sparkrig.fleet import Fleet
    from sparkrig.onboarding.wishes import Wishes
    from sparkrig.resources.state import State


@click.command()
@click.argument("address", required=False)
@click.option(
    "--inventory",
    "inventory_file",
    type=click.Path(path_type=Path),
    default=Path("inventories/sparks.py"),
    show_default=True,
    help="Inventory to add it to, or to begin.",
)
@click.option("--fingerprint", metavar="SHA256:...", help="Its host key's, as its own screen prints it.")
@click.option("--key", metavar="FILE", help="Your ssh key, if not id_ed25519 or an agent's.")
@click.option(
    "--password-file",
    metavar="FILE",
    help="File with its password; - for standard input.",
)
@click.option(
    "--replace",
    "replaces",
    metavar="HOST",
    help="The Spark of the inventory whose place it takes.",
)
@click.option("--name", help="Its name in the inventory, if not its host name.")
@click.option("--pair", help="Name of the pair or cluster that it joins.")
@click.option("--peer", metavar="HOST", help="The Spark at the other end, if it is not clear.")
@click.option(
    "--topology",
    type=click.Choice(["ring", "switch"]),
    metavar="ring|switch",
    help="What joins it to others, if it is not seen.",
)
@click.option("--solo", is_flag=True, help="Do not pair it, whatever a cable joins it to.")
@click.option(
    "--fabric",
    multiple=True,
    metavar="NETDEV=IP/24",
    help="Another address than proposed; repeatable.",
)
@click.option(
    "--adopt",
    type=click.Choice(["adopt", "set-aside", "leave"]),
    metavar="HOW",
    help="Others' definitions: adopt, set-aside or leave.",
)
@click.option("--restart-docker", is_flag=True, help="Let docker restart while containers run.")
@click.option("--yes", is_flag=True, help="Do not ask. A new host key needs --fingerprint.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print JSON (schema: docs/schema/onboard.json). Without --yes it writes nothing.",
)
def onboard(address: str | None, inventory_file: Path, yes: bool, as_json: bool, **options: Any) -> None:
    """Take a new Spark from the box into an inventory, and set it up as declared.

    ADDRESS is what you would type after ssh; without one, it searches the network. It shows the host key to
    compare, asks for the password once, looks without writing, proposes a name, a peer and addresses, shows what
    would change, asks once, and applies it with pyinfra. If it is interrupted, run the same command again.

    --replace HOST sets up a Spark that was exchanged or installed anew under its old name and in its old place,
    and lets it serve again what the old one served; its new host key is then known here and to its peers.

    Exit code 1: refused or declined; 2: something is left to do; 3: a host could not be reached; 4: the network
    was rolled back.
    """
    from sparkrig.operations import onboard as operations
    from sparkrig.terminal.screen import Screen

    extras.need("onboard")
    console = Screen(stderr=as_json)
    with files.refusals():
        asked = _asked(file=inventory_file, yes=yes, as_json=as_json, **options)
        asked.judge()
        if not as_json:
            files.must_answer(
                yes, "the same with --json, which shows the plan; then --yes, --fingerprint, --password-file"
            )
        code, report = operations.run(address, asked, console, files.inventory, _planned)
    if report:
        files.print_json(report)
    raise SystemExit(code)


def _planned(data: Mapping[str, Mapping[str, Any]], fleet: Fleet, seen: Mapping[str, State]) -> dict[str, Planned]:
    from sparkrig.deploys import dry

    return dry.planned(data, fleet, seen)


def _asked(**options: Any) -> Asked:
    """The options, those of what a user wishes for together."""
    own = {field.name for field in fields(Asked)} & {*options}
    wishes = _wishes(**{name: value for name, value in options.items() if name not in own})
    return Asked(wishes=wishes, **{name: options[name] for name in own})


def _wishes(fabric: Sequence[str], **others: Any) -> Wishes:
    from sparkrig.onboarding.wishes import Wishes

    pairs = [each.partition("=") for each in fabric]
    if odd := [name for name, separator, address in pairs if not (name and separator and address)]:
        raise Refusal(
            f"--fabric {odd[0]}: NETDEV=ADDRESS/PREFIX is expected", "--fabric enp1s0f0np0=192.168.100.11/24"
        )
    return Wishes(fabric={name: address for name, _, address in pairs}, **others)
