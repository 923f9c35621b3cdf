"""What becomes of a Spark that takes its old place: what known_hosts forgets, what is proposed."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sparkrig.onboarding import hostkey
from sparkrig.onboarding.proposal import Proposal, replaced
from sparkrig.onboarding.wishes import Wishes
from tests.tables import each_row
from tests.unit.candidates import P0, defined, fabric, fleet, seen
from tests.unit.sshd import keygen

# --- known_hosts

HOST = "[10.0.0.12]:2222"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIChhPAK6OhEwKzKIHUlbmYWlhfGqPGBLoKwvJlNFgC1m"

FORGOTTEN: dict[str, tuple[str, str]] = {
    "its lines of every kind": (f"{HOST} {KEY}\n{HOST} ssh-rsa AAAA x\nother {KEY}\n", f"other {KEY}\n"),
    "a line of several names keeps the others": (f"a,{HOST},b {KEY} me\n", f"a,b {KEY} me\n"),
    "a name that begins alike": (f"{HOST}0 {KEY}\n", f"{HOST}0 {KEY}\n"),
    "the same address at another port": (f"10.0.0.12 {KEY}\n", f"10.0.0.12 {KEY}\n"),
    "authorities and revoked keys": (f"@cert-authority {HOST} {KEY}\n", f"@cert-authority {HOST} {KEY}\n"),
    "patterns": (f"[10.0.0.*]:2222 {KEY}\n", f"[10.0.0.*]:2222 {KEY}\n"),
    "a comment": (f"#a,{HOST} {KEY}\n# {HOST} {KEY}\n", f"#a,{HOST} {KEY}\n# {HOST} {KEY}\n"),
    "what is no entry": (f"{HOST}\n\n{HOST} x\n", f"{HOST}\n\n{HOST} x\n"),
    "the ends of lines": (f"a {KEY}\r\n{HOST} {KEY}\r\n b {KEY}", f"a {KEY}\r\n b {KEY}"),
    "blanks before a name": (f"  a,{HOST}\t{KEY}\n", f"  a\t{KEY}\n"),
    "a hash that is none": (f"|1|AAAA|BBBB {KEY}\n", f"|1|AAAA|BBBB {KEY}\n"),
    "nothing": ("", ""),
}


def test_known_hosts_forgets_one_name_and_keeps_the_rest() -> None:
    def holds(before: str, after: str) -> None:
        assert hostkey.forgotten(before, HOST) == after

    each_row(FORGOTTEN, holds)


def test_a_hashed_name_is_forgotten(tmp_path: Path) -> None:
    """As OpenSSH itself hashes it (HashKnownHosts, which Debian and Ubuntu set)."""
    file = tmp_path / "known_hosts"
    file.write_text(f"other {KEY}\n{HOST} {KEY}\n")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", file], check=True, capture_output=True)
    hashed = file.read_text()
    assert HOST not in hashed
    left = hostkey.forgotten(hashed, HOST)
    assert left == hashed.splitlines(keepends=True)[0]
    file.write_text(left)
    found = [
        subprocess.run(["ssh-keygen", "-F", name, "-f", file], capture_output=True).returncode
        for name in ("other", HOST)
    ]
    assert found == [0, 1]


def test_what_it_leaves_is_what_ssh_keygen_leaves(tmp_path: Path) -> None:
    key = keygen(tmp_path / "key").with_suffix(".pub").read_text().rsplit(" ", 1)[0]
    file = tmp_path / "known_hosts"
    text = f"# mine\n@revoked {HOST} {key}\na {key}\n{HOST} {key}\n[10.0.0.?]:2222 {key}\n"
    file.write_text(text)
    subprocess.run(["ssh-keygen", "-q", "-R", HOST, "-f", file], check=True, capture_output=True)
    assert hostkey.forgotten(text, HOST) == file.read_text()


# --- the proposal

ENDS = [fabric(P0, f"10.0.0.{n}/24", f"10.0.1.{n}/24") for n in (1, 2)]


def taken(login: Mapping[str, Any], mine: Mapping[str, Any] | None = None, **wishes: Any) -> Proposal:
    known = fleet(a={"pair": "x", "fabric": ENDS[0]}, b={"pair": "x", "fabric": ENDS[1], **(mine or {})})
    return replaced("b", login, defined(seen("b", ()), 12), known, Wishes(**wishes))


def test_its_name_its_pair_and_its_addresses_stay() -> None:
    assert taken({}) == Proposal("b", False, {}, {"a": {}})
    assert not taken({}).edits
    moved = {"ssh_hostname": "10.0.0.9"}
    assert taken(moved) == Proposal("b", False, moved, {"a": {}})
    alone = replaced("c", {}, seen("b"), fleet(c={}, d={}), Wishes())
    assert alone == Proposal("c", False, {}), "a cable makes no pair of it"


def test_what_another_tool_defines_on_the_new_one_is_given_a_word() -> None:
    assert taken({}, adopt="set-aside").data == {"adopt": {"40-cx7.yaml": "set-aside"}}
    said = {"adopt": {"old": "adopt"}}
    assert taken({}, said, adopt="leave").data == {"adopt": {"old": "adopt", "40-cx7.yaml": "leave"}}
    assert taken({}, {"adopt": {"40-cx7.yaml": "adopt"}}, adopt="leave").data == {}, "the inventory has one"
