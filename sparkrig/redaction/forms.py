"""What is a secret by its form: tokens of services, keys, logins in URLs; and whether a value would show one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sparkrig.redaction.rows import patterns, table
from sparkrig.redaction.secret_names import is_sure, names_a_secret

_TOKEN = re.compile(
    r"hf_[A-Za-z0-9]{8,}|nvapi-[\w-]{8,}|gh[opsur]_\w{10,}|github_pat_\w{10,}|gl(?:pat|rt|dt|ptt)-[\w-]{8,}"
    r"|tskey-[\w-]{6,}|(?<![A-Za-z0-9])sk-[\w-]{16,}|(?<![A-Za-z0-9])A[KS]IA[A-Z0-9]{12,}|xox[abeprs]-[\w-]{8,}"
    r"|AIza[\w-]{30,}|(?<![A-Za-z0-9_])(?:[sr]k_(?:live|test)_|whsec_|shpat_|dop_v1_|lin_api_|hv[sb]\.|SG\.|ATATT)[\w.-]{10,}"
    r"|(?<![A-Za-z0-9_])(?:gsk_|r8_|dckr_(?:pat|oat)_|npm_|glsa_|wandb_v1_|xai-|pplx-|csk-|pypi-|ya29\.)[\w-]{10,}"
    r"|AGE-SECRET-KEY-1[0-9A-Z]{20,}|(?<=login\.tailscale\.com/)(?:a/)?[\w-]{6,}"
    r"|(?<=hooks\.slack\.com/)(?:services|workflows)/[\w/-]{8,}|(?<=/api/webhooks/)\d{1,20}/[\w-]{8,}"
    r"|(?<!\d)\d{6,12}:AA[\w-]{20,}"  # of a bot of Telegram
    r"|\$(?:[1567y]|2[abxy]|gy|apr1|argon2\w{1,2})\$[\w./$=,+-]{20,}"  # of a password, as /etc/shadow has it
    r"|(?:(?<![\w-])|(?<=\\n))eyJ[\w-]{6,}\.[\w-]{6,}(?:\.[\w-]*)?"
)
_LOGIN = re.compile(r"(?<=://)([^\s/\"'<>]+)(?=@)")  # up to the last @: a password may hold one
_USER_ALONE = re.compile(r"[A-Za-z_][\w.-]{0,31}")
_KEY = re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY")

_OF_LETTERS = "|".join(
    rf"{program}\b[^\n|;&]{{0,160}}?[ \t]{letter}" for program, letter in table("letters").items()
)
# What reads a password from its standard input.
_FROM_INPUT = r"(?:chpasswd|cryptsetup|--password-stdin|--with-token|--stdin|sudo[ \t]+-\w{0,3}S)"

PATTERNS = (_TOKEN, _LOGIN, *patterns("forms", "given", OF_LETTERS=_OF_LETTERS, FROM_INPUT=_FROM_INPUT))
"""Their last group, or all of them, is the secret."""

_TELLING = re.compile(r"(?=[^\d\n]{0,200}\d)(?=[^A-Za-z\n]{0,200}[A-Za-z])[^\s]{8,200}")


def is_telling(value: str) -> bool:
    """Whether a secret is no word, so that it can be looked for wherever it stands."""
    return _TELLING.fullmatch(value) is not None


def holds_a_token(value: str) -> bool:
    """Whether a value holds what is a secret by its form; a user's name alone, as in ssh://git@host, is none."""
    if _TOKEN.search(value) or _KEY.search(value):
        return True
    return any(
        not _USER_ALONE.fullmatch(found[1])
        or value[max(0, found.start() - 8) : found.start()].lower().endswith(("http://", "https://"))
        for found in _LOGIN.finditer(value)
    )


def shows_a_secret(name: str, value: Any) -> bool:
    """Whether a setting, a variable or an argument would: by its name, or by what it holds."""
    number = isinstance(value, bool | int | float) and not is_sure(name)
    return (names_a_secret(name) and not number) or _holds(value)


def _holds(value: Any) -> bool:
    if isinstance(value, str):
        return holds_a_token(value) or _names_one(value)
    if isinstance(value, Mapping):
        return any(
            (names_a_secret(str(key)) and isinstance(each, str)) or _holds(each) for key, each in value.items()
        )
    return isinstance(value, list | tuple) and any(map(_holds, value))


def _names_one(text: str) -> bool:
    from sparkrig.redaction import places  # its patterns take time, and few values have a name within

    return any(mark in text for mark in "=: ") and any(places.named(text))
