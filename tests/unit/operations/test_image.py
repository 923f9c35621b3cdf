"""The image with injected kernels: its recipe, the source that fits its base, and what has to come out."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from sparkrig import programs
from sparkrig.operations import build as image
from sparkrig.refusal import Refusal
from sparkrig.serving import build
from sparkrig.serving.build import Base, Looked
from tests.unit.shells import sh, tool

PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
PREPARE = programs.FOLDER.parent / "image" / "prepare.py"
HASH = "e68de8adc0ffee00e68de8adc0ffee00e68de8ad"
CMAKE = """
if(${CMAKE_CUDA_COMPILER_VERSION} VERSION_GREATER_EQUAL 13.0)
  cuda_archs_loose_intersection(FP4_ARCHS "12.0f" "${CUDA_ARCHS}")
  cuda_archs_loose_intersection(SCALED_MM_ARCHS "12.0f" "${CUDA_ARCHS}")
else()
  cuda_archs_loose_intersection( FP4_ARCHS "12.0f" "${CUDA_ARCHS}")
endif()
"""


@pytest.fixture(scope="module")
def prepare() -> ModuleType:
    spec = importlib.util.spec_from_file_location("prepare", PREPARE)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_nvfp4_is_built_for_120_alone_and_all_else_for_the_family(prepare: ModuleType) -> None:
    text, count = prepare.patched(CMAKE)
    assert count == 2 and text.count('FP4_ARCHS "12.0a"') == 2
    assert 'SCALED_MM_ARCHS "12.0f"' in text
    assert prepare.patched(text) == (text, 0)


@pytest.mark.parametrize(
    ("installed", "tags", "fits"),
    [
        ("0.17.0rc1.dev120+ge68de8adc", [], True),
        ("0.17.0rc1.dev120+cu130.ge68de8adc", [], True),
        ("0.17.0rc1.dev120+g1c2c1eb8b", ["v0.17.0rc1"], False),
        ("0.17.0rc1", ["v0.17.0rc1"], True),
        ("0.17.0+cu130", ["v0.17.0"], True),
        ("0.17.1", ["v0.17.0"], False),
        ("0.17.1", [], False),
        ("0.17.1+7f4a1b2c.nv26.04", ["v0.17.1"], False),
    ],
)
def test_the_source_is_that_of_the_image(prepare: ModuleType, installed: str, tags: list[str], fits: bool) -> None:
    assert prepare.matches(installed, HASH, tags) is fits


@pytest.fixture
def source(tmp_path: Path) -> tuple[Path, Path]:
    """A repository with a guard to patch and a release's tag, and packages with a vLLM of that release."""
    repository, site = tmp_path / "vllm", tmp_path / "site"
    (repository / "cmake").mkdir(parents=True)
    (repository / "CMakeLists.txt").write_text(CMAKE)
    (site / "vllm").mkdir(parents=True)
    (site / "vllm" / "_C.abi3.so").touch()
    (site / "vllm-0.17.0.dist-info").mkdir(parents=True)
    (site / "vllm-0.17.0.dist-info" / "METADATA").write_text("Name: vllm\nVersion: 0.17.0\n")
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "x"], ["tag", "v0.17.0"]):
        subprocess.run(["git", "-C", str(repository), *words], check=True)
    return repository, site


def prepared(source: tuple[Path, Path]) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-I", str(PREPARE), *map(str, source)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_a_source_is_prepared_once_and_only_if_it_fits(source: tuple[Path, Path]) -> None:
    done = prepared(source)
    assert done.returncode == 0, done.stderr
    assert "2 guards were patched" in done.stdout
    assert 'FP4_ARCHS "12.0a"' in (source[0] / "CMakeLists.txt").read_text()
    again = prepared(source)
    assert again.returncode == 1 and "no guard for FP4_ARCHS" in again.stderr
    (source[1] / "vllm-0.17.0.dist-info" / "METADATA").write_text("Name: vllm\nVersion: 0.18.0\n")
    other = prepared(source)
    assert other.returncode == 1 and "the image has vLLM 0.18.0, and" in other.stderr


