"""Whether a name says that its value is a secret: of a variable, an option, a header, a field."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise

# fmt: off
# These count wherever they stand in a name, and behind any other word: HF_TOKEN_2, DBPASSWORD.
_WORDS_FOR_ONE = (
    "PASSWORD", "PASSWORT", "KENNWORT", "CONTRASENA", "PASSWD", "PASSPHRASE", "PASSCODE", "SECRET", "CREDENTIAL",
)
_ANYWHERE = (*_WORDS_FOR_ONE, "TOKEN")
# A value of these may have blanks in it.
_PHRASES = (*_WORDS_FOR_ONE, "CRED", "PSK", "PWD", "PASS", "PW", "PHRASE", "MNEMONIC")
# These count as the last word: KEY, but not KEY_LENGTH; and joined with one of _HEADS alone: PGPASS, not BYPASS.
_LAST = (
    *("KEY", "AUTH", "PASS", "PWD", "PW", "PAT", "PSK", "CRED", "JWT", "AUTHORIZATION", "BEARER", "COOKIE"),
    *("OTP", "TOTP", "MNEMONIC", "PIN", "PHRASE", "COMMUNITY"),
)
# These count behind one of those words alone, apart or joined: SIM_PIN, and no `Pin:` of apt's preferences.
_ONLY_BEHIND = {
    "PIN": frozenset(("BT", "CARD", "DEVICE", "LOGIN", "PAIRING", "SIM", "SO", "TOKEN", "TPM", "USER", "WPS")),
    "PHRASE": frozenset(("BACKUP", "RECOVERY", "SEED")),
    "COMMUNITY": frozenset(("RO", "RW", "SNMP", "TRAP")),
}
_OF_KEYS = (
    "API", "ACCESS", "AUTH", "SECRET", "PRIVATE", "PRESHARED", "SHARED", "SIGNING", "ENCRYPTION", "ACCOUNT",
)
_HEADS = (
    *_OF_KEYS, "ADMIN", "APP", "AWS", "AZURE", "BOT", "CLI", "CLIENT", "DB", "DEPLOY", "DOCKER", "FTP", "GCP",
    "GH", "GIT", "GITHUB", "GITLAB", "GL", "GPG", "HF", "HTTP", "HUB", "KEY", "LDAP", "LICENSE", "LLAMA", "LOGIN",
    "MAIL", "MASTER", "MONGO", "MQTT", "MY", "MYSQL", "NGC", "NV", "NVIDIA", "O", "OPENAI", "PG", "POSTGRES",
    "PASS", "PRE", "PRIV", "PROXY", "RAY", "REDIS", "REDISCLI", "REGISTRY", "ROOT", "SERVER", "SESSION", "SMB",
    "SMTP", "SQL", "SSH", "STORAGE", "STORE", "SUDO", "TAILSCALE", "TS", "USER", "VLLM", "VNC", "VPN", "WANDB",
    "WEP", "WG", "WIFI", "WPA", "X",
)
# Words before it that make another thing of it.
_SWITCH = frozenset((
    "ALLOW", "DISABLE", "DUPLICATE", "ENABLE", "EXPECTED", "EXTRA", "HAS", "IGNORE", "INVALID", "IS", "MISSING",
    "NO", "NUM", "REQUIRE", "SKIP", "SUPPORTED", "UNEXPECTED", "UNKNOWN", "USE", "VALID",
))
_OTHERS = {
    "KEY": frozenset((
        "AUTHORIZED", "CACHE", "DICT", "FOREIGN", "HOST", "HOT", "L", "P", "PARTITION", "PRIMARY", "PUB",
        "PUBLIC", "Q", "R", "SORT",
    )),
    "PASS": frozenset(("FIRST", "MULTI", "ONE", "SECOND", "SINGLE", "TWO")),
    # tokens of text (models/vllm/flags.yaml; --speculative-token-map [@sglang-source])
    "TOKEN": frozenset((
        "ADDED", "ALL", "AUDIO", "BATCHED", "BOS", "CACHE", "CACHED", "CLS", "COMPLETION", "CONTEXT", "DECODE",
        "DRAFT", "EOS", "EVERY", "FAS", "FIRST", "GENERATED", "GENERATION", "IMAGE", "INPUT", "ITERATION", "KV",
        "LAST", "LOST", "MASK", "MAX", "MIN", "NEW", "NEXT", "OF", "OUTPUT", "PAD", "PER", "PREFILL", "PROMPT",
        "REASONING", "SEP", "SPEC", "SPECIAL", "SPECULATIVE", "STOP", "THINKING", "TOTAL", "UNK", "VIDEO",
    )),
}
# Words behind it that make another thing of a token.
_COUNTED = frozenset((
    "AS", "BUDGET", "BUDGETS", "CLASSIFY", "COUNT", "COUNTS", "DETAILS", "EMBED", "EMBEDDING", "EMBEDDINGS",
    "IDS", "LEN", "LENGTH", "LIMIT", "MAP", "ONLY", "PARALLEL", "PER", "PROB", "PROBS", "RATE", "SIZE",
    "THRESHOLD", "TOTAL", "TREE", "TYPE", "TYPES", "USAGE",
))
# Where a secret lies, or what it is like, is none.
_ABOUT = frozenset((
    "DIR", "DIRECTORY", "ENDPOINT", "FILE", "FILES", "FLAGS", "FOLDER", "FOLDERS", "LENGTH", "MANAGER", "NAME",
    "NAMES", "PATH", "PATHS", "POLICY", "REF", "STORE", "TTL", "TYPE", "URI", "URL",
))
# fmt: on
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_JOINED = re.compile(rf"(?:{'|'.join(sorted(_HEADS, key=len, reverse=True))}){{1,3}}")
_LONGEST = 128
_SURE = {*_WORDS_FOR_ONE, "PIN", "OTP", "TOTP"}  # a number behind these is a secret, too


@lru_cache(maxsize=4096)
def names_a_secret(name: str) -> bool:
    """Whether a name marks its value as a secret, whatever its case is and what stands between its words."""
    if not name.isascii():
        name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    last = name[-_LONGEST:].rstrip(".-").rpartition(".")[2]
    return any(_is_secret(_words(form)) for form in {last, _CAMEL.sub("_", last)})


@lru_cache(maxsize=4096)
def is_phrase(name: str) -> bool:
    """Whether a secret of that name may be of several words: a password, and no key."""
    words = _words(_CAMEL.sub("_", name[-_LONGEST:]))
    return any(word.removesuffix("S").endswith(_PHRASES) or word.endswith("PASS") for word in words)


@lru_cache(maxsize=4096)
def is_sure(name: str) -> bool:
    """Whether even a number behind a secret's name is a secret: a password, and no token."""
    words = _words(_CAMEL.sub("_", name[-_LONGEST:]))
    return any(_stem(word)[1] in _SURE for word in words) or any(
        word.removesuffix("S").endswith("KEY") and before.endswith(_OF_KEYS) for before, word in pairwise(words)
    )


