"""An early end of what eats the memory: what is to be done, whom it names, and its program."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparkrig.files import Found
from sparkrig.fleet import Fleet
from sparkrig.operations.subject import subject
from sparkrig.resources.check import Subject
from sparkrig.resources.oom import DROP_IN, FIRST, INSTALLED, NEVER, OOM, PACKAGE, SETTLE, UNIT_FILE, WORDS, Early
from sparkrig.runs.managed_files import RELOADS
from tests.tables import each_row
from tests.unit.shells import sh
from tests.unit.simulated import SimulatedHost
from tests.unit.states import SEEN, A


def host(words: str = "", *, on: bool = True, **files: Any) -> Subject:
    """A lone Spark where earlyoom runs so. files: contents of ours, by the names below."""
    fleet = Fleet.parse({A: {"allow_non_spark": True, "oom": "earlyoom" if on else None}})
    names = {"drop_in": DROP_IN, "installed": INSTALLED, "unit": UNIT_FILE}
    there = {names[name]: Found(text, "0644", "root:root") for name, text in files.items()}
    return subject(A, fleet, {A: replace(SEEN[A], files=there, others={"oom": Early(words)})})


TEXT, NOTE = (file.content for file in OOM.changes(host()).write)
OURS: dict[str, Any] = {"drop_in": TEXT, "installed": NOTE, "unit": ""}
# the host; what is installed, written, removed, read again; what its check found
HOSTS: dict[str, tuple[Any, ...]] = {
    "fresh": (host(), [PACKAGE], [DROP_IN, INSTALLED], [], [DROP_IN], "earlyoom is not installed"),
    "as declared": (host(WORDS, **OURS), [], [], [], [], "earlyoom as declared"),
    "stopped": (host(**OURS), [], [], [], [DROP_IN], "it does not run"),
    "with other words": (
        host("/usr/bin/earlyoom -r 3600", **OURS),
        [],
        [],
        [],
        [DROP_IN],
        "it runs as /usr/bin/earlyoom -r 3600",
    ),
    "its owner's": (host("/usr/bin/earlyoom", unit=""), [], [DROP_IN], [], [DROP_IN], f"{DROP_IN} is absent"),
    "its owner's, no more": (
        host(WORDS, on=False, unit="", drop_in=TEXT),
        [],
        [],
        [DROP_IN],
        [DROP_IN],
        f"{DROP_IN} is not declared",
    ),
    "removed by hand": (
        host(drop_in=TEXT, installed=NOTE),
        [PACKAGE],
        [],
        [],
        [DROP_IN],
        "earlyoom is not installed",
    ),
    "no more": (
        host(WORDS, on=False, **OURS),
        [],
        [],
        [DROP_IN, INSTALLED],
        [DROP_IN, INSTALLED],
        "is not declared",
    ),
    "never": (host("/usr/bin/earlyoom", on=False, unit=""), [], [], [], [], None),
}


def test_what_changes_and_what_is_checked() -> None:
    def holds(one: Subject, install: Any, write: Any, remove: Any, reload: Any, said: str | None) -> None:
        changes = OOM.changes(one)
        assert [*changes.install] == install and [file.path for file in changes.write] == write
        assert [*changes.remove] == remove and [*changes.reload] == reload
        found = [each.found for each in OOM.checks(one)]
        assert said in found[0] if said else not found

    each_row(HOSTS, holds)
    assert OOM.settings_of(host(WORDS, **OURS).found) == {"oom": "earlyoom"}


def test_the_model_server_is_ended_first_and_sshd_never() -> None:
    """By the names that the kernel keeps, of 15 characters."""
    for name in (
        "VLLM::EngineCor",
        "VLLM::Worker_TP",
        "vllm",
        "sglang::schedul",
        "llama-server",
        "ray::IDLE",
        "python3",
    ):
        assert re.search(FIRST, name) and not re.search(NEVER, name), name
    for name in ("sshd", "sshd-session", "systemd-logind", "dockerd", "containerd-shim", "NetworkManager"):
        assert re.search(NEVER, name) and not re.search(FIRST, name), name
    assert "-m 2,1 -s 100,100" in WORDS  # else SIGKILL waits until half of the swap is used, too
    assert TEXT.count("ExecStart=") == 2 and f'"{NEVER}"' in TEXT  # systemd splits words by blanks


def test_the_look(tmp_path: Path) -> None:
    group = tmp_path / "sys/fs/cgroup/system.slice/earlyoom.service"
    group.mkdir(parents=True)
    (tmp_path / "proc/77").mkdir(parents=True)
    (tmp_path / "proc/77/cmdline").write_bytes(b"\0".join(word.encode() for word in WORDS.split()) + b"\0")
    text = OOM.script.replace("/sys/", f"{tmp_path}/sys/").replace("/proc/", f"{tmp_path}/proc/")
    assert OOM.parse(sh(text).stdout.splitlines()) == Early()
    (group / "cgroup.procs").write_text("77\n")
    assert OOM.parse(sh(text).stdout.splitlines()) == Early(WORDS)
    with pytest.raises(ValueError, match="no row begins with 'rns'"):
        OOM.parse(["rns x"])


def test_one_that_does_not_stay_alive_fails_the_step(tmp_path: Path) -> None:
    spark = SimulatedHost(tmp_path)
    spark.own = r"/lib/systemd\b"
    spark.tool("sleep")
    spark.tool(
        "systemctl", f'echo "$*" >>{tmp_path}/did; case $* in *is-active*) [ ! -e {tmp_path}/broken ] ;; esac'
    )
    assert spark.sh(f"set -e\n{SETTLE}").returncode == 0 and spark.did == ["daemon-reload"]
    spark.has(UNIT_FILE, "")
    assert spark.sh(f"set -e\n{SETTLE}").returncode == 0 and "restart earlyoom.service" in spark.did
    spark.has("/broken", "")
    done = spark.sh(f"set -e\n{SETTLE}")
    assert done.returncode == 1 and "try: journalctl -u earlyoom" in done.stderr


def test_an_undo_settles_it_and_releases_the_package() -> None:
    assert RELOADS[DROP_IN] == SETTLE and INSTALLED in RELOADS[INSTALLED] and "dpkg --purge" in RELOADS[INSTALLED]