def test_a_base_that_keeps_its_kernels_elsewhere_ends_the_build_before_it_compiles(
    source: tuple[Path, Path],
) -> None:
    libraries = source[1] / "vllm"
    (libraries / "_C_stable_libtorch.abi3.so").touch()
    done = prepared(source)
    assert done.returncode == 1 and "take a base of vLLM 0.17 or 0.18" in done.stderr
    (libraries / "_C_stable_libtorch.abi3.so").unlink()
    (libraries / "_C.abi3.so").unlink()
    done = prepared(source)
    assert done.returncode == 1 and "/vllm has no _C.abi3.so" in done.stderr


def test_a_build_has_the_tools_that_its_source_asks_for_and_the_torch_of_its_base() -> None:
    """Without isolation pip brings none (vLLM 0.17.0: setuptools-scm, grpcio-tools and six more)."""
    text = image.recipe()["Dockerfile"]
    steps = ["prepare.py /tmp/vllm", "sed -i '/^torch/d' requirements/build.txt", "-r requirements/build.txt"]
    places = [text.index(step) for step in (*steps, "--no-build-isolation")]
    assert places == sorted(places)


def test_a_build_is_given_the_proxies_that_are_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
    tool(tmp_path / "bin", "docker", 'echo "$@"')
    assert sh(image.BUILD, "-t", "a", "/f", path=tmp_path / "bin").stdout == "build -t a /f\n"
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    done = sh(image.BUILD, "-t", "a", "/f", path=tmp_path / "bin")
    assert done.stdout == "build --build-arg https_proxy -t a /f\n", "its value is in no argument"


@pytest.mark.parametrize(
    ("version", "wanted", "commit"),
    [
        ("0.17.0rc1.dev120+ge68de8adc", None, "e68de8adc"),
        ("0.17.0rc1.dev120+ge68de8adc", "main", "main"),
        ("0.17.0rc1", None, "v0.17.0rc1"),
        ("0.17.0", None, "v0.17.0"),
        ("0.17.0+cu130", None, "v0.17.0"),
    ],
)
def test_the_commit_follows_from_the_base(version: str, wanted: str | None, commit: str) -> None:
    assert build.commit(Base("sha256:1", version), wanted) == commit


@pytest.mark.parametrize("version", ["", "0.17.0.dev3", "0.13.0+7f4a1b2c.nv26.01"])
def test_a_base_that_names_no_commit_is_asked_for_one(version: str) -> None:
    with pytest.raises(Refusal, match="names no commit"):
        build.commit(Base("sha256:1", version), None)


def test_the_name_is_made_of_all_that_goes_in() -> None:
    names = {
        build.tag("sha256:1", None, {"Dockerfile": "a"}),
        build.tag("sha256:2", None, {"Dockerfile": "a"}),
        build.tag("sha256:1", "e68", {"Dockerfile": "a"}),
        build.tag("sha256:1", None, {"Dockerfile": "b"}),
    }
    assert len(names) == 4
    assert build.tag("sha256:1", None, image.recipe()) == build.tag("sha256:1", None, image.recipe())


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (Looked(52, "0.17.0"), None),
        (Looked(0, "0.17.0"), "0 cubins for Blackwell"),
        (Looked(49, "0.17.0"), "49 cubins for Blackwell"),
        (Looked(52, "0.18.0"), "it has vLLM 0.18.0, and its base 0.17.0"),
    ],
)
def test_what_comes_out_is_judged(made: Looked, said: str | None) -> None:
    if said is None:
        build.judge(Base("sha256:1", "0.17.0"), made)
    else:
        with pytest.raises(Refusal, match=said):
            build.judge(Base("sha256:1", "0.17.0"), made)


def test_an_image_is_looked_into(tmp_path: Path) -> None:
    tool(tmp_path / "bin", "docker", 'while [ "$1" != -c ]; do shift; done; shift; sh -c "$@"')
    tool(tmp_path / "bin", "cuobjdump", "echo 1.sm_120.cubin; echo 2.sm_121.cubin; echo 3.sm_90.cubin")
    done = sh(image.VERIFY, "vllm:1", "/site", path=tmp_path / "bin")
    assert build.parse([*done.stdout.splitlines(), "version 0.17.0"]) == Looked(2, "0.17.0")
    tool(tmp_path / "bin", "cuobjdump", "echo no such library >&2; exit 3")
    assert sh(image.VERIFY, "vllm:1", "/site", path=tmp_path / "bin").returncode == 3
    with pytest.raises(ValueError, match="did not tell its cubins"):
        build.parse(["version 0.17.0"])
