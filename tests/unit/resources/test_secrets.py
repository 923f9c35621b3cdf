"""Secrets: named in a setting, found on this machine, written by one script, known afterwards by digest alone."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from sparkrig.fleet import Fleet
from sparkrig.operations.files import REMOVE
from sparkrig.operations.secrets import WRITE, gathered, write
from sparkrig.refusal import Refusal
from sparkrig.resources import secrets
from sparkrig.resources.secrets import LOOK, Difference, Secrets, plan, told
from sparkrig.settings import Settings, SettingsError
from tests.tables import each_row
from tests.unit.shells import sh, tool

VALUE = "hf_canary=+/$HOME`id`*?#;%s ü"
WANTED: dict[str, SecretStr | None] = {"HF_TOKEN": SecretStr(VALUE), "NGC_API_KEY": SecretStr("second")}

# --- the setting


def test_a_value_in_an_inventory_is_refused_and_not_repeated() -> None:
    def holds(setting: Any, words: str) -> None:
        with pytest.raises(SettingsError) as caught:
            Fleet.parse({"spark-a": {"secrets": setting}})
        assert words in str(caught.value)
        assert "hf_canary" not in str(caught.value) and caught.value.__suppress_context__

    each_row(
        [
            ({"HF_TOKEN": VALUE}, "a source is expected for HF_TOKEN (env:HF_TOKEN, or file:/path)"),
            ({"HF_TOKEN": "env:hf_canary=x"}, "never the secret itself"),
            ({"HF_TOKEN": "file:hf_canary"}, "never the secret itself"),
            ({"HF_TOKEN": ["hf_canary"]}, "never the secret itself"),
            ({"hf_canary=": "env:A"}, "one of its names is no name of a variable"),
            ("hf_canary", "a mapping of variable to source is expected"),
        ],
        holds,
    )


@pytest.mark.parametrize("source", ["env:HF_TOKEN", "file:/run/secrets/hf", "file:~/.config/hf token"])
def test_a_source_passes(source: str) -> None:
    assert Fleet.parse({"spark-a": {"secrets": {"HF_TOKEN": source}}})["spark-a"].secrets == {"HF_TOKEN": source}


def test_a_setting_that_would_show_a_secret_is_refused_whatever_its_name_and_not_repeated() -> None:
    def holds(setting: str, name: str, value: object) -> None:
        with pytest.raises(SettingsError) as caught:
            Fleet.parse({"spark-a": {setting: {name: value}}})
        assert name in str(caught.value) and "canary" not in str(caught.value)

    plain = ("hf_canarycanary", "nvapi-canarycanary", "https://me:canary@h/x", "--api-key canary")
    held = (["nvapi-canarycanary"], {"api_key": "canary"}, '{"token": "canary1"}')
    rows: list[tuple[str, str, object]] = [("environment", "A", each) for each in plain]
    rows += [("serve_flags", "served-model-name", each) for each in (*plain, *held)]
    each_row(
        [*rows, *(("environment", name, "canary") for name in ("KEY", "DB_PASS", "API_KEYS", "GITHUB_PAT"))], holds
    )


def test_a_secret_in_the_environment_is_refused_and_not_repeated() -> None:
    def holds(name: str) -> None:
        with pytest.raises(SettingsError) as caught:
            Fleet.parse({"spark-a": {"environment": {name: "hf_canary"}}})
        assert f"{name} looks like a secret" in str(caught.value)
        assert "hf_canary" not in str(caught.value)

    each_row(
        [
            *(
                "HF_TOKEN",
                "OPENAI_API_KEY",
                "DB_PASSWORD",
                "AWS_SECRET_ACCESS_KEY",
                "SECRET",
                "hf_token",
                "NGC_APIKEY",
            ),
            *("TOKEN_ID", "HF_TOKEN_READ", "SECRET_TOKEN_LIMITS", "PASSWORD_TOKEN_IDS"),
        ],
        holds,
    )


def test_what_only_sounds_like_one_passes() -> None:
    def holds(name: str) -> None:
        assert Settings(environment={name: "1"}).environment == {name: "1"}

    each_row(
        [
            "TOKENIZERS_PARALLELISM",
            "VLLM_SHARED_EXPERTS_STREAM_TOKEN_THRESHOLD",
            "VLLM_MAX_TOKENS",
            "HF_TOKEN_PATH",
            "KEYBOARD",
            "NCCL_DEBUG",
            "KEY_SIZE",
            "SSH_KEY_FILE",
        ],
        holds,
    )


def test_a_variable_stands_in_one_of_the_two() -> None:
    with pytest.raises(SettingsError, match="HUB stands under environment and under secrets"):
        Fleet.parse({"spark-a": {"environment": {"HUB": "x"}, "secrets": {"HUB": "env:HUB"}}})


# --- the sources


def test_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text(f"{VALUE}\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HF_TOKEN", VALUE)
    monkeypatch.delenv("ABSENT", raising=False)
    sources = {
        "A": "env:HF_TOKEN",
        "B": "file:~/key",
        "C": f"file:{tmp_path}/key",
        "D": "env:ABSENT",
        "E": "file:/no",
    }
    found = gathered(sources)
    assert [value and value.get_secret_value() for value in found.values()] == [VALUE, VALUE, VALUE, None, None]
    assert VALUE not in repr(found) and VALUE not in str(list(found.values()))


@pytest.mark.parametrize(("text", "why"), [(None, "Is a directory"), (b"hf_canary\xff", "it is no text")])
def test_a_source_that_cannot_be_read_is_a_sentence(tmp_path: Path, text: bytes | None, why: str) -> None:
    file = tmp_path / "key"
    file.write_bytes(text) if text else file.mkdir()
    with pytest.raises(Refusal) as caught:
        gathered({"HF_TOKEN": f"file:{file}"})
    assert why in str(caught.value) and "canary" not in str(caught.value)


# --- the plan


def found(*names: str, mode: str = "0600", owner: str = "root:root", **values: str) -> Secrets:
    """A file with those variables; by name alone they hold what is wanted."""
    held = {name: WANTED.get(name) or SecretStr("gone") for name in names}
    held |= {name: SecretStr(value) for name, value in values.items()}
    return Secrets(mode, owner, "s", {name: secrets.digest("s", name, value) for name, value in held.items()})


PLANS: dict[str, tuple[Secrets, Mapping[str, SecretStr | None], Difference]] = {
    "nothing there, nothing wanted": (Secrets(), {}, Difference()),
    "nothing there": (Secrets(), WANTED, Difference(set=("HF_TOKEN", "NGC_API_KEY"))),
    "as wanted": (found(*WANTED), WANTED, Difference(keep=tuple(WANTED))),
    "one differs": (
        found("HF_TOKEN", NGC_API_KEY="old"),
        WANTED,
        Difference(set=("NGC_API_KEY",), keep=("HF_TOKEN",)),
    ),
    "one is no longer wanted": (found(*WANTED, "OLD"), WANTED, Difference(keep=tuple(WANTED), remove=("OLD",))),
    "the last is no longer wanted": (found("OLD"), {}, Difference(remove=("OLD",), rewrite=True)),
    "an empty file is no longer wanted": (found(), {}, Difference(rewrite=True)),
    "others may read it": (found(*WANTED, mode="0644"), WANTED, Difference(keep=tuple(WANTED), rewrite=True)),
    "owned by somebody": (
        found(*WANTED, owner="nvidia:root"),
        WANTED,
        Difference(keep=tuple(WANTED), rewrite=True),
    ),
    "its source has none here": (found("HF_TOKEN"), {"HF_TOKEN": None}, Difference(keep=("HF_TOKEN",))),
}


def test_plan() -> None:
    def holds(there: Secrets, wanted: Mapping[str, SecretStr | None], expected: Difference) -> None:
        assert plan(there, wanted) == expected
        assert bool(plan(there, wanted)) == (expected != Difference(keep=expected.keep))

    each_row(PLANS, holds)


def test_what_cannot_stand_in_the_file_is_refused_and_not_repeated() -> None:
    def holds(value: str | None, words: str) -> None:
        with pytest.raises(Refusal) as caught:
            plan(Secrets(), {"HF_TOKEN": None if value is None else SecretStr(value)})
        assert words in str(caught.value) and "hf_" not in str(caught.value)

    each_row(
        [
            (None, "the secret HF_TOKEN was not found where the setting secrets says"),
            ("", "is empty"),
            ("hf_canary\nB=2", "one line is expected"),
            ("hf_canary\0", "cannot be printed"),
            ("hf_canary\r", "cannot be printed"),
            (" hf_canary", "docker and systemd read differently"),
            ('hf_"canary', "docker and systemd read differently"),
            ("hf_can\\ary", "docker and systemd read differently"),
        ],
        holds,
    )


def test_a_row_that_makes_no_sense() -> None:
    with pytest.raises(ValueError, match="unpack"):
        secrets.SECRETS.parse(["file 600 root:root", "secret A"])


# --- the scripts, run for real


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    tool(tmp_path / "bin", "chown", "exit 0")
    return tmp_path / "bin"


def look(file: Path) -> Secrets:
    printed = sh(f"f={file}{LOOK}")
    assert printed.returncode == 0 and "canary" not in printed.stdout
    return secrets.SECRETS.parse(printed.stdout.splitlines())


def put(tools: Path, file: Path, wanted: Mapping[str, SecretStr | None]) -> subprocess.CompletedProcess[str]:
    return sh(WRITE, str(file), path=tools, stdin=told(plan(look(file), wanted), wanted, "5a17"))


def test_written_and_seen_again_it_is_as_wanted(tools: Path, tmp_path: Path) -> None:
    file = tmp_path / "etc" / "sparkrig" / "secrets.env"
    assert look(file) == Secrets()
    done = put(tools, file, WANTED)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert file.read_text().splitlines()[1:] == ["# salt 5a17", f"HF_TOKEN={VALUE}", "NGC_API_KEY=second"]
    assert file.stat().st_mode & 0o7777 == 0o600 and file.parent.stat().st_mode & 0o777 == 0o755
    assert [entry.name for entry in file.parent.iterdir()] == ["secrets.env"]
    seen = look(file)
    assert seen.names == list(WANTED) and seen.mode == "0600"
    assert all(value and seen.holds(name, value) for name, value in WANTED.items())


def test_what_this_machine_does_not_know_is_kept_as_it_is_there(tools: Path, tmp_path: Path) -> None:
    file = tmp_path / "secrets.env"
    assert put(tools, file, WANTED).returncode == 0
    assert put(tools, file, {"HF_TOKEN": None, "NGC_API_KEY": SecretStr("third")}).returncode == 0
    assert file.read_text().splitlines()[2:] == [f"HF_TOKEN={VALUE}", "NGC_API_KEY=third"]
    assert put(tools, file, {"HF_TOKEN": None}).returncode == 0
    assert file.read_text().splitlines()[2:] == [f"HF_TOKEN={VALUE}"]


@pytest.mark.parametrize(
    "half", ["", "salt 5a17\n", "salt 5a17\nset HF_TOKEN aGY=\nset NGC", "salt s\nkeep GONE\nend\n"]
)
def test_half_of_what_was_to_be_told_changes_nothing(tools: Path, tmp_path: Path, half: str) -> None:
    file = tmp_path / "etc" / "secrets.env"
    assert put(tools, file, WANTED).returncode == 0
    before = file.read_bytes()
    assert sh(WRITE, str(file), path=tools, stdin=half).returncode == 1
    assert file.read_bytes() == before
    assert [entry.name for entry in file.parent.iterdir()] == ["secrets.env"]


def test_a_file_that_somebody_else_wrote_is_read(tmp_path: Path) -> None:
    file = tmp_path / "secrets.env"
    file.write_text(
        "# theirs\nexport A=canary\nA B=canary\n=canary\nHF_TOKEN=canary\nHF_TOKEN=other\n\ncanary\nLAST=x"
    )
    seen = look(file)
    assert seen.names == ["HF_TOKEN"] and seen.holds("HF_TOKEN", SecretStr("canary"))


def test_two_hosts_with_one_secret_show_two_digests() -> None:
    value = SecretStr(VALUE)
    assert secrets.digest("a", "HF_TOKEN", value) != secrets.digest("b", "HF_TOKEN", value)


def test_removed(tmp_path: Path) -> None:
    file = tmp_path / "secrets.env"
    file.write_text("HF_TOKEN=canary\n")
    assert sh(REMOVE, str(file)).returncode == 0
    assert not file.exists()


def test_the_command_itself_shows_no_value() -> None:
    command = write(Difference(set=("HF_TOKEN",)), WANTED)
    assert "canary" not in f"{command} {command.get_raw_value()} {command!r}"


def test_a_line_is_the_value_as_it_is(tools: Path, tmp_path: Path) -> None:
    """As docker reads it; systemd's own reading is asked for on a guest (tests/lab/test_security.py)."""
    file = tmp_path / "secrets.env"
    assert put(tools, file, WANTED).returncode == 0
    plain = dict(row.split("=", 1) for row in file.read_text().splitlines() if not row.startswith("#"))
    assert plain == {name: value.get_secret_value() for name, value in WANTED.items() if value}
