"""A launch that wants to hurt: read to its end or refused in a sentence, soon, and never a traceback."""

from __future__ import annotations

import random
import time

from sparkrig.serving import launch_text
from sparkrig.serving.launch import Unreadable
from tests.hostile import BOMB, CODES, DEEP, VALUES
from tests.tables import each_row

S = "vllm serve Q/M"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
N = 1_000  # of what is repeated; each is read in less than a second at fifty times as many
FILE = "cat >r <<'E'\n{0} r\n{0} r\nvllm serve Q/M\nE\n{0} r"
FROM = "FROM i\n"
SMALL = "[Container]\nImage=i\nExec=vllm serve Q/M\nPodmanArgs="

ROWS: dict[str, str] = {
    "a value that doubles": "A=xx\n" + "A=$A$A\n" * 60 + "vllm serve $A",
    "an array that doubles": "A=(x y)\n" + 'A=("${A[@]}" "${A[@]}")\n' * 60 + 'vllm serve "${A[@]}"',
    "output that doubles": "A=x\n" + "A=$(echo $A $A)\n" * 60 + f"{S} $A",
    "a document that doubles": "A=x\n" + "A=$(cat <<E\n$A$A\nE\n)\n" * 60 + f"{S} $A",
    "functions that call three times": "".join(f"f{n}() {{ f{n + 1}; f{n + 1}; f{n + 1}; }}\n" for n in range(60))
    + "f0",
    "a function that calls itself": f"f() {{ f; {S}; }}\nf",
    "eval of itself": 'A=\'eval "$A";eval "$A"\'\neval "$A"',
    "a script that runs itself": FILE.format("bash"),
    "a script that sources itself": FILE.format("."),
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
    "cases": "case $x in a) " * N + S,
    "documents": f"{S} " + "<<A " * N,
    "open documents": "cat <<A\n" * N + S,
    "backquotes": f"{S} " + "` " * N,
    "nested arrays": "a=(" * N + S,
    "a long array": "a=(" + "x " * N * 10 + f')\n{S} "${{a[@]}}" "${{a[@]}}"',
    "tests": "[ " + "a || " * N + f"b ] && {S}",
    "nots": "[ " + "! " * N + f"b ] && {S}",
    "a deep sum": f"{S} --port $((" + "(" * 100 + "1" + ")" * 100 + "))",
    "a large sum": f"{S} --port $((" + "9*" * 90 + "9)) --seed $((1 % 0)) --host $((9 << 9999999))",
    "patterns": "A=" + "a" * 299 + "\n" + "vllm serve ${A##" + "*a" * 45 + "b}\n",
    "cases of patterns": "A=" + "a" * 150 + "\n" + ("case $A in " + "*a" * 20 + "b) x;; esac\n") * 200 + S,
    "ssh of ssh": "ssh " * N + S,
    "docker of docker": "docker " * N + f"run i {S}",
    "mounts": "cat >a/b <<E\nx\nE\n" + "cp a/b a/c\n" * N + "docker run " + "-v ./a:/z " * N + " i bash /z/b",
    "long words": "A=" + "x" * 60_000 + "\nvllm serve " + "$A " * N,
    "deep fields": f"{S} --a" + ".b" * N + " 1",
    "many words": f"{S} " + "x " * N * 10,
    "aliases": BOMB.split("network:")[0] + "services: {a: {image: *z, command: vllm serve M}}\n",
    "aliases of Kubernetes": POD + BOMB,
    "an alias of itself": "services: &a {x: *a}",
    "a deep alias of itself": f"{POD}spec: &a [*a]\n",
    "documents of YAML": f"{POD}---\n" * 200,
    "deep YAML": f"{POD}spec: " + "[" * 200 + "]" * 200,
    "deep blocks": f"{POD}x:\n" + "\n".join(" " * n + "- a:" for n in range(1, 200)),
    "half of a surrogate pair": 'apiVersion: v1\nkind: "\\ud800"\n',
    "other types": (
        "apiVersion: v1\nkind: [1]\nmetadata: 3\nspec: {containers: [{image: [1], command: vllm, args: {a: 1},"
        " env: 3, resources: [1], securityContext: 1, volumeMounts: [{name: [1]}],"
        " envFrom: [{configMapRef: [1]}]}], volumes: 3}\n"
    ),
    "other types of compose": (
        "services: {a: {image: [1], command: {a: 1}, environment: 3, deploy: [1], volumes: 3, ulimits: 3,"
        " devices: [1, {}]}}\n"
    ),
    "other types of a recipe": "engines: {1: 2, vllm: {args: [1, {a: 2}], image: [x]}}\nparams: [1]\nmodel: {a: 1",
    "defaults of compose": 'services: {a: {image: "' + "${A:-" * N + "}" * N + '", command: vllm serve M}}',
    "sections": "[Unit]\n" * N,
    "variables of a unit": "[Service]\n" + "Environment=A=1\n" * N,
    "continued lines": "[Service]\nExecStart=vllm serve M" + " \\\n" * N,
    "options of podman": SMALL + "-e A=1 " * N,
    "variables of a Dockerfile": FROM + "ENV A=xx\n" + "ENV A=$A$A\n" * 60 + f"CMD {S}",
    "many of them": FROM + "".join(f"ENV A{n}=$A\n" for n in range(5 * N)) + "RUN a\n" * 5 * N + f"CMD {S}",
    "servers that a Dockerfile runs": FROM + f"RUN {S}\n" * 10 * N + f"CMD {S}",
    "functions of a Dockerfile": FROM + "".join(f"RUN f{n}() {{ a; }}\n" for n in range(10 * N)) + f"CMD {S}",
    "documents of a Dockerfile": FROM + "RUN " + "<<A " * N + "\n" + "A\n" * N + f"CMD {S}",
    "open documents of a Dockerfile": f"{FROM}RUN {'<<A ' * N}\n" + "x\n" * N,
    "marks of a Dockerfile": FROM + "RUN " + "'\"\\" * N * 10 + f"\nCMD {S}",
    "an empty target": f"{FROM}COPY <<A\nx\nA\nCMD {S}",
    "deep JSON": DEEP,
    "long": "vllm serve Q/M\n" * 100_000,
    "nothing of it": "\0",
}


