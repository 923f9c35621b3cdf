"""Flags are read from a small vLLM that is made up here: what its parser's set-up does is followed."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import pytest
from packaging.version import Version as Number

from scripts.vllm_flags import __main__ as program
from scripts.vllm_flags import command_line, table, variables
from scripts.vllm_flags.package_index import Index, Package
from scripts.vllm_flags.source import Source
from sparkrig.serving.flags import File, Flag, Knowledge, Release, Table, Version
from sparkrig.serving.io import catalogue_files, vllm_flags

# files of the small vLLM, each as a text: nothing of it is run
FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "vllm"
SERVE = (FIXTURES / "serve.txt").read_text()
CLI_ARGS = (FIXTURES / "cli-args.txt").read_text()
ARG_UTILS = (FIXTURES / "arg-utils.txt").read_text()
CONFIG = (FIXTURES / "config.txt").read_text()
ENVS = """
environment_variables: dict[str, Callable[[], Any]] = {
    "VLLM_HOST_IP": lambda: os.getenv("VLLM_HOST_IP", ""),
    "MAX_JOBS": lambda: os.getenv("MAX_JOBS", None),
}
"""
BACKENDS = """
from enum import Enum

class BackendEnum(Enum):
    TRITON = 'vllm.a.Triton'
    FLASH = 'vllm.a.Flash'
