"""What a person is asked and told on the way into a new Spark, and what is refused there."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from sparkrig.cli.onboard import onboard
from sparkrig.onboarding.address import parse
from sparkrig.onboarding.io import first_login, newcomer
from sparkrig.onboarding.io.first_login import Target
from sparkrig.onboarding.io.newcomer import Entrance, Password
from sparkrig.refusal import Refusal
from tests.tables import tabled
from tests.unit.factory import PASSWORD, Spark, look, out_of_the_box
from tests.unit.newcomers import SCRIPT
from tests.unit.sshd import fingerprint, keygen, sshd


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of whoever onboards; nobody sits at a terminal."""
    folder = tmp_path / "me"
    keygen(folder / ".ssh" / "id_ed25519")
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    return folder


@pytest.fixture
def spark(tmp_path: Path) -> Iterator[Spark]:
    with out_of_the_box(tmp_path / "spark", look("fresh-b")) as running:
        yield running


def at(spark: Spark) -> Target:
    return first_login.target(parse(f"nvidia@127.0.0.1:{spark.port}"), {})


def known(home: Path) -> str:
    file = home / ".ssh" / "known_hosts"
    return file.read_text() if file.exists() else ""


# --- host keys


def host_key(spark: Spark, others: Mapping[str, Target] | None = None, **asked: object) -> str:
    return newcomer.host_key(at(spark), others or {}, replace(SCRIPT, **asked)).fingerprint  # type: ignore[arg-type]


@tabled(__file__, "what cannot be is said before the network is asked")
def test_what_cannot_be_is_said_before_the_network_is_asked(words: list[str], said: str) -> None:
    done = CliRunner().invoke(onboard, ["nvidia@127.0.0.1:9", *words])
    assert done.exit_code == 1
    assert done.stderr.startswith(f"Error: {said}")


def test_a_key_that_was_given_is_known_from_then_on(home: Path, spark: Spark) -> None:
    (home / ".ssh" / "known_hosts").write_text("# mine\nother ssh-rsa AAAA")
    right = fingerprint(spark.public)
    assert host_key(spark, fingerprint=right) == right
    kind, encoded, _ = spark.public.read_text().split()
    assert known(home) == f"# mine\nother ssh-rsa AAAA\n[127.0.0.1]:{spark.port} {kind} {encoded}\n"
    assert host_key(spark) == right, "nobody is asked again"
    with pytest.raises(Refusal, match="not the one that was given"):
        host_key(spark, fingerprint="SHA256:" + "a" * 43)


def test_a_plan_for_programs_leaves_known_hosts_alone(home: Path, spark: Spark) -> None:
    host_key(spark, fingerprint=fingerprint(spark.public), yes=False, as_json=True)
    assert known(home) == ""


def test_a_script_takes_no_key_unseen(home: Path, spark: Spark) -> None:
    with pytest.raises(Refusal, match="is not known here, and is not taken unseen") as caught:
        host_key(spark)
    assert fingerprint(spark.public) not in str(caught.value), "it is not to be copied from here"
    assert known(home) == ""


@pytest.mark.parametrize(
    ("given", "words"), [("SHA256:" + "a" * 43, "another machine may be"), ("x", "no fingerprint")]
)
def test_another_fingerprint_is_refused(home: Path, spark: Spark, given: str, words: str) -> None:
    with pytest.raises(Refusal, match=words):
        host_key(spark, fingerprint=given)
    assert (known(home), spark.commands) == ("", "")


def test_a_changed_key_is_refused_in_words(home: Path, spark: Spark) -> None:
    stale = keygen(home / "stale").with_suffix(".pub").read_text().split()
    before = f"[127.0.0.1]:{spark.port} {stale[0]} {stale[1]}\n"
    (home / ".ssh" / "known_hosts").write_text(before)
    with pytest.raises(
        Refusal, match="A factory re-install makes a new one; without one, another machine"
    ) as caught:
        host_key(spark, fingerprint=fingerprint(spark.public))
    assert f"-R '[127.0.0.1]:{spark.port}'" in caught.value.cure
    assert known(home) == before


def test_the_same_spark_at_another_address_is_recognised(home: Path, spark: Spark) -> None:
    kind, encoded, _ = spark.public.read_text().split()
    (home / ".ssh" / "known_hosts").write_text(f"spark-a.local {kind} {encoded}\n")
    others = {"spark-a": first_login.target(parse("nvidia@spark-a.local"), {})}
    with pytest.raises(
        Refusal, match=r"shows the host key of spark-a, which the inventory reaches as spark-a.local"
    ):
        host_key(spark, others, fingerprint=fingerprint(spark.public))


# --- the way in


def enter(spark: Spark, stack: ExitStack, **asked: object) -> tuple[Entrance, Password]:
    whole = replace(SCRIPT, **asked)  # type: ignore[arg-type]
    password = Password(at(spark), whole)
    return newcomer.enter(stack, at(spark), first_login.scan(at(spark)), whole, password), password


