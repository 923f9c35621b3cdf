"""The programs of templates/programs: each is sent or included, and has the values that Python has."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path

import pytest

from sparkrig import programs, signatures
from sparkrig.host import apt, nvidia_smi
from sparkrig.network import gid, netplan, profiles
from sparkrig.resources import containers
from sparkrig.runs.managed_files import PACKAGES
from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(str(file.relative_to(programs.FOLDER)) for file in programs.FOLDER.rglob("*.sh"))
ROOMS = ("sparkrig", "facts", "operations")
# by program: what Python has, too, as MODULE:NAME
SHARED = {
    "evidence/identifiers.sh": ("sparkrig.facts.evidence:TOOL_S",),
    "evidence/run.sh": ("sparkrig.facts.evidence:TOOL_S",),
    "facts/apt_simulation.sh": ("sparkrig.host.driver:SIMULATION",),
    "facts/open_update.sh": ("sparkrig.host.update_record:FOLDER",),
    "facts/ping.sh": ("sparkrig.network.ping:NOT_INSTALLED",),
    "facts/releases.sh": ("sparkrig.host.releases:FOLDER", "sparkrig.host.recipe_files:MOST_RECIPES"),
    "facts/serving_files_of.sh": ("sparkrig.serving.served:MANIFEST",),
    "facts/serving.sh": (
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
        "sparkrig.serving.served:TRIAL",
    ),
    "facts/trust_look.sh": (
        "sparkrig.resources.trust:KEY",
        "sparkrig.resources.trust:MARK",
    ),
    "host/images_content_of.sh": ("sparkrig.host.images:HELD",),
    "host/update_plan.sh": ("sparkrig.host.update_record:FOLDER", "sparkrig.host.update_record:BACK"),
    "host/update_machine.sh": ("sparkrig.host.update_record:FOLDER",),
    "operations/apt_keep.sh": ("sparkrig.host.driver:SIMULATION",),
    "operations/guard_prepare.sh": ("sparkrig.runs.lock:RUNS",),
    "operations/serving_ask.sh": ("sparkrig.files:SECRETS_FILE",),
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
        "sparkrig.files:SECRETS_FILE",
    ),
    "runs/journal_left.sh": ("sparkrig.runs.journal:RUNS",),
    "runs/journal_note.sh": (
        "sparkrig.runs.journal:ABSENT",
        "sparkrig.runs.journal:DPKG_STATUS",
        "sparkrig.runs.journal:HELD",
    ),
    "runs/journal_row.sh": (
        "sparkrig.network.gid:BEGINS",
        "sparkrig.network.gid:BLOCK_END",
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
    assert " ".join(apt.LOCKS) in programs.text("facts/apt_holders.sh") and PACKAGES == containers.TOOLKIT_PARTS
    assert "; ".join(f"/^{begins}/d" for begins in gid.OURS) in programs.text("runs/journal_row.sh")
    assert ",".join(nvidia_smi.FIELDS) in programs.text("facts/gpu.sh")
    assert signatures.of("nvidia-smi", "no-nvidia-smi").search(programs.text("facts/gpu.sh"))
    network = programs.text("facts/network.sh")
    assert ",".join(profiles.PROPERTIES) in network and " ".join(netplan.FOLDERS) in network


def test_a_program_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        programs.text("runs/none.sh")


# --- what programs on hosts read and write


# a file of every pair that was deployed so far, whose bytes stay; it reads its own ASCII, and writes bytes
KEPT = "refresh_gid.py"


def host_programs() -> list[Path]:
    every = sorted(each for each in programs.TEMPLATES.rglob("*.py") if "project" not in each.parts)
    return [*(each for each in every if each.name != KEPT), programs.TEMPLATES.parent / "network" / "gid.py"]


def text_calls(tree: ast.AST) -> Iterator[tuple[ast.Call, set[str]]]:
    """Calls that read or write text, or may, with the names of what they are given."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        whole = ast.unparse(node.func)
        name = whole.rpartition(".")[2]
        given = {each.arg for each in node.keywords if each.arg}
        modes = [mode_of(each) for each in [*node.args, *(word.value for word in node.keywords)]]
        opens = name in ("open", "fdopen") and whole not in ("os.open", "self.open")
        if name in ("read_text", "write_text") or "text" in given or (opens and "b" not in "".join(modes)):
            yield node, given


def mode_of(node: ast.AST) -> str:
    text = str(node.value) if isinstance(node, ast.Constant) else ""
    return text if re.fullmatch(r"[rwaxbt+]{1,3}", text) else ""


def test_programs_on_hosts_speak_utf8_whatever_the_locale() -> None:
    """A host may have a locale of Latin-1, or none; and what it has in files and names is any bytes."""

    def holds(file: Path) -> None:
        text = file.read_text(encoding="utf-8")
        bare = [
            ast.unparse(node) for node, given in text_calls(ast.parse(text)) if not given >= {"encoding", "errors"}
        ]
        assert not bare, bare

    assert len(host_programs()) == 11
    each_row(host_programs(), holds)


# one step, in which the guard acts
ACTS = r"""
import runpy, signal, sys
def ends(*_):
    sys._getframe(1).f_globals["Guard"]("b").keep("stopped", "\u20ac")
    return True
signal.sigtimedwait = ends
*_, program = sys.argv
sys.argv = [program, "digest"]
runpy.run_path(program, run_name="__main__")
"""


def test_the_black_box_acts_under_a_locale_that_is_not_utf8(tmp_path: Path) -> None:
    """In a process of its own: the locale of this one is UTF-8."""
    acts = tmp_path / "var/lib/sparkrig/blackbox/guard"
    acts.parent.mkdir(parents=True)
    acts.write_bytes(b"1 @1/x stopped: \xff\xe2\x82\xac\n")
    words = [sys.executable, "-X", "utf8=0", "-c", ACTS, str(programs.TEMPLATES / "watch" / "blackbox.py")]
    given = {"SPARKRIG_ROOT": str(tmp_path), "LC_ALL": "C"}
    done = subprocess.run(words, env=given, capture_output=True, check=False)
    assert done.returncode == 0 and "the guard stopped: \u20ac".encode() in done.stdout, done.stderr
    first, last = acts.read_text(encoding="utf-8").splitlines()
    assert first == "1 @1/x stopped: \ufffd\u20ac" and last.endswith(" stopped: \u20ac")
