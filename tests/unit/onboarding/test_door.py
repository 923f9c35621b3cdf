"""The way into a new Spark: against a real sshd on loopback, and one that takes a password."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from sparkrig.facts.newcomer import Newcomer
from sparkrig.onboarding.address import Address, parse
from sparkrig.onboarding.io import draft, first_login, ssh_keys
from sparkrig.onboarding.operator import PublicKey, public
from sparkrig.operations import onboard
from sparkrig.refusal import Refusal
from sparkrig.ssh.remote import Failed, Lost
from tests.tables import tabled
from tests.unit.factory import PASSWORD, Spark, look, out_of_the_box
from tests.unit.shells import sh
from tests.unit.sshd import Server, fingerprint, free_port, keygen, sshd

KEY = PublicKey("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA", "me@laptop")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of whoever onboards."""
    folder = tmp_path / "me"
    (folder / ".ssh").mkdir(parents=True, mode=0o700)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return folder


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with sshd(tmp_path / "sshd") as running:
        yield running


@pytest.fixture
def spark(tmp_path: Path) -> Iterator[Spark]:
    with out_of_the_box(tmp_path / "spark", look("fresh-b")) as running:
        yield running


def at(port: int, user: str = "", **data: Any) -> first_login.Target:
    return first_login.target(parse(f"{user}127.0.0.1:{port}"), data)


# --- where it is


@tabled(__file__, "where a spark is")
def test_where_a_spark_is(home: Path, text: str, data: dict[str, Any], config: str, found: list[Any]) -> None:
    (home / ".ssh" / "config").write_text(config)
    target = first_login.target(parse(text), data)
    assert [target.host, target.port, target.user, target.tells_user, target.tells_port] == found
    assert target.typed == "spark"
    assert target.known_hosts == home / ".ssh" / "known_hosts"


def test_a_way_by_another_host_is_refused(home: Path) -> None:
    (home / ".ssh" / "config").write_text("Host spark\n ProxyJump bastion\n")
    with pytest.raises(Refusal, match="by way of bastion"):
        first_login.target(Address("spark"), {})


@pytest.mark.parametrize("word", ["ProxyJump none\n ProxyCommand none", "ProxyJump NONE"])
def test_a_jump_that_is_taken_back_is_none(home: Path, word: str) -> None:
    (home / ".ssh" / "config").write_text(f"Host spark\n {word}\nHost *\n ProxyJump bastion\n")
    assert first_login.target(parse("nvidia@spark"), {}).host == "spark"


@tabled(__file__, "known hosts is the first file of the option")
def test_known_hosts_is_the_first_file_of_the_option(home: Path, option: str, file: str) -> None:
    (home / ".ssh" / "config").write_text(f"Host spark\n UserKnownHostsFile {option}\n")
    assert first_login.target(parse("nvidia@spark"), {}).known_hosts == Path(file)


# --- its host key


def test_the_host_key_is_the_one_that_sshd_has(server: Server) -> None:
    assert first_login.scan(at(server.port)).fingerprint == fingerprint(server.public)
    other = first_login.scan(at(server.port), ["ecdsa-sha2-nistp256"])
    assert other.fingerprint == fingerprint(server.etc / "ssh_host_ecdsa_key.pub")
    assert first_login.scan(at(server.port), ["ssh-rsa"]).kind == "ssh-ed25519", "it has no rsa key"


@pytest.mark.parametrize("hashed", [False, True])
def test_a_key_is_known_by_the_file_that_ssh_writes(home: Path, server: Server, hashed: bool) -> None:
    assert first_login.known(at(server.port)) == []
    key = first_login.scan(at(server.port))
    file = home / ".ssh" / "known_hosts"
    broken = "" if hashed else "broken line\n"  # which ssh-keygen would not hash
    file.write_text(f"# mine\n{broken}{key.line(at(server.port).entry)}")
    if hashed:
        subprocess.run(["ssh-keygen", "-q", "-H", "-f", file], check=True, capture_output=True)
    assert first_login.known(at(server.port)) == [key]


@pytest.mark.parametrize(
    ("host", "words"), [("127.0.0.1", "refused"), ("no-such-host.invalid", "cannot be resolved")]
)
def test_who_does_not_answer_is_lost(host: str, words: str) -> None:
    with pytest.raises(Lost, match=words) as caught:
        first_login.scan(first_login.target(Address(host, None, free_port()), {}))
    assert ("searches this network" in caught.value.cure) is (words != "refused"), "a login there fails, too"


