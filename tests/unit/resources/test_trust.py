"""Trust between the hosts of a pair: what is written where, and scripts that touch nothing of others."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

from sparkrig import programs
from sparkrig.files import Found
from sparkrig.fleet import Fleet
from sparkrig.operations.trust import AUTHORIZE, MAKE, PROVE, REMOVE
from sparkrig.refusal import Refusal
from sparkrig.resources import trust
from sparkrig.resources.trust import Peer, Trust
from sparkrig.settings import SettingsError
from sparkrig.ssh.shell import AS_USER
from tests.unit.shells import sh, tool

A = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDHqPAK6OhEwKzKIHUlbmYWlhfGqPGBLoKwvJlNFgC1m"
B = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBbbPAK6OhEwKzKIHUlbmYWlhfGqPGBLoKwvJlNFgC1m"
HOST = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIChhPAK6OhEwKzKIHUlbmYWlhfGqPGBLoKwvJlNFgC1m"
FRESH = Trust("nvidia", None, False, (HOST,), ())
PEER = Peer(
    "@fake/spark-b",
    [IPv4Address("192.168.100.12"), IPv4Address("192.168.101.12")],
    Trust("nvidia", B, True, (HOST, "ecdsa-sha2-nistp256 AAAAE2Vj"), ()),
)
LINE = f'restrict,pty,from="192.168.100.12,192.168.101.12" {B} sparkrig-node-trust'

# --- the setting


def pair(**second: Any) -> dict[str, dict[str, Any]]:
    return {
        f"spark-{half}": {
            "pair": "x",
            "fabric": {"enp1s0f0np0": f"192.168.100.{last}/24"},
            "node_ssh": True,
            **(second if half == "b" else {}),
        }
        for half, last in (("a", 11), ("b", 12))
    }


def test_both_halves_or_neither() -> None:
    assert Fleet.parse(pair())["spark-b"].node_ssh
    said = "node_ssh is True on spark-a and False on spark-b; one value is expected"
    with pytest.raises(SettingsError, match=said):
        Fleet.parse(pair(node_ssh=False))
    with pytest.raises(SettingsError, match="spark-a: setting node_ssh needs a peer"):
        Fleet.parse({"spark-a": {"node_ssh": True}})


@pytest.mark.parametrize("name", ["spark b", "spark-b,*", "*", "-b", "10.0.0.1;x", "fe80::1%eth0"])
def test_a_name_that_is_none_in_ssh_config_is_refused(name: str) -> None:
    data = pair()
    data[name] = data.pop("spark-b")
    with pytest.raises(SettingsError, match="its name stands in ssh_config"):
        Fleet.parse(data)


# --- what is read


def test_parse() -> None:
    rows = ["user nvidia", "private 600 nvidia", f"public {A} sparkrig-node-trust", f"host {HOST} root@spark-a"]
    assert trust.TRUST.parse([*rows, f"authorized {LINE}"]) == Trust("nvidia", A, True, (HOST,), (LINE,))


@pytest.mark.parametrize("private", ["644 nvidia", "600 root", ""])
def test_a_key_that_others_may_read_is_none(private: str) -> None:
    assert trust.TRUST.parse(["user nvidia", f"private {private}", f"public {A}"]).key is None


@pytest.mark.parametrize(
    "rows",
    [["user nvidia", "public not a key"], ["user nvidia", "host ssh-ed25519 A\tB"], ["user *"], ["private 600"]],
)
def test_what_makes_no_sense_is_said(rows: list[str]) -> None:
    with pytest.raises((ValueError, LookupError)):
        trust.TRUST.parse(rows)


def test_half_a_pair_of_keys_is_a_trace_of_it() -> None:
    assert trust.TRUST.parse(["user nvidia", "private 644 nvidia"]).traces
    assert trust.TRUST.parse(["user nvidia", f"public {A}"]).traces
    assert not trust.TRUST.parse(["user nvidia", f"host {HOST}"]).traces


def test_a_row_of_another_word_is_no_authorized_line() -> None:
    assert trust.TRUST.parse(["user nvidia", f"account {LINE}"]).authorized == ()


def test_what_is_no_key_is_shown_in_part() -> None:
    with pytest.raises(ValueError, match=f"^'{'x' * 40}' is no public key$"):
        trust.TRUST.parse(["user nvidia", f"public {'x' * 99}"])


# --- what is wanted


def test_the_line_of_the_peer() -> None:
    assert trust.line(PEER) == LINE
    with pytest.raises(Refusal, match="has no key of its own yet"):
        trust.line(replace(PEER, found=FRESH))


def test_the_files() -> None:
    known, client = trust.files("nvidia", [PEER])
    names = "spark-b,192.168.100.12,192.168.101.12"
    assert known.content.splitlines()[1:] == [f"{names} {HOST}", f"{names} ecdsa-sha2-nistp256 AAAAE2Vj"]
    assert (known.path, known.mode) == ("/etc/sparkrig/known_hosts", "0644")
    with pytest.raises(Refusal, match="no host key of spark-b"):
        trust.files("nvidia", [replace(PEER, found=replace(PEER.found, host_keys=()))])
    assert client.path == "/etc/ssh/ssh_config.d/60-sparkrig.conf"


@pytest.mark.parametrize(
    ("name", "hostname"), [("spark-b", "192.168.100.12"), ("192.168.101.12", "192.168.101.12"), ("other", "other")]
)
def test_openssh_reads_it_so(tmp_path: Path, name: str, hostname: str) -> None:
    user = os.environ.get("USER") or subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip()
    (tmp_path / "config").write_text(trust.files(user, [PEER])[1].content)
    done = subprocess.run(
        ["ssh", "-G", "-F", str(tmp_path / "config"), name], capture_output=True, text=True, check=True
    )
    read = dict(row.partition(" ")[::2] for row in done.stdout.splitlines())
    assert read["hostname"] == hostname
    ours = name != "other"
    assert (read["stricthostkeychecking"] in ("true", "yes")) is ours
    assert (read["identityfile"] == "~/.ssh/id_ed25519_sparkrig") is ours
    assert (read["globalknownhostsfile"] == "/etc/sparkrig/known_hosts") is ours
    assert (read["userknownhostsfile"] == "none") is ours


def standing(peer: Peer) -> dict[str, Found]:
    return {file.path: Found(file.content, "0644", "root:root") for file in trust.files("nvidia", [peer])}


DONE = Trust("nvidia", A, True, (HOST,), (LINE,))
MOVED = replace(PEER, found=replace(PEER.found, host_keys=(A,)))


@pytest.mark.parametrize(
    ("found", "files", "peer", "settled"),
    [
        (DONE, standing(PEER), PEER, True),
        (DONE, standing(PEER), None, True),
        (FRESH, {}, PEER, False),
        (FRESH, {}, None, False),
        (replace(DONE, key=None), standing(PEER), PEER, False),
        (replace(DONE, authorized=()), standing(PEER), PEER, False),
        (replace(DONE, authorized=(LINE, LINE)), standing(PEER), PEER, False),
        (DONE, {}, PEER, False),
        (DONE, {}, None, False),
        (replace(DONE, key=None), standing(PEER), None, False),
        (replace(DONE, authorized=()), standing(PEER), None, False),
        (DONE, standing(PEER), MOVED, False),
        (DONE, standing(PEER), replace(PEER, found=FRESH), False),
    ],
)
def test_settled(found: Trust, files: dict[str, Found], peer: Peer | None, settled: bool) -> None:
    assert trust.settled(found, files, [peer] if peer else None) is settled


def test_three_hosts_know_one_another_or_it_is_not_settled() -> None:
    third = replace(PEER, host="spark-c", addresses=[IPv4Address("192.168.100.13")])
    both = [PEER, third]
    files = {file.path: Found(file.content, "0644", "root:root") for file in trust.files("nvidia", both)}
    found = replace(DONE, authorized=tuple(map(trust.line, both)))
    assert trust.settled(found, files, both)
    assert not trust.settled(found, files, [PEER]) and not trust.settled(DONE, files, both)
    assert not trust.settled(found, standing(PEER), both), "a file that names one of two"
    assert not trust.settled(found, files, [PEER, replace(third, found=FRESH)])
    client = files[trust.CLIENT].content
    assert client.count("Match originalhost") == 4 and "HostName 192.168.100.13" in client
    assert len(files[trust.KNOWN_HOSTS].content.splitlines()) == 1 + 2 * len(PEER.found.host_keys)


def test_what_is_left_of_it() -> None:
    assert not trust.left(FRESH, {})
    assert (
        trust.left(DONE, {}) and trust.left(FRESH, standing(PEER)) and trust.left(replace(FRESH, traces=True), {})
    )


# --- the scripts, run for real


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    tool(tmp_path / "bin", "getent", f"echo nvidia:x:1000:1000::{folder}:/bin/sh")
    tool(tmp_path / "bin", "runuser", 'test "$1 $2 $3" = "-u nvidia --" || exit 9; shift 3; exec "$@"')
    return folder


def run(home: Path, text: str, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return sh(AS_USER, "nvidia", text, "sparkrig", *words, path=home.parent / "bin", stdin=stdin)


def test_without_a_name_it_is_the_ssh_user_who_called_sudo(home: Path) -> None:
    done = sh(AS_USER, "", "echo $1", "sparkrig", "word", path=home.parent / "bin", env={"SUDO_USER": "nvidia"})
    assert done.stdout == "word\n", done.stderr


def authorize(home: Path, line: str = LINE) -> subprocess.CompletedProcess[str]:
    return run(home, AUTHORIZE, trust.MARK, "1", stdin=f"{line}\n")


def look(home: Path) -> Trust:
    done = sh(f"user=nvidia home={home}\n{programs.text('facts/trust_look.sh')}")
    assert "PRIVATE" not in done.stdout
    return trust.TRUST.parse(done.stdout.replace("600 root", "600 nvidia").splitlines())


def test_a_user_without_a_home_has_no_key_and_is_looked_at_all_the_same() -> None:
    """One of a directory that does not answer: getent tells nothing of it."""
    done = sh(f"user=nvidia home=\n{programs.text('facts/trust_look.sh')}")
    assert done.returncode == 0 and done.stdout.startswith("user nvidia\n")


def test_a_key_is_made_and_seen(home: Path) -> None:
    assert look(home).key is None
    for _ in range(2):  # also over one that is there
        done = run(home, MAKE, trust.KEY, trust.MARK)
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert (home / ".ssh").stat().st_mode & 0o777 == 0o700
    assert (home / trust.KEY).stat().st_mode & 0o777 == 0o600
    assert (look(home).key or "").startswith("ssh-ed25519 ")


FOREIGN = {
    "none": None,
    "empty": b"",
    "two keys": f"{A} me@laptop\n# a comment sparkrig\n".encode(),
    "a last line without its end": f"{A} me@laptop".encode(),
    "our mark in the middle": f"{A} sparkrig-node-trust of mine\n".encode(),
    "bytes that are no text": b"\xff\xfe\n",
}


@pytest.mark.parametrize("before", FOREIGN.values(), ids=FOREIGN)
def test_others_lines_stay_as_they_are(home: Path, before: bytes | None) -> None:
    file = home / ".ssh" / "authorized_keys"
    if before is not None:
        file.parent.mkdir()
        file.write_bytes(before)
        file.chmod(0o640)
    theirs = (before or b"") + (b"" if not before or before.endswith(b"\n") else b"\n")
    for line in (LINE.replace(B, A), LINE, LINE):  # a new key of the peer takes the place of the old one
        done = authorize(home, line)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert file.read_bytes() == theirs + LINE.encode() + b"\n"
    assert file.stat().st_mode & 0o777 == (0o600 if before is None else 0o640)
    assert look(home).authorized == (LINE,)
    assert run(home, trust.FORGET, trust.KEY, trust.MARK).returncode == 0
    assert file.read_bytes() == theirs
    assert [entry.name for entry in file.parent.iterdir()] == ["authorized_keys"]


def test_a_line_of_ours_that_ends_in_crlf_is_ours(home: Path) -> None:
    """sshd takes it, so one that were not found would let the peer in for ever."""
    file = home / ".ssh" / "authorized_keys"
    file.parent.mkdir()
    theirs = f"{A} me@laptop\r\n"
    file.write_bytes(f"{theirs}{LINE}\r\n".encode())
    assert [each.strip() for each in look(home).authorized] == [LINE]
    assert authorize(home).returncode == 0
    assert file.read_bytes() == f"{theirs}{LINE}\n".encode()
    file.write_bytes(f"{theirs}{LINE}\r\n".encode())
    assert run(home, trust.FORGET, trust.KEY, trust.MARK).returncode == 0
    assert file.read_bytes() == theirs.encode()


def test_what_is_no_file_is_not_waited_for(home: Path) -> None:
    (home / ".ssh").mkdir()
    os.mkfifo(home / ".ssh" / "authorized_keys")
    done = authorize(home)
    assert done.returncode == 1 and "authorized_keys is a fifo, not a file" in done.stderr
    assert run(home, trust.FORGET, trust.KEY, trust.MARK).returncode == 0 and look(home).authorized == ()


def test_a_link_is_followed_and_kept(home: Path) -> None:
    (home / ".ssh").mkdir()
    (home / "keys").write_text(f"{A} me\n")
    (home / ".ssh" / "authorized_keys").symlink_to(home / "keys")
    assert authorize(home).returncode == 0
    assert (home / ".ssh" / "authorized_keys").is_symlink()
    assert (home / "keys").read_text() == f"{A} me\n{LINE}\n"


def test_a_line_that_broke_off_is_not_added(home: Path) -> None:
    (home / ".ssh").mkdir()
    (home / ".ssh" / "authorized_keys").write_text(f"{A} me\n")
    assert run(home, AUTHORIZE, trust.MARK, "1", stdin=LINE[:40]).returncode == 1
    assert run(home, AUTHORIZE, trust.MARK, "2", stdin=f"{LINE}\n").returncode == 1
    assert run(home, AUTHORIZE, trust.MARK, "2", stdin=f"{LINE}\n{LINE[:40]}").returncode == 1
    assert (home / ".ssh" / "authorized_keys").read_text() == f"{A} me\n"


def test_each_of_several_peers_has_a_line_and_takes_the_place_of_the_old_ones(home: Path) -> None:
    other = LINE.replace(B, A)
    assert authorize(home, LINE.replace("192", "10")).returncode == 0
    done = run(home, AUTHORIZE, trust.MARK, "2", stdin=f"{LINE}\n{other}\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert look(home).authorized == (LINE, other)


def test_nothing_to_forget(home: Path) -> None:
    done = run(home, trust.FORGET, trust.KEY, trust.MARK)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(home.iterdir()) == []


def test_the_proof_says_what_ssh_said(tmp_path: Path) -> None:
    tool(tmp_path / "bin", "ssh", "echo 'Permission denied (publickey).' >&2; exit 255")
    done = sh(PROVE, "10", "spark-b", path=tmp_path / "bin")
    assert done.returncode == 1
    assert done.stderr == (
        "no login to spark-b over the fabric (Permission denied (publickey).); try: ssh -v spark-b true\n"
    )
    tool(tmp_path / "bin", "ssh", 'test "$*" = "-o BatchMode=yes -o ConnectTimeout=10 spark-b true"')
    assert sh(PROVE, "10", "spark-b", path=tmp_path / "bin").returncode == 0


def test_files_are_removed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    assert sh(REMOVE, str(tmp_path / "a"), str(tmp_path / "never")).returncode == 0
    assert list(tmp_path.iterdir()) == []
