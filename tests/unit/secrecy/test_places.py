"""A secret is found in 600 surroundings that a generator makes; behind an innocent name nothing is."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

from sparkrig.redaction import Redactor
from sparkrig.redaction.credentials import masked
from sparkrig.secrecy import places
from tests.tables import each_row
from tests.unit.secrecy.words import INNOCENT, WORDS

Make = Callable[[random.Random, str, list[str]], str]


def quoted(dice: random.Random, value: str) -> str:
    mark = dice.choice(["'", '"'])
    return f"{mark}{value}{mark}"


def listed(dice: random.Random, values: list[str]) -> str:
    gap = dice.choice([", ", ",", ",\n    "])
    begin, end = ("\n    ", "\n") if "\n" in gap else ("", "")
    return f"[{begin}{gap.join(quoted(dice, each) for each in values)}{end}]"


def assigned(dice: random.Random, name: str, values: list[str]) -> str:
    sign, value = dice.choice(["=", ": ", " = ", ":", " => ", " := "]), values[0]
    written = dice.choice([name, quoted(dice, name), f"conf[{quoted(dice, name)}]", f"my.{name}", f"-e {name}"])
    return f"{written}{sign}{dice.choice([value, quoted(dice, value), f'Secret({quoted(dice, value)})'])}"


def within(dice: random.Random, name: str, values: list[str]) -> str:
    held = dice.choice([listed(dice, values), quoted(dice, values[0]), f"{{'a': {quoted(dice, values[0])}}}"])
    form = dice.choice(["{{'model': 'm', {q}: {v}, 'port': 8000}}", "Namespace(model='m', {n}={v}, port=8000)"])
    return "non-default args: " + form.format(q=quoted(dice, name), n=name, v=held)


def option(dice: random.Random, name: str, values: list[str]) -> str:
    flag = f"--{name}"
    if dice.random() < 0.3:
        items = [quoted(dice, each) for each in ("vllm", flag, *values[:1], "--port", "8000")]
        gap = dice.choice([", ", ",\n  "])
        return f"args: [{gap.join(items)}]"
    if dice.random() < 0.3:
        return "command:\n" + "".join(f"  - {each}\n" for each in ("vllm", flag, values[0], "--port"))
    gap = dice.choice([" ", "=", "   ", " \\\n  "])
    return f"vllm serve m {flag}{gap}{values[0]} --port 8000"


def several(dice: random.Random, name: str, values: list[str]) -> str:
    flag = dice.choice(["--api-key", "--api_key", "--auth-tokens", "--tokens"])
    return f"vllm serve m {flag} {' '.join(values)} --port 8000"


def lines(dice: random.Random, name: str, values: list[str]) -> str:
    value = values[0]
    return dice.choice([
        f"{name}: {dice.choice(['|', '>-', '>', '|-'])}\n  {value}\nnext: 1\n",
        f'{{"{name}":\n    "{value}",\n  "next": 1}}',
        f"{name}:\n  {value}\nnext: 1\n",
        f"{name}:\n" + "".join(f"  - {each}\n" for each in values) + "next: 1\n",
    ])  # fmt: skip


def named(dice: random.Random, name: str, values: list[str]) -> str:
    value = values[0]
    return dice.choice([
        f"env:\n  - name: {name}\n    value: {quoted(dice, value)}\n  - name: A\n    value: b\n",
        f"  - value: {value}\n    name: {name}\n",
        json.dumps([{"name": name, "value": value}, {"name": "A", "value": "b"}]),
        json.dumps([{"Key": name, "Value": value}], indent=2),
        f"({quoted(dice, name)}, {quoted(dice, value)})",
        f"<{name}>{value}</{name}>",
        f'<add key="{name}" value="{value}"/>',
    ])  # fmt: skip


def set_by(dice: random.Random, name: str, values: list[str]) -> str:
    value = values[0]
    return dice.choice([
        f"ENV {name} {value}",
        f"export {name}={value}",
        f"set -gx {name} {value}",
        f"setenv {name} {value}",
        f'Environment="{name}={value}"',
        f'"Env": ["A=b", "{name}={value}"]',
        f"curl -H '{name}: {value}' http://h/",
        f"Endpoint=https;Name=a;{name}={value}",
        f"GET /v1/models?{name}={value} HTTP/1.1",
    ])  # fmt: skip


def login(dice: random.Random, name: str, values: list[str]) -> str:
    gap, value = dice.choice([" ", "\n", "\n  "]), values[0]
    return dice.choice([
        f"machine h{gap}login me{gap}password {value}",
        f"machine h{gap}password{gap}{value}",
        f"nmcli device wifi connect Home password {value}",
        f"nmcli connection modify Home wifi-sec.key-mgmt wpa-psk wifi-sec.psk {value}",
        f"https://me:{value}@h/x",
        f"X-Registry-Auth: {value}==",
        f"Authorization: {dice.choice(['Bearer', 'Basic', 'Token'])} {value}",
        f"AccountName=a;AccountKey={value}==;EndpointSuffix=x",
    ])  # fmt: skip


def of_users(dice: random.Random, name: str, values: list[str]) -> str:
    """cloud-init's user-data."""
    rows = [f"{user}:{value}" for user, value in zip(("root", "mia"), values, strict=False)]
    block = "".join(f"    {row}\n" for row in rows)
    return dice.choice([
        f"chpasswd:\n  expire: false\n  list: {dice.choice(['|', '|-', '>'])}\n{block}",
        "chpasswd:\n  list:\n" + "".join(f"    - {row}\n" for row in rows),
        f"chpasswd: {{expire: false, list: [{', '.join(rows)}]}}\n",
        f"chpasswd:\n  users:\n    - {{name: mia, password: {values[0]}, type: text}}\n",
        f"users:\n  - name: mia\n    lock_passwd: false\n    passwd: $6${values[0]}\n",
        f"users:\n  - name: mia\n    plain_text_passwd: {values[0]}\n",
        f"echo {rows[0]} | sudo chpasswd",
    ])  # fmt: skip


