"""What gives access: tokens, passwords, and keys."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable

from sparkrig.redaction.book import Book
from sparkrig.redaction.sheet import EMPTY, INNER, MARK, QUOTE, Sheet, decoded, unquoted
from sparkrig.settings import names_a_secret

# What stands behind a label: quoted, quoted within JSON, or up to a blank; closing marks at its end are not of it.
_VALUE = (
    r"""(?:"(?:[^"\\\n]|\\.)+"|'[^'\n]+'|\\{1,3}"[^"\\\n]+"""
    r"""|(?:[^\s"'\\,;)}\]]|[,;)}\]]++(?![\s"'\\]|$))++|[,;)}\]])"""
)

# --- tokens

# Between an option and its value: in a line, the next item of a list, or the next line of one in JSON or YAML.
_THEN = r"(?:[ \t,=]+|[ \t]*,?[ \t]*\n[ \t]*(?:-[ \t]+)?)"

_TOKENS = (
    re.compile(
        r"hf_[A-Za-z0-9]{8,}|nvapi-[\w-]{8,}|gh[opsur]_\w{10,}|github_pat_\w{10,}|glpat-[\w-]{8,}|tskey-[\w-]{6,}"
        r"|(?<![A-Za-z0-9])sk-[\w-]{16,}|AKIA[A-Z0-9]{12,}|xox[abeprs]-[\w-]{8,}|AIza[\w-]{30,}"
        r"|(?<![A-Za-z0-9_])(?:gsk_|r8_|dckr_(?:pat|oat)_|npm_|glsa_|wandb_v1_|xai-|pplx-|csk-|pypi-|ya29\.)[\w-]{10,}"
        r"|AGE-SECRET-KEY-1[0-9A-Z]{20,}|(?<=login\.tailscale\.com/)(?:a/)?[\w-]{6,}"
        r"|(?:(?<![\w-])|(?<=\\n))eyJ[\w-]{6,}\.[\w-]{6,}(?:\.[\w-]*)?"
    ),
    re.compile(
        rf"(?i)authorization{QUOTE}[ \t]*[:=][ \t]*{QUOTE}(?:(?:bearer|basic|token|digest)[ \t]+)?({_VALUE})"
    ),
    re.compile(r"(?i)\b(?:bearer|basic)[ \t]+([\w.~+/-]{8,}=*)"),
    re.compile(r"(?<=://)([^\s/\"'<>]+)(?=@)"),  # up to the last @: a password may hold one
    re.compile(
        r"(?i)(?:password|passwd|passphrase|passcode|secret|api[_-]?key|access[_-]?key|private[_-]?key|"
        r"\"auth|"
        rf"preshared[_-]?key|auth[_-]?key|\bwpa[_-]?psk|\bpsk|credentials?){QUOTE}[ \t]*[:=][ \t]*({_VALUE})"
    ),
    re.compile(rf"(?i)(?:token|\bpass|pwd){QUOTE}[ \t]*[:=][ \t]*(?!\d+\b|/)({_VALUE})"),
    re.compile(r"""(?i)(?:token|password|passphrase|secret)[ \t]+("[^"\n]+"|'[^'\n]+')"""),
    re.compile(rf"(?i)--(?:[a-z]{{1,30}}-){{0,4}}(?:password|passwd|secret|key|token)\b{QUOTE}{_THEN}({_VALUE})"),
    re.compile(r"(?i)(?:--(?:proxy-)?user|\bcurl\b[^\n]{0,300} -u)[ =](?!\d+:\d+\b)([^\s:]+:[^\s]+)"),
    re.compile(rf"(?i)\b(?:sshpass[ \t]+-p|wandb[ \t]+login(?:[ \t]+--relogin)?)[ \t]*({_VALUE})"),
    re.compile(r"(?i)\blogin[ \t]+\S+[ \t]+password[ \t]+(\S+)"),
    re.compile(r"(?i)[?&](?:sig|key|code|x-amz-(?:signature|credential|security-token))=([^&\s\"'\\]+)"),
    re.compile(rf"(?i)(?<![\w.-])(?:auth|x-[a-z-]{{0,20}}key){QUOTE}[ \t]*:[ \t]*({_VALUE})"),
    re.compile(r"(?i)\b(?:nodekey|discokey|machinekey|mkey|privkey|nlpriv|tlpub|chalpub):([0-9a-f]{16,})"),
    # of our own looks: the salt and the digests of secrets, and the digest of Ray's token
    re.compile(r"(?m)^salt (\S+)$"),
    re.compile(r"(?m)^secret \w+ ([0-9a-f]{16,64})$"),
    re.compile(r"(?m)^token ([0-9a-f]{8,64})$"),
)


