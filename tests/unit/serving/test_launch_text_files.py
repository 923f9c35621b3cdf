"""Launches in a config of llama-swap, and in a Dockerfile."""

from __future__ import annotations

import pytest

from sparkrig.serving import launch_text
from sparkrig.serving.launch import Launch, Unreadable
from sparkrig.serving.lint import judgement
from sparkrig.serving.lint.case import Case
from tests.tables import each_row

SWAP = """
healthCheckTimeout: 500
macros:
  "server": >
    docker run --rm --gpus all -e A=1
    -p ${PORT}:8000 org/vllm:1
  "length": 4096
  "all": "--max-model-len ${length}"
models:
  "big":
    macros: {length: 16384}
    env: ["B=2", "C=x=y"]
    cmd: |
      # ${server} is above
      ${server}
      vllm serve Q/M ${all} \\
      --served-model-name ${MODEL_ID} --port ${PORT} --api-key ${env.KEY}
  small:
    env: ["B=2"]
    cmd: vllm serve Q/S --port ${PORT}
  tiny: {cmd: "llama-server --port ${PORT} -m x.gguf"}
  other: {cmd: sleep 5}
"""
DOCKERFILE = """# syntax=docker/dockerfile:1
ARG TAG=v0.24.0
FROM vllm/vllm-openai:${TAG} AS base
ENV A=1 B="two words"
RUN pip install x && \\
    # a comment
    echo CMD
FROM scratch AS unused
CMD ["vllm", "serve", "Q/Unused"]
FROM base
ENV C three
RUN <<EOF
CMD ["vllm", "serve", "Q/No"]
EOF
ENTRYPOINT ["vllm", "serve"]
CMD ["Q/M", "--max-model-len", \\
     "4096", "--x=$HOME"]
"""


def read(text: str) -> list[Launch]:
    return launch_text.read(text)


def test_llama_swap_has_a_command_for_each_model() -> None:
    big, small, tiny, other = read(SWAP)
    assert (big.source, big.model, small.source, small.model) == ("model big", "Q/M", "model small", "Q/S")
    assert big.flags["max-model-len"] == "16384" and big.flags["served-model-name"] == ["big"]
    assert big.flags["port"] == "${PORT}" and big.flags["api-key"] == ["${KEY}"]
    assert big.container and (big.container.image, big.container.gpus) == ("org/vllm:1", True)
    assert big.environment == {"A": "1"}, "the variables are those of docker, not of the container"
    assert small.environment == {"B": "2"} and small.container is None
    assert (tiny.source, tiny.engine) == ("model tiny", "llama.cpp")
    assert (other.source, other.engine, other.extra) == ("model other", "unread", ("sleep",))


def test_a_model_of_llama_swap_whose_script_is_not_here_is_named() -> None:
    """As config.yaml of mARTin-B78's dgx-spark_lite-llm at 71a180d, which starts vLLM by launch-vllm-auto.sh."""
    cmds = {"a": "vllm serve Q/A", "b": "'/scripts/auto.sh ${PORT}'", "c": "bash -x c.sh"}
    text = "models:\n" + "".join(f"  {name}: {{cmd: {cmd}}}\n" for name, cmd in cmds.items())
    read_one, *unread = read(text)
    assert (read_one.source, read_one.model) == ("model a", "Q/A")
    assert [(each.source, each.engine, each.extra) for each in unread] == [
        ("model b", "unread", ("/scripts/auto.sh",)),
        ("model c", "unread", ("c.sh",)),
    ]
    for each in unread:
        (told,) = judgement.judge(Case(each, lambda _: None))
        assert told.rule.id == "unseen" and each.extra[0] in told.found and not told.fails


def test_a_dockerfile_starts_what_its_last_stage_has() -> None:
    (found,) = read(DOCKERFILE)
    assert (found.source, found.model) == ("the Dockerfile", "Q/M")
    assert found.flags["max-model-len"] == "4096"
    assert found.container and found.container.image == "vllm/vllm-openai:v0.24.0" and not found.container.whole
    assert found.environment == {"A": "1", "B": "two words", "C": "three"}
    assert found.replaced and not found.installs_vllm


