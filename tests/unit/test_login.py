"""How a run logs in: nothing but strict host keys, no password in an inventory, and a way on in words."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from pyinfra.connectors.ssh import ConnectorData

from sparkrig import login
from sparkrig.fleet import Fleet
from sparkrig.settings import SettingsError
from tests import warm

ROOT = Path(__file__).resolve().parents[2]
SAFE: dict[str, Any] = {
    "ssh_strict_host_key_checking": "yes",
    "ssh_user": "nvidia",
    "ssh_hostname": "spark-a.local",
}

REFUSED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "off": ({login.STRICT: "off"}, ["ssh_strict_host_key_checking is 'off'", '"yes" is expected']),
    "no": ({login.STRICT: "no"}, ["is 'no'"]),
    "a first key unseen": ({login.STRICT: "accept-new"}, ["is 'accept-new'"]),
    "a prompt without a fingerprint": ({login.STRICT: None}, ["is None"]),
    "a login password": ({"ssh_password": "hunter2"}, ["ssh_password", "ssh-copy-id nvidia@spark-a.local"]),
    "a passphrase": ({"ssh_key_password": "hunter2"}, ["ssh_key_password", "ssh-add"]),
    "a password of sudo": ({"_sudo_password": "hunter2"}, ["_sudo_password", "nvidia ALL=(ALL) NOPASSWD: ALL"]),
    "a password of su": ({"_su_password": "hunter2"}, ["_su_password", "NOPASSWD"]),
    "a password for paramiko": (
        {"ssh_paramiko_connect_kwargs": {"password": "hunter2"}},
        ["password is a password in inventory data", "ssh-copy-id"],
    ),
    "a misspelt setting": ({"ssh_usr": "nvidia"}, ["no login setting ssh_usr; did you mean ssh_user?"]),
    "a port in words": ({"ssh_port": "abc"}, ["ssh_port is expected to be a whole number"]),
    "a port that is none": ({"ssh_port": True}, ["ssh_port is expected to be a whole number"]),
    "a user in the address": (
        {"ssh_hostname": "nvidia@spark-a.local"},
        ["the name or address alone is expected", "ssh_user = 'nvidia' beside it"],
    ),
    "no address": ({"ssh_hostname": None}, ["ssh_hostname is expected to be a text"]),
}


@pytest.mark.parametrize(("data", "words"), REFUSED.values(), ids=REFUSED)
def test_an_unsafe_login_is_refused_in_words(data: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(SettingsError) as caught:
        login.judge({"spark-a": {**SAFE, **data}})
    for word in ("spark-a: ", *words):
        assert word in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_two_sparks_are_not_one_machine() -> None:
    with pytest.raises(SettingsError, match=r"spark-a and spark-b are both reached at 10.0.0.7 port 22; each"):
        login.judge({name: {**SAFE, "ssh_hostname": "10.0.0.7"} for name in ("spark-a", "spark-b")})
    login.judge({f"spark-{port}": {**SAFE, "ssh_hostname": "127.0.0.1", "ssh_port": port} for port in (1, 2)})


def test_the_fabric_is_a_way_in_by_consent_alone() -> None:
    """Declared, or taken from a network."""

    def judge(**fabric: Any) -> None:
        own = {"ssh_hostname": "192.168.100.11", **fabric}
        peer = {"ssh_hostname": "10.0.0.8", **fabric}
        if "fabric" in fabric:
            peer["fabric"] = {"enp1s0f0np0": "192.168.100.12/24"}
        login.judge(
            {"spark-a": {**SAFE, **own}, "spark-b": {**SAFE, **peer}},
            Fleet.parse({"spark-a": own, "spark-b": peer}),
        )

    for fabric in ({"fabric": {"enp1s0f0np0": "192.168.100.11/24"}}, {"fabric_network": "192.168.100.0/22"}):
        with pytest.raises(SettingsError, match=r"spark-a: ssh_hostname 192.168.100.11 is its fabric address"):
            judge(cluster="lab", **fabric)
        judge(cluster="lab", allow_management_interface=True, **fabric)


def test_the_login_settings_are_pyinfras() -> None:
    assert set(login._SETTINGS) == set(ConnectorData.__annotations__)


def test_nothing_said_is_pyinfras_default_and_no_better() -> None:
    with pytest.raises(SettingsError, match="is not set, and pyinfra then takes any new key unseen"):
        login.judge({"spark-a": {}})


@pytest.mark.parametrize("name", ["@fake/spark-a", "@local"])
def test_what_is_not_reached_over_ssh_has_no_host_key(name: str) -> None:
    login.judge({name: {}})
    with pytest.raises(SettingsError):
        login.judge({"@ssh/spark-a": {}})


def test_a_strict_login_with_a_key_passes() -> None:
    login.judge({"spark-a": {**SAFE, "ssh_key": "~/.ssh/id_ed25519", "_sudo": True, "_use_sudo_password": False}})


@pytest.mark.parametrize(
    ("data", "command"),
    [
        (SAFE, "Try: ssh -o StrictHostKeyChecking=ask nvidia@spark-a.local true;"),
        ({}, "Try: ssh -o StrictHostKeyChecking=ask spark-a true;"),
        ({"ssh_port": 2211}, "Try: ssh -o StrictHostKeyChecking=ask -p 2211 spark-a true;"),
        ({"ssh_known_hosts_file": "/my keys"}, """-o 'UserKnownHostsFile="/my keys"' spark-a true"""),
    ],
)
def test_the_way_to_take_a_new_key(data: dict[str, Any], command: str) -> None:
    sentence = login.unknown_key("spark-a", data)
    assert command in sentence
    assert "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub" in sentence


@pytest.mark.parametrize(
    ("data", "command"),
    [
        (SAFE, "ssh-keygen -R spark-a.local; ssh "),
        ({"ssh_port": 2211}, "ssh-keygen -R '[spark-a]:2211'; ssh "),
        ({"ssh_known_hosts_file": "/keys"}, "ssh-keygen -f /keys -R spark-a; ssh "),
    ],
)
def test_the_way_on_after_a_factory_re_install(data: dict[str, Any], command: str) -> None:
    assert command in login.changed_key("spark-a", data)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("SSH error (StrictPolicy: No host key for spark-a found in known_hosts)", "is not known here"),
        ("No ED25519 host key is known for spark-a and you have requested strict checking.", "is not known here"),
        ("SSH host key error (Host key for spark-a does not match.)", "factory re-install"),
        ("@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @", "factory re-install"),
        ("Could not connect (timed out)", None),
    ],
)
def test_pyinfra_and_openssh_are_understood(said: str, words: str | None) -> None:
    sentence = login.explained("spark-a", SAFE, said)
    assert (words in sentence) if words and sentence else (sentence is words)


def test_openssh_itself_forgets_what_the_sentence_names(tmp_path: Path) -> None:
    known = tmp_path / "known hosts"
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDHqPAK6OhEwKzKIHUlbmYWlhfGqPGBLoKwvJlNFgC1m"
    known.write_text(f"[spark-a.local]:2211 {key}\nspark-b {key}\n")
    sentence = login.changed_key("spark-a", {**SAFE, "ssh_port": 2211, "ssh_known_hosts_file": str(known)})
    command = sentence.partition("Try: ")[2].partition("; ")[0]
    subprocess.run(command, shell=True, check=True, capture_output=True)
    assert known.read_text() == f"spark-b {key}\n"


def test_a_deploy_refuses_what_only_its_command_line_says(tmp_path: Path) -> None:
    """--data comes later than the inventory, and is judged before the first change."""
    file = tmp_path / "sparks.py"
    host = ("@fake/spark-a", {"fake_responses": {}, "fake_delay": 0, "fake_delay_jitter": 0})
    gone = ("gone", {"ssh_port": 9, "ssh_hostname": "127.0.0.1", "ssh_strict_host_key_checking": "yes"})
    file.write_text(f"sparks = {[host, gone]!r}\n")
    done = warm.run("pyinfra", "-y", "--data", "ssh_password=hunter2", str(file), "deploys/cluster.py", cwd=ROOT)
    assert done.returncode == 1
    assert "gone: ssh_password is a password in inventory data" in done.stderr
    assert "hunter2" not in done.stdout + done.stderr


# --- the machine that runs sparkrig


HERE: dict[str, Any] = {login.HERE: "nvidia"}


def test_this_machine_needs_no_login_and_is_one_host() -> None:
    login.judge({"spark-a": HERE, "spark-b": SAFE})
    with pytest.raises(SettingsError, match="spark-a and spark-b are both @here/"):
        login.judge({"spark-a": HERE, "spark-b": HERE})
    for data, why in (
        ({"_sudo_password": "hunter2"}, "NOPASSWD"),
        ({"ssh_prot": 22}, "no login setting ssh_prot"),
    ):
        with pytest.raises(SettingsError, match=why):
            login.judge({"spark-a": {**HERE, **data}})


def test_its_name_and_what_pyinfra_calls_it() -> None:
    assert login.named("@here/spark-a", "nvidia") == ("spark-a", HERE)
    assert login.named("spark-a", "nvidia") == ("spark-a", {})
    assert login.connector_name("spark-a", HERE) == "@here/spark-a"
    assert login.connector_name("spark-a", SAFE) == "spark-a"
    assert not login.over_ssh("spark-a", HERE) and login.over_ssh("spark-a", SAFE)
    for name in ("@here", "@here/"):
        with pytest.raises(SettingsError, match=f'names "{name}"'):
            login.named(name, "nvidia")


def test_what_is_in_its_way_is_never_the_network() -> None:
    step, refusal = login.hindrance(
        "spark-a", HERE, "sudo asks for a password, and is expected to work without one"
    )
    assert step == "sudo" and "with the line nvidia ALL=(ALL) NOPASSWD: ALL" in refusal.cure
    step, refusal = login.hindrance("spark-a", HERE, "spark-a does not answer (timed out)")
    assert step == "look" and "ping" not in refusal.cure
