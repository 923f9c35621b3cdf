"""The scripts of serving, run for real in a folder of their own, with stand-ins for systemctl, docker and ssh."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sparkrig import programs
from sparkrig.facts.bundle import Bundle
from sparkrig.facts.resources import FACTS
from sparkrig.facts.serving import Serving
from sparkrig.host.images import Image
from sparkrig.operations import image, serving, weights
from sparkrig.runs.applied import PROGRESS
from sparkrig.serving import last_deploy, served, smoke
from tests.unit.serving_host import DID, ID, Spark
from tests.unit.shells import sh, tool
from tests.unit.sshd import free_ports

PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
ROOT = Path(__file__).resolve().parents[3]
SHARDS = ("model-00001.safetensors", "model-00002.safetensors")


@pytest.fixture
def spark(tmp_path: Path) -> Spark:
    return Spark(tmp_path / "spark")


def checkpoint(folder: Path, *left_out: str, index: bool = True) -> Path:
    """A small one, with a file that has a blank in its name."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "more").mkdir()
    (folder / "more" / "read me.txt").write_text("hello")
    for name in SHARDS:
        if name not in left_out:
            (folder / name).write_text(name * 9)
    if index:
        named = {f"layer.{number}": name for number, name in enumerate(SHARDS)}
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": named}, indent=1))
    return folder


# --- the fact


def test_what_the_watch_did_is_read_and_nothing_else_of_its_file(spark: Spark) -> None:
    weights = str(spark.root / "no weights")
    assert spark.look(weights).events == ()
    spark.has(served.EVENTS, f"{DID}\n2026-11-24 stuck exploded\n\x1b[31m\0\n" + "x" * 9000)
    (event,) = spark.look(weights).events
    assert (event.cause, event.done) == ("stuck", "restarted") and DID.endswith(event.seen)
    assert str(event).startswith("restarted at 2026-11-24T12:03:00Z: the engine stood still")


def test_a_trial_and_a_deploy_begin_without_what_the_watch_did_before(spark: Spark) -> None:
    for script, words in ((serving.BEGIN, served.KEPT), (serving.COMMIT, ()), (serving.ROLL_BACK, served.KEPT)):
        spark.has(served.EVENTS, DID)
        spark.prints(script, *words)
        assert not spark.at(served.EVENTS).exists()


def test_a_host_that_serves_nothing_is_not_looked_at(spark: Spark) -> None:
    assert spark.look() == served.Serving()
    assert spark.did == []


def test_a_look_asks_docker_once_what_it_is(spark: Spark) -> None:
    """Each question starts a program of 40 MB: six for a host with a server."""

    class Both(Bundle[Any]):
        nouns = {"containers": FACTS["containers"], "serving": Serving}
        whole = dict

    about = json.dumps({"runtimes": {}, "running": 1, "paused": 0}).replace('"', r"\"")
    stand_in = (spark.bin / "docker").read_text().replace("{}", about)
    spark.tool("docker", f'echo "$1 $2" >>{spark.root}/asked\n{stand_in}')
    found = Both().process(spark.prints(f"export weights={spark.root}/none\n{Both().command()}").splitlines())
    assert found["serving"].store == "/" and found["containers"].running == 1
    assert sorted(spark.lines("asked")) == [
        *("container inspect", "container ls", "image inspect", "image inspect", "image ls", "info --format"),
    ]


def test_what_there_is(spark: Spark, tmp_path: Path) -> None:
    folder = tmp_path / "weights"
    checkpoint(folder / "a" / "loose")
    checkpoint(folder / "a" / "partial", SHARDS[1])
    checkpoint(folder / "a" / "no-index", index=False)
    for name in ("whole", "damaged"):
        spark.prints(weights.SEAL, str(checkpoint(folder / "b" / name)))
    (folder / "b" / "damaged" / SHARDS[0]).write_text("cut off")
    (checkpoint(folder / "b" / "coming") / "x.incomplete").write_text("")
    found = spark.look(str(folder))
    assert {name: each.standing for name, each in found.weights.items()} == {
        "a/loose": "loose",
        "a/partial": "partial",
        "a/no-index": "partial",
        "b/coming": "partial",
        "b/damaged": "damaged",
        "b/whole": "whole",
    }
    assert found.weights["b/whole"].size > 400
    assert found.room and found.listening == (22, 8000)
    assert (found.image, found.images) == (ID, (Image(ID, "arm64", ("vllm:1", "vllm@sha256:77"), size=5),))
    assert (found.active, found.health, found.trial, found.token) == (False, None, False, "")
    assert found.memory and found.memory.total > found.memory.available > 0
    assert found.others == ("ollama.service", "container comfyui"), "and not our own"
    assert found.store == "/" and found.store_room > 0
    Path(f"{spark.log}.driver").write_text("io.containerd.snapshotter.v1")
    assert spark.look(str(folder)).store == ("/var/lib/containerd" if Path("/var/lib/containerd").is_dir() else "")


