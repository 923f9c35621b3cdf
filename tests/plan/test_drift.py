"""`sparkrig drift` on fake hosts: what real hosts printed goes in, a report comes out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.plan.conftest import ROOT, Host, converged, pair, recorded

HEAD = "from sparkrig.inventory import checked as _checked\n"


def drift(folder: Path, hosts: list[Host], *flags: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, the report, and what was said beside it."""
    (folder / "group_data").mkdir(exist_ok=True)
    defaults = (ROOT / "inventories" / "group_data" / "all.py").read_text()
    (folder / "group_data" / "all.py").write_text(defaults)
    inventory = folder / "sparks.py"
    inventory.write_text(HEAD + f"sparks = _checked({[host.entry() for host in hosts]!r}, __file__)\n")
    done = subprocess.run(
        [str(Path(sys.executable).with_name("sparkrig")), "drift", str(inventory), "--json", *flags],
        cwd=ROOT,
        env={**os.environ, "XDG_STATE_HOME": str(folder / "state"), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr


def wrong(report: dict[str, Any]) -> dict[str, set[str]]:
    """By host, what does not hold."""
    return {
        host["name"]: {row["id"] for row in host["rows"] if row["status"] not in ("ok", "skipped")}
        for host in report["hosts"]
    }


def test_a_settled_pair_is_in_spec(tmp_path: Path) -> None:
    code, report, said = drift(tmp_path, pair(converged("a"), converged("b")))
    assert (code, said) == (0, "")
    assert wrong(report) == {"@fake/spark-a": set(), "@fake/spark-b": set()}
    assert len(report["hosts"][0]["rows"]) > 40


def test_a_pair_from_the_box_wants_everything(tmp_path: Path) -> None:
    code, report, _ = drift(tmp_path, pair(recorded("fresh-a"), recorded("fresh-b")))
    found = wrong(report)["@fake/spark-a"]
    assert code == 2
    assert {"driver.hold", "net.enp1s0f0np0.profile", "containers.toolkit"} <= found
    assert "deploy.plan" not in found
