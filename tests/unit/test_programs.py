"""The programs of templates/programs: each is sent or included, and has the values that Python has."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path

import pytest

from sparkrig import programs
from sparkrig.host import apt, containers, nvidia_smi
from sparkrig.network import netplan, profiles
from sparkrig.rdma import gid
from sparkrig.runs.journal import STANDS
from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(str(file.relative_to(programs.FOLDER)) for file in programs.FOLDER.rglob("*.sh"))
ROOMS = ("sparkrig", "facts", "operations")
# by program: what Python has, too, as MODULE:NAME
SHARED = {
    "evidence/identifiers.sh": ("sparkrig.facts.evidence:TOOL_S",),
    "evidence/run.sh": ("sparkrig.facts.evidence:TOOL_S",),
    "facts/apt_simulation.sh": ("sparkrig.host.driver:SIMULATION",),
    "facts/gpu.sh": ("sparkrig.host.nvidia_smi:NOT_INSTALLED",),
    "facts/open_update.sh": ("sparkrig.host.update_record:FOLDER",),
    "facts/ping.sh": ("sparkrig.network.ping:NOT_INSTALLED",),
    "facts/releases.sh": ("sparkrig.host.releases:FOLDER", "sparkrig.host.releases:MOST_RECIPES"),
    "facts/serving_files_of.sh": ("sparkrig.serving.served:MANIFEST",),
    "facts/serving_look.sh": (
        "sparkrig.serving.served:MANIFEST",
        "sparkrig.serving.served:RECORD",
        "sparkrig.serving.served:REVISION",
        "sparkrig.serving.served:STATE",
        "sparkrig.serving.served:UNIT",
    ),
    "facts/serving_standing_of.sh": ("sparkrig.serving.served:MANIFEST",),
    "facts/storage.sh": (
        "sparkrig.runs.lock:RUNS",
        "sparkrig.serving.served:RECORD",
        "sparkrig.serving.served:REVISION",
        "sparkrig.serving.served:TRIAL",
        "sparkrig.serving.served:UNIT",
    ),
    "facts/trust_look.sh": (
        "sparkrig.host.trust:KEY",
        "sparkrig.host.trust:MARK",
    ),
    "host/images_content_of.sh": ("sparkrig.host.images:HELD",),
    "host/update_plan.sh": ("sparkrig.host.update_record:FOLDER", "sparkrig.host.update_record:BACK"),
    "host/update_machine.sh": ("sparkrig.host.update_record:FOLDER",),
    "operations/apt_keep.sh": ("sparkrig.host.driver:SIMULATION",),
    "operations/guard_prepare.sh": ("sparkrig.runs.lock:RUNS",),
    "operations/serving_ask.sh": ("sparkrig.host.secrets:PATH",),
    "operations/serving_begin.sh": (
        "sparkrig.serving.served:STATE",
        "sparkrig.serving.served:TRIAL",
    ),
    "operations/serving_commit.sh": (
        "sparkrig.serving.served:PORT_UNIT",
        "sparkrig.serving.served:SOCKET",
        "sparkrig.serving.served:STATE",
        "sparkrig.serving.served:TRIAL",
    ),
    "operations/serving_new_token.sh": ("sparkrig.serving.served:RAY_ENV",),
    "operations/serving_pulse.sh": ("sparkrig.serving.served:UNIT",),
    "operations/serving_roll_back.sh": (
        "sparkrig.serving.served:SERVICE",
        "sparkrig.serving.served:STATE",
        "sparkrig.serving.served:TRIAL",
    ),
    "operations/storage_checkpoint.sh": ("sparkrig.runs.journal:ABSENT", "sparkrig.serving.served:MANIFEST"),
    "operations/storage_image.sh": ("sparkrig.runs.journal:ABSENT",),
    "operations/weights_copy_weights.sh": ("sparkrig.serving.served:MANIFEST",),
    "download_weights.py": ("sparkrig.serving.served:REVISION",),
    "operations/weights_seal.sh": (
        "sparkrig.serving.served:MANIFEST",
        "sparkrig.serving.served:REVISION",
    ),
    "runs/journal_abandon.sh": ("sparkrig.runs.journal:RUNS",),
    "runs/journal_begin.sh": (
        "sparkrig.runs.journal:ROOT",
        "sparkrig.runs.journal:RUNS",
    ),
    "runs/journal_end.sh": (
        "sparkrig.files:DECLARED",
        "sparkrig.runs.journal:RUNS",
    ),
    "runs/journal_intends.sh": ("sparkrig.runs.journal:RUNS",),
    "runs/journal_intends_holds.sh": ("sparkrig.runs.journal:RUNS",),
    "runs/journal_keeps.sh": (
        "sparkrig.runs.journal:ABSENT",
        "sparkrig.host.secrets:PATH",
    ),
    "runs/journal_left.sh": ("sparkrig.runs.journal:RUNS",),
    "runs/journal_note.sh": (
        "sparkrig.runs.journal:ABSENT",
        "sparkrig.runs.journal:DPKG_STATUS",
        "sparkrig.runs.journal:HELD",
    ),
    "runs/journal_row.sh": (
        "sparkrig.rdma.gid:BEGINS",
        "sparkrig.rdma.gid:BLOCK_END",
    ),
    "runs/journal_stands.sh": ("sparkrig.runs.journal:HELD",),
    "runs/lock_read.sh": ("sparkrig.runs.lock:FOLDER",),
    "runs/lock_hold.sh": (
        "sparkrig.runs.lock:FOLDER",
        "sparkrig.runs.lock:TICK_S",
    ),
    "runs/journal_look.sh": ("sparkrig.runs.journal:ABSENT", "sparkrig.runs.lock:RUNS"),
    "runs/lock_take.sh": (
        "sparkrig.runs.lock:FOLDER",
        "sparkrig.runs.lock:RUNS",
    ),
    "runs/undo_restore.sh": ("sparkrig.runs.undo:ABSENT",),
    "runs/undo_serve.sh": (
        "sparkrig.serving.served:SERVICE",
        "sparkrig.serving.served:STATE",
        "sparkrig.serving.served:UNIT",
    ),
    "runs/undo_texts.sh": ("sparkrig.runs.merge:MOST_BYTES",),
    "serving/served_link.sh": (
        "sparkrig.serving.served:ENABLED",
        "sparkrig.serving.served:RAY_ENV",
        "sparkrig.serving.served:RECORD",
        "sparkrig.serving.served:SERVICE",
    ),
    "serving/served_stop.sh": (
        "sparkrig.serving.served:MEMORY_UNIT",
        "sparkrig.serving.served:PORT_UNIT",
        "sparkrig.serving.served:UNIT",
    ),
}


def test_each_program_names_its_shell_and_what_it_is() -> None:
    def begins(name: str) -> None:
        head = (programs.FOLDER / name).read_text(encoding="utf-8").partition("\n\n")[0].splitlines()
        assert re.fullmatch(r"#!/bin/(ba)?sh", head[0]) and len(head) > 1
        assert all(line.startswith("# ") for line in head[1:])

    each_row([(name,) for name in FILES], begins)


def test_each_program_is_sent_or_included() -> None:
    named = {
        name
        for room in ROOMS
        for file in (ROOT / room).rglob("*.py")
        for name in re.findall(r"programs\.text\(f?['\"]([^'\"]+)['\"]\)", file.read_text(encoding="utf-8"))
    }
    used = {name for name in FILES if any(fnmatch(name, each.replace("{name}", "*")) for each in named)}
    assert all(any(fnmatch(name, each.replace("{name}", "*")) for name in FILES) for each in named)
    included = {
        str((programs.FOLDER / name).parent.joinpath(line).resolve().relative_to(programs.FOLDER.resolve()))
        for name in FILES
        for line in re.findall(r"(?m)^\. (\S+)$", (programs.FOLDER / name).read_text(encoding="utf-8"))
    }
    assert used | included == {*FILES}


def test_what_is_included_is_in_the_text_that_is_sent() -> None:
    def whole(name: str) -> None:
        assert not re.search(r"(?m)^\. \.", programs.text(name))

    each_row([(name,) for name in FILES], whole)
    assert programs.text("runs/lock_functions.sh") in programs.text("runs/lock_take.sh")


def test_what_python_and_a_program_both_name_is_one_value() -> None:
    def holds(name: str, shared: str) -> None:
        module, _, constant = shared.partition(":")
        value = re.escape(str(getattr(import_module(module), constant)))
        read = programs.file if name.endswith(".py") else programs.text
        assert re.search(rf"(?<![\w.-]){value}(?![\w-])", read(name)), "as a whole word"

    each_row([(name, each) for name, all_of in SHARED.items() for each in all_of], holds)
    assert (
        " ".join(apt.LOCKS) in programs.text("facts/apt_holders.sh")
        and " ".join(containers.TOOLKIT_PARTS) in STANDS
    )
    assert "; ".join(f"/^{begins}/d" for begins in gid.OURS) in programs.text("runs/journal_row.sh")
    assert ",".join(nvidia_smi.FIELDS) in programs.text("facts/gpu.sh")
    network = programs.text("facts/network.sh")
    assert ",".join(profiles.PROPERTIES) in network and " ".join(netplan.FOLDERS) in network


def test_a_program_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        programs.text("runs/none.sh")
