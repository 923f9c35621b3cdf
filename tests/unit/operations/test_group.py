"""What a group of hosts does together, apart from the hosts."""

from __future__ import annotations

from typing import cast

import pytest

from sparkrig import cure
from sparkrig.operations import group
from sparkrig.operations.group import Group


def test_from_one_spark_to_the_other_the_login_is_that_of_the_fabric(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the inventory is for the machine that runs sparkrig, and may lead nowhere from a Spark."""
    shown: dict[str, str] = {}
    monkeypatch.setattr(cure, "LOGINS", {"spark-a": "ann@10.0.0.7", "spark-b": cure.THIS_MACHINE})
    monkeypatch.setattr(group, "tell", lambda *_: None)
    monkeypatch.setattr(group, "side_by_side", lambda *given: shown.update(given[-1]))
    pairs = [("spark-a", "@ssh/spark-c"), ("spark-b", "spark-d")]
    group.copied(cast(Group, None), "copy", "image", pairs, lambda *_: (), 1)
    assert shown == {
        "@ssh/spark-c": "ssh spark-a sudo -n true, on @ssh/spark-c",
        "spark-d": "ssh spark-b sudo -n true, on spark-d",
    }