def tokens(book: Book, sheet: Sheet) -> None:
    def replace(found: re.Match[str]) -> str | None:
        opened, value, closed = unquoted(found[found.re.groups])
        if EMPTY.fullmatch(value) or value.startswith(("env:", "file:")) or re.fullmatch(MARK, value):
            return None
        return f"{opened}token-{book.number('token', value)}{closed}"

    def assigned(found: re.Match[str]) -> str | None:
        return replace(found) if names_a_secret(re.sub("(?i)(?<=key|ken|ord|ret)s$", "", found[1])) else None

    def item(found: re.Match[str]) -> str | None:
        return None if found[1].isdigit() or len(found[1]) < 4 else replace(found)

    sheet.within(_LIST, _ITEM, item)
    for pattern in _TOKENS:
        sheet.sub(pattern, replace, pattern.groups)
    sheet.sub(_ASSIGNED, assigned, 2)


# a list of secrets: in brackets, in lines of YAML, or between commas
_LIST = re.compile(
    r"(?i)(?:api|access|auth|secret|private|signing)[_-]?keys[\"']?[ \t]*[:=][ \t]*"
    r"(\[{1,3}[^\]\[]{1,4000}\]|(?:\n[ \t]*-[ \t]+[^\n]+){1,50}|[^\s\[,]+(?:,[^\s,]+)+)"
    r"|(?:tokens|secrets|passwords|credentials)[\"']?[ \t]*[:=][ \t]*(\[{1,3}[^\]\[]{1,4000}\]|(?:\n"
    r"[ \t]*-[ \t]+[^\n]+){1,50})"
)
_ITEM = re.compile(r"""("(?:[^"\\\n]|\\.)++(?:"|(?=\\?(?:\n|\Z)))|'[^'\n]+'|(?<![^\s\[,-])[^\s\[\],"']+)""")
_ASSIGNED = re.compile(rf"(?<![\w-])([A-Za-z_][\w]{{2,60}})=({_VALUE})")
# a variable whose name may show that its value is a secret, whatever the value looks like
_VARIABLE = re.compile(r"(?m)^([-+ ]?[ \t]*(?:export[ \t]+)?(\w+)=)(\S.*)$")


def masked(text: str) -> str:
    """The text with *** in place of each value that looks like a secret; all else stays as it is."""

    def mask(found: re.Match[str]) -> str:
        if found.re is _VARIABLE and not names_a_secret(found[2]):
            return found[0]
        start, end = (place - found.start() for place in found.span(found.re.groups))
        opened, value, closed = unquoted(found[0][start:end])
        return f"{found[0][:start]}{opened}***{closed}{found[0][end:]}" if value else found[0]

    for pattern in (_VARIABLE, *_TOKENS):
        text = pattern.sub(mask, text)
    return _PEM.sub("***", text)


# --- keys

_PEM = re.compile(
    r"(?s)-----BEGIN [A-Za-z0-9 ]{1,40}-----(?:(?!-----BEGIN).){0,20000}?-----END [A-Za-z0-9 ]{1,40}-----"
    r"|-----BEGIN [A-Za-z0-9 ]{1,40}-----(?:(?:\s|\\n){1,9}[A-Za-z0-9+/=]{2,})*"
)
_LINE_OF_A_KEY = re.compile(r"(?:^|[ \t\n])[A-Za-z0-9+/=]{1,76}(?:\s|\\n)*$")
_PEM_END = re.compile(r"-----END [A-Za-z0-9 ]{1,40}-----")
_PUTTY = re.compile(r"(?:Public|Private)-Lines: \d+((?:\s+[A-Za-z0-9+/=]{4,})+)(?=\s|$)")
_PUBLIC = re.compile(r"AAAA[A-Z][0-9A-Za-z][A-Za-z0-9+/]{10,}={0,3}")
_FINGERPRINT = re.compile(r"(?:(?<=SHA256:)|(?<=SHA512:))[A-Za-z0-9+/]{20,}={0,2}")
_MD5 = re.compile(r"(?i)(?:(?<=MD5:)|(?<![0-9a-f:]))(?:[0-9a-f]{2}:){15}[0-9a-f]{2}(?![0-9a-f:])")
_HASHED_HOST = re.compile(r"\|1\|[A-Za-z0-9+/]{20,}={0,2}\|[A-Za-z0-9+/]{20,}={0,2}")
_BLOB = re.compile(
    r"(?<![A-Za-z0-9+/])(?=[A-Za-z0-9+/]{43})(?=[^\s]{0,200}?[a-z])(?=[^\s]{0,200}?[A-Z])(?=[^\s]{0,200}?\d)"
    r"[A-Za-z0-9+/]{43,}={0,2}(?![A-Za-z0-9+/=])"
)


