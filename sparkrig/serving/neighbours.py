"""What a server may not have, because another server of ours on the same host has it, or another program.

Another one of ours may be down, and need it after the next boot: its record counts, and not what listens now.
"""

from __future__ import annotations

from collections.abc import Mapping

from sparkrig.cure import deploy, on_host, with_setting
from sparkrig.refusal import Refusal
from sparkrig.serving import served
from sparkrig.serving.last_deploy import Record
from sparkrig.serving.served import Service, Serving
from sparkrig.serving.service_settings import NONE
from sparkrig.settings import Settings

_PORTS = ("serve_port", "serve_trial_port")
# Where the nodes meet on the head, by form (templates/serving/start.sh).
MEETING = {"ray": 6379, "multinode": 29501}


def judge(serving: Serving, mine: Settings, others: Mapping[str, Record], *, leads: bool) -> None:
    """Raise Refusal for what another service of the host has. leads: whether it answers the API there."""
    if mine.serve_name and len(serving.named.keys() - {"", mine.serve_name}) >= served.MOST:
        raise Refusal(
            f"this host has {served.MOST} named services already, and a look sees no more",
            deploy(what="serve", data={"serve_name": "NAME", "model": NONE}).then(" for one of them"),
        )
    for name, other in others.items():
        if other.weights != mine.weights:
            raise Refusal(
                f"{Service(name)} has its weights in {other.weights}, and weights is {mine.weights}: a host has "
                f"one folder of them",
                with_setting("weights", other.weights),
            )
        if leads and other.rank == 0:
            _ports(mine, Service(name), other)


def _ports(settings: Settings, service: Service, other: Record) -> None:
    for field in _PORTS:
        port = getattr(settings, field)
        if port in (other.port, other.trial_port):
            raise Refusal(
                f"{field} is {port}, which is a port of {service}",
                with_setting(field, "PORT", ", one that is free"),
            )


def meets(
    form: str, serving: Serving, record: Record | None, others: Mapping[str, Record], *, standing: bool = False
) -> None:
    """Raise Refusal where the nodes cannot meet at the port of their form, on the head.

    record: of the server until now; while that runs in the same form, the port is its own; standing: whether a
    Ray cluster is declared, which has that of Ray.
    """
    on = next((name for name, each in others.items() if each.form == form == served.STANDING), None)
    if on is not None:
        raise Refusal(
            f"{Service(on)} has the GPUs of the standing Ray cluster, which has one a host",
            with_setting("serve_form", "multinode", ", or with serve_nodes=1 where one Spark is enough"),
        )
    port = MEETING.get(form)
    if port is None:
        return
    if standing and form == "ray":
        raise Refusal(
            f"the standing Ray cluster has port {port}, and a server begins Ray of its own there",
            with_setting("serve_form", "multinode", ", or serve_nodes, with all hosts of the cluster"),
        )
    free = "multinode" if form == "ray" else "ray"
    for name, other in others.items():
        if other.form == form and other.rank != served.ASIDE:
            raise Refusal(
                f"the nodes of {form} meet at port {port}, which {Service(name)} has: its hosts have one server "
                f"of each form",
                with_setting("serve_form", free, ", or with serve_nodes=1 where one Spark is enough"),
            )
    runs = serving.unit.get("ActiveState") in ("active", "activating")
    ours = runs and record is not None and record.form == form and record.rank == 0
    if port in serving.listening and not ours:
        raise Refusal(
            f"port {port} is taken by another program, and the nodes of {form} meet there",
            on_host(f"sudo ss -ltnp sport = :{port:d}", f"; stop what listens there, or set serve_form to {free}"),
        )
