"""The catalogue of models: what articles type is in it, its figures make sense, and odd files are refused.

The figures themselves stand in models/ alone, each with its source.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator
from rich.console import Console

from docs.make import MODELS, with_models
from sparkrig.cli import models as verb
from sparkrig.refusal import Refusal
from sparkrig.serving import arguments, container, launch_text
from sparkrig.serving.budget import Use, fewest_nodes
from sparkrig.serving.io import catalogue_files
from sparkrig.serving.model import IMAGE, Checkpoint, Launch, Model
from sparkrig.serving.render.models import Listing, Page
from tests.tables import each_row, rows, table
from tests.unit import launches

KNOWN = catalogue_files.catalogue()
SCHEMAS = Path(__file__).parents[3] / "docs" / "schema"

# --- the articles

# what was typed, word by word: model, title of its launch, text
TYPED = {
    "forum-365083": (
        "qwen3.5-35b-a3b",
        "one Spark, image with injected kernels, FP8 on the fly",
        launches.INJECTED,
    ),
    "forum-365083, the thread": (
        "qwen3.5-35b-a3b",
        "one Spark, eugr's image, BF16 from a local folder",
        launches.ASKED,
    ),
    "docai-122b": ("qwen3.5-122b-a10b", "one Spark, 128K context, draft of two tokens", launches.LARGE),
}


@pytest.mark.parametrize(("name", "title", "text"), TYPED.values(), ids=TYPED)
def test_a_launch_that_an_article_types_is_all_in_the_catalogue(name: str, title: str, text: str) -> None:
    (typed,) = launch_text.read(text)
    (kept,) = [each for each in KNOWN.models[name].launches if each.title == title]
    assert values(arguments.read(kept.arguments()).flags) == values(typed.flags)
    assert kept.environment == typed.environment
    assert options(kept.container) == options(text.partition("docker run")[2])
    assert typed.container is None or typed.container.image == kept.image


def values(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers as numbers: the catalogue's 0.90 is typed as 0.9."""
    return {name: yaml.safe_load(value) if isinstance(value, str) else value for name, value in flags.items()}


def options(text: str) -> dict[str, list[str]]:
    """Those of docker that are of the server; the environment is a field of its own."""
    found = container.options(shlex.split(text.replace("\\\n", " ")))[0]
    return {name: given for name, given in found.items() if name not in ("detach", "name", "env")}


def test_a_fork_of_vllm_is_not_taken_for_an_image() -> None:
    (fork,) = [each for each in found("Qwen3.6-27B").launches if "fork" in each.title]
    assert (fork.image, "mitkox/vllm-dflash-ddtree" in fork.note) == ("", True)
    assert not re.search(r"^ +image *$", run("show", "qwen3.6-27b").stdout, re.MULTILINE)


def test_the_page_has_the_image_or_why_there_is_none() -> None:
    shown = run("show", "qwen3.6-35b-a3b").stdout
    assert "image vllm/vllm-openai:v0.26.0-aarch64-cu129-ubuntu2404 (vLLM 0.26.0)" in " ".join(shown.split())
    assert "digest sha256:6a4570896a2f" in shown and "not stated; the deploy records the ID" in shown
    assert "does not start by its name alone: the catalogue names no image" in run("show", "mixtral-8x7b").stdout
    assert "not by its name: vllm-node is a name that eugr's" in run("show", "qwen3.5-122b-a10b").stdout


def found(wanted: str) -> Model:
    model = KNOWN.find(wanted)
    assert model, f"{wanted} is not in the catalogue"
    return model


# --- the figures make sense

# bits for each parameter, all that is not in the format counted: scales, and layers that were left alone
BITS = {"bf16": (15.5, 16.5), "fp8": (7.9, 8.5), "nvfp4": (4.1, 5.5), "mxfp4": (4.1, 5), "int4": (4, 4.5)}
# of those that are in several formats: what is dense, or attends, is left in more bits, or lies on a disk
MIXED = rows(__file__, "mixed")
MODELS_AND_CHECKPOINTS = {each.id: (model, each) for model in KNOWN.models.values() for each in model.checkpoints}


