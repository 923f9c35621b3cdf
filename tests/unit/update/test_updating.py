"""What stops for the update of a host."""

from __future__ import annotations

from sparkrig.serving.served import Own, Serving
from sparkrig.update.updating import served

UP = {"ActiveState": "active"}


def test_a_server_of_a_peer_stops_where_this_host_is_its_node_by_ray_alone() -> None:
    small = Own(part=True)
    node, head = Serving(part=True, named={"small": small}), Serving(unit=UP, named={"small": Own()})
    assert served(head, [node]) == ("-",)
    assert served(node, [head]) == ("-",), "and not the one that its head has stopped"
    assert served(node, [Serving(named={"small": Own(unit=UP)})]) == ("small",)
    assert served(node, [Serving()]) == served(Serving(), [head]) == served(node, []) == ()
    assert served(Serving(unit=UP, part=False), [head]) == ("-",)