def test_forms_of_a_command_in_a_dockerfile() -> None:
    def holds(body: str, model: str | None) -> None:
        text = f"FROM vllm/vllm-openai:v0.24.0\n{body}\n"
        if model is None:
            with pytest.raises(Unreadable, match="Dockerfile"):
                read(text)
            return
        (found,) = read(text)
        assert found.model == model

    each_row(
        [
            ('CMD ["--model", "Q/M"]', "Q/M"),  # for the entrypoint of the image
            ('CMD ["vllm", "serve", "Q/A"]\nCMD ["vllm", "serve", "Q/M"]', "Q/M"),
            ("CMD vllm serve Q/M --port 1", "Q/M"),
            ('ENTRYPOINT vllm serve Q/M\nCMD ["--port", "1"]', "Q/M"),
            ('entrypoint ["vllm", "serve", "Q/M"]', "Q/M"),
            ('CMD ["bash", "-c", "exec vllm serve Q/M"]', "Q/M"),
            ('CMD ["vllm", "serve", "Q/M"]\nENTRYPOINT ["/start"]', "Q/M"),
            ('CMD ["vllm", "serve", "Q/M"]\nFROM vllm/vllm-openai:v0.24.0', None),
            ("CMD ['vllm', 'serve', 'Q/M']", None),  # no JSON: a shell gets it
            ('ENTRYPOINT ["sleep"]', None),
            ("ENV A=1", None),
        ],
        holds,
    )
    with pytest.raises(Unreadable, match="Dockerfile"):  # an entrypoint ends the command of its base
        read('FROM org/x:1 AS a\nCMD ["vllm", "serve", "Q/M"]\nFROM a\nENTRYPOINT ["/start"]')
    (again,) = read('FROM org/x:1\nRUN pip install -U vllm\nCMD ["vllm", "serve", "Q/M"]')
    assert again.installs_vllm


BELOW: dict[str, str] = {  # what no instruction may be read of: the last CMD is that of the image
    "a delimiter with other characters": "COPY <<start.sh /x\nCMD a\nstart.sh",
    "in quotation marks": "RUN <<'one two' sh\nCMD a\none two",
    "partly in them": "RUN <<E'O'F\nCMD a\nEOF",
    "an escape": "RUN <<eo\\'f\nCMD a\neo'f",
    "a variable, which it is not": "RUN <<$EOF\nCMD a\n$EOF",
    "blanks": "RUN <<  EOF > /x\nCMD a\nEOF",
    "a descriptor": "RUN 3<<EOF cat\nCMD a\nEOF",
    "tabs before its end": "RUN <<-EOF\n\tCMD a\n\tEOF",
    "several": "COPY <<A <<B /x/\nCMD a\nB\nA\nCMD b\nA\nB",
    "its end is that line alone": "RUN <<EOF\n EOF\nCMD a\n\tEOF\nEOF x\nEOF",
    "line ends of Windows": "RUN <<EOF\r\nCMD a\r\nEOF\r",
    "a comment and a backslash are its own": "RUN <<EOF\n# x\nCMD a \\\nEOF",
    "below a continued line": "RUN cat \\\n  <<EOF\nCMD a\nEOF",
    "options of RUN": "RUN --mount=type=cache,target=/x <<EOF\nCMD a\nEOF",
    "ADD, in small letters": "add <<EOF /x\nCMD a\nEOF",
    "ONBUILD": "ONBUILD RUN <<EOF\nCMD a\nEOF",
    "none: in quotation marks": 'RUN echo "<<EOF"',
    "none: in them, with more": "RUN echo \"a <<EOF\" '<<E'",
    "none: a JSON array": 'RUN ["cat", "<<EOF"]',
    "none: a text behind <<<": "RUN cat <<<EOF",
    "none: a shift": "RUN echo $((1<<20))",
    "none: not of its own": "RUN let a=1<<20",
    "none: another instruction": "USER <<EOF",
    "none: nothing behind it": "RUN cat <<",
}


def test_what_stands_below_an_instruction_of_a_dockerfile_is_none() -> None:
    """The forms that BuildKit's own tests have, and what they say is none."""

    def holds(body: str) -> None:
        (found,) = read(f'FROM org/x:1\nCMD ["vllm", "serve", "Q/M"]\n{body}\nENV LAST=1\n')
        assert (found.model, found.environment) == ("Q/M", {"LAST": "1"})

    each_row(BELOW, holds)
    with pytest.raises(Unreadable, match="a here-document of the Dockerfile has no end") as caught:
        read("FROM org/x:1\nCMD vllm serve Q/M\nRUN <<EOF\nx\n EOF")
    assert "\n" not in str(caught.value)


def test_a_here_document_of_a_dockerfile_is_the_script_that_it_is() -> None:
    def holds(body: str, model: str, flags: dict[str, str]) -> None:
        (found,) = read(f"FROM vllm/vllm-openai:v0.24.0\nENV MODEL=Q/M\n{body}\n")
        assert (found.model, found.flags) == (model, flags)

    each_row(
        {
            "a file": ('COPY <<EOF /start.sh\nvllm serve Q/M\nEOF\nENTRYPOINT ["/start.sh"]', "Q/M", {}),
            "of the image by then": (
                'COPY <<EOF /start.sh\nvllm serve $MODEL\nEOF\nENV MODEL=Q/No\nENTRYPOINT ["/start.sh"]',
                "Q/M",
                {},
            ),
            "of the container": (
                "COPY <<-'EOF' /start.sh\n\tvllm serve $MODEL\n\tEOF\nENV MODEL=Q/N\nCMD bash /start.sh",
                "Q/N",
                {},
            ),
            "the words of CMD": (
                'COPY --chmod=755 <<"EOF" /start.sh\n#!/bin/bash\nexec vllm serve "$@"\nEOF\n'
                'ENTRYPOINT ["/start.sh"]\nCMD ["Q/M", "--port", "1"]',
                "Q/M",
                {"port": "1"},
            ),
            "which is CMD itself": (
                'COPY <<"EOF" /e.sh\nexec "$@"\nEOF\nENTRYPOINT ["/e.sh"]\nCMD ["vllm", "serve", "Q/M"]',
                "Q/M",
                {},
            ),
            "two files": (
                "COPY <<a.sh <<b.sh /x/\nvllm serve Q/No\na.sh\nvllm serve Q/M\nb.sh\nCMD /x/b.sh",
                "Q/M",
                {},
            ),
            "written by RUN": (
                "RUN cat <<'EOF' > /start.sh && chmod +x /start.sh\nvllm serve Q/M\nEOF\nCMD /start.sh",
                "Q/M",
                {},
            ),
            "written by a script of RUN": (
                "RUN <<EOF\ncat > /start.sh <<END\nvllm serve Q/M\nEND\nEOF\nCMD /start.sh",
                "Q/M",
                {},
            ),
        },
        holds,
    )