def test_weights_are_as_large_as_their_format_makes_them() -> None:
    """A size in GB for one in GiB is 7 % off; one of another format, or of another model, half or double."""

    def holds(model: Model, checkpoint: Checkpoint) -> None:
        gib = checkpoint.weights_gib or sum(nodes * each for nodes, each in checkpoint.resident_gib.items())
        least, most = MIXED.get(checkpoint.id) or BITS[checkpoint.format.partition("-")[0]]
        assert model.parameters_b and model.active_b
        assert not gib or least <= gib * 2**30 * 8 / (model.parameters_b * 1e9) <= most
        for nodes, each in checkpoint.resident_gib.items():
            assert nodes * each == pytest.approx(gib, rel=0.06)

    each_row(MODELS_AND_CHECKPOINTS, holds)
    assert sum(bool(each.weights_gib) for _, each in MODELS_AND_CHECKPOINTS.values()) > 10


def test_the_figures_of_a_model_make_sense_beside_one_another() -> None:
    def holds(name: str) -> None:
        model = KNOWN.models[name]
        told = {(each.metric, each.of, each.concurrency, each.checkpoint): each for each in model.figures}
        assert len(told) == len(model.figures), "two figures of the same thing"
        for (metric, of, many, checkpoint), each in told.items():
            assert "%" not in metric or max(each.value, each.high or 0) <= 100, each
            late = told.get(("time to first token p95 s", of, many, checkpoint))
            assert metric != "time to first token s" or not late or each.value < late.value, each
            whole = told.get(("aggregate tok/s", of, many, checkpoint))
            assert metric != "decode tok/s" or not whole or whole.value <= 1.01 * many * each.value, each

    each_row([*KNOWN.models], holds)
    assert sum(len(model.figures) for model in KNOWN.models.values()) > 100


@pytest.mark.parametrize("state", ["cold", "warm"])
def test_the_phases_of_a_start_are_no_longer_than_the_whole(state: str) -> None:
    figures = KNOWN.models["qwen3.5-122b-a10b"].figures
    phases = {each.of: each.high or each.value for each in figures if each.metric == "startup s"}
    mine = {phase.removesuffix(f", {state}"): took for phase, took in phases.items() if phase.endswith(state)}
    assert len(mine) == len(phases) / 2, "each is told cold and warm"
    assert 0.9 * mine["total"] < sum(mine.values()) - mine["total"] <= mine["total"]


# --- the catalogue as a whole


def test_the_declared_nodes_are_what_the_budget_says() -> None:
    def holds(name: str) -> None:
        model = KNOWN.models[name]
        assert fewest_nodes(model, model.best(), Use()) in (model.nodes, None)

    each_row([*KNOWN.models], holds)


def test_a_file_names_its_schema() -> None:
    def holds(name: str) -> None:
        first = (catalogue_files.FOLDER / f"{name}.yaml").read_text().splitlines()[0]
        assert first == "# yaml-language-server: $schema=../docs/schema/model-file.json"

    each_row([*KNOWN.models], holds)


def test_no_checkpoint_is_of_two_models() -> None:
    ids = [each.id.lower() for model in KNOWN.models.values() for each in model.checkpoints]
    assert len(ids) == len(set(ids))


def test_a_model_is_found_by_name_title_checkpoint_and_path() -> None:
    def holds(wanted: str, name: str | None) -> None:
        model = KNOWN.find(wanted)
        assert (model.name if model else None) == name

    each_row(table(__file__, "a model is found by name title checkpoint and path"), holds)


def test_which_checkpoint_is_meant() -> None:
    def holds(wanted: str, id: str) -> None:
        assert KNOWN.models["qwen3.5-122b-a10b"].checkpoint(wanted).id == id

    each_row(table(__file__, "which checkpoint is meant"), holds)


