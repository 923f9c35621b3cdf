"""Who logs in by ssh: what hosts print, what is to be done, and what a real sshd makes of the files."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparkrig.files import Found
from sparkrig.fleet import Fleet
from sparkrig.operations.subject import subject
from sparkrig.parsing import public_key
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Subject
from sparkrig.resources.login import DROP_IN, KEYS, LOGIN, USUAL, Login
from sparkrig.settings import SettingsError
from tests.tables import each_row
from tests.unit.shells import sh, tool, well
from tests.unit.states import SEEN, A

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJGiuRRW0sVgVNXakyUqpwg6nmuJK7WVPaiUhEQWB8GU me@laptop"
FRESH = Login("nvidia", 1, reads=True, files=USUAL)
BARE = replace(FRESH, keys=0)
SHUT, ADDED = {"login_passwords": False}, {"login_keys": [KEY]}


@pytest.fixture
def ssh(tmp_path: Path) -> Path:
    """A folder as /etc/ssh, and a real sshd that reads it, first on the way of commands."""
    folder = tmp_path / "ssh"
    (folder / "sshd_config.d").mkdir(parents=True)
    (folder / "sshd_config").write_text(
        f"# as Ubuntu's\n\nInclude {folder}/sshd_config.d/*.conf\nUsePAM yes\nKbdInteractiveAuthentication no\n"
    )
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "key"], check=True)
    tool(tmp_path / "bin", "sshd", f'exec /usr/sbin/sshd -f {folder}/sshd_config -h {folder}/key "$@"')
    return folder


def look(ssh: Path) -> Login:
    """What the look sees there, of the user of this process."""
    script = LOGIN.script.replace("/etc/ssh", str(ssh)).replace("[ -d /run/sshd ]", "true")
    done = well(sh(script, path=ssh.parent / "bin", env={"SUDO_USER": "root"}))
    return LOGIN.parse(done.stdout.replace(str(ssh), "/etc/ssh").splitlines())


def host(seen: Login, found: Mapping[str, str] = {}, **data: Any) -> Subject:
    """A lone Spark that was seen so. found: files of ours; data: its settings."""
    fleet = Fleet.parse({A: {**data, "allow_non_spark": True}})
    files = {path: Found(text, "0644", "root:root") for path, text in found.items()}
    return subject(A, fleet, {A: replace(SEEN[A], files=files, others={"login": seen})})


def written(seen: Login, **data: Any) -> dict[str, str]:
    return {file.path: file.content for file in LOGIN.changes(host(seen, **data)).write}


def test_parse() -> None:
    assert LOGIN.parse(["user nvidia", "keys 1", "reads", f"files {' '.join(USUAL)}"]) == FRESH
    assert not LOGIN.parse(["user nvidia", "password no", "keyboard no"]).passwords
    assert LOGIN.parse(["user nvidia", "password no", "keyboard yes"]).passwords
    for row in ("usr x", "user x y", "keys x"):
        with pytest.raises(ValueError):
            LOGIN.parse([row])


def test_a_real_sshd_takes_what_is_declared_and_says_so(ssh: Path) -> None:
    before = look(ssh)
    assert before.passwords and before.reads and before.files == USUAL
    for path, text in written(replace(before, keys=1), **SHUT, **ADDED).items():
        (ssh / path.removeprefix("/etc/ssh/")).write_text(text.replace("/etc/ssh", str(ssh)))
    (ssh / "sshd_config.d/50-cloud-init.conf").write_text("PasswordAuthentication yes\n")
    after = look(ssh)
    assert not after.passwords and after.files == (*USUAL, KEYS) and after.before == ()
    assert verified(ssh).returncode == 0
    told = sh(f"{ssh.parent}/bin/sshd -T -C user=other,host=h,addr=127.0.0.1").stdout
    assert "passwordauthentication no" in told and str(ssh / "sparkrig_authorized_keys") not in told


def verified(ssh: Path) -> subprocess.CompletedProcess[str]:
    return sh(LOGIN.guard.verify.replace("/etc/ssh", str(ssh)), path=ssh.parent / "bin")


def test_an_earlier_file_is_seen_before_and_after_a_change(ssh: Path) -> None:
    (ssh / "sshd_config.d/05-mine.conf").write_text("# x\nPasswordAuthentication yes\nX11Forwarding no\n")
    assert look(ssh).before == ("/etc/ssh/sshd_config.d/05-mine.conf: PasswordAuthentication yes",)
    assert verified(ssh).returncode == 0, "nothing of ours is there"
    (ssh / "sshd_config.d/10-sparkrig.conf").write_text(written(FRESH, **SHUT)[DROP_IN])
    done = verified(ssh)
    assert done.returncode == 1 and "sshd takes passwords all the same" in done.stderr
    (ssh / "sshd_config.d/10-sparkrig.conf").write_text("PasswordAuthentication yes\n")
    assert verified(ssh).returncode == 0, "an undo gives back what a hand made of it"
    (ssh / "sshd_config.d/05-mine.conf").write_text("Match all\n  AuthorizedKeysFile /etc/other\n")
    text = written(FRESH, **ADDED)[DROP_IN].replace("/etc/ssh", str(ssh))
    (ssh / "sshd_config.d/10-sparkrig.conf").write_text(text)
    done = verified(ssh)
    assert done.returncode == 1 and "does not read" in done.stderr


def test_sshd_that_does_not_read_drop_ins_is_seen(ssh: Path) -> None:
    (ssh / "sshd_config").write_text(f"PasswordAuthentication yes\nInclude {ssh}/sshd_config.d/*.conf\n")
    assert not look(ssh).reads


SHUT_ROWS = {
    "denied": ("DenyUsers eve roo?", ("deny eve roo?",)),
    "not allowed": ("AllowUsers eve ann", ("allowusers eve ann",)),
    "allowed": ("AllowUsers eve root@*", ()),
    "another denied": ("DenyUsers eve\nDenyGroups eves", ()),
    "a group denied": ("DenyGroups root", ("deny root",)),
    "a group not allowed": ("AllowGroups eves", ("allowgroups eves",)),
    "no keys": ("PubkeyAuthentication no", ("pubkeyauthentication no",)),
}


def test_a_file_that_would_keep_the_user_out_once_it_is_read_is_seen(ssh: Path) -> None:
    def holds(rows: str, shut: tuple[str, ...]) -> None:
        (ssh / "sshd_config.d/90-mine.conf").write_text(f"{rows}\n")
        seen = look(ssh)
        assert seen.shut == shut
        if shut:
            with pytest.raises(Refusal, match="keep root out, once they are read again"):
                LOGIN.changes(host(replace(seen, keys=1), login_passwords=False))

    each_row(SHUT_ROWS, holds)


REFUSALS: dict[str, tuple[Login, dict[str, Any], str]] = {
    "no key at all": (BARE, SHUT, "nvidia has no key in .ssh/authorized_keys, and no password would be taken"),
    "an earlier file": (replace(FRESH, before=("f: Match all",)), SHUT, "sshd goes by f: Match all first"),
    "no drop-ins": (replace(FRESH, reads=False), SHUT, "does not read /etc/ssh/sshd_config.d"),
    "keys elsewhere": (replace(FRESH, files=("/etc/keys/%u",)), ADDED, "looks for keys in /etc/keys/%u"),
    "not told": (Login(), SHUT, "who logs in is not told"),
}


def test_who_could_be_left_without_a_way_in_is_refused() -> None:
    def holds(seen: Login, data: dict[str, Any], words: str) -> None:
        with pytest.raises(Refusal, match=words):
            LOGIN.changes(host(seen, **data))
        (check,) = LOGIN.checks(host(seen, **data))
        assert check.status != "ok" and not LOGIN.changes(host(seen))

    each_row(REFUSALS, holds)


def test_a_second_run_changes_nothing_and_no_setting_takes_it_away() -> None:
    for data in (SHUT, ADDED, {**SHUT, **ADDED}):
        files = written(FRESH, **data)
        seen = replace(FRESH, passwords="login_passwords" not in data, files=(*USUAL, KEYS)[: 2 + (KEYS in files)])
        assert not LOGIN.changes(host(seen, files, **data))
        (check,) = LOGIN.checks(host(seen, files, **data))
        assert check.status == "ok"
        assert LOGIN.settings_of(host(seen, files).found) == data
        assert {*LOGIN.changes(host(seen, files)).remove} == {*files}
        if data != ADDED:
            with pytest.raises(Refusal, match="sshd takes passwords, against"):
                LOGIN.changes(host(replace(seen, passwords=True), files, **data))


def test_keys_of_the_setting_are_enough_where_the_user_has_none() -> None:
    assert {*written(BARE, **SHUT, **ADDED)} == {DROP_IN, KEYS}


def test_what_is_no_public_key_is_refused_by_its_number_without_its_text() -> None:
    with pytest.raises(SettingsError, match="key 2: a private key is never declared") as refused:
        Fleet.parse({A: {"login_keys": [KEY, "-----BEGIN OPENSSH PRIVATE KEY-----abc"]}})
    assert "abc" not in str(refused.value)
    bad = ("ssh-dss AAAA", 'command="x" ' + KEY, "ssh-ed25519 AAAA", "ssh-ed25519 ~", KEY[:50], "", "hello")
    assert [key for key in bad if not public_key.fault(key)] == []


def test_a_running_sshd_is_told_to_read_again(tmp_path: Path) -> None:
    tool(tmp_path, "systemctl", f'echo "$*" >>{tmp_path}/log; [ "$1" != is-active ] || echo active')
    assert sh(LOGIN.guard.live, path=tmp_path).returncode == 0
    assert (tmp_path / "log").read_text().splitlines() == ["is-active ssh.service", "reload ssh.service"]