def keys(book: Book, sheet: Sheet) -> None:
    digests = {digest: blob for blob in book.known.keys for digest in _digests(blob)}
    if digests:
        either = "|".join(re.escape(each) for each in digests)
        sheet.sub(re.compile(either), lambda found: f"key-{book.number('key', digests[found[0]])}")
    sheet.sub(_PEM, lambda found: f"key-{book.number('key', found[0])}")
    sheet.sub(_PUTTY, lambda found: f" key-{book.number('key', found[1])}", 1)
    while end := _PEM_END.search(sheet.text):  # a key whose beginning was cut off
        start = end.start()
        while line := _LINE_OF_A_KEY.search(sheet.text[max(0, start - 100) : start]):
            start -= len(line[0])
        cut = re.compile(re.escape(sheet.text[start : end.end()]))
        sheet.sub(cut, lambda found: f"key-{book.number('key', found[0])}")
    for pattern in (_FINGERPRINT, _MD5, _HASHED_HOST):
        sheet.sub(pattern, lambda found: f"key-{book.number('key', found[0])}")
    # OpenSSH's form, which our own parser reads (sparkrig.host.trust)
    sheet.sub(_PUBLIC, lambda found: f"AAAApseudonym{book.number('key', found[0].rstrip('=')):07d}")


def blobs(book: Book, sheet: Sheet) -> None:
    def replace(found: re.Match[str]) -> str | None:
        named = found[0].startswith("AAAApseudonym") or re.fullmatch("[0-9a-fA-F]+", found[0])
        if named or found[0].count("/") > 6 or decoded(found[0]) is not None:
            return None
        return f"key-{book.number('key', found[0])}"

    def random(found: re.Match[str]) -> str | None:
        return (
            f"key-{book.number('key', found[0])}" if _is_random(found[0]) and decoded(found[0]) is None else None
        )

    sheet.sub(_BLOB, replace)
    sheet.sub(_WORD, random)
    sheet.sub(_COMMENT, lambda found: f"key-{book.number('key', found[1], 'comment')}", 1)


_WORD = re.compile(r"(?<![\w./+-])[A-Za-z0-9_-]{24,200}(?![\w./+=-])")
_NETDEV = re.compile(r"(?:en|wl|ib|roce)[pP]\d")
_KINDS_OF_LETTERS = re.compile(r"[a-z]+|[A-Z]+|[0-9]+")
# what stands behind a public key: a name that its owner gave
_COMMENT = re.compile(
    rf"\b(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-\S{{1,60}}|sk-\S{{1,60}}) {MARK} ([^\s@\"'{INNER}](?:[^\n\"@]*"
    rf"[^\s@\"])?)(?=[ \t]*(?:\"|$|\n))"
)


def _is_random(word: str) -> bool:
    """Whether small and large letters and digits take turns too often for a word: a token, an id."""
    if re.fullmatch("[0-9a-fA-F_-]+", word) or _NETDEV.search(word):
        return False
    runs = _KINDS_OF_LETTERS.findall(word)
    bare = re.sub("[_-]", "", word)
    return len(runs) > len(bare) / 3 and any(map(str.isdigit, bare)) and len(bare) > len(word) * 0.85


def _digests(blob: str) -> Iterable[str]:
    """How a public key is shown: SHA256 in base64 and hex, MD5 with colons."""
    try:
        raw = base64.b64decode(blob)
    except binascii.Error:
        return
    sha = hashlib.sha256(raw)
    yield base64.b64encode(sha.digest()).decode().rstrip("=")
    yield sha.hexdigest()
    yield hashlib.md5(raw, usedforsecurity=False).hexdigest()
