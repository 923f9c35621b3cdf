"""What becomes of a Spark that takes its old place: what known_hosts forgets, what is proposed, what it lacks."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sparkrig.cure import deployment
from sparkrig.files import Found
from sparkrig.onboarding import hostkey
from sparkrig.onboarding.proposal import Proposal, replaced
from sparkrig.onboarding.weights import Host, Missing, missing
from sparkrig.onboarding.wishes import Wishes
from sparkrig.serving.last_deploy import Record
from sparkrig.serving.served import Own, Serving, Weights
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


# --- the weights

QWEN, OSS = "Qwen/Qwen3-8B", "openai/gpt-oss-120b"
RECORD = Record("qwen3-8b", QWEN, "sha256:1", "vllm/vllm-openai:v1", "multinode", 2, 0, 9000, 18000, "/srv/models")


def host(host: str, serving: Serving, *records: Record) -> Host:
    files = {each.file().path: Found(each.file().content, "0644", "root:root") for each in records}
    return Host(host, replace(seen("b"), serving=serving, files=files))


def lacking(
    here: Serving, there: Serving, *records: Record, declared: tuple[str, ...] = (), **mine: Any
) -> list[Missing]:
    known = fleet(
        spark_a={"pair": "x", "fabric": ENDS[0], "node_ssh": True, **mine},
        spark_b={"pair": "x", "fabric": ENDS[1], "node_ssh": True, **mine},
    )
    return missing(known["spark-b"], host("spark-b", here), host("@ssh/spark-a", there, *records), declared)


def has(**weights: str) -> Serving:
    named = {name.replace("__", "/").replace("_", "-"): each for name, each in weights.items()}
    return Serving(looked=True, weights={name: Weights(each, 7) for name, each in named.items()})  # type: ignore[arg-type]


def test_what_the_other_half_has_whole_is_missing() -> None:
    there = has(a__whole="whole", a__loose="loose", a__part="partial", a__torn="damaged", a__both="whole")
    found = lacking(has(a__both="loose", a__whole="partial"), there)
    assert [(each.name, each.size) for each in found] == [("a/loose", 7), ("a/whole", 7)]
    assert lacking(has(), Serving()) == []
    files = replace(there, ggufs={"a/whole/x.gguf": 3, "b/c/one.gguf": 5, "b/c/two.gguf": 6})
    found = lacking(replace(there, ggufs={"b/c/two.gguf": 6, "b/c/one.gguf": 4}), files)
    assert [(each.name, each.size) for each in found] == [("b/c/one.gguf", 5)], "one is in its checkpoint"


def test_what_copies_it() -> None:
    def holds(found: list[Missing], command: str) -> None:
        (one,) = found
        assert str(one.copied) == command

    there = Serving(looked=True, weights={QWEN: Weights("whole", 7)})
    deploy = "pyinfra pair.py deploys/serve.py"
    named = replace(RECORD, service="chat", settings={"serve_port": 9100, "model": QWEN})
    other = replace(there, named={"chat": Own()})
    tar = "on spark-b: sudo mkdir -p /srv/models && ssh spark-a sudo tar -C /srv/models -c Qwen/Qwen3-8B | "
    each_row(
        {
            "declared": (lacking(has(), there, declared=(QWEN.lower(),)), deploy),
            "served last": (
                lacking(has(), there, RECORD),
                f"{deploy} --data model={QWEN} --data serve_image=vllm/vllm-openai:v1 --data serve_nodes=2 "
                "--data serve_form=multinode --data serve_port=9000",
            ),
            "served under a name": (
                lacking(has(), other, named),
                f"{deploy} --data serve_name=chat --data model={QWEN} --data serve_port=9100",
            ),
            "served under a name, as the inventory has another": (
                lacking(has(), other, named, serve_port=9100),
                f"{deploy} --data serve_name=chat --data model={QWEN} --data serve_port=9100",
            ),
            "served by the other host alone": (
                lacking(has(), there, replace(RECORD, nodes=1, form="solo")),
                f"{tar}sudo tar -C /srv/models -x",
            ),
            "served by nobody": (lacking(has(), there), f"{tar}sudo tar -C /srv/models -x"),
            "no login within a cluster": (
                lacking(has(), there, RECORD, node_ssh=False, cluster="x", topology="switch", pair=None),
                "set node_ssh to True on all of its hosts, and: pyinfra pair.py deploys/cluster.py",
            ),
            "no login between the hosts": (
                lacking(has(), there, RECORD, node_ssh=False),
                "set node_ssh to True on both hosts, and: pyinfra pair.py deploys/cluster.py",
            ),
        },
        holds,
    )
    (one,) = lacking(has(), there, declared=(QWEN.lower(),))
    assert deployment(one.copied, "serve")