def test_gguf_files_are_seen_by_their_names_and_sizes(spark: Spark, tmp_path: Path) -> None:
    folder = tmp_path / "weights"
    for name in (
        "a/b/m-00001-of-00002.gguf",
        "a/b/m-00002-of-00002.gguf",
        "a/b/deep/x.gguf",
        "a/b/a b.gguf",
        "a/y.gguf",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("GGUF")
    (folder / "a/b/n.gguf.incomplete").write_text("GG")
    found = spark.look(str(folder))
    assert found.ggufs == {"a/b/m-00001-of-00002.gguf": 4, "a/b/m-00002-of-00002.gguf": 4}
    assert found.gguf("a/b/m-00001-of-00002.gguf") == 8 and found.gguf("a/b/x.gguf") is None


@pytest.mark.parametrize(
    ("target", "stray"),
    [
        ("../../../hub/blobs/77", SHARDS[0]),
        ("/hub/blobs/77", SHARDS[0]),
        ("/weights/a/b/config.json", SHARDS[0]),
        ("gone", None),
        ("config.json", None),
        ("more/read me.txt", None),
    ],
)
def test_a_link_out_of_its_folder_is_nothing_for_a_container(
    spark: Spark, tmp_path: Path, target: str, stray: str | None
) -> None:
    """The hub's own cache is such links. Within the folder a relative one is as good there as here."""
    blob = tmp_path / "hub" / "blobs" / "77"
    blob.parent.mkdir(parents=True)
    blob.write_text("weights")
    folder = checkpoint(tmp_path / "weights" / "a" / "b", SHARDS[0])
    (folder / SHARDS[0]).symlink_to(f"{tmp_path}{target}" if target[0] == "/" else target)
    found = spark.look(str(tmp_path / "weights")).weights["a/b"]
    expected = "linked" if stray else "partial" if target == "gone" else "loose"
    assert (found.standing, found.stray) == (expected, stray or "")


def test_a_folder_may_itself_be_a_link_to_another_disk(spark: Spark, tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "disk" / "b")
    (folder / "alias").symlink_to("config.json")
    (tmp_path / "weights" / "a").mkdir(parents=True)
    (tmp_path / "weights" / "a" / "b").symlink_to(folder)
    assert spark.look(str(tmp_path / "weights")).weights["a/b"].standing == "loose"


def test_a_host_that_serves_is_asked_by_its_own_record(spark: Spark, tmp_path: Path) -> None:
    folder = tmp_path / "own weights"
    spark.prints(weights.SEAL, str(checkpoint(folder / "a" / "b")))
    (port,) = free_ports(1)
    record = last_deploy.Record("m", "a/b", ID, "vllm:1", "solo", 1, 0, 8000, port, str(folder))
    spark.has(served.RECORD, record.file().content)
    spark.has(served.TRIAL, "")
    spark.unit.write_text("LoadState=loaded\nActiveState=active\nUnitFileState=enabled\n")
    found = spark.look()
    assert found.weights["a/b"].standing == "whole"
    assert (found.runs, found.health, found.trial) == (True, 0, True)
    assert found.bound == ("[::]:8000",), "of the port in the record"


def test_a_folder_that_is_not_there_yet_has_the_room_of_its_parent(spark: Spark, tmp_path: Path) -> None:
    rooms = [spark.look(str(each)).room or 0 for each in (tmp_path / "no" / "such", tmp_path)]
    assert min(rooms) > 0 and max(rooms) - min(rooms) < 1 << 30, "others write there, too"


# --- weights


@pytest.fixture
def peer(spark: Spark, tmp_path: Path) -> Spark:
    """Another host, to which the first one is the peer; both have the same disk, so the paths differ."""
    other = Spark(tmp_path / "peer")
    tool(other.root / "bin", "runuser", 'shift 3; exec "$@"')
    # what ssh is given is one line for the shell there, and data
    there, given = f'sed "s|{other.root}|{spark.root}|g"', other.root / "given"
    tool(
        other.root / "bin",
        "ssh",
        f'shift 3; {there} >{given}; echo ssh "$*" "$(tr -d \'\\0\' <{given})" >>{other.log}; '
        f'exec sh -c "$(printf %s "$*" | {there})" <{given}',
    )
    tool(other.root / "bin", "sudo", 'shift; exec "$@"')
    return other


FOLDER = "/var/lib/sparkrig/models/a/b"


def test_weights_cross_whole_and_go_on_where_they_broke_off(spark: Spark, peer: Spark) -> None:
    here, there = peer.at(FOLDER), checkpoint(spark.at(FOLDER))
    spark.prints(weights.SEAL, FOLDER)
    here.mkdir(parents=True)
    (here / SHARDS[0]).write_text((there / SHARDS[0]).read_text())
    (here / f"{SHARDS[1]}.part").write_text("half of")
    peer.sh(weights.COPY_WEIGHTS, "nvidia", "spark-a", FOLDER)
    assert peer.look("/var/lib/sparkrig/models").weights["a/b"].standing == "whole"
    assert {each.name: each.read_bytes() for each in here.rglob("*") if each.is_file()} == {
        each.name: each.read_bytes() for each in there.rglob("*") if each.is_file()
    }
    copied = [line for line in peer.did if line.startswith("ssh")]
    assert not any(SHARDS[0] in line for line in copied), "what is there is not copied again"
    assert any("read me.txt" in line for line in copied)


ODD = ("x';touch PWNED;'y.bin", "it's.json", " leading.json", "-n", "$(touch PWNED)", "a\\tb", "*")


def test_names_of_files_cross_as_data(spark: Spark, peer: Spark) -> None:
    """They are their publisher's, and a shell on the peer would run them with sudo."""
    here, there = peer.at(FOLDER), checkpoint(spark.at(FOLDER))
    for name in ODD:
        (there / name).write_text(name * 3)
    spark.prints(weights.SEAL, FOLDER)
    peer.sh(weights.COPY_WEIGHTS, "nvidia", "spark-a", FOLDER)
    assert {each.name for each in here.iterdir()} >= {*ODD} and not any(Path.cwd().glob("PWNED"))
    assert all((here / name).read_text() == name * 3 for name in ODD)
    assert not [*spark.root.rglob("PWNED"), *peer.root.rglob("PWNED")]
    asked = {line.partition(" sudo")[2].partition(" /")[0] for line in peer.did if line.startswith("ssh")}
    assert asked == {" -n xargs -0 cat --"}, "a command has no name in it"


@pytest.mark.parametrize("path", ["../../../etc/cron.d/x", "/etc/cron.d/x", "more/../../x", ".."])
def test_a_manifest_that_leads_out_of_the_folder_copies_nothing(spark: Spark, peer: Spark, path: str) -> None:
    there = checkpoint(spark.at(FOLDER))
    spark.prints(weights.SEAL, FOLDER)
    manifest = there / served.MANIFEST
    manifest.write_text(f"{manifest.read_text()}3 {path}\n")
    done = peer.sh(weights.COPY_WEIGHTS, "nvidia", "spark-a", FOLDER)
    assert done.returncode == 1 and "lists a file outside of" in done.stderr
    assert [each.name for each in peer.at(FOLDER).rglob("*")] == [f"{served.MANIFEST}.new"]


def test_a_name_with_a_line_break_is_no_checkpoint(spark: Spark) -> None:
    (checkpoint(spark.at(FOLDER)) / "a\n3 ..").write_text("x")
    done = spark.sh(weights.SEAL, str(spark.at(FOLDER)))
    assert done.returncode == 1 and "a file with a line break in its name" in done.stderr
    assert not (spark.at(FOLDER) / served.MANIFEST).exists()


def test_weights_that_change_under_the_copy_are_no_whole_ones(spark: Spark, peer: Spark) -> None:
    there = checkpoint(spark.at(FOLDER))
    spark.prints(weights.SEAL, FOLDER)
    (there / SHARDS[1]).write_text("shorter")
    done = peer.sh(weights.COPY_WEIGHTS, "nvidia", "spark-a", FOLDER)
    assert done.returncode == 1 and f"{SHARDS[1]} came in another size" in done.stderr
    assert not (peer.at(FOLDER) / served.MANIFEST).exists()


def test_an_empty_folder_is_no_checkpoint(spark: Spark) -> None:
    spark.at(FOLDER).mkdir(parents=True)
    done = spark.sh(weights.SEAL, str(spark.at(FOLDER)))
    assert done.returncode == 1 and "is empty" in done.stderr


DOWNLOAD = programs.file("download_weights.py")
COMMIT, LATER = "b5c939de8f754692c1647ca79fbf85e8c1e70f8a", "dc61ed29c478a29c51039f82fa4dcdf4f85e3ad2"


def test_a_download_is_given_the_file_of_secrets_and_no_secret(spark: Spark) -> None:
    words = (ID, "/var/lib/sparkrig/models", "a/b", "/etc/sparkrig/secrets.env", COMMIT)
    spark.prints(weights.DOWNLOAD, *words, DOWNLOAD)
    assert not any("--env-file" in line for line in spark.did)
    spark.has("/etc/sparkrig/secrets.env", "HF_TOKEN=hf_canary\n")
    spark.prints(weights.DOWNLOAD, *words, DOWNLOAD)
    removed, *lines = spark.did
    call = "\n".join(lines)
    assert removed == "docker rm -f sparkrig-hf"
    assert f"--env-file {spark.at('/etc/sparkrig/secrets.env')}" in call and "hf_canary" not in call
    assert f"--entrypoint python3 {ID} -c {DOWNLOAD[:20]}" in call and call.endswith(f" a/b /weights/a/b {COMMIT}")


WHOLE = hashlib.sha256(b"whole").hexdigest()
HUB = f"""import json
def snapshot_download(*words, **more): print(json.dumps([words, more]))
class Of:
    def __init__(self, **fields): self.__dict__ |= fields
class HfApi:
    def model_info(self, name, revision=None, files_metadata=False):
        names = ("model.safetensors", "metal/model.bin")
        large = [Of(rfilename=name, lfs=Of(sha256={WHOLE!r}), size=5) for name in names]
        return Of(sha={LATER!r}, siblings=[Of(rfilename="config.json", lfs=None, size=2, blob_id="b"), *large])
"""


@pytest.fixture
def hub(spark: Spark, tmp_path: Path) -> Callable[[str], tuple[list[str], dict[str, Any]]]:
    """A download of a commit, or of none, by the library's names: what it was asked for."""
    (tmp_path / "huggingface_hub.py").write_text(HUB)
    folder = spark.at("/var/lib/sparkrig/models")
    run = (
        'while [ "$1" != -c ]; do shift || exit 0; done\n'
        f'name=$3 at={folder}${{4#/weights}} commit=$5; set -- -c "$2" "$name" "$at" "$commit"\n'
        f'PYTHONPATH={tmp_path} exec {sys.executable} "$@"'
    )
    tool(spark.root / "bin", "docker", run)

    def download(commit: str) -> tuple[list[str], dict[str, Any]]:
        words, more = json.loads(
            spark.prints(weights.DOWNLOAD, ID, "/var/lib/sparkrig/models", "a/b", "/none", commit, DOWNLOAD)
        )
        return words, more

    return download


def test_a_download_leaves_out_what_vllm_does_not_read(spark: Spark, hub: Callable[[str], Any]) -> None:
    words, more = hub("")
    assert words == ["a/b"] and more["local_dir"] == str(spark.at(FOLDER))
    names = ("original/model.safetensors", "metal/model.bin", "consolidated.00.pt", "model.safetensors", "a.json")
    left = [name for name in names if not any(map(partial(fnmatch, name), more["ignore_patterns"]))]
    assert left == ["model.safetensors", "a.json"]


def test_a_download_names_a_commit_and_stays_with_it(spark: Spark, hub: Callable[[str], Any]) -> None:
    """Of a branch that moved on its way, some files would be old and some new."""
    beside = spark.at(FOLDER) / served.REVISION
    assert hub("")[1]["revision"] == LATER and beside.read_text() == f"{LATER}\n", "the newest, and it is noted"
    beside.write_text(f"{COMMIT}\n")
    assert hub("")[1]["revision"] == COMMIT, "the one that it was begun with"
    assert hub(LATER)[1]["revision"] == LATER and beside.read_text() == f"{LATER}\n", "the one that is declared"


def test_a_download_notes_how_far_it_is(spark: Spark, hub: Callable[[str], Any], tmp_path: Path) -> None:
    """The name of a part that is not whole yet is as the library makes it [@hf-local-folder]."""
    seen = f"""
def snapshot_download(name, local_dir, **more):
    import time
    from pathlib import Path
    part = Path(local_dir, ".cache", "huggingface", "download", "a1b2c3.{WHOLE}.incomplete")
    part.parent.mkdir(parents=True)
    part.write_bytes(b"x" * (1 << 19))
    Path(local_dir, "config.json").write_text("{{}}")
    end = time.monotonic() + 60
    while not (note := Path(local_dir, ".sparkrig-files.progress")).exists() and time.monotonic() < end:
        time.sleep(0.01)
    print(note.read_text())
"""
    (tmp_path / "huggingface_hub.py").write_text(HUB.replace("size=5", "size=1 << 20") + seen)
    folder = "/var/lib/sparkrig/models"
    hasty = DOWNLOAD.replace("over.wait(2)", "over.wait(0.01)")
    said = spark.prints(weights.DOWNLOAD, ID, folder, "a/b", "/none", "", hasty).strip()
    assert said == "50 % of 0.0 GiB, 0 MiB/s; 1 of 2 files, model.safetensors 50 %", said
    assert PROGRESS.match(said) and not [*spark.at(FOLDER).glob(".sparkrig-files*")]


def test_a_large_file_that_is_not_the_hubs_is_removed_and_told(spark: Spark, hub: Callable[[str], Any]) -> None:
    """The library compares sizes, and a torn page of a disk or a proxy keeps those."""
    file = spark.at(FOLDER) / "model.safetensors"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"whole")
    hub("")
    assert file.exists()
    file.write_bytes(b"hwole")
    (file.parent / "config.json").write_text("{}")
    words = (ID, "/var/lib/sparkrig/models", "a/b", "/none", "", DOWNLOAD)
    done = spark.sh(weights.DOWNLOAD, *words)
    assert done.returncode == 1 and "model.safetensors of a/b came with another SHA-256" in done.stderr, done
    assert not file.exists() and (file.parent / "config.json").exists()