def test_verdicts_of_a_page() -> None:
    def holds(words: tuple[str, ...], said: str) -> None:
        assert said in " ".join(run("show", *words).stdout.split())

    each_row(table(__file__, "verdicts of a page"), holds)


def test_models_for_a_purpose() -> None:
    every, coding = (run(*words).stdout for words in ((), ("--for", "coding")))
    assert "qwen3-coder-next" in coding and "qwen3-embedding-8b" in every
    assert "qwen3-embedding-8b" not in coding and len(coding) < len(every)
    done = run("show", "coding")
    assert done.exit_code == 1 and done.stderr.endswith("Try: sparkrig models --for coding\n")


def test_the_words_of_a_launch() -> None:
    told = Launch(
        title="a test",
        checkpoint="",
        image="vllm",
        flags={"port": 8000, "trust-remote-code": True, "enforce-eager": False, "x": {"a": 1, "b": False}},
        source="a test",
    )
    assert told.arguments() == ["--port", "8000", "--trust-remote-code", "--x", '{"a":1,"b":false}']


def test_a_file_that_says_what_it_may_not_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = copied(tmp_path, monkeypatch) / "mixtral-8x7b.yaml"
    text = file.read_text()

    def holds(old: str | None, new: str, said: str) -> None:
        assert old is None or old in text
        file.write_text(text.replace(old, new) if old else new)
        done = run()
        assert done.exit_code == 1 and done.stdout == ""
        assert said in done.stderr and "mixtral-8x7b.yaml" in done.stderr and "Try: " in done.stderr
        assert len(done.stderr.splitlines()) == 1

    each_row(table(__file__, "a file that says what it may not is refused"), holds)


def test_a_catalogue_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match=r"sources\.yaml cannot be read: no such file"):
        catalogue_files.catalogue(tmp_path / "models")
    (tmp_path / "sources.yaml").write_text("{}")
    with pytest.raises(Refusal, match="there is no model in"):
        catalogue_files.catalogue(tmp_path)
    assert catalogue_files.names(tmp_path / "models") == []


def test_a_source_that_is_broken_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = copied(tmp_path, monkeypatch) / "sources.yaml"
    file.write_text(file.read_text() + "\nlater:\n  title: told\n  where: here\n  day: soon\n")
    with pytest.raises(Refusal, match=r"sources\.yaml: later\.day: Input should be a valid date"):
        catalogue_files.catalogue(file.parent)


def test_a_source_that_comes_twice_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """YAML takes the last of them; so a merge once left most sources there six times, and every test was green."""
    file = copied(tmp_path, monkeypatch) / "sources.yaml"
    text = file.read_text()
    file.write_text(text + text[text.index("\nkamal:") :])
    with pytest.raises(Refusal, match=r"sources\.yaml is no YAML: kamal comes twice in .*, line \d+"):
        catalogue_files.catalogue(file.parent)


