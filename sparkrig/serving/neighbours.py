"""What a server may not have, because another server of ours on the same host has it.

The other one may be down, and need it after the next boot: so it is its record that counts, not what listens now.
"""

from __future__ import annotations

from collections.abc import Mapping

from sparkrig.cure import deploy, quoted_path
from sparkrig.refusal import Refusal
from sparkrig.serving import served
from sparkrig.serving.plan import MEETING
from sparkrig.serving.served import Record, Service, Serving
from sparkrig.serving.service_settings import NONE
from sparkrig.settings import Settings

_PORTS = ("serve_port", "serve_trial_port")


def judge(found: Serving, mine: Settings, others: Mapping[str, Record], *, leads: bool) -> None:
    """Raise Refusal for what another service of the host has. leads: whether it answers the API there."""
    if mine.serve_name and len(found.named.keys() - {"", mine.serve_name}) >= served.MOST:
        raise Refusal(
            f"this host has {served.MOST} named services already, and a look sees no more",
            deploy(what="serve", data={"serve_name": "NAME", "model": NONE}).then(" for one of them"),
        )
    for name, other in others.items():
        if other.weights != mine.weights:
            raise Refusal(
                f"{Service(name)} has its weights in {other.weights}, and weights is {mine.weights}: a host has "
                f"one folder of them",
                f"the same with --data weights={quoted_path(other.weights)}",
            )
        if leads and other.rank == 0:
            _ports(mine, Service(name), other)


def _ports(mine: Settings, service: Service, other: Record) -> None:
    for field in _PORTS:
        port = getattr(mine, field)
        if port in (other.port, other.trial_port):
            raise Refusal(
                f"{field} is {port}, which is a port of {service}",
                f"the same with --data {field}=PORT, one that is free",
            )


def meets(form: str, others: Mapping[str, Record]) -> None:
    """Raise Refusal where the nodes of another service meet at the same port of the head."""
    for name, other in others.items():
        if other.form == form and form in MEETING and other.rank != served.ASIDE:
            free = "multinode" if form == "ray" else "ray"
            raise Refusal(
                f"the nodes of {form} meet at port {MEETING[form]}, which {Service(name)} has: its hosts have "
                f"one server of each form",
                f"the same with --data serve_form={free}, or with serve_nodes=1 where one Spark is enough",
            )