def test_the_commit_crosses_with_the_weights_and_is_seen(spark: Spark, peer: Spark) -> None:
    (checkpoint(spark.at(FOLDER)) / served.REVISION).write_text(f"{COMMIT}\n")
    spark.prints(weights.SEAL, FOLDER)
    peer.sh(weights.COPY_WEIGHTS, "nvidia", "spark-a", FOLDER)
    for each in (spark, peer):
        assert each.look("/var/lib/sparkrig/models").weights["a/b"].revision == COMMIT


@pytest.mark.parametrize("text", ["", "main\n", "\x1b[2J", "b5c939de\n", "0" * 4096])
def test_what_is_no_commit_is_none(spark: Spark, text: str) -> None:
    (checkpoint(spark.at(FOLDER)) / served.REVISION).write_text(text)
    found = spark.look("/var/lib/sparkrig/models").weights["a/b"]
    assert found.revision == ("0" * 40 if text.startswith("00") else "")


def test_what_hf_downloaded_tells_its_commit_by_the_notes_of_its_library(spark: Spark) -> None:
    """Their form: [@hf-local-folder]; the second line is a digest of the file, the third a time."""
    beside, notes = spark.at(FOLDER) / served.REVISION, ".cache/huggingface/download"
    checkpoint(spark.at(FOLDER))
    for number, name in enumerate(("config.json", "more/read me.txt")):
        spark.has(f"{FOLDER}/{notes}/{name}.metadata", f"{COMMIT}\n{number:040}\n1712656091.123\n")
    spark.prints(weights.SEAL, FOLDER)
    assert beside.read_text() == f"{COMMIT}\n"
    beside.unlink()
    spark.has(f"{FOLDER}/{notes}/{SHARDS[0]}.metadata", f"{LATER}\n{0:040}\n1712656091.123\n")
    spark.prints(weights.SEAL, FOLDER)
    assert not beside.exists(), "these are of two"