def copied(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalogue of one model, which is all that the verb sees."""
    made = folder / "models"
    made.mkdir()
    for name in ("mixtral-8x7b.yaml", "sources.yaml"):
        shutil.copy(catalogue_files.FOLDER / name, made)
    monkeypatch.setattr(catalogue_files.catalogue, "__defaults__", (made,))
    return made


# --- the verb


def run(*words: str) -> Result:
    return CliRunner().invoke(verb.models, words)


def test_the_list_says_what_fits_where() -> None:
    lines = run().stdout.splitlines()
    order = [
        next(number for number, line in enumerate(lines) if part in line)
        for part in (
            "Fits one Spark",
            " gpt-oss-120b ",
            "Needs the pair",
            " qwen3-235b-a22b ",
            " qwen3.5-397b-a17b ",
            "Fits neither",
            " glm-5.2 ",
        )
    ]
    assert order == sorted(order)
    four = run("--sparks", "4").stdout.partition("Needs 4 Sparks")[2]
    assert " deepseek-v4.1-flash " in four.partition("Fits none of these")[0]
    assert "397b" in run("--utilization", "0.7").stdout.partition("Fits neither")[2]
    more = "may fit more Sparks: sparkrig models --sparks 4"
    assert more in run().stdout and more not in run("--for", "embedding").stdout + run("--sparks", "8").stdout
    assert max(map(len, lines)) <= 80
    assert all(any(f" {name} " in line for line in lines) for name in KNOWN.models)


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_the_list_has_each_model_in_one_line_however_narrow(width: int) -> None:
    console = Console(width=width, file=io.StringIO())
    console.print(Listing([*KNOWN.models.values()], Use()))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    rows = [line for line in lines if any(f" {name} " in line for name in KNOWN.models) and "show" not in line]
    assert len(rows) == len(KNOWN.models) and max(map(len, rows)) <= width
    assert all("GiB" in row for row in rows)


def test_a_longer_context_leaves_less() -> None:
    row = {use: cells("qwen3-235b-a22b", *use) for use in ((), ("--context", "131072"), ("--utilization", "0.5"))}
    assert row[()][-2] == "26"
    assert row["--context", "131072"][-2] == "6"
    assert row["--utilization", "0.5"] == []  # it moved


def cells(name: str, *words: str) -> list[str]:
    """The row of a model that needs the pair."""
    part = run(*words).stdout.partition("Needs the pair")[2].partition("Fits neither")[0]
    return next((line.split() for line in part.splitlines() if f" {name} " in line), [])


def test_a_page_has_all_of_a_model() -> None:
    shown = run("show", "qwen3.5-122b-a10b", "--context", "131072", "--utilization", "0.9", "--draft", "2").stdout
    for text in (
        "weights         76 GiB",
        "566,016",
        "fits one Spark: 4 sequences of 131,072 tokens take 9.2 GiB",
        "fits a pair: 4 sequences of 131,072 tokens take ",
        "bjk110/SPARK_Qwen3.5-122B-A10B-NVFP4",
        """--speculative-config '{"method":"mtp","num_speculative_tokens":2}'""",
        "json: 30.7-31",
        "against it: 36 of its 48 layers are Gated DeltaNet",
        "2026-04-25",
    ):
        assert text in shown
    folded = [line for line in shown.splitlines() if "://" not in line and not line.endswith("\\")]
    assert max(map(len, folded)) <= 80, "an address, and a word of a command, is whole"


@pytest.mark.parametrize("words", [(), ("show", "gpt-oss-120b")], ids=["list", "page"])
def test_too_much_of_the_memory_is_said(words: tuple[str, ...]) -> None:
    said = "above 0.9 of utilization a Spark runs out of memory"
    assert said in " ".join(run(*words, "--utilization", "0.91").stdout.split())
    assert said not in " ".join(run(*words, "--utilization", "0.90").stdout.split())


def test_a_command_can_be_copied_from_80_columns() -> None:
    def holds(name: str) -> None:
        """The shell reads the same words as were recorded, whatever the lines."""
        shown = run("show", name).stdout.replace("\\\n", "")
        typed = [words(text) for text in re.findall(r"vllm serve (?:[^'\n]|'[^']*')*", shown)]
        for each in KNOWN.models[name].launches:
            assert not each.flags or ["vllm", "serve", each.checkpoint, *each.arguments()] in typed, each.title

    def words(text: str) -> list[str]:
        """As a shell reads them; blanks mean nothing in JSON that stands on two lines."""
        return [re.sub(r"\n *", "", word) if word.startswith("{") else word for word in shlex.split(text)]

    each_row([*KNOWN.models], holds)


def test_a_bad_checkpoint_says_why() -> None:
    shown = " ".join(run("show", "nvidia/Qwen3-235B-A22B-NVFP4").stdout.split())
    assert "do not use: vLLM cannot parse it (vLLM issue 22906)" in shown


def test_every_page_can_be_drawn() -> None:
    def holds(name: str, encoding: str) -> None:
        for drawing in (
            Page(KNOWN.models[name], KNOWN.models[name].best(), KNOWN.sources, Use()),
            Listing([KNOWN.models[name]], Use()),
        ):
            console = Console(width=80)
            options = console.options
            options.encoding = encoding
            text = "".join(part.text for part in console.render(drawing, options))
            assert name in text or KNOWN.models[name].title in text
            assert encoding != "ascii" or text.isascii()

    each_row(product(KNOWN.models, ("ascii", "utf-8")), holds)


def test_errors_say_what_to_try() -> None:
    def holds(words: tuple[str, ...], said: str) -> None:
        done = run(*words)
        assert done.exit_code != 0 and said in done.stderr

    each_row(table(__file__, "errors say what to try"), holds)


def test_next_is_a_model_that_starts_by_its_name() -> None:
    listed = run("--for", "coding").stdout
    assert listed.splitlines()[2].startswith("✓ qwen3.5-35b-a3b        *"), "which does not"
    assert listed.endswith("Next: sparkrig models show qwen3.6-35b-a3b\n")


def test_show_may_be_left_out() -> None:
    assert run("gpt-oss-120b").stdout == run("show", "gpt-oss-120b").stdout
    assert "Try: sparkrig models show gpt-oss-120b" in run("gpt-oss-120").stderr


def test_json_has_every_number_that_the_screen_has() -> None:
    words = ("--context", "131072", "--utilization", "0.9", "--draft", "2", "--json")
    document = json.loads(run("show", "Sehyo/Qwen3.5-122B-A10B-NVFP4", *words).stdout)
    (listed,) = document["models"]
    assert document["use"]["context"] == 131072
    assert listed["fewest_nodes"] == 1
    room = listed["rooms"][0]
    assert (room["checkpoint"], room["nodes"], room["tokens"]) == ("Sehyo/Qwen3.5-122B-A10B-NVFP4", 1, 566_016)
    assert len(listed["rooms"]) == 2 * len(listed["model"]["checkpoints"])
    assert set(document["sources"]) == KNOWN.models["qwen3.5-122b-a10b"].sources()


def test_json_without_a_name_has_all_models() -> None:
    document = json.loads(run("--json").stdout)
    assert [each["model"]["name"] for each in document["models"]] == list(KNOWN.models)


# --- a model that is not in the catalogue

PUBLIC = Path(__file__).parents[2] / "fixtures" / "checkpoints"


def checkpoint(tmp_path: Path, id: str) -> Path:
    """A folder of that checkpoint, as `hf download` leaves it."""
    return Path(shutil.copytree(PUBLIC / id.replace("/", "--"), tmp_path / id.partition("/")[2]))


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of a user, which is the current folder; no hub is there."""
    made = tmp_path / "mine"
    (made / "deploys").mkdir(parents=True)
    (made / "deploys" / "cluster.py").touch()
    monkeypatch.chdir(made)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    return made


def test_a_folder_is_computed(tmp_path: Path, user: Path) -> None:
    folder = checkpoint(tmp_path, "nvidia/Qwen3.6-27B-NVFP4")
    (folder / "model.safetensors").write_bytes(b"")
    os.truncate(folder / "model.safetensors", 21 * 2**30)
    shown = " ".join(run("show", str(folder), "--id", "nvidia/Qwen3.6-27B-NVFP4").stdout.split())
    for text in (
        "Qwen3.6-27B-NVFP4 dense hybrid · context 262,144",
        "not verified by anyone",
        "nvfp4 · 21 GiB · one Spark",
        "several formats: fp8 in",
        "fits one Spark: 4 sequences of 32,768 tokens",
        "fits a pair",
        "its vision part is in the size of the files",
    ):
        assert text in shown


def test_a_checkpoint_whose_size_nobody_states_is_not_said_to_fit_or_not(tmp_path: Path, user: Path) -> None:
    known = {"model_type": "qwen3", "torch_dtype": "bfloat16", "hidden_size": 1024, "num_hidden_layers": 28}
    heads = {
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "max_position_embeddings": 40960,
    }
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["Qwen3ForCausalLM"], **known, **heads}))
    shown = " ".join(run("show", str(tmp_path)).stdout.split())
    assert "fits or not: its size is not known" in shown and "fits neither" not in shown


