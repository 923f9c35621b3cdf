"""Computed rules of words that vLLM would not take, and of what a version of it does not know.

models/vllm/flags.yaml has what each version takes. A fork adds words of its own, so that for an image that is
neither vLLM's nor NVIDIA's a note is enough; where the version is not known, every version that was read is asked.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta

from sparkrig.redaction.forms import shows_a_secret
from sparkrig.serving import engines
from sparkrig.serving.flags import Flag, Knowledge, Table, Version, shown, version
from sparkrig.serving.lint.case import Case, Hit, Severity
from sparkrig.text import listed

# what vLLM is given by sparkrig itself or by a script, and never reads
_NOT_FLAGS = frozenset({"model"})
# -O3 is read as the first; before 0.12 it was short for --compilation-config
_LEVEL, _SHORT_LEVEL = "optimization-level", "-O"
# a flag that went long before the newest version is gone from what is installed today: our own reasoning
_SLIP = 0.9
_LONG_AGO = timedelta(days=180)
# a variable that chooses something: without it vLLM uses another one than was asked for
_CHOICE = re.compile(r"BACKEND|_MOE_|_USE_(?:FLASHINFER|MARLIN|CUTLASS|TRITON)")
# the flag that does what a variable did
_INSTEAD = (("ATTENTION", "attention-backend"), ("_MOE_", "moe-backend"), ("GEMM", "linear-backend"))
# flags whose values a plugin may add to, and the flag that names it
_PARSERS = {"tool-call-parser": "tool-parser-plugin", "reasoning-parser": "reasoning-parser-plugin"}
# its own name for B12X in eugr's image without it [@eugr-393]
_SPARSE = "B12X_MLA_SPARSE"

_WHOLE = (
    "tensor-parallel-size",
    "pipeline-parallel-size",
    "data-parallel-size",
    "nnodes",
    "node-rank",
    "max-model-len",
    "max-num-seqs",
    "max-num-batched-tokens",
    "max-cudagraph-capture-size",
)
_NONE = range(-1, 1)
_COUNTS = ("tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size", "nnodes")
# what stands for something that a page leaves out
_LEFT_OUT = re.compile(r"\.\.\.|\u2026|`")


def _table(case: Case) -> Table | None:
    return case.tables.flags(case.version) if case.tables else None


def _release(table: Table) -> str:
    return f"vLLM {table.release.version}"


def flag_unknown(case: Case) -> Iterator[Hit]:
    if case.tables is None:
        return
    names = [name for name in case.launch.flags if name not in _NOT_FLAGS and len(name) > 1 and "$" not in name]
    table = _table(case)
    for name in names:
        if table is None:
            yield from _undated_flag(case, case.tables, name)
        elif table.find(name) is None and not (name == _LEVEL and table.find(_SHORT_LEVEL)):
            meant, gone = table.nearest(name), case.tables.removed(name)
            why = (
                f"gone since {shown(gone)}" if gone and gone <= (case.version or ()) else "which it does not have"
            )
            slip = case.fork and _misspelt(name, meant)
            yield Hit(f"--{name} with {_release(table)}: {why}", _meant(meant), "warning" if slip else None)


def _undated_flag(case: Case, known: Knowledge, name: str) -> Iterator[Hit]:
    """Of a version that is not known."""
    if any(known.table(minor).find(name) for minor in known.releases):
        gone = known.removed(name)
        if gone and _went_long_ago(known, gone):
            when = f"for vLLM before {shown(gone)} of {known.releases[gone].released} alone"
            yield Hit(f"--{name}: {when}", "", "warning" if case.released else "note")
        return
    meant = known.table(max(known.releases)).nearest(name)
    yield Hit(
        f"--{name}, which no vLLM from {shown(min(known.releases))} to {shown(max(known.releases))} has",
        _meant(meant),
        "warning" if _settled(case) or _misspelt(name, meant) else "note",
    )


def _settled(case: Case) -> bool:
    """Whether the image is one of the releases that were read, whichever it is: a nightly build may know more."""
    return case.official and "nightly" not in case.image


def _misspelt(name: str, meant: str) -> bool:
    """Whether it is a slip, and no flag of a fork such as --gpu-memory-utilization-gb or --mxfp4-backend."""
    alike = difflib.SequenceMatcher(a=name, b=meant).ratio()
    return bool(meant) and alike >= _SLIP and abs(len(name) - len(meant)) < len("-gb")


def _meant(name: str) -> str:
    return f"--{name}, if that is meant" if name else ""


def flag_value(case: Case) -> Iterator[Hit]:
    table = _table(case)
    for name, value in _values(case):
        flag = table.find(name) if table else None
        if table is None and case.tables:
            yield from _undated_value(case, case.tables, name, value)
        elif table and flag and _accepts(case, flag, value) is False:
            meant = flag.nearest(value)
            better = f"--{name} {meant}, if that is meant" if meant else _some(flag)
            yield Hit(f"--{name} {value}: {_release(table)} has no such value", better)


def _accepts(case: Case, flag: Flag, value: str) -> bool | None:
    """As the flag does; the names of parsers are all known where no plugin adds one."""
    parser = flag.name in _PARSERS and _PARSERS[flag.name] not in case.launch.flags
    return (replace(flag, open=False) if parser else flag).accepts(value)


def _undated_value(case: Case, known: Knowledge, name: str, value: str) -> Iterator[Hit]:
    """Of a version that is not known: a value that none takes."""
    if value.upper() == _SPARSE:  # of B12X's own builds: b12x-name
        return
    found = [flag for minor in known.releases if (flag := known.table(minor).find(name))]
    told = [_accepts(case, flag, value) for flag in found]
    meant = found[-1].nearest(value) if found else ""
    # the newest may take more by a plugin: then a slip alone is told
    if True in told or False not in told or (told[-1] is None and not meant):
        return
    better = f"--{name} {meant}, if that is meant" if meant else _some(found[-1])
    sure = case.bare or _misspelt(value, meant)
    yield Hit(f"--{name} {value}: no vLLM that was read has it", better, "warning" if sure else "note")


def _some(flag: Flag) -> str:
    return f"one of {', '.join(flag.values)}"


def _values(case: Case) -> Iterator[tuple[str, str]]:
    """Each flag with a plain value, and each field of a JSON object with one."""
    for name, value in case.launch.flags.items():
        if isinstance(value, str) and "$" not in value and not value.startswith("<"):
            yield name, value
        if isinstance(value, Mapping):
            fields = {f"{name}.{field}": each for field, each in value.items() if isinstance(each, str)}
            yield from ((field, each) for field, each in fields.items() if "$" not in each)


def variable_unknown(case: Case) -> Iterator[Hit]:
    if case.tables is None:
        return
    table = _table(case)
    for name, value in case.launch.environment.items():
        if not name.startswith("VLLM_") or (table and name in table.variables):
            continue
        gone, ever = case.tables.variable_removed(name), name in case.tables.variables
        if name.startswith("VLLM__"):
            yield Hit(f"{name}: no variable of vLLM has two underscores", severity="warning")
        elif table and (ever or case.contained):
            yield _ignored(case, name, value, f"{name}: {_release(table)} does not read it")
        elif table is None and gone and _went_long_ago(case.tables, gone):
            when = f"no vLLM since {shown(gone)} reads it"
            yield _ignored(case, name, value, f"{name}: {when}", sure=case.bare)
        elif table is None and not ever and _CHOICE.search(name) and case.contained and case.official:
            yield Hit(f"{name}: no vLLM that was read reads it", severity="note")


def _went_long_ago(known: Knowledge, gone: Version) -> bool:
    return known.newest.released - known.releases[gone].released > _LONG_AGO


def _moot(case: Case, name: str) -> bool:
    """Whether the launch chooses by a flag what the variable is about, or has no weights of its format.

    Nemotron-3-Super serves with VLLM_NVFP4_GEMM_BACKEND and --moe-backend [@styles01].
    """
    flag = next((flag for part, flag in _INSTEAD if part in name), "")
    other = any(part in name and case.format and part.lower() not in case.format for part in ("FP8", "FP4"))
    return flag in case.launch.flags or "_GEMM_" in name or other


def _ignored(case: Case, name: str, value: str | None, found: str, *, sure: bool = True) -> Hit:
    """A variable that chooses something and is not read is no note: something else is used."""
    chooses = _CHOICE.search(name) and value not in (None, "", "0", "false", "False") and not _moot(case, name)
    severity: Severity | None = None if chooses and sure else "note"
    if name == "VLLM_ATTENTION_BACKEND" and value:
        return Hit(found, f"--attention-backend {value}", severity)
    return Hit(found, "--moe-backend" if "MOE_BACKEND" in name else "", severity)


def version_newer(case: Case) -> Iterator[Hit]:
    if case.tables and case.version and case.version[:2] > max(case.tables.releases):
        newest = case.tables.newest
        known = f"{newest.version} of {newest.released}"
        yield Hit(f"vLLM {shown(case.version)} is newer than the newest that these rules know, {known}")


def model_newer(case: Case) -> Iterator[Hit]:
    """By the registry of each version; of a build between two only the minor version is compared."""
    first = max((version(family.since) or () for family in case.families), default=())
    if case.version and case.version[:2] < first[:2]:
        yield Hit(f"{case.called} with vLLM {shown(case.version)}", f"vLLM {shown(first)} or newer")


# --- as it was typed


def not_json(case: Case) -> Iterator[Hit]:
    for flag in case.launch.broken:
        if _LEFT_OUT.search(case.launch.text(flag)):
            continue
        yield Hit(f"the value of --{flag} is no JSON")


def not_a_number(case: Case) -> Iterator[Hit]:
    launch = case.launch
    wrong = [
        flag for flag in _WHOLE if launch.whole_number(flag, 0) is None and launch.text(flag) not in ("auto", "-1")
    ]
    share = "gpu-memory-utilization"
    wrong += [share] if share in launch.flags and launch.number(share) is None else []
    wrong += [flag for flag in _COUNTS if launch.whole_number(flag, 1) in _NONE]
    for flag in wrong:
        if "$" not in launch.text(flag):
            yield Hit(f"--{flag} {launch.text(flag)}".rstrip())


def extra_words(case: Case) -> Iterator[Hit]:
    words = [word for word in case.launch.extra if "$" not in word and not _LEFT_OUT.search(word)]
    if words:
        yield Hit(f"{listed(f'`{word}`' for word in words)} beside the model {case.called}")


def no_model(case: Case) -> Iterator[Hit]:
    if not case.launch.model and "config" not in case.launch.flags:
        yield Hit("no model")


def unseen(case: Case) -> Iterator[Hit]:
    if "config" in case.launch.flags:
        yield Hit(f"--config {case.launch.text('config')} sets flags of its own")
    wrapped = case.launch.container is None or case.launch.wrapper
    if not wrapped and not case.container.whole:
        yield Hit("what the container is given cannot all be seen")
    elif not wrapped and not case.launch.whole:
        yield Hit("an env file sets variables of its own")
    given = [*case.launch.flags.values(), *case.launch.extra, case.launch.model]
    variables = [value for value in given if isinstance(value, str) and "$" in value]
    if variables:
        yield Hit(f"the value of {listed(variables)} is not known")


def flags_commented(case: Case) -> Iterator[Hit]:
    if flag := case.launch.commented:
        yield Hit(f"`#` makes a comment of the rest of the line: {flag} and what follows is not given")


def other_engine(case: Case) -> Iterator[Hit]:
    if case.launch.engine != engines.VLLM:
        # of those that are only known by name nothing is served here
        served = engines.OTHERS[case.launch.engine].model
        better = "" if served else "sparkrig models: what vLLM, SGLang and llama.cpp serve here"
        yield Hit(f"it launches {engines.name(case.launch.engine)}, and lint judges launches of vLLM", better)


def secret_argument(case: Case) -> Iterator[Hit]:
    """A shell puts the value of a variable into the arguments, so that `--api-key $KEY` shows it, too."""
    for name, value in case.launch.flags.items():
        if isinstance(value, (str, list)) and value and shows_a_secret(name, value):
            yield Hit(f"--{name} shows a secret in the list of processes")
