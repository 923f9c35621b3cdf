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
from tests.tables import each_row, rows

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(str(file.relative_to(programs.FOLDER)) for file in programs.FOLDER.rglob("*.sh"))
ROOMS = ("sparkrig", "facts", "operations")
# by program: what Python has, too, as MODULE:NAME
SHARED = rows(__file__, "shared")


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