@lru_cache(maxsize=4096)
def is_place(name: str) -> bool:
    """Whether it is the name of where something lies, or what it is like."""
    return not _ABOUT.isdisjoint(_words(_CAMEL.sub("_", name[-_LONGEST:]))[-1:])


@lru_cache(maxsize=4096)
def is_list(name: str) -> bool:
    """Whether several secrets may follow a name; `--api-key` of vLLM takes them, too."""
    bare = re.sub("[^A-Z]", "", name.upper())
    return bare.endswith(("KEYS", "TOKENS", "SECRETS", "PASSWORDS", "CREDENTIALS", "APIKEY"))


def _words(name: str) -> list[str]:
    parts = (each.strip("0123456789") for each in re.split("[^A-Z0-9]+", name.upper()))
    return [part for part in parts if part]


def _is_secret(words: list[str]) -> bool:
    if not words or words[-1] in _ABOUT:
        return False
    return any(_counts(words, place) for place in range(len(words)))


def _counts(words: list[str], place: int) -> bool:
    """Whether the word at that place marks the name."""
    head, stem = _stem(words[place])
    if not stem:
        return False
    before = head or (words[place - 1] if place else "")
    if stem in _ONLY_BEHIND and before not in _ONLY_BEHIND[stem]:
        return False
    if before in _SWITCH or any(
        before.endswith(each) for each in _OTHERS.get(stem, ()) if len(each) > 2 or each == before
    ):
        return False
    if stem == "TOKEN":
        counted = {"MAX", "MIN", "NUM"}.intersection(words[:place])
        return not counted and _COUNTED.isdisjoint(words[place + 1 : place + 2])
    return place == len(words) - 1 or stem in _ANYWHERE or (stem == "KEY" and before.endswith(_OF_KEYS))


def _stem(word: str) -> tuple[str, str]:
    """What is joined before the mark of a word, and the mark: (DB, PASSWORD); empty where it has none."""
    for one in (word, word.removesuffix("S")):
        for stem in _ANYWHERE:
            if one.endswith(stem):
                return one.removesuffix(stem), stem
        for stem in _LAST:
            head = one.removesuffix(stem)
            heads = _ONLY_BEHIND.get(stem)
            if one.endswith(stem) and (not head or (head in heads if heads else _JOINED.fullmatch(head))):
                return head, stem
    return "", ""