def spoken(dice: random.Random, name: str, values: list[str]) -> str:
    what = dice.choice(["token", "API key", "password", "the secret", "passphrase"])
    return dice.choice([
        f"Connecting to http://h/ using {what} {values[0]}",
        f"401: {what} {quoted(dice, values[0])} has expired",
        f"{what} is {values[0]}.",
        f"rocommunity {values[0]} 10.0.0.0/24",
        f"snmpwalk -v2c -c {values[0]} 10.0.0.9 system",
        f"com2sec readonly default {values[0]}",
    ])  # fmt: skip


BY_NAME: tuple[Make, ...] = (assigned, within, option, lines, named, set_by)
PREFIX = "Nov 28 10:00:00 box vllm[12]: "
AROUND: tuple[Callable[[str], str], ...] = (
    str,
    lambda text: f"before\n{text}\nafter\n",
    lambda text: "\n".join(f"    {line}" for line in text.split("\n")),
    lambda text: "\n".join(PREFIX + line for line in text.split("\n")),
    lambda text: "\n".join(f"vllm-1  | {line}" for line in text.split("\n")),
    lambda text: f"(APIServer pid=7) INFO 11-28 10:00:00 [utils.py:253] {text}",
    lambda text: text.replace("\n", "\r\n"),
)


def spelt(dice: random.Random, words: str) -> str:
    parts = words.split()
    camel = parts[0] + "".join(each.capitalize() for each in parts[1:])
    return dice.choice(["_".join(parts), "-".join(parts), "_".join(parts).upper(), camel])


def surroundings(count: int, words: tuple[str, ...], makes: tuple[Make, ...]) -> list[tuple[str, list[str]]]:
    """That many texts, each with values in one of the structures, and the values."""
    dice = random.Random(49)
    made = []
    for _ in range(count):
        values = ["".join(dice.choices("abcdefghkmnpqrstuvwxyzABCDEFG23456789", k=12)) + "q7" for _ in range(3)]
        text = dice.choice(AROUND)(dice.choice(makes)(dice, spelt(dice, dice.choice(words)), values))
        made.append((text, [each for each in values if each in text]))
    return made


def test_a_secret_is_found_in_every_surrounding() -> None:
    def holds(text: str, values: list[str]) -> None:
        redactor = Redactor()
        told = {"masked": masked(text), "redacted": redactor.redact(text)}
        left = {way: said for way, said in told.items() if any(value in said for value in values)}
        assert not left, left

    each_row(surroundings(600, WORDS, (*BY_NAME, several, login, of_users, spoken)), holds)


def test_behind_an_innocent_name_nothing_is_found() -> None:
    def holds(text: str, _: list[str]) -> None:
        found = [text[start:end] for start, end in places.spans(text)]
        assert not found, found

    each_row(surroundings(400, INNOCENT, BY_NAME), holds)


def test_a_pin_is_a_number_and_no_pin_of_apt_or_of_a_board() -> None:
    assert masked("PIN: 4711, sim_pin=0815, pin is 123456") == "PIN: ***, sim_pin=***, pin is ***"
    for stays in (
        "Package: *\nPin: version 580.*\nPin-Priority: 1001",
        "pin 34 (GPIO_9)",
        "Avg prompt token 123.4tokens/s, token 8192",
        "with password authentication, secret /etc/sparkrig/env2",
    ):
        assert masked(stays) == stays


def test_a_secret_that_one_text_tells_is_taken_out_of_the_others() -> None:
    redactor = Redactor()
    redactor.learn("non-default args: {'api_key': ['s3cret-of-a-host']}")
    assert redactor.redact("401 for s3cret-of-a-host from 10.0.0.1") == "401 for token-1 from 10.0.0.1"
