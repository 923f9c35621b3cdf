"""Desks to onboard from."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparkrig import inventory_file
from tests.unit.desks import SUDOERS, Desk
from tests.unit.factory import ROOT, look, out_of_the_box
from tests.unit.sshd import keygen


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    for name in ("SSH_AUTH_SOCK", "CI", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    keygen(tmp_path / "me" / ".ssh" / "id_ed25519")
    shutil.copytree(ROOT / "inventories" / "group_data", tmp_path / "inventories" / "group_data")
    with (tmp_path / "inventories" / "group_data" / "all.py").open("a") as settings:
        settings.write("bandwidth_floor = 0.01\n")  # of the virtual pair that was recorded
    with (
        out_of_the_box(tmp_path / "a", look("fresh-a")) as a,
        out_of_the_box(tmp_path / "b", look("fresh-b")) as b,
    ):
        yield Desk(tmp_path, {"spark-a": a, "spark-b": b})


@pytest.fixture
def with_a(desk: Desk) -> Desk:
    """One of the two was onboarded before."""
    spark = desk.sparks["spark-a"]
    (spark.home / ".ssh").mkdir()
    shutil.copy(desk.home / ".ssh" / "id_ed25519.pub", spark.home / ".ssh" / "authorized_keys")
    (spark.state / "sudoers.d" / "sparkrig").write_text(f"{SUDOERS[0]}\n{SUDOERS[1]}\n")
    kind, encoded, _ = spark.public.read_text().split()
    (desk.home / ".ssh" / "known_hosts").write_text(f"[127.0.0.1]:{spark.port} {kind} {encoded}\n")
    data = {"ssh_hostname": "127.0.0.1", "ssh_port": spark.port, "ssh_user": "nvidia"}
    desk.file.write_text(inventory_file.with_host(inventory_file.new(desk.file), "spark-a", data))
    return desk
