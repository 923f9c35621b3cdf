"""What is a secret by its form: tokens of services, keys, logins in URLs; and whether a value would show one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

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

# The option of one letter that is a password's, by program; in the same command, which a sign of the shell ends.
_LETTERS = {
    "login": "-p[ =]?",
    r"(?:mysql|mariadb|7z)\w{0,9}": "-p",
    r"(?:cqlsh|mongo\w{0,9}|rdesktop|user(?:add|mod))": "-p[ =]",
    r"(?:ipmitool|mosquitto_\w{3}|(?:un)?zip)": "-P ?",
    "redis-cli": "-a ",
    r"ldap\w{3,9}": "-w ",
    "openssl": "-k ",
    "gh secret": "(?:-b|--body)[ =]",
    "curl": r"(?:-b|--cookie)[ =][\"']?[^\s\"'=]{1,64}=",
    "ssh-keygen": "-N ",
    "(?:smb|rpc)client": r"-U ?[^\s%]{1,64}%",
    "htpasswd": r"-b\w{0,2} \S{1,200} \S{1,200} ",
}
_OF_LETTERS = "|".join(rf"{program}\b[^\n|;&]{{0,160}}?[ \t]{letter}" for program, letter in _LETTERS.items())
# What reads a password from its standard input.
_FROM_INPUT = r"(?:chpasswd|cryptsetup|--password-stdin|--with-token|--stdin|sudo[ \t]+-\w{0,3}S)"

PATTERNS = (
    _TOKEN,
    _LOGIN,
    # where a command, a header or a sentence has one
    re.compile(r"(?i:\b(?:bearer|basic))[ \t]+(?=[a-z]{0,99}[^a-z\s])([\w.~+/-]{8,}=*)"),
    re.compile(r"\bDigest username=([^\n]+)"),
    re.compile(r"(?i)(?:--(?:proxy-)?user|(?<![\w-])-u)[ =](?!\d+:\d+\b)([^\s:]{1,200}:[^\s]+)"),
    re.compile(r"(?i)\bsshpass[ \t]+-p[ \t]*['\"]?([^\s'\"]+)"),
    re.compile(rf"\b(?:{_OF_LETTERS})[\"']?(?![-\"']|\d{{1,5}}(?:\s|$))([^\s\"']+)"),
    re.compile(r"(?i)\b(?:wandb|vault)[ \t]+login(?:[ \t]+--relogin)?[ \t]+(?!-)([^\s'\"]+)"),
    re.compile(r"(?i)\bwpa_passphrase[ \t]+(?:'[^'\n]{1,64}'|\"[^\"\n]{1,64}\"|\S{1,64})[ \t]+['\"]?([^\s'\"]+)"),
    re.compile(r"(?i)(?<![\w-])pin(?: (?:code|is))?[\"']?[ \t]*(?:[:=][ \t]*|(?<=is) )[\"']?(\d{4,12})(?![\w.])"),
    re.compile(r"(?i)\b(?:r[ow]community6?|snmp-server community)[ \t]+[\"']?([^\s\"']+)"),
    re.compile(r"(?i)\bsnmp\w{1,20}[ \t][^\n]{0,100}?(?<![\w-])-c[ \t]*[\"']?([^\s\"'/][^\s\"']*)"),
    re.compile(r"(?i)\bcom2sec6?(?:[ \t]+-Cn[ \t]+\S{1,64})?[ \t]+\S{1,64}[ \t]+\S{1,64}[ \t]+(\S+)"),
    re.compile(
        r"(?i)\b(?:echo(?:[ \t]+-[a-z]{1,3})?|printf(?:[ \t]+['\"]?%s(?:\\n)?['\"]?)?)[ \t]+[\"']?"
        rf"(?:[\w.-]{{1,32}}:)?([^\s|\"']+)[\"']?[ \t]*\|[^\n|]{{0,80}}?{_FROM_INPUT}"
    ),
    re.compile(rf"(?i){_FROM_INPUT}[^\n|;&]{{0,80}}?<<<[ \t]*[\"']?(?:[\w.-]{{1,32}}:)?([^\s\"']+)"),
    # in a sentence, where it is no word: "using token 3f9a77c1b0"
    re.compile(
        r"(?i)(?<![a-z])(?:token|password|passphrase|passcode|secret|api[ _-]?key|otp)(?: for \S{1,40})?"
        r"(?: is| was)?(?: (?:changed|set|reset) to)?[ \t]{1,9}[\"'`]?"
        r"(?=[\w.~+/-]{0,99}\d)(?=[\w.~+/-]{0,99}[a-z])(?!\d[\d.,]{0,20}[a-z/]{0,20}(?![\w.~+/-]))"
        r"([\w~+][\w.~+/-]{6,198}[\w~+/-])(?![\w.]{0,99}[(=:])"
    ),
    re.compile(r"(?i)[?&](?:sig|code|x-amz-(?:signature|credential|security-token))=([^&\s\"'\\]+)"),
    re.compile(r"(?i)\b(?:nodekey|discokey|machinekey|mkey|privkey|nlpriv|tlpub|chalpub):([0-9a-f]{16,})"),
    re.compile(r"(?i)\bidentified\b[^\n]{0,60}?[ \t](?:by|as)[ \t]+\\?['\"]([^'\"\\\n]+)"),
    re.compile(r"(?i)\bConvertTo-SecureString[ \t]+(?:-String[ \t]+)?['\"]([^'\"\n]+)"),
    re.compile(r"\{(?:[A-Z]?SHA\d{0,3}|S?MD5|CRYPT|ARGON2|PBKDF2)\}([\w./+=$-]{8,})"),  # as LDAP has them
    re.compile(r"\b(?:requirepass|masterauth)[ \t]+(\S+)"),
    # what a client sends: > PASS x, AUTH PLAIN x, a1 LOGIN me x
    re.compile(r"(?m)(?:[]>:|][ \t]|^[ \t]*)(?:AUTH(?: [\w-]{1,20})?|\w{1,8} LOGIN \S{1,64})[ \t](\S{6,200})\s?$"),
    re.compile(r"(?m)(?:>|C:)[ \t]PASS[ \t](\S+)\s?$"),
    # a row of ~/.pgpass, and one of a file of cookies
    re.compile(r"(?<!\S)[^\s:]{1,253}:(?:\d{4,5}|\*):[^\s:]{1,64}:[^\s:]{1,64}:([^\s:]{6,200})(?!\S)"),
    re.compile(r"\t(?:TRUE|FALSE)\t[^\t\n]{1,200}\t(?:TRUE|FALSE)\t\d{1,12}\t[^\t\n]{1,200}\t([^\t\n]+)"),
    # an address that whoever knows it may post to
    re.compile(r"(?i)://[^\s/\"'<>]{0,100}(?:hook|ntfy|notify|ping)[^\s/\"'<>]{0,100}/([^\s\"'<>?]{4,})"),
    re.compile(r"(?i)://[^\s\"'<>]{1,200}?/[\w-]{0,40}hooks?[\w-]{0,10}/([^\s\"'<>?]{4,})"),
    re.compile(r"(?i)::add-mask::([^\n]+)"),
    # of our own looks: the salt and the digests of secrets, and the digest of Ray's token
    re.compile(r"(?m)^salt (\S+)$"),
    re.compile(r"(?m)^secret \w+ ([0-9a-f]{16,64})$"),
    re.compile(r"(?m)^token ([0-9a-f]{8,64})$"),
)
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