def password_file(folder: Path, text: str = PASSWORD, mode: int = 0o600) -> str:
    file = folder / "password"
    file.write_text(f"{text}\n")
    file.chmod(mode)
    return str(file)


def test_a_password_from_a_file_opens_everything(tmp_path: Path, spark: Spark) -> None:
    with ExitStack() as stack:
        entrance, password = enter(spark, stack, password_file=password_file(tmp_path))
        assert (bool(entrance.own), entrance.sudo_asks) == (True, True)
        assert entrance.door.root(":") == ""
        password.drop()
        assert password.kept is None
    assert PASSWORD not in spark.commands
    assert PASSWORD not in repr(password) + repr(entrance)


def test_a_password_from_standard_input(spark: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{PASSWORD}\n"))
    with ExitStack() as stack:
        entrance, _ = enter(spark, stack, password_file="-")
        assert entrance.sudo_asks


def test_a_key_and_a_sudo_that_let_in_need_no_password(home: Path, spark: Spark) -> None:
    (spark.home / ".ssh").mkdir()
    shutil.copy(home / ".ssh" / "id_ed25519.pub", spark.home / ".ssh" / "authorized_keys")
    with (
        ExitStack() as stack,
        pytest.raises(Refusal, match="sudo asks nvidia for a password there, and there is no"),
    ):
        enter(spark, stack)
    (spark.state / "sudoers.d" / "sparkrig").write_text("nvidia ALL=(ALL) NOPASSWD: ALL\n")
    with ExitStack() as stack:
        entrance, password = enter(spark, stack)
        assert (entrance.own, entrance.sudo_asks, password.kept) == (None, False, None)


def test_nobody_to_ask_is_said(spark: Spark) -> None:
    with ExitStack() as stack, pytest.raises(Refusal, match="there is no terminal to ask at") as caught:
        enter(spark, stack)
    assert caught.value.cure == "--password-file FILE"


@pytest.mark.parametrize("mine", [True, False], ids=["a key", "no key yet"])
def test_a_spark_that_takes_keys_only_asks_for_no_password(home: Path, tmp_path: Path, mine: bool) -> None:
    """A real sshd with PasswordAuthentication off: no password would ever be accepted."""
    if not mine:
        (home / ".ssh" / "id_ed25519").unlink()
        (home / ".ssh" / "id_ed25519.pub").unlink()
    with sshd(tmp_path / "keys-only") as server:
        spark = first_login.target(parse(f"nvidia@127.0.0.1:{server.port}"), {})
        asked = replace(SCRIPT, password_file=password_file(tmp_path))
        with (
            ExitStack() as stack,
            pytest.raises(Refusal, match="takes keys only, and lets in none of yours") as no,
        ):
            newcomer.enter(stack, spark, first_login.scan(spark), asked, Password(spark, asked))
    if mine:
        line = (home / ".ssh" / "id_ed25519.pub").read_text().strip()
        assert no.value.cure.startswith("on the Spark, as nvidia: ") and line in no.value.cure
    else:
        assert no.value.cure == f"ssh-keygen -t ed25519 -f {home}/.ssh/id_ed25519, and the same again"


def test_a_wrong_password_is_said(tmp_path: Path, spark: Spark) -> None:
    with ExitStack() as stack, pytest.raises(Refusal, match="does not let nvidia in with that password") as caught:
        enter(spark, stack, password_file=password_file(tmp_path, "hunter2"))
    assert "hunter2" not in str(caught.value)


def test_one_who_is_no_administrator_is_said(tmp_path: Path, spark: Spark) -> None:
    (spark.state / "no-sudoer").touch()
    with ExitStack() as stack, pytest.raises(Refusal, match="nvidia is not in the sudoers file") as caught:
        enter(spark, stack, password_file=password_file(tmp_path))
    assert "sudo usermod -aG sudo nvidia" in caught.value.cure
    assert spark.authorized == []


def test_a_password_that_others_can_read_is_refused(tmp_path: Path, spark: Spark) -> None:
    with ExitStack() as stack, pytest.raises(Refusal, match="can be read by others, and holds a password"):
        enter(spark, stack, password_file=password_file(tmp_path, mode=0o644))
    with ExitStack() as stack, pytest.raises(Refusal, match="cannot be read: no such file"):
        enter(spark, stack, password_file=str(tmp_path / "none"))


# --- whose login it is


def test_a_user_that_nobody_said_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    somebody = first_login.target(parse("spark-a.local"), {})
    assert (somebody.guessed, newcomer.named(somebody, SCRIPT)) == (True, somebody)
    monkeypatch.setattr(click, "prompt", lambda text, default, **_: "nvidia" if default else "")
    named = newcomer.named(somebody, replace(SCRIPT, yes=False))
    assert (named.user, named.guessed) == ("nvidia", False)
    told = first_login.target(parse("me@spark-a.local"), {})
    assert newcomer.named(told, replace(SCRIPT, yes=False)) == told