def test_json_of_a_folder(tmp_path: Path, user: Path) -> None:
    folder = checkpoint(tmp_path, "openai/gpt-oss-120b")
    document = json.loads(run("show", str(folder), "--id", "someone/gpt-oss-120b", "--json").stdout)
    (listed,) = document["models"]
    assert listed["model"]["name"] == "gpt-oss-120b-someone"  # the catalogue has one of the plain name
    assert listed["model"]["checkpoints"][0]["weights_gib"] == 60.77
    assert listed["model"]["assumed"] and set(document["sources"]) == {"checkpoint-files"}
    Draft202012Validator(json.loads((SCHEMAS / "models.json").read_text())).validate(document)


def test_a_context_is_no_longer_than_the_model_s(tmp_path: Path, user: Path) -> None:
    folder = checkpoint(tmp_path, "nvidia/Nemotron-H-56B-Base-8K")
    assert "sequences of 8,192 tokens" in run("show", str(folder), "--id", "nvidia/Nemotron-H-56B-Base-8K").stdout
    assert "of 16,384 tokens" in run("show", str(folder), "--context", "16384").stdout


def test_a_page_ends_with_the_command_to_type_next(tmp_path: Path, user: Path) -> None:
    id = "Qwen/Qwen3-8B"
    folder = checkpoint(tmp_path, id)
    serve = "sparkrig serve INVENTORY "
    for words, further in {
        (str(folder),): f"sparkrig models show {folder} --id OWNER/NAME --save",
        (str(folder), "--id", id): f"sparkrig models show {folder} --id {id} --save",
        (str(folder), "--id", id, "--save"): f"{serve}{id}",
        ("qwen3-8b",): f"{serve}qwen3-8b",
    }.items():
        shown = run("show", *words).stdout
        assert shown.endswith(f"\n\nNext: {further}\n")  # on one line, however long
        assert "does not start by its name" not in shown and IMAGE in shown
    assert "Next:" not in run("show", "qwen3-30b-a3b").stdout  # its name alone does not start it