def ends(text: str) -> None:
    began = time.process_time()
    try:
        found = launch_text.read(text)
        assert len(found) <= 20_000
    except Unreadable as refused:
        said = str(refused)
        assert "\n" not in said and len(said) < 400, said
    assert time.process_time() - began < 5, "the time that a slow machine may take"


def test_it_ends_soon_and_in_a_sentence() -> None:
    each_row({name: (text,) for name, text in ROWS.items()}, ends)


PUBLISHED = (
    "readonly I='img'\no=(--gpus all)\no+=(-e A=1)\nif [ -n \"$A\" ]; then o+=(--rm); fi\n"
    "cat >r.sh <<'E'\nexec vllm serve Q/M --port $((1 + 2))\nE\n"
    'docker run -d --name b "${o[@]}" "$I" sleep 9\ndocker cp r.sh b:/r.sh\ndocker exec b bash /r.sh\n',
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - image: vllm/vllm-openai\n"
    "    args: [--model, Q/M]\n    env:\n    - {name: A, valueFrom: {x: 1}}\n",
    "[Unit]\nDescription=a\n[Service]\nEnvironment=A=1\nExecStart=docker run \\\n  img vllm serve Q/M\n",
    "[Container]\nImage=img\nExec=vllm serve Q/M\nPodmanArgs=--ipc=host\n",
    "services:\n  a:\n    image: ${I:-img}\n    command: [bash, -c, 'N=$$((1 + 1)); vllm serve Q/M --port $$N']\n",
    "ARG T=1\nFROM i:$T AS a\nENV A=1 B=$A\nCOPY <<-'E' <<F /x/\n\tvllm serve \"$@\"\n\tE\n$A\nF\n"
    'RUN --mount=x <<E\ncat > /y <<G\nG\nE\nFROM a\nENTRYPOINT ["/x/E"]\nCMD ["Q/M"]\n',
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
