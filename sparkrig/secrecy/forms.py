"""Whether a value is a secret by its form: tokens of services, keys, and who logs in by a URL."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"hf_[A-Za-z0-9]{8,}|nvapi-[\w-]{8,}|gh[opsur]_\w{10,}|github_pat_\w{10,}|gl(?:pat|rt|dt|ptt)-[\w-]{8,}"
    r"|tskey-[\w-]{6,}|(?<![A-Za-z0-9])sk-[\w-]{16,}|(?<![A-Za-z0-9])A[KS]IA[A-Z0-9]{12,}|xox[abeprs]-[\w-]{8,}"
    r"|AIza[\w-]{30,}|(?<![A-Za-z0-9_])(?:[sr]k_(?:live|test)_|whsec_|shpat_|dop_v1_|lin_api_|hv[sb]\.|SG\.|ATATT)[\w.-]{10,}"
    r"|(?<![A-Za-z0-9_])(?:gsk_|r8_|dckr_(?:pat|oat)_|npm_|glsa_|wandb_v1_|xai-|pplx-|csk-|pypi-|ya29\.)[\w-]{10,}"
    r"|AGE-SECRET-KEY-1[0-9A-Z]{20,}|(?<=login\.tailscale\.com/)(?:a/)?[\w-]{6,}"
    r"|(?<=hooks\.slack\.com/)(?:services|workflows)/[\w/-]{8,}"
    r"|(?:(?<![\w-])|(?<=\\n))eyJ[\w-]{6,}\.[\w-]{6,}(?:\.[\w-]*)?"
)
_LOGIN = re.compile(r"(?<=://)([^\s/\"'<>]+)(?=@)")  # up to the last @: a password may hold one
_USER_ALONE = re.compile(r"[A-Za-z_][\w.-]{0,31}")
_KEY = re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY")

PATTERNS = (_TOKEN, _LOGIN)
"""Their last group, or all of them, is the secret."""


def holds_a_token(value: str) -> bool:
    """Whether a value holds what is a secret by its form; a user's name alone, as in ssh://git@host, is none."""
    if _TOKEN.search(value) or _KEY.search(value):
        return True
    return any(
        not _USER_ALONE.fullmatch(found[1])
        or value[max(0, found.start() - 8) : found.start()].lower().endswith(("http://", "https://"))
        for found in _LOGIN.finditer(value)
    )