"""
FILES = {
    "vllm/entrypoints/cli/serve.py": SERVE,
    "vllm/entrypoints/openai/cli_args.py": CLI_ARGS,
    "vllm/engine/arg_utils.py": ARG_UTILS,
    "vllm/config/__init__.py": "from .all import CacheConfig, KernelConfig, VllmConfig",
    "vllm/config/all.py": CONFIG,
    "vllm/envs.py": ENVS,
    "vllm/backends.py": BACKENDS,
    "vllm/renderers/__init__.py": "from .types import *",
    "vllm/renderers/types.py": "Content = Literal['auto', 'string']",
    "vllm/quantization.py": "Methods = Literal['awq', 'fp8']",
    "vllm/model_executor/layers/quantization/__init__.py": "DEPRECATED_QUANTIZATION_METHODS = ['awq']",
    "vllm/tool_parsers/__init__.py": "_TOOL_PARSERS_TO_REGISTER = {'hermes': ('a', 'b')}",
    "vllm/ray.py": 'names = ["VLLM_FROM_ELSEWHERE"]',
}


def read(**changed: str) -> dict[str, Flag]:
    return command_line.flags(Source({**FILES, **{f"vllm/{name}.py": text for name, text in changed.items()}}))


def test_flags_of_a_whole_set_up() -> None:
    found = read()
    expected = [
        Flag("a2a", default="auto", values=("auto", "marlin")),
        Flag("allowed-origins", takes="json", default=["*"]),
        Flag("api-server-count", takes="whole number", also=("-asc",)),
        Flag("backend", default="TRITON", values=("FLASH", "TRITON")),
        Flag("cache-dtype", values=("auto", "fp8"), open=True),
        Flag("chat-template"),
        Flag("content", default="auto", values=("auto", "string")),
        Flag("devices", default="auto", values=("auto", "cpu"), open=True),
        Flag("disable-log-stats", takes="switch on"),
        Flag("enable-log-requests", takes="switch"),
        Flag("gpu-memory-utilization", "number", ("device-memory-utilization",), 0.92),
        Flag("grpc", takes="switch on"),
        Flag("headless", takes="switch on"),
        Flag("kernel-config", takes="json", also=("-kc",)),
        Flag("kernel-config.a2a", default="auto", values=("auto", "hidden", "marlin")),
        Flag("kernel-config.backend", default="TRITON", values=("FLASH", "TRITON")),
        Flag("kernel-config.computed", takes="switch", default="<envs.DEV>"),
        Flag("kernel-config.moe_backend", default="auto", values=("auto", "marlin")),
        Flag("kernel-config.old", takes="switch", deprecated="Deprecated: nothing reads it."),
        Flag("kernel-config.quantization", values=("awq", "fp8"), open=True),
        Flag("kernel-config.sizes", takes="texts"),
        Flag("log-deltas", takes="switch", default=True),
        Flag("log-level", default="info", values=("debug", "info")),
        Flag("loose-config", takes="json"),
        Flag("max-size", takes="whole number", default=4194304),
        Flag("moe-backend", default="auto", values=("auto", "marlin")),
        Flag(
            "old-way",
            takes="switch",
            deprecated="--old-way is deprecated and will be removed in v0.3. Use --new-way instead.",
        ),
        Flag("port", takes="whole number", default=8000),
        Flag("quantization", also=("-q",), values=("awq", "fp8"), open=True, deprecated_values=("awq",)),
        Flag("tool-call-parser", values=("hermes",), open=True),
    ]
    assert [*found] == [each.name for each in expected]
    for each in expected:
        assert found[each.name] == each


def test_a_sentence_on_a_value_does_not_make_the_flag_deprecated() -> None:
    doc = 'The "slow" backend is deprecated. Use "fast", which supersedes those that are deprecated.'
    found = read(**{"config/all": CONFIG.replace("Deprecated: nothing reads it.", doc)})
    assert found["kernel-config.old"].deprecated == ""


def test_a_set_up_that_is_another_one_is_refused() -> None:
    for changed, says in (
        ({"entrypoints/cli/serve": "x = 1"}, "no subparser_init"),
        ({"engine/arg_utils": ARG_UTILS.replace('"--gpu-memory', '"--memory')}, "no --gpu-memory-utilization"),
        ({"config/__init__": "from .other import KernelConfig"}, "CacheConfig is no class of vLLM"),
    ):
        with pytest.raises(ValueError, match=says):
            read(**changed)
    with pytest.raises(ValueError, match=r"no module vllm\.entrypoints\.cli\.serve"):
        command_line.flags(Source({}))


def test_variables() -> None:
    assert variables.variables(Source(FILES)) == {"VLLM_HOST_IP", "MAX_JOBS", "VLLM_FROM_ELSEWHERE"}


def release(minor: int, *flags: Flag, names: frozenset[str] = frozenset()) -> Table:
    made = Release(f"0.{minor}.0", date(2026, 1, minor), "a" * 64, opposites=minor > 2)
    return Table(made, {each.name: each for each in flags}, names)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    """No value is lost, and the same knowledge is the same text."""
    found: dict[Version, Table] = {
        (0, 1): release(1, Flag("a", default=0.9), Flag("b", "switch"), names=frozenset({"VLLM_A"})),
        (0, 2): release(2, Flag("a", "number", ("-a",), 0.92), Flag("c", values=("x", "y"), default=0)),
        (0, 3): release(
            3,
            Flag("a", "number", ("-a", "aa"), 1, deprecated='It is "old": no.'),
            Flag("b", "switch"),
            Flag("c", values=("y", "z"), open=True, default=True, deprecated_values=("y",)),
            names=frozenset({"VLLM_A", "VLLM_B"}),
        ),
    }
    known = written(tmp_path, found)
    assert table.tables(known) == found
    assert table.text(known.read, table.tables(known)) == (tmp_path / "flags.yaml").read_text()
    assert known.histories["b"].spans == "to 0.1, from 0.3"
    assert known.histories["c"].values_in == {"x": "in 0.2", "z": "from 0.3"}
    assert known.variables == {"VLLM_A": "to 0.1, from 0.3", "VLLM_B": "from 0.3"}


def written(folder: Path, found: Mapping[Version, Table]) -> Knowledge:
    file = folder / "flags.yaml"
    file.write_text(table.text(date(2026, 2, 1), found))
    return catalogue_files.checked(File, catalogue_files.read(file), file).knowledge()


def test_the_file_in_the_repository_is_as_it_would_be_written() -> None:
    known = vllm_flags.knowledge()
    assert table.text(known.read, table.tables(known)) == vllm_flags.FILE.read_text()


@dataclass
class Answer:
    content: bytes = b""
    data: object = None
    status_code: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "application/json"})

    def json(self) -> object:
        return self.data


@dataclass
class Session:
    answers: dict[str, Answer]

    def get(self, url: str, **_: object) -> Answer:
        return self.answers.get(url, Answer(status_code=404))


def package(files: dict[str, str]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for path, text in files.items():
            member = tarfile.TarInfo(f"vllm-0.2.0/{path}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return made.getvalue()


def row(name: str, digest: str = "", **more: object) -> dict[str, object]:
    return {
        "filename": name,
        "hashes": {"sha256": digest},
        "url": f"there/{name}",
        "upload-time": "2026-01-02T03:04:05.6Z",
        **more,
    }


def test_releases_are_read_from_an_index_and_written(tmp_path: Path) -> None:
    content = package(FILES)
    digest = hashlib.sha256(content).hexdigest()
    names = [
        row("vllm-0.20.0.tar.gz", digest),
        row("vllm-0.20.1.tar.gz", digest),
        row("vllm-0.20.2.tar.gz", digest, yanked="broken"),
        row("vllm-0.21.0rc1.tar.gz", digest),
        row("vllm-0.20.1-cp38-abi3-manylinux1_x86_64.whl", digest),
        row("vllm-0.9.0.tar.gz", digest),
    ]
    index = Index(
        Session({"page": Answer(data={"files": names}), "there/vllm-0.20.1.tar.gz": Answer(content)}),
        ["no", "page"],
    )
    assert [str(each.version) for each in index.packages()] == ["0.9.0", "0.20.0", "0.20.1"]
    file = tmp_path / "vllm" / "flags.yaml"
    program.add(None, index, [], file)
    known = catalogue_files.checked(File, catalogue_files.read(file), file).knowledge()
    assert known.releases == {(0, 20): Release("0.20.1", date(2026, 1, 2), digest)}
    assert "port" in known.table((0, 20)).flags
    before = file.read_text()
    program.add(known, index, [], file)  # nothing is new: nothing is fetched
    assert file.read_text() == before
    with pytest.raises(ValueError, match=r"no source package of vLLM 0\.77\.0; the newest is 0\.20\.1"):
        program.add(known, index, ["0.77.0"], file)


def test_another_content_than_the_index_states_is_refused() -> None:
    index = Index(Session({"there": Answer(package(FILES))}), [])
    with pytest.raises(ValueError, match="the digest is"):
        index.files(Package(Number("0.2.0"), date(2026, 1, 1), "b" * 64, "there"))
    with pytest.raises(ValueError, match="as JSON"):
        index.packages()
