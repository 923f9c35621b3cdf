"""What status reads of a pair: journals, and what its Sparks are set to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from click.testing import CliRunner, Result

from sparkrig.cli import status
from sparkrig.runs.journal import Journal, Run, Step
from sparkrig.runs.lock import Owner
from sparkrig.ssh.remote import Lost
from sparkrig.status.figures import Containers, Differs, Driver, Figures, Rail, Spark
from sparkrig.status.status import Seen
from sparkrig.value import Unread

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


SPARK, DRIVER = (
    Spark("NVIDIA DGX Spark Founders Edition", "7.5.0", "6.17.0-1014-nvidia"),
    Driver("580.173.02-0", 43),
)


RAIL = Rail(
    "enp1s0f0np0", True, "192.168.100.11/24", 9000, "rocep1s0f0", 4096, 1, 109.5, 4096, "2026-11-21T03:00:00Z"
)


STATE = Figures(SPARK, DRIVER, [RAIL], Containers("1.19.0-1", nvidia_runtime=True), ["NCCL_IB_GID_INDEX=1"], [])


DIFFERING = replace(STATE, differs=[Differs("net.enp1s0f0np0.mtu", "drift", "9000", "1500")])


def looked(found: Mapping[str, Journal | Lost], state: Figures | Unread = STATE) -> dict[str, Seen | Unread]:
    """What `sparkrig.cli.status._look` saw."""
    return {
        name: Unread(str(each)) if isinstance(each, Lost) else Seen(each, state) for name, each in found.items()
    }


def shown(
    monkeypatch: pytest.MonkeyPatch,
    inventory: str,
    found: Mapping[str, Journal | Lost],
    *words: str,
    state: Figures | Unread = STATE,
) -> Result:
    monkeypatch.setattr(status, "_look", lambda fleet, *_: (fleet, looked(found, state)))
    return CliRunner().invoke(status.status, [inventory, *words])


GOOD, BAD = Journal(NOW, None, (DONE,), AFTER), Journal(NOW, None, (BROKEN, DONE), AFTER)