def test_of_a_peer_that_is_away_the_cure_is_not_that_of_the_new_spark() -> None:
    lost = draft.unread_hosts({"spark-b": Lost("gone")}, ", which may be its peer,")
    assert str(lost) == "spark-b, which may be its peer, cannot be read: gone"
    assert lost.cure == "sparkrig doctor pair.py access"


# --- logging in


@pytest.mark.slow  # a real login
def test_a_key_opens_the_door_and_words_stay_words(home: Path, server: Server) -> None:
    own = keygen(home / ".ssh" / "id_ed25519")
    key = first_login.scan(at(server.port))
    with first_login.door(at(server.port), key) as shut:
        assert shut is None
    (server.home / ".ssh").mkdir()
    (server.home / ".ssh" / "authorized_keys").write_text(own.with_suffix(".pub").read_text())
    with first_login.door(at(server.port), key) as entered:
        assert entered
        assert entered.shell('printf "%s|" "$HOME" "$@"', "a'b $c", "") == f"{server.home}|a'b $c||"
        with pytest.raises(Failed, match="ouch"):
            entered.shell("echo ouch >&2; exit 3")
        with pytest.raises(Failed, match="exit 124"):
            entered.shell("sleep 20", seconds=1)
        for endless in ("yes", "yes >&2", "sleep 9 & yes >&2"):
            with pytest.raises(Failed, match="it printed more than 2 MB"):
                entered.shell(endless, seconds=60)


@pytest.mark.slow
def test_a_password_opens_the_door_and_sudo(spark: Spark) -> None:
    key = first_login.scan(at(spark.port))
    assert key.fingerprint == fingerprint(spark.public)
    with first_login.door(at(spark.port, "nvidia@"), key, SecretStr("wrong")) as shut:
        assert shut is None
    with first_login.door(at(spark.port, "nvidia@"), key, SecretStr(PASSWORD)) as entered:
        assert entered
        assert not entered.is_root()
        with pytest.raises(Failed, match="incorrect password attempt"):
            entered.become_root(SecretStr("wrong"))
        entered.become_root(SecretStr(PASSWORD))
        assert entered.read(Newcomer(), seconds=20).identity.hostname == "spark-b"
        onboard.authorize(entered, KEY)
        onboard.allow_sudo(entered)
        assert entered.is_root(), "without the password, which it dropped"
    assert spark.authorized == [KEY.line]
    assert (spark.state / "sudoers.d" / "sparkrig").read_text().splitlines()[
        1
    ] == "nvidia ALL=(ALL:ALL) NOPASSWD: ALL"


def test_another_host_key_closes_the_door(server: Server, spark: Spark) -> None:
    with (
        pytest.raises(Lost, match="another host key"),
        first_login.door(at(spark.port), first_login.scan(at(server.port))),
    ):
        pytest.fail("it went in")


# --- authorized_keys


AUTHORIZED: dict[str, tuple[str | None, str]] = {
    "no file": (None, ""),
    "an empty one": ("", ""),
    "lines of others": ("# mine\nssh-rsa AAAA other\n", "# mine\nssh-rsa AAAA other\n"),
    "a last line without its end": ("ssh-rsa AAAA other", "ssh-rsa AAAA other\n"),
    "a key that begins the same": (f"{KEY.bare}X other\n", f"{KEY.bare}X other\n"),
    "the same key, for one command alone": (f'command="true" {KEY.line}\n', f'command="true" {KEY.line}\n'),
}


@pytest.mark.parametrize(("before", "kept"), AUTHORIZED.values(), ids=AUTHORIZED)
def test_our_key_is_let_in_once_and_others_stay(home: Path, before: str | None, kept: str) -> None:
    file = home / ".ssh" / "authorized_keys"
    if before is None:
        file.parent.rmdir()
    else:
        file.write_text(before)
        file.chmod(0o640)
    for _ in range(2):
        done = sh(onboard.AUTHORIZE, KEY.bare, KEY.line)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert file.read_text() == f"{kept}{KEY.line}\n"
    assert oct(file.parent.stat().st_mode)[-3:] == "700"
    assert oct(file.stat().st_mode)[-3:] == ("600" if before is None else "640")
    assert [each.name for each in file.parent.iterdir()] == ["authorized_keys"]


def test_what_sshd_would_ignore_is_mended(home: Path) -> None:
    file = home / ".ssh" / "authorized_keys"
    file.write_text(f"{KEY.line}\n")
    file.chmod(0o666)
    file.parent.chmod(0o775)
    assert sh(onboard.AUTHORIZE, KEY.bare, KEY.line).returncode == 0
    assert (oct(file.stat().st_mode)[-3:], oct(file.parent.stat().st_mode)[-3:]) == ("644", "755")