def test_a_folder_by_its_bare_name_is_pointed_at(user: Path) -> None:
    (user / "mine-8b").mkdir()
    assert "Try: sparkrig models show ./mine-8b --id OWNER/NAME" in run("show", "mine-8b").stderr


def test_an_entry_is_saved_found_and_never_overwritten(tmp_path: Path, user: Path) -> None:
    folder = checkpoint(tmp_path, "jpacifico/Chocolatine-3B-Instruct-DPO-Revised")
    words = ("show", str(folder), "--id", "jpacifico/Chocolatine-3B-Instruct-DPO-Revised", "--save")
    done = run(*words)
    file = user / "models" / "chocolatine-3b-instruct-dpo-revised.yaml"
    assert done.exit_code == 0 and f"Saved as {file}." in done.stderr
    kept = catalogue_files.catalogue(beside=catalogue_files.own())
    model = kept.find("jpacifico/Chocolatine-3B-Instruct-DPO-Revised")
    assert model == kept.find("chocolatine-3b-instruct-dpo-revised") and model is not None
    assert model.shape is not None and model.shape.hidden == 3072
    assert model.best().weights_gib == 7.12 and model.why.startswith("not verified")
    before = file.read_text()
    assert before.startswith("# Computed on 20") and "from the files of jpacifico/Chocolatine" in before
    again = run(*words)
    assert again.exit_code == 1 and "is there already, and is not overwritten" in again.stderr
    named = run("show", "jpacifico/Chocolatine-3B-Instruct-DPO-Revised", "--save")
    assert named.exit_code == 1 and "is in the catalogue already" in named.stderr
    assert file.read_text() == before
    assert "chocolatine-3b" in run().stdout  # the list has it, too
    names = [each.value for each in verb._Name().shell_complete(None, None, "choc")]  # type: ignore[arg-type]
    assert names == ["chocolatine-3b-instruct-dpo-revised"]


