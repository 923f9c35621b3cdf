"""Names of variables and options that are secrets, and names that are like them, in words."""

from __future__ import annotations

WORDS = (
    "api key", "api keys", "tokens", "db pass", "pg pass", "github pat", "auth", "hf token", "key", "mysql pwd",
    "db password", "ssh key", "redis auth", "access key", "access key id", "secret", "credentials", "wpa psk",
    "registry auth", "token 2", "hf token read", "passphrase", "client secret", "license key", "session cookie",
    "sim pin", "user pin", "otp", "totp", "seed phrase", "recovery phrase", "mnemonic", "snmp community",
)  # fmt: skip
INNOCENT = (
    "max tokens", "tokenizer", "NCCL IB HCA", "keyboard", "path", "max num batched tokens", "eos token id",
    "passes", "monkey", "bypass", "compass", "hf token path", "api key file", "key mgmt", "psk flags",
    "public key", "oldpwd", "authorized keys", "author", "tokens per second", "time per output token seconds",
    "prompt tokens total", "pkey", "tokenizer mode", "long prefill token threshold", "secret name", "no auth",
    "patch", "pattern", "token ids", "ssl keyfile", "fastokens", "try first pass", "turkey", "passenger",
    "disable auth", "pin", "pin memory", "gpio pin", "spin", "catch phrase", "community", "bgp community",
)  # fmt: skip
