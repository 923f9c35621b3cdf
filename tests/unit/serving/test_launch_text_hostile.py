"""A launch that wants to hurt: read to its end or refused in a sentence, soon, and never a traceback."""

from __future__ import annotations

import random

from sparkrig.serving import launch_text
from sparkrig.serving.launch import Unreadable
from tests.attacks.growth import soon
from tests.attacks.texts import BOMB, CODES, DEEP, VALUES
from tests.tables import each_row

S = "vllm serve Q/M"
N = 1_000  # of what is repeated; each is read in less than a second at fifty times as many

ROWS: dict[str, str] = {
    "a value that doubles": "A=xx\n" + "A=$A$A\n" * 60 + "vllm serve $A",
    "an array that doubles": "A=(x y)\n" + 'A=("${A[@]}" "${A[@]}")\n' * 60 + 'vllm serve "${A[@]}"',
    "output that doubles": "A=x\n" + "A=$(echo $A $A)\n" * 60 + f"{S} $A",
    "a document that doubles": "A=x\n" + "A=$(cat <<E\n$A$A\nE\n)\n" * 60 + f"{S} $A",
    "functions that call three times": "".join(f"f{n}() {{ f{n + 1}; f{n + 1}; f{n + 1}; }}\n" for n in range(60))
    + "f0",
    "a function that calls itself": f"f() {{ f; {S}; }}\nf",
    "eval of itself": 'A=\'eval "$A";eval "$A"\'\neval "$A"',
    "open commands": f"{S} " + "$(" * N,
    "open variables": f"{S} " + "${" * N,
    "open sums": f"{S} " + "((" * N,
    "open in quotes": f"{S} " + '"$(' * N,
    "nested commands": f"{S} " + "$(" * N + ")" * N,
    "nested defaults": f"{S} " + "${A:-" * N + "}" * N,
    "parentheses": "(" * N + S + ")" * N,
    "braces": "{ " * N + S + " ;}" * N,
    "nested branches": "if true; then\n" * N + S + "\nfi" * N,
    "branches": "if x; then A=1; fi\n" * N + S,
    "ends of nothing": "if a; then " + "done; }; esac " * N + S,
    "cases": "case $x in a) " * N + S,
    "documents": f"{S} " + "<<A " * N,
    "open documents": "cat <<A\n" * N + S,
    "backquotes": f"{S} " + "` " * N,
    "nested arrays": "a=(" * N + S,
    "a long array": "a=(" + "x " * N * 10 + f')\n{S} "${{a[@]}}" "${{a[@]}}"',
    "tests": "[ " + "a || " * N + f"b ] && {S}",
    "nots": "[ " + "! " * N + f"b ] && {S}",
    "ssh of ssh": "ssh " * N + S,
    "less of it": "ssh " * 300 + S,
    "docker of docker": "docker " * N + f"run i {S}",
    "long words": "A=" + "x" * 60_000 + "\nvllm serve " + "$A " * N,
    "deep fields": f"{S} --a" + ".b" * N + " 1",
    "many words": f"{S} " + "x " * N * 10,
    "aliases": BOMB.split("network:")[0] + "services: {a: {image: *z, command: vllm serve M}}\n",
    "an alias of itself": "services: &a {x: *a}",
    "other types of compose": (
        "services: {a: {image: [1], command: {a: 1}, environment: 3, deploy: [1], volumes: 3, ulimits: 3,"
        " devices: [1, {}]}}\n"
    ),
    "other types of a recipe": "engines: {1: 2, vllm: {args: [1, {a: 2}], image: [x]}}\nparams: [1]\nmodel: {a: 1",
    "defaults of compose": 'services: {a: {image: "' + "${A:-" * N + "}" * N + '", command: vllm serve M}}',
    "deep JSON": DEEP,
    "long": "vllm serve Q/M\n" * 100_000,
    "nothing of it": "\0",
}


def ends(text: str) -> None:
    with soon(5):
        try:
            assert len(launch_text.read(text)) <= 20_000
        except Unreadable as refused:
            why = str(refused)
            assert "\n" not in why and len(why) < 400, why


def test_it_ends_soon_and_in_a_sentence() -> None:
    each_row({name: (text,) for name, text in ROWS.items()}, ends)


PUBLISHED = (
    "readonly I='img'\no=(--gpus all)\no+=(-e A=1)\nif [ -n \"$A\" ]; then exit; fi\n"
    "cat >r.sh <<'E'\nexec a --port $((1 + 2))\nE\nf() { b; }\n"
    'docker run -d --name b "${o[@]}" "$I" sleep 9\nf && docker exec b bash -c "vllm serve $M"\n',
    "services:\n  a:\n    image: ${I:-img}\n    command: [bash, -c, 'N=$$((1 + 1)); vllm serve Q/M --port $$N']\n",
    "model: Q/M\nparams: {port: 1}\nengines:\n  vllm: {image: i, args: '--seed {port}'}\n",
)


def test_any_damage_is_a_launch_or_a_sentence() -> None:
    dice = random.Random(21)
    damage = [*VALUES, *CODES, *"'\"`$(){}[]\\;|&<>#=\n", "${", "$((", "<<E", "&a", "*a", "- ", ": "]

    def holds(text: str) -> None:
        for _ in range(60):
            at = dice.randrange(len(text))
            ends(text[:at] + dice.choice(damage) + text[at + dice.choice((0, 0, 1, 9)) :])

    each_row([(text,) for text in PUBLISHED], holds)
