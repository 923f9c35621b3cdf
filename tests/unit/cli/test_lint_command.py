"""`sparkrig lint` as it is typed: where a launch may come from, what is shown of it, and what is refused."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import Result

from sparkrig.serving.io import catalogue_files, lint_rules
from tests.tables import tabled
from tests.unit import launches
from tests.unit.launch_texts import RAY, SERVE, pair, serve
from tests.unit.lint_calls import BAD, SCRIPT, typed

LINT = Path(__file__).resolve().parents[3] / "docs/lint.md"
RULES = lint_rules.rules()
SPARKRIG = str(Path(sys.executable).with_name("sparkrig"))


def found(result: Result) -> set[str]:
    document = json.loads(result.stdout)
    return {each["rule"] for launch in document["launches"] for each in launch["findings"]}


def test_a_command_behind_two_dashes() -> None:
    result = typed("--json", "--", *BAD.split())
    assert result.exit_code == 2
    assert {"second-node", "enforce-eager", "mtp-batch"} <= found(result)


@pytest.mark.parametrize("words", [(), ("-",)], ids=["nothing", "dash"])
def test_a_launch_from_standard_input(words: tuple[str, ...]) -> None:
    result = typed(*words, text=BAD)
    assert (result.exit_code, "second-node" in result.stdout) == (2, True)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (launches.COMPOSED, "not-json"),
        (json.dumps([launches.INSPECTED]), "second-node"),
        ("\ufeff" + BAD.replace(" --", " \\\n  --"), "second-node"),
    ],
    ids=["compose", "inspect", "script"],
)
def test_a_launch_from_a_file(tmp_path: Path, text: str, rule: str) -> None:
    file = tmp_path / "given"
    file.write_text(text, encoding="utf-8")
    result = typed(str(file), "--json")
    assert result.exit_code in (0, 2)
    assert rule in found(result) or rule == "not-json"
    assert json.loads(result.stdout)["launches"][0]["model"]


def test_a_command_in_quotes() -> None:
    assert "enforce-eager" in typed(BAD).stdout


@pytest.mark.parametrize(
    ("words", "text", "said"),
    [
        (("no/such.yaml",), "", "no/such.yaml cannot be read: no such file or directory"),
        (("-",), "", "nothing was given"),
        (("-",), "ls -l", "no `vllm serve`"),
        (("-",), "y\n" * 1_000_001, "standard input has more than 2 MB, which no launch has"),
        (("-",), "vllm serve 'M", "a quotation mark in it is not closed"),
        (("--", "docker", "run", "--gpus", "all"), "", "docker run names no image"),
        (("--vllm", "latest", SERVE), "", "--vllm is latest, a version such as 0.19.2 expected"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_1(words: tuple[str, ...], text: str, said: str) -> None:
    result = typed(*words, text=text)
    (line,) = result.stderr.splitlines()
    assert (result.exit_code, result.stdout) == (1, "")
    assert line.startswith(f"Error: {said}")
    assert "Try: " in line
    assert line.count("\n") == 0


@tabled(__file__, "a command that is given a file is told to lint that")
def test_a_command_that_is_given_a_file_is_told_to_lint_that(text: str, cure: str) -> None:
    for result in (typed("--", *text.split()), typed("-", text=text), typed(text)):
        assert (result.exit_code, result.stdout) == (1, "")
        assert f"Try: sparkrig lint {cure}" in result.stderr


def test_a_form_that_is_not_read_is_named_with_the_way_to_its_container() -> None:
    result = typed("-", text="apiVersion: v1\nkind: Pod\nspec: {containers: [{command: [vllm, serve, Q/M]}]}\n")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "Error: it is an object of Kubernetes, which is not read; start it, and read its container. "
        "Try: docker inspect NAME | sparkrig lint -\n"
    )


MORE = "  (-v: who says so, and who says otherwise)"


@pytest.mark.parametrize(
    ("text", "code", "last"),
    [
        (SERVE, 0, "✓ no rule is broken"),
        (serve(without="max-model-len"), 0, f"✓ 1 note{MORE}"),
        (f"{SERVE} --gpu-memory-utilization 0.87", 0, f"✓ 1 contested warning{MORE}"),
        (f"{SERVE} --gpu-memory-utilization 0.94", 2, "~ 1 warning"),
        (f"{SERVE} -tp 2", 2, "✗ 1 error"),
        (SCRIPT, 2, f"✗ 2 errors and 3 notes{MORE}"),
    ],
)
def test_the_verdict_and_the_exit_code(text: str, code: int, last: str) -> None:
    result = typed("-", text=text)
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (code, last)


def test_what_is_contested_takes_a_line_and_both_sides_are_asked_for() -> None:
    text = f"{SERVE} --gpu-memory-utilization 0.87"
    shown = typed("-", text=text).stdout
    assert "utilization-high (contested): --gpu-memory-utilization 0.87" in shown
    assert not re.search(r"because|but |try", shown)
    whole = typed("-v", "-", text=text).stdout
    assert re.search(r"because .*\[nvidia-playbook, 2026-11-20\]", whole)
    assert re.search(r"but .*\[conselara-hardware, vLLM 0\.19\.0, 2026-05-14\]", whole)
    assert re.search(r"holds +any version", whole)
    assert re.search(r"try +utilization-high +--gpu-memory-utilization 0\.80", whole)


def test_facts_come_first_and_what_to_change_last() -> None:
    text = f"{SERVE} --gpu-memory-utilization 0.87 --enforce-eager -tp 2"
    lines = [line for line in typed("-", text=text).stdout.splitlines() if line]
    heads = [line.split()[1].rstrip(":") for line in lines if line[0] in "✗~·"]
    assert heads[:3] == ["second-node", "utilization-high", "enforce-eager"]
    assert [line.split()[-1] for line in lines if line.startswith("    try")] and "enforce-eager" in lines[-2]
    assert sum(line.startswith("    try") for line in lines) == 1


def test_a_note_is_short_unless_asked() -> None:
    text = serve(without="max-model-len")
    assert "because" not in typed("-", text=text).stdout
    assert re.search(r"try +context-unset +--max-model-len 131072", typed("-", text=text).stdout)
    assert re.search(r"because .*128K is as fast", typed("-v", "-", text=text).stdout)


@pytest.mark.parametrize("words", [("-",), ("-", "--json"), ("-", "-v")], ids=["shown", "json", "all"])
def test_no_value_of_the_environment_and_no_key_is_shown(words: tuple[str, ...]) -> None:
    inspected = json.dumps([launches.INSPECTED]).replace("secret", "hunter2")
    text = (
        f"HF_TOKEN=hunter2 {SERVE} --enforce-eager --api-key hunter2 hunter2\ndocker run -e KEY=hunter2 i {SERVE}"
    )
    for given in (inspected, text):
        result = typed(*words, text=given)
        assert "hunter2" not in result.stdout + result.stderr


def test_how_many_sparks_and_which_version_is_told() -> None:
    many = "--distributed-executor-backend ray -tp 4"
    assert "gpus-beyond-sparks" in typed("-", text=f"{SERVE} {many}").stdout
    assert "gpus-beyond-sparks" not in typed("--sparks", "4", "-", text=f"{SERVE} {many}").stdout
    assert "second-node" not in typed("--vllm", "0.11.0", "-", text=f"{SERVE} -tp 2").stdout


def test_a_recipe_takes_one_gpu_where_there_is_one_spark_unless_it_is_for_a_cluster(tmp_path: Path) -> None:
    command = "command: vllm serve a/B-FP8 -tp {tensor_parallel} --gpu-memory-utilization 0.8"
    recipe = f"recipe_version: '1'\nmodel: a/B-FP8\ndefaults: {{tensor_parallel: 2}}\n{command}\n"

    def gpus(text: str, *words: str) -> int:
        (tmp_path / "recipe.yaml").write_text(recipe + text)
        return int(json.loads(typed("--json", *words, f"{tmp_path}/recipe.yaml").stdout)["launches"][0]["gpus"])

    assert (gpus(""), gpus("", "--sparks", "2"), gpus("", "--sparks", "1")) == (2, 2, 1)
    assert (gpus("solo_only: true"), gpus("cluster_only: true", "--sparks", "1")) == (1, 2)
    (tmp_path / "recipe.yaml").write_text(
        recipe.replace("{tensor_parallel} --", "2 --")
    )  # which no launcher changes
    assert "gpus-beyond-sparks" in typed("--sparks", "1", f"{tmp_path}/recipe.yaml").stdout


def test_the_catalogue_is_asked() -> None:
    text = serve("nvidia/Qwen3-235B-A22B-NVFP4", RAY_PAIR)
    assert "checkpoint-bad" in typed("-", text=text).stdout
    assert "weights-too-large" in typed("-", text=serve("Qwen/Qwen3.5-122B-A10B")).stdout


RAY_PAIR = "-tp 2 --distributed-executor-backend ray --quantization modelopt_fp4"


def test_a_catalogue_that_cannot_stand_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from sparkrig.refusal import Refusal
    from sparkrig.serving.io import catalogue_files

    def refuse(**_: object) -> None:
        raise Refusal("models/x.yaml is no YAML", "git diff")

    monkeypatch.setattr(catalogue_files, "catalogue", refuse)
    result = typed("-", text=SERVE)
    assert (result.exit_code, result.stderr) == (1, "Error: models/x.yaml is no YAML. Try: git diff\n")


def test_every_rule_is_listed() -> None:
    shown = typed("--list").stdout
    assert all(re.search(rf"^  \S+ {re.escape(rule.id)} +\S", shown, re.MULTILINE) for rule in RULES)


def test_the_list_says_how_old_it_is_and_marks_what_has_no_new_source() -> None:
    from dataclasses import replace
    from datetime import date

    first = " ".join(typed("--list").stdout.splitlines()[:2])
    assert re.search(
        r"\d+ rules, the newest source of 2026-1\d-\d\d; flags of vLLM 0\.11 to 0\.\d+, read on", first
    )
    rule = RULES[0]
    aged = rule.model_copy(
        update={"reasons": tuple(replace(each, date="2025-03") for each in rule.reasons), "against": ()}
    )
    assert aged.old(date(2026, 4, 1)) and not aged.old(date(2026, 3, 1)) and not rule.old(date(2026, 11, 24))


@pytest.mark.slow
def test_the_example_of_the_page_is_what_is_shown() -> None:
    text = LINT.read_text(encoding="utf-8")
    shown = text[text.index("the command line: Qwen/Qwen3-30B-A3B") :].partition("```")[0]
    words = "--moe-backend marlin -tp 2 --gpu-memory-utilization 0.87 --kv-cache-dtype fp8 --enforce-eager"
    given = f"vllm serve Qwen/Qwen3-30B-A3B {words}"
    told = plain(on_a_terminal("lint", "--vllm", "0.24.0", given)).partition("\nTables are of ")[0]
    assert told.strip() == shown.strip()


@pytest.mark.parametrize("name", catalogue_files.names())
def test_no_launch_of_the_catalogue_breaks_a_rule_that_nobody_contests(name: str) -> None:
    result = typed("--catalogue", "--json", name)
    document = json.loads(result.stdout)
    told = [each for launch in document["launches"] for each in launch["findings"]]
    assert (result.exit_code, [each for each in told if each["severity"] == "error"]) == (0, [])
    images = [each.image for each in catalogue_files.catalogue().models[name].launches]
    assert [(each["known"], each["image"]) for each in document["launches"]] == [(name, each) for each in images]


def test_the_whole_catalogue_and_a_name_that_is_not_in_it() -> None:
    known = catalogue_files.catalogue().models.values()
    launches = json.loads(typed("--catalogue", "--json").stdout)["launches"]
    assert {"0.24.0", "0.29.0"} <= {each["vllm"] for each in launches}  # of an image, and of the row alone
    assert len(launches) == sum(len(model.launches) for model in known) > 5
    refused = typed("--catalogue", "no-such-model")
    assert (refused.exit_code, refused.stderr) == (
        1,
        "Error: the catalogue has no model no-such-model. Try: sparkrig models\n",
    )


def test_rows_of_the_project_are_asked_and_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("deploys", "models/lint", "models/vllm"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "deploys/cluster.py").touch()
    monkeypatch.chdir(tmp_path)
    assert "context-unset" in typed("vllm serve a/B").stdout
    (tmp_path / "models/lint/serving.yaml").write_text("context-unset: {severity: off}\n")
    (tmp_path / "models/vllm/images.yaml").write_text("nvidia: {'27.03': 0.33.0}\n")
    shown = typed("docker run nvcr.io/nvidia/vllm:27.03-py3 vllm serve a/B").stdout
    assert "context-unset" not in shown and "vLLM 0.33.0" in shown
    assert "context-unset" not in typed("--list").stdout
    (tmp_path / "models/lint/serving.yaml").write_text("mine: {severity: note}\n")
    result = typed("vllm serve a/B")
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
    assert "models/lint/serving.yaml: mine.meaning: Field required. Try: mend it" in result.stderr


def test_a_service_is_told_what_to_write_into_the_compose_file() -> None:
    service = "services:\n  a:\n    image: vllm-node\n    command: " + f"{SERVE} {RAY}\n"
    shown = typed("-", text=service).stdout
    assert re.search(r"infiniband +devices: \[/dev/infiniband\]", shown)
    assert "--device" not in shown.replace("--device /dev/infiniband belongs", "")
    assert re.search(r"infiniband +--device /dev/infiniband", typed("-", text=pair("infiniband")).stdout)


def plain(shown: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)


def on_a_terminal(*words: str, columns: int = 80, **more: str) -> str:
    """What is shown on a terminal of that width."""
    mine, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm", **more}
    process = subprocess.Popen([SPARKRIG, *words], stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    shown = b""
    while True:
        try:
            if not (part := os.read(mine, 65536)):
                break
        except OSError:  # Linux's end of a terminal
            break
        shown += part
    process.wait(timeout=30)
    os.close(mine)
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.slow  # each file at each width
@pytest.mark.parametrize("columns", [60, 80, 120])
def test_no_line_is_wider_than_the_terminal(columns: int) -> None:
    shown = on_a_terminal("lint", "-v", BAD, columns=columns, NO_COLOR="1")
    assert "second-node" in shown
    assert max(map(len, plain(shown).splitlines())) <= columns
