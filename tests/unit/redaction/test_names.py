"""A name says that its value is a secret in every spelling, and words that are like it do not."""

from __future__ import annotations

import random
from collections.abc import Sequence

from sparkrig.redaction.forms import shows_a_secret
from sparkrig.redaction.secret_names import names_a_secret
from sparkrig.serving.io.vllm_flags import knowledge
from tests.attacks.secrecy import INNOCENT, SECRET, disguised, spelt
from tests.tables import each_row


def spellings(names: Sequence[str]) -> list[str]:
    return [name for words in names for name in (*spelt(words), *disguised(words))]


def test_a_secret_is_one_in_every_spelling() -> None:
    each_row(spellings(SECRET), lambda name: _is(name, secret=True))


def test_words_that_are_like_it_are_none_in_any() -> None:
    each_row(spellings(INNOCENT), lambda name: _is(name, secret=False))


def _is(name: str, *, secret: bool) -> None:
    assert names_a_secret(name) is secret


def test_what_holds_a_secret_by_its_form_shows_one_whatever_its_name() -> None:
    tail = "".join(random.Random(49).choices("abcdefghJKLMNP23456789", k=36))
    forms = [
        f"{head}{tail}" for head in ("hf_", "nvapi-", "ghp_", "github_pat_", "sk-", "glpat-", "xoxb-", "tskey-")
    ]
    forms += [f"https://me:{tail}@h/x", f"https://{tail}@h", f"redis://:{tail}@h:1", "-----BEGIN PRIVATE KEY-----"]
    for form in forms:
        held: object
        for held in (form, f"x {form} y", [form], {"a": {"b": form}}, f'{{"a": "{form}"}}'):
            assert shows_a_secret("served-model-name", held), held
    for held in ({"api_key": "x1"}, '{"api_key": "x1"}', "--api-key x1", "X-Api-Key: x1", "a HF_TOKEN=x1"):
        assert shows_a_secret("extra", held), held
    for held in (
        "https://h/x",
        "ssh://git@h/x",
        8192,
        True,
        ["a"],
        {"max_tokens": "5"},
        "INFO",
        '{"method":"mtp"}',
    ):
        assert not shows_a_secret("extra", held), held


def test_of_all_flags_and_variables_of_vllm_these_are_secrets() -> None:
    names = {*knowledge().histories, *knowledge().variables}
    assert {name for name in names if names_a_secret(name)} == {
        "api-key", "hf-token", "watermark-config.key", "VLLM_API_KEY", "S3_ACCESS_KEY_ID", "S3_SECRET_ACCESS_KEY",
    }  # fmt: skip