def test_what_a_dockerfile_installs() -> None:
    def holds(body: str, installs: bool) -> None:
        (found,) = read(f"FROM org/x:1\n{body}\nCMD vllm serve Q/M")
        assert found.installs_vllm is installs

    each_row(
        {
            "a script": ("RUN <<EOF\nset -e\npip install vllm\nEOF", True),
            "with options": ("RUN --mount=type=cache,target=/x --network=host <<EOF\npip install vllm\nEOF", True),
            "of a shell": ("RUN <<EOF\n#!/usr/bin/env bash\npip install vllm\nEOF", True),
            "for a shell": ("RUN <<EOF bash\npip install vllm\nEOF", True),
            "of another program": ("RUN <<EOF\n#!/usr/bin/env python3\npip install vllm\nEOF", False),
            "for another program": ("RUN python3 <<EOF\npip install vllm\nEOF", False),
            "a file": ("COPY <<EOF /x\npip install vllm\nEOF", False),
            "the exec form": ('RUN ["pip", "install", "vllm"]', True),
            "a comment and an empty line between": ("RUN pip install \\\n# x\n\n  vllm", True),
            "two backslashes, which end the line": ("RUN pip install \\\\\nENV vllm=1", False),
        },
        holds,
    )


def test_what_is_known_of_a_dockerfiles_variables() -> None:
    """Of one instruction, all have the value of before it; ENV goes before ARG; the first FROM ends a scope."""

    def holds(text: str, environment: dict[str, str]) -> None:
        (found,) = read(f"{text}\nCMD vllm serve Q/M")
        assert found.environment == environment

    each_row(
        {
            "docker's own": (
                "FROM i\nENV abc=hello\nENV abc=bye def=$abc\nENV ghi=$abc",
                {"abc": "bye", "def": "hello", "ghi": "bye"},
            ),
            "an argument": ("FROM i\nARG A=1 B='2 3'\nENV C=$A D ${B} E=${F:-4}", {"C": "1", "E": "4"}),
            "in the old form": ("FROM i\nARG A=1\nENV C is $A", {"C": "is 1"}),
            "of before FROM": ("ARG A=1\nARG B=2\nFROM i\nARG A\nENV C=$A D=$B", {"C": "1", "D": "$B"}),
            "ENV wins": ("FROM i\nENV A=1\nARG A=2\nENV C=$A", {"A": "1", "C": "1"}),
            "of a stage before": ("FROM i AS a\nARG A=1\nFROM a\nENV C=$A", {"C": "1"}),
            "of another stage": ("FROM i AS a\nARG A=1\nFROM i\nENV C=$A", {"C": "$A"}),
            "in single quotation marks": ("FROM i\nARG A=1\nENV C='$A' D=\"$A\"", {"C": "$A", "D": "1"}),
        },
        holds,
    )
    (found,) = read("ARG T=1\nFROM i:0 AS a\nARG T=2\nFROM i:$T\nCMD vllm serve Q/M")
    assert found.container and found.container.image == "i:1"


def test_what_has_no_launch_is_said_in_one_sentence() -> None:
    def holds(text: str, said: str) -> None:
        with pytest.raises(Unreadable) as caught:
            read(text)
        assert said in str(caught.value) and "\n" not in str(caught.value)

    doubled = "".join(f'  m{at}: "{f"${{m{at - 1}}}" * 50}"\n' for at in range(1, 8))
    each_row(
        [
            ("models:\n  a: {cmd: sleep 5}\n", "no cmd of the llama-swap config runs a server (a)"),
            ('models:\n  a: {cmd: "vllm serve \'x"}\n', "a quotation mark in the cmd of model a is not closed"),
            (f'macros:\n  m0: "{"x" * 50}"\n{doubled}models:\n  a: {{cmd: "${{m7}}"}}\n', "more than 65,536"),
        ],
        holds,
    )