def test_a_download_takes_the_proxies_that_are_set(spark: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    spark.prints(weights.DOWNLOAD, ID, "/var/lib/sparkrig/models", "a/b", "/none", "", DOWNLOAD)
    call = "\n".join(spark.did)
    assert "--env HTTPS_PROXY --entrypoint" in call and "http_proxy" not in call


def test_an_image_that_does_not_come_is_said_by_what_broke(peer: Spark) -> None:
    tool(peer.root / "bin", "sudo", 'echo "sudo: a password is required" >&2; exit 1')
    words = (image.COPY_IMAGE, "sparkrig", "nvidia", "spark-a", ID)
    done = sh('exec bash -c "$@"', *words, path=peer.root / "bin")
    assert done.returncode == 1 and done.stderr == "sudo: a password is required\n"


@pytest.mark.parametrize("text", [weights.COPY_WEIGHTS, image.COPY_IMAGE, weights.DOWNLOAD, DOWNLOAD])
def test_what_systemd_run_is_given_has_nothing_that_systemd_fills_in(text: str) -> None:
    """systemd-run(1), --expand-environment: `${NAME}` anywhere, `$NAME` as a word of its own."""
    assert "${" not in text


# --- the trial


def begun(spark: Spark) -> None:
    spark.prints(serving.BEGIN, *served.KEPT)


def placed(spark: Spark, *paths: str, text: str) -> None:
    for path in paths:
        spark.has(path, text)
    spark.prints(serving.PLACED, *(path for path in served.PATHS if path not in paths and spark.at(path).exists()))


def test_a_trial_that_holds_leaves_nothing_of_the_old(spark: Spark) -> None:
    placed(spark, *served.PATHS, text="old")
    spark.did.clear()
    begun(spark)
    assert spark.at(served.TRIAL).exists()
    assert [line for line in spark.did if line.startswith("stop")] == [
        f"stop {unit}"
        for unit in (
            "sparkrig-serve-port.socket",
            "sparkrig-serve-port.service",
            "sparkrig-serve-watch.service",
            "sparkrig-serve-memory.service",
            "sparkrig-serve.service",
        )
    ]
    placed(spark, served.SERVICE, served.SOCKET, served.RECORD, text="new")
    assert set(spark.holds()) == {served.SERVICE, served.SOCKET, served.RECORD} and spark.enabled
    spark.prints(serving.COMMIT)
    assert not spark.at(served.TRIAL).exists() and not spark.at(f"{served.STATE}/before").exists()
    assert spark.did[-1] == "start sparkrig-serve-port.socket"


def test_a_trial_that_fails_gives_back_the_old_and_starts_it(spark: Spark) -> None:
    old = (served.SERVICE, served.SOCKET, served.PROXY, served.RECORD)
    placed(spark, *old, text="old")
    begun(spark)
    placed(spark, served.SERVICE, served.WATCHER, served.RECORD, text="new")
    spark.did.clear()
    spark.prints(serving.ROLL_BACK, *served.KEPT)
    assert spark.holds() == dict.fromkeys(old, "old") and spark.enabled
    assert spark.did[-1] == "start sparkrig-serve.service"
    assert not spark.at(served.TRIAL).exists()


def test_a_first_one_that_fails_leaves_nothing(spark: Spark) -> None:
    begun(spark)
    placed(spark, *served.PATHS, text="new")
    assert spark.enabled
    spark.did.clear()
    spark.prints(serving.ROLL_BACK, *served.KEPT)
    assert spark.holds() == {} and not spark.enabled
    assert not [line for line in spark.did if line.startswith("start")]


def test_a_trial_that_broke_off_still_knows_the_old_one(spark: Spark) -> None:
    placed(spark, served.SERVICE, served.RECORD, text="old")
    begun(spark)
    placed(spark, served.SERVICE, served.RECORD, text="tried")
    begun(spark)
    placed(spark, served.SERVICE, served.RECORD, text="tried again")
    spark.prints(serving.ROLL_BACK, *served.KEPT)
    assert spark.holds() == {served.SERVICE: "old", served.RECORD: "old"}


# --- the token of Ray


def shared(spark: Spark, text: str) -> None:
    spark.at(served.RAY_ENV).parent.mkdir(parents=True, exist_ok=True)
    done = spark.sh(serving.NEW_TOKEN, stdin=text)
    assert done.returncode == 0 and text not in done.stdout + done.stderr, done.stderr


def test_a_token_is_known_by_a_digest_and_by_root_alone(spark: Spark) -> None:
    spark.has(served.RECORD, "{}")
    shared(spark, served.token("c4n4ry"))
    file = spark.at(served.RAY_ENV)
    assert file.read_text() == "RAY_AUTH_TOKEN=c4n4ry\n" and file.stat().st_mode & 0o777 == 0o600
    first = spark.look("/srv").token
    assert re.fullmatch(r"[0-9a-f]{16}", first)
    shared(spark, served.token("other"))
    assert spark.look("/srv").token not in ("", first)
    file.chmod(0o640)
    assert spark.look("/srv").token == ""


def test_a_token_comes_back_with_the_configuration_that_asks_for_it(spark: Spark) -> None:
    old = (served.SERVICE, served.RECORD)
    placed(spark, *old, text="old")
    shared(spark, served.token("c4n4ry"))
    begun(spark)
    shared(spark, served.token("other"))
    placed(spark, *old, text="of another form")
    spark.prints(serving.ROLL_BACK, *served.KEPT)
    assert spark.at(served.RAY_ENV).read_text() == served.token("c4n4ry")
    assert spark.at(served.RAY_ENV).stat().st_mode & 0o777 == 0o600
    begun(spark)
    placed(spark, text="nothing")
    assert not spark.at(served.RAY_ENV).exists(), "it goes with the last configuration"


def test_what_was_not_begun_is_not_rolled_back(spark: Spark) -> None:
    """A disk that is full: nothing was kept, so that nothing may be taken away."""
    old = (served.SERVICE, served.RECORD)
    placed(spark, *old, text="old")
    tool(spark.root / "bin", "cp", "echo 'No space left on device' >&2; exit 1")
    with pytest.raises(AssertionError, match="No space left"):
        begun(spark)
    (spark.root / "bin" / "cp").unlink()
    spark.prints(serving.ROLL_BACK, *served.KEPT)
    assert spark.holds() == dict.fromkeys(old, "old") and spark.enabled
    assert spark.did[-1] == "start sparkrig-serve.service"


def test_one_that_ended_too_often_is_started_all_the_same(spark: Spark) -> None:
    spark.prints(serving.START)
    assert spark.did == ["reset-failed sparkrig-serve.service", "start sparkrig-serve.service"]


# --- asking it


@contextmanager
def standin(*words: str) -> Iterator[int]:
    """The stand-in for vLLM on a port of its own."""
    (port,) = free_ports(1)
    with subprocess.Popen(
        [sys.executable, str(ROOT / "lab/standin.py"), *words, "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield port
        finally:
            process.kill()


def pulse(spark: Spark, port: int | str, seconds: int = 10, before: str = "0") -> list[str]:
    return spark.prints(serving.PULSE, str(port), before, str(seconds)).splitlines()


def ask(spark: Spark, port: int, path: str = smoke.CHAT) -> str:
    return spark.prints(serving.ASK, str(port), path, smoke.request("gpt", path), "10")


@pytest.mark.slow  # waits for a server
def test_a_server_is_waited_for_asked_and_understood(spark: Spark) -> None:
    spark.unit.write_text("InvocationID=77\nNRestarts=0\nActiveState=active\n")  # in an order of systemd's own
    tool(spark.root / "bin", "sleep", "PATH=${PATH#*:}; exec sleep 0.1")  # instead of a second between two looks
    with standin("--startup", "0.3", "--served-model-name", "gpt") as port:
        assert pulse(spark, port) == ["state active 0 200", "said phase ready 2026-11-21T14:00:00Z"]
        assert smoke.amiss(ask(spark, port), ["gpt"]) is None
        assert smoke.amiss(ask(spark, port, smoke.PLAIN), ["gpt"]) is None
        assert "answers as" in str(smoke.amiss(ask(spark, port), ["another"]))
    with standin("--fail", "500", "--served-model-name", "gpt") as port:
        assert pulse(spark, port)[0] == "state active 0 200"
        assert "HTTP status 500" in str(smoke.amiss(ask(spark, port), ["gpt"]))
    assert "HTTP status 000" in str(smoke.amiss(ask(spark, port), ["gpt"])), "nobody is there any more"


@pytest.mark.slow  # waits for a server
@pytest.mark.parametrize(
    ("flags", "path"),
    [
        (("--runner", "pooling"), smoke.EMBED),
        (("--convert", "embed"), smoke.EMBED),
        (
            ("--runner", "pooling", "--hf-overrides", '{"architectures":["Qwen3ForSequenceClassification"]}'),
            smoke.RERANK,
        ),
    ],
)
def test_a_model_that_embeds_or_ranks_is_asked_that(spark: Spark, flags: tuple[str, ...], path: str) -> None:
    spark.unit.write_text("InvocationID=77\nNRestarts=0\nActiveState=active\n")
    tool(spark.root / "bin", "sleep", "PATH=${PATH#*:}; exec sleep 0.1")
    with standin(*flags, "--served-model-name", "gpt") as port:
        assert pulse(spark, port)[0] == "state active 0 200"
        had = {each: ask(spark, port, each) for each in smoke.PATHS}
        assert [each for each in smoke.PATHS if not smoke.other_way(smoke.status(had[each]))] == [path]
        assert smoke.amiss(had[path], ["gpt"]) is None
    with standin(*flags, "--garbage", "--served-model-name", "gpt") as port:
        assert pulse(spark, port)[0] == "state active 0 200"
        wrong = str(smoke.amiss(ask(spark, port, path), ["gpt"]))
        assert "garbage" in wrong or "its ranking is wrong: 0 and 0 for" in wrong


@pytest.mark.parametrize("unit", ["ActiveState=failed\nNRestarts=0", "ActiveState=active\nNRestarts=1"])
def test_a_unit_that_ended_is_told_at_once(spark: Spark, unit: str) -> None:
    spark.unit.write_text(f"{unit}\nInvocationID=77\n")
    begun = time.monotonic()
    assert pulse(spark, "")[0].startswith("state ")
    assert time.monotonic() - begun < 3


def test_a_unit_that_was_started_again_long_ago_is_not_ending_now(spark: Spark) -> None:
    spark.unit.write_text("ActiveState=active\nNRestarts=3\nInvocationID=77\n")
    assert pulse(spark, "", seconds=0, before="3")[0] == "state active 3 0"


def test_a_key_is_sent_and_is_in_no_argument(spark: Spark) -> None:
    spark.has("/etc/sparkrig/secrets.env", "VLLM_API_KEY=sk-canary\n")
    tool(spark.root / "bin", "curl", f'echo "$@" >{spark.root}/words; cat >{spark.root}/stdin; echo 200')
    ask(spark, 1)
    assert "sk-canary" not in (spark.root / "words").read_text()
    assert (spark.root / "stdin").read_text() == 'header = "Authorization: Bearer sk-canary"\n'


# --- what is in an image

PASSES = '#!/bin/sh\necho a banner; exec "$@"\n'
SERVER = '#!/bin/sh\necho "vllm: error: unrecognized arguments: $*" >&2; exit 2\n'


@pytest.mark.parametrize(
    ("entrypoint", "script", "expected"),
    [
        ("/opt/nvidia/nvidia_entrypoint.sh", PASSES, ["entrypoint /opt/nvidia/nvidia_entrypoint.sh "]),
        ("/bin/tini --", PASSES, ["entrypoint /bin/tini -- "]),
        ("/opt/run.sh", SERVER, []),
        ("vllm serve", PASSES, []),
        ("/app/llama-server", PASSES, []),
        ("python3 -m vllm.entrypoints.openai.api_server", PASSES, []),
        ("", PASSES, []),
    ],
)
def test_an_entrypoint_is_kept_where_it_starts_what_it_is_given(
    spark: Spark, entrypoint: str, script: str, expected: list[str]
) -> None:
    """NVIDIA's ends with `exec "$@"`; vllm/vllm-openai has `vllm serve`."""
    own = spark.root / "entrypoint"
    own.write_text(script)
    own.chmod(0o755)
    tool(
        spark.root / "bin",
        "docker",
        f"""case "$*" in
"image inspect"*) printf '%s' '{entrypoint}{" " if entrypoint else ""}' ;;
*--entrypoint*) echo has vllm ;;
run*) echo tried >>{spark.log}; while [ "$1" != image:1 ]; do shift; done; shift; exec {own} "$@" ;;
esac""",
    )
    found = spark.prints(serving.PROBE, "image:1", "print()").splitlines()
    assert found == ["has vllm", *expected]
    tried = entrypoint.startswith("/") and "llama" not in entrypoint
    assert bool(spark.did) is tried, "a server is not started for a look"


@pytest.mark.parametrize("engine", ["vllm", "sglang", "llama.cpp"])
def test_an_image_is_known_by_the_engine_that_is_in_it(spark: Spark, tmp_path: Path, engine: str) -> None:
    """The shell of the container runs here, with nothing in its path but what the image would have."""
    inside = tmp_path / "inside"
    for name, is_there in (("vllm", engine == "vllm"), ("llama-server", engine == "llama.cpp")):
        if is_there:
            tool(inside, name, "exit 0")
    found = 0 if engine == "sglang" else 1
    tool(inside, "python3", f'case "$2" in *find_spec*) exit {found} ;; esac')
    shell = f'PATH={inside}; eval "$7"'
    tool(
        spark.root / "bin",
        "docker",
        f'case "$*" in *--entrypoint*) shift 7; shift; {shell.replace("$7", "$1")} ;; esac',
    )
    assert spark.prints(serving.PROBE, "image:1", "print()").splitlines() == [f"has {engine}"]


def test_a_host_tells_of_its_part_in_a_server_that_has_no_unit_there(tmp_path: Path) -> None:
    spark = Spark(tmp_path)
    for form, rank, part in (("standing", 1, True), ("standing", 0, False), ("multinode", 1, False)):
        record = last_deploy.Record("m", "O/N", ID, "vllm:1", form, 2, rank, 8000, 18000, "/srv")
        spark.has(served.RECORD, record.file().content)
        assert spark.look("/srv").part is part, (form, rank)