def test_a_link_to_the_keys_stays_one(home: Path) -> None:
    real = home / "keys"
    real.write_text("# mine\n")
    (home / ".ssh" / "authorized_keys").symlink_to(real)
    assert sh(onboard.AUTHORIZE, KEY.bare, KEY.line).returncode == 0
    assert (home / ".ssh" / "authorized_keys").is_symlink()
    assert real.read_text() == f"# mine\n{KEY.line}\n"


# --- sudoers, judged by the real visudo


LINE = "nvidia ALL=(ALL:ALL) NOPASSWD: ALL"


def allowed(folder: Path, line: str = LINE) -> subprocess.CompletedProcess[str]:
    return sh(onboard.ALLOW, str(folder / "sparkrig"), line, env={"PATH": f"{os.environ['PATH']}:/usr/sbin"})


def test_sudo_asks_for_nothing_from_then_on(tmp_path: Path) -> None:
    for _ in range(2):
        assert allowed(tmp_path).returncode == 0
    assert (tmp_path / "sparkrig").read_text() == f"# Written by sparkrig onboard\n{LINE}\n"
    assert oct((tmp_path / "sparkrig").stat().st_mode)[-3:] == "440"


def test_a_line_of_before_stays(tmp_path: Path) -> None:
    (tmp_path / "sparkrig").write_text("admin ALL=(ALL) NOPASSWD: ALL\n")
    assert allowed(tmp_path).returncode == 0
    assert (tmp_path / "sparkrig").read_text() == f"admin ALL=(ALL) NOPASSWD: ALL\n{LINE}\n"


def test_what_visudo_refuses_is_never_put_in_place(tmp_path: Path) -> None:
    done = allowed(tmp_path, "nvidia ALL=(ALL NOPASSWD ALL")
    assert done.returncode != 0
    assert "syntax error" in done.stderr + done.stdout
    assert [each.name for each in tmp_path.iterdir() if each.name != "me"] == []


# --- the operator's own key


def test_the_usual_key_is_found_and_need_not_be_told(home: Path) -> None:
    keygen(home / ".ssh" / "id_ecdsa", "ecdsa")
    assert ssh_keys.find(None, ()).file == home / ".ssh" / "id_ecdsa"
    own = keygen(home / ".ssh" / "id_ed25519")
    found = ssh_keys.find(None, ())
    assert (found.file, found.told) == (own, False)
    assert found.public == public(own.with_suffix(".pub").read_text(), "")


def test_another_key_is_told(home: Path) -> None:
    own = keygen(home / "keys" / "spark")
    assert ssh_keys.find("~/keys/spark.pub", ()) == ssh_keys.find(str(own), ())
    assert ssh_keys.find(str(own), ()).told
    assert not ssh_keys.find(None, (str(own),)).told, "ssh's own configuration names it"


def test_where_there_is_none_one_is_made(home: Path) -> None:
    found = ssh_keys.find(None, ())
    assert (found.file, found.public) == (home / ".ssh" / "id_ed25519", None)
    made = ssh_keys.make(found)
    assert made == ssh_keys.find(None, ()).public
    assert oct(found.file.stat().st_mode)[-3:] == "600"


def test_a_key_with_a_passphrase_needs_an_agent(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = keygen(home / ".ssh" / "id_ed25519", passphrase="secret words")
    with pytest.raises(Refusal, match="has a passphrase, and no ssh agent holds it") as caught:
        ssh_keys.find(None, ())
    assert caught.value.cure == f"ssh-add {own}"
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", tmp_path / "agent"], stdout=subprocess.PIPE, text=True)
    try:
        assert agent.stdout and agent.stdout.readline()
        monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))
        subprocess.run(["ssh-keygen", "-q", "-p", "-P", "secret words", "-N", "", "-f", own], check=True)
        subprocess.run(["ssh-add", "-q", own], check=True)
        subprocess.run(["ssh-keygen", "-q", "-p", "-P", "", "-N", "secret words", "-f", own], check=True)
        assert ssh_keys.find(None, ()).file == own
        own.unlink()
        own.with_suffix(".pub").unlink()
        assert ssh_keys.find(None, ()).public, "the agent's own"
    finally:
        agent.terminate()
        agent.communicate(timeout=10)


@pytest.mark.parametrize("asked", ["~/.ssh/nothing", None])
def test_a_key_without_its_public_half_is_refused(home: Path, asked: str | None) -> None:
    keygen(home / ".ssh" / "id_ed25519").with_suffix(".pub").unlink()
    with pytest.raises(Refusal, match=r"\.pub cannot be read"):
        ssh_keys.find(asked, ())
