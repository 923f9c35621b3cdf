"""What the network fact's script reads of netplan's files, run for real."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

import pytest
import yaml

from sparkrig import programs
from sparkrig.facts.noun import PREAMBLE
from sparkrig.facts.resources import Network
from sparkrig.network import netplan
from sparkrig.parsing import rows
from tests.tables import each_row
from tests.unit import manager
from tests.unit.shells import sh, tool

NETPLAN = programs.text("facts/network_netplan.sh").removesuffix("\n")
CANARY = "c4n4ry"
SECRETS = {
    "Wi-Fi": f'network:\n  wifis:\n    w:\n      access-points:\n        "h":\n          password: "{CANARY}"\n',
    "Wi-Fi, in braces": f'network: {{wifis: {{w: {{access-points: {{home: {{password: "{CANARY}, x}}"}}}}}}}}}}\n',
    "plain, with a comma": f"network:\n  wifis:\n    w:\n      password: a,{CANARY}\n",
    "plain, in braces": f"network: {{wifis: {{w: {{password: {CANARY}, dhcp4: true}}}}}}\n",
    "802.1X": f"network:\n  ethernets:\n    e:\n      auth:\n        password: hash:{CANARY}\n"
    f"        client-key-password: '{CANARY}'\n",
    "NetworkManager's own": f'network:\n  nm-devices:\n    x:\n      passthrough:\n        wifi.psk: "{CANARY}"\n'
    f'        wifi-security.wep-key0: "{CANARY}"\n        "wireguard.private-key": "{CANARY}"\n',
    "WireGuard": f"network:\n  tunnels:\n    wg0:\n      key: {CANARY}=\n      peers:\n"
    f"        - keys: {{shared: {CANARY}, public: p}}\n",
    "a list": f"network:\n  tunnels:\n    wg0:\n      peers:\n        - shared: {CANARY}\n",
    "a modem": f"network:\n  modems:\n    m:\n      pin: {CANARY}\r\n",
}


@pytest.mark.parametrize("text", SECRETS.values(), ids=SECRETS)
def test_no_secret_of_a_netplan_file_leaves_the_host(tmp_path: Path, text: str) -> None:
    path = tmp_path / "50-all.yaml"
    path.write_text(text, newline="")
    assert CANARY in text
    row = sh(NETPLAN, str(tmp_path)).stdout.strip()
    sent = base64.b64decode(row.split(" ")[2]).decode()
    assert row.startswith(f"netplan {path} ") and CANARY not in sent
    assert json.dumps(yaml.safe_load(sent), sort_keys=True).count("{") == json.dumps(yaml.safe_load(text)).count(
        "{"
    )


def test_no_secret_leaves_the_host_beside_a_byte_that_is_no_text(tmp_path: Path) -> None:
    """In the locale of the look, C.UTF-8, nothing but a character is matched."""
    for line in (f"password: caf\xe9 {CANARY}", f"{{password: caf\xe9 {CANARY}}}", f'password: "\xe9{CANARY}"'):
        (tmp_path / "50-all.yaml").write_bytes(line.encode("latin-1"))
        row = sh(f"{PREAMBLE}\n{NETPLAN}", str(tmp_path)).stdout.strip()
        assert CANARY.encode() not in base64.b64decode(row.split(" ")[2]), line


def test_everything_else_is_read_as_it_stands(tmp_path: Path) -> None:
    text = (
        "network:\n  ethernets:\n    enp1s0f0np0: {addresses: [10.0.0.1/24], mtu: 9000}\n    lan: {dhcp4: true}\n"
    )
    (tmp_path / "40-cx7.yaml").write_text(text)
    (tmp_path / "40-cx7.yaml.bak").write_text(text)
    (file,) = netplan.parse(line[8:] for line in sh(NETPLAN, str(tmp_path)).stdout.splitlines())
    assert [netdef.label for netdef in file.netdefs] == ["enp1s0f0np0", "lan"] and file.readable


def test_folders_that_are_not_there_are_no_error(tmp_path: Path) -> None:
    done = sh(NETPLAN, str(tmp_path / "none"), str(tmp_path))
    assert (done.returncode, done.stdout) == (0, "")


def test_the_script_asks_all_three_folders() -> None:
    assert f"set -- {' '.join(netplan.FOLDERS)}\n{NETPLAN}" in Network.script


def asked_for(folder: Path, state: str, *, startup: bool) -> None:
    """A NetworkManager that has a netdev in that state; from the third question on it is connected."""
    for name, text in (
        ("first", manager.objects([("e0", state, "")], startup=startup)),
        ("third", manager.objects([("e0", "connected", "u")], startup=startup)),
    ):
        (folder / name).write_text(f"{text}\n")
    case = f"case $(wc -l <{folder}/asked) in 1 | 2) cat {folder}/first ;; *) cat {folder}/third ;; esac"
    tool(folder / "bin", "busctl", f"echo look >>{folder}/asked; {case}")
    (folder / "asked").write_text("")


def test_links_that_networkmanager_still_brings_up_are_waited_for(tmp_path: Path) -> None:
    """After a boot a look came before the profiles were active, and the deploy would have activated them again."""

    def looked(state: str, *, startup: bool) -> tuple[list[str], int]:
        """What the look prints, and how often it asked."""
        asked_for(tmp_path, state, startup=startup)
        done = sh(f"{PREAMBLE}\n{Network.script}", path=tmp_path / "bin")
        rows = [row for row in done.stdout.splitlines() if row.startswith("device ")]
        return rows, len((tmp_path / "asked").read_text()) // 5

    for name, body in (("ip", "echo []"), ("sleep", ":"), ("systemctl", "echo active"), ("nmcli", "exit 1")):
        tool(tmp_path / "bin", name, body)
    assert looked("connecting", startup=True) == (["device e0:connected:u"], 3)
    assert looked("disconnected", startup=True) == (["device e0:connected:u"], 3)
    assert looked("unavailable", startup=True) == (["device e0:connected:u"], 3)
    assert looked("disconnected", startup=False) == (["device e0:disconnected:"], 1), (
        "an unplugged netdev stays so"
    )
    assert looked("connected", startup=True) == (["device e0:connected:"], 1), "what is up is not asked for more"


def test_a_links_addresses_are_read_once_it_was_brought_up(tmp_path: Path) -> None:
    """Read before the wait they were those of the boot, and the deploy would have activated what was up."""
    tools = tmp_path / "bin"
    asked_for(tmp_path, "connecting", startup=True)
    tool(tools, "ip", f'echo "[{{\\"asked\\": $(wc -l <{tmp_path}/asked)}}]"')
    for name, body in (("sleep", ":"), ("systemctl", "echo active"), ("nmcli", "exit 1")):
        tool(tools, name, body)
    shown = sh(f"{PREAMBLE}\n{Network.script}", path=tools).stdout.splitlines()
    assert [row.split() for row in shown if row.startswith(("addr ", "route "))] == [
        ["addr", '[{"asked":', "3}]"],
        ["route", '[{"asked":', "3}]"],
    ]


def test_any_name_of_a_file_is_seen(tmp_path: Path) -> None:
    """A copy that a file manager made is read by netplan like every other."""
    text = "network: {ethernets: {enp1s0f0np0: {mtu: 9000}}}\n"
    names = [
        "40-cx7 (copy).yaml",
        " blank.yaml",
        "two\nlines.yaml",
        "x.yaml\nnetplan forged.yaml e30=\n.yaml",
        "t\tab.yaml",
        "quo'te\".yaml",
        "L2V0Yy9h.yaml",
        "-n.yaml",
        "%s\\n.yaml",
        "$(id).yaml",
        "smörgås.yaml",
        os.fsdecode(b"latin-1 \xe9.yaml"),
    ]
    (tmp_path / "no such folder").mkdir()  # the folder's own name, too
    for folder in (tmp_path, tmp_path / "no such folder"):
        for name in names:
            (folder / name).write_text(text)
    done = sh(NETPLAN, str(tmp_path), str(tmp_path / "no such folder")).stdout.splitlines()
    files = netplan.parse(line.removeprefix("netplan ") for line in done)
    assert sorted(file.path for file in files) == sorted(
        str(folder / name) for folder in (tmp_path, tmp_path / "no such folder") for name in names
    )
    assert all(file.readable and file.netdefs[0].mtu == 9000 and file.shown.isprintable() for file in files)


def test_a_path_that_is_none_is_refused() -> None:
    def refused(word: str) -> None:
        with pytest.raises(ValueError, match="no absolute path"):
            rows.path(word)

    each_row({word: (word,) for word in ("", "etc/netplan", "@@@", "ZXRjL2E=", "é")}, refused)