def test_an_entry_is_not_saved_beside_an_installed_package(
    tmp_path: Path, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = checkpoint(tmp_path, "Qwen/Qwen3-8B")
    made = tmp_path / "site-packages" / "models"
    shutil.copytree(catalogue_files.FOLDER, made)
    monkeypatch.setattr(catalogue_files, "FOLDER", made)
    monkeypatch.setattr(catalogue_files, "own", lambda _=None: None)
    done = run("show", str(folder), "--id", "Qwen/Qwen3-8B", "--save")
    assert done.exit_code == 1 and "no project here to save it in. Try: sparkrig init DIR" in done.stderr
    assert not (made / "qwen3-8b.yaml").exists()


def test_an_entry_is_not_saved_in_the_repository_from_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = checkpoint(tmp_path, "Qwen/Qwen3-8B")
    monkeypatch.chdir(tmp_path)
    done = run("show", str(folder), "--id", "Qwen/Qwen3-8B", "--save")
    assert done.exit_code == 1 and "no project here to save it in. Try: sparkrig init DIR" in done.stderr
    assert not (catalogue_files.FOLDER / "qwen3-8b.yaml").exists()


def test_an_entry_of_the_user_s_that_cannot_stand_is_one_sentence(user: Path) -> None:
    folder = user / "models"
    folder.mkdir()

    def holds(text: str, said: str) -> None:
        (folder / "bad.yaml").write_text(text)
        for words in ((), ("show", "gpt-oss-120b")):
            done = run(*words)
            assert done.exit_code == 1 and done.stdout == "" and len(done.stderr.splitlines()) == 1
            assert said in done.stderr and "models/bad.yaml" in done.stderr and "put it aside: mv" in done.stderr

    rows = {
        "no YAML": ("a: [", "is no YAML"),
        "no field": ("name: bad\n", "source: Field required"),
        "a way out": ((FOLDER_TEXT).replace("mistralai/", "../"), "checkpoints.0.id: String should match"),
    }
    each_row(rows, holds)


def test_an_entry_of_the_user_s_takes_the_place_of_the_catalogue_s(user: Path) -> None:
    (user / "models").mkdir()
    (user / "models" / "mixtral-8x7b.yaml").write_text(FOLDER_TEXT.replace("title: ", "title: My "))
    assert "My Mixtral" in run("show", "mixtral-8x7b").stdout


def test_a_name_of_the_hub_without_a_network_says_what_to_do(user: Path) -> None:
    done = run("show", "someone/gpt-oss-120b")
    assert done.exit_code == 1 and "the hub could not be asked for someone/gpt-oss-120b" in done.stderr
    assert "hf download someone/gpt-oss-120b --include '*.json' --local-dir gpt-oss-120b" in done.stderr


def test_a_folder_that_cannot_be_computed_is_one_sentence(tmp_path: Path, user: Path) -> None:
    folder = checkpoint(tmp_path, "moonshotai/Kimi-K3")
    assert run("show", str(tmp_path)).stderr.startswith(f"Error: {tmp_path} has no config.json")
    assert "is no OWNER/NAME" in run("show", str(folder), "--id", "../x").stderr


FOLDER_TEXT = (catalogue_files.FOLDER / "mixtral-8x7b.yaml").read_text(encoding="utf-8")


def test_nothing_of_pyinfra_is_loaded() -> None:
    code = (
        "import sys\nfrom click.testing import CliRunner\nfrom sparkrig.cli.models import models\n"
        "assert not {'rich', 'pydantic', 'yaml'} & set(sys.modules)\n"
        "assert CliRunner().invoke(models, []).exit_code == 0\n"
        "assert not {'pyinfra', 'paramiko', 'gevent'} & {name.split('.')[0] for name in sys.modules}\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_table_of_models_is_current() -> None:
    text = MODELS.read_text(encoding="utf-8")
    assert text == with_models(text), "make docs"
