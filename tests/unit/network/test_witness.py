"""What another host has to see of the machine that runs sparkrig; its script, run for real beside stand-ins."""

from __future__ import annotations

import re
from pathlib import Path

from sparkrig.network import witness
from sparkrig.network.witness import Place
from sparkrig.ssh import controller
from tests.unit.shells import sh, tool, well

KEY, OTHER = "ssh-ed25519 AAAAC3Nz", "ssh-rsa AAAAB3Nz"
PLACE = Place("spark-a", "10.0.2.11", 2222, (OTHER, KEY))
ROUTE = "10.0.2.11 dev enP7s7 src 10.0.2.12 uid 0 \\\\    cache "


def seen(folder: Path, route: str = f"echo '{ROUTE}'", scan: str = f"echo '10.0.2.11 {KEY}'") -> str:
    tool(folder, "ip", f'[ "$*" = "-o route get 10.0.2.11" ] || exit 9\n{route}')
    tool(folder, "ssh-keyscan", f'[ "$*" = "-T 5 -p 2222 -t ed25519 10.0.2.11" ] || exit 9\n{scan}')
    done = well(sh(witness.SEEN, *PLACE.words, path=folder))
    return witness.unseen(PLACE, "spark-b", done.stdout.splitlines(), ["enp1s0f0np0"])


def test_who_sees_it_over_the_management_network_proves_it(tmp_path: Path) -> None:
    assert seen(tmp_path) == ""
    gateway = "10.0.2.11 via 10.0.9.1 dev enP7s7 src 10.0.9.12"
    assert seen(tmp_path, route=f"echo '{gateway}'") == "", "by way of a router, too"


def test_what_is_not_seen_is_said(tmp_path: Path) -> None:
    assert seen(tmp_path, route="exit 2") == "spark-b has no route to 10.0.2.11"
    fabric = seen(tmp_path, route=f"echo '{ROUTE.replace('enP7s7', 'enp1s0f0np0')}'")
    assert fabric == "spark-b reaches 10.0.2.11 over enp1s0f0np0, which is not its management network"
    assert "over lo, which is not" in seen(tmp_path, route="echo 'local 10.0.2.11 dev lo src 10.0.2.11'")
    nothing = "no ssh server answers spark-b at 10.0.2.11 port 2222"
    assert seen(tmp_path, scan="exit 1") == nothing
    assert seen(tmp_path, scan="echo '# 10.0.2.11:2222 SSH-2.0-OpenSSH_9.6p1' >&2") == nothing
    another = seen(tmp_path, scan="echo '10.0.2.11 ssh-ed25519 AAAAOTHER'")
    assert another == "another ssh server than that of spark-a answers spark-b at 10.0.2.11"


def test_the_kind_of_key_that_is_asked_for_is_one_that_the_server_has() -> None:
    kinds = {
        (OTHER, KEY): "ed25519",
        (OTHER,): "rsa",
        ("ecdsa-sha2-nistp256 AAAAE2Vj",): "ecdsa",
        ("ssh-rsa AAAAB3Nz", "ecdsa-sha2-nistp256 AAAAE2Vj"): "ecdsa",
    }
    for keys, kind in kinds.items():
        assert Place("spark-a", "10.0.2.11", 22, keys).words == ("10.0.2.11", "22", "5", kind)


def test_a_boot_has_a_name() -> None:
    assert re.fullmatch("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", controller.boot_id())
