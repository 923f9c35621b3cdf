"""Journals of a pair, as status reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from click.testing import CliRunner, Result

from sparkrig.cli import status
from sparkrig.io.remote import Lost
from sparkrig.runs.journal import Journal, Run, Step
from sparkrig.runs.lock import Owner

ID = "20261121T031500Z-ab12"


WHY = "pyinfra inventories/pair.py deploys/cluster.py"


OWNER = Owner(ID, "ann@laptop", WHY, "0.1.0", "", "10.0.2.2", 1795230000)


BEFORE = {"file /etc/nccl.conf": "644 root:root a"}


AFTER = {"file /etc/nccl.conf": "644 root:root b", "hold one": "held", "hold two": "held", "package toolkit": "1"}


PIN = Step("Driver | pin later branches away", 1, 2, 0)


NETWORK = Step("Network | profiles and live links", 3)


DONE = Run(ID, OWNER, (PIN, replace(NETWORK, ended=4, rc=0)), BEFORE, AFTER, 1795230100, "committed")


BROKEN = replace(DONE, id="20261121T041500Z-cd34", owner=replace(OWNER, since=1795233600), after=None, ended=None)


NOW = 1795234000


INVENTORY = "sparks = [(f'spark-{half}', {'x_': 0}) for half in 'ab']\n"


def shown(
    monkeypatch: pytest.MonkeyPatch, inventory: str, found: Mapping[str, Journal | Lost], *words: str
) -> Result:
    monkeypatch.setattr(status, "_look", lambda *_: found)
    return CliRunner().invoke(status.status, [inventory, *words])


GOOD, BAD = Journal(NOW, None, (DONE,), AFTER), Journal(NOW, None, (BROKEN, DONE), AFTER)
