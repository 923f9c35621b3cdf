"""A Dockerfile: what the image of its last stage starts by itself, from ENTRYPOINT, CMD, ENV and FROM.

The last of each holds; the exec form is a JSON array that no shell expands; the shell form is run by `/bin/sh -c`,
and such an ENTRYPOINT takes no CMD; an ENTRYPOINT ends a CMD of the base [@dockerfile]. What stands below a RUN,
COPY or ADD with `<<WORD` is no instruction: a shell is given it, or a file gets it, which may be what the image
starts.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from sparkrig.parsing import bounds
from sparkrig.serving.container import Container, Described
from sparkrig.serving.launch import Launch, Unreadable
from sparkrig.serving.launches import command
from sparkrig.serving.launches import words as shell_words
from sparkrig.serving.launches.compose import filled
from sparkrig.serving.launches.shell import Shell
from sparkrig.serving.launches.started import World
from sparkrig.serving.launches.variables import Value, Variables
from sparkrig.serving.launches.words import Document, Part, Word

BEGINS = re.compile(
    r"(?i)(?:[ \t]*#[^\n]*\n|[ \t]*\n|ARG[ \t][^\n]*\n)*"
    r"FROM[ \t]+(?:--platform=\S+[ \t]+)?\S+[ \t]*(?:[ \t]AS[ \t]+\S+[ \t]*)?\r?(?:\n|$)"
)
_CONTINUES = re.compile(r"(?<!\\)\\[ \t]*$")
_QUOTED = r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\""
# Only a word of its own begins one: `a<<2`, `<<<word` and what is quoted do not [@buildkit-parser]
_DOCUMENT = re.compile(rf"(?<!\S)\d*<<(-?)[ \t]*((?:[^\s'\"\\<]|{_QUOTED})+)(?!\S)")
_PIECE = re.compile(rf"(?P<document>{_DOCUMENT.pattern})|(?:[^\s'\"\\]|{_QUOTED})+")
_MARKS = re.compile(r"'([^']*)'|\"((?:\\.|[^\"\\])*)\"|\\(.)")
_OPTIONS = re.compile(r"^(?:--\w\S*\s+)+")  # of RUN: --mount, --network, ...
_LONGEST = 2_000  # characters of a value with its variables; each may name the one before twice
_HAS_DOCUMENTS = ("RUN", "COPY", "ADD")


@dataclass(frozen=True)
class _Instruction:
    """name: in capitals; rest: its arguments in one line; documents: what stands below it."""

    name: str
    rest: str
    documents: tuple[Document, ...] = ()

    @property
    def script(self) -> str:
        """What a shell is given of a RUN; empty where another program is."""
        rest = _OPTIONS.sub("", self.rest)
        if not self.documents:
            words, of_shell = _command(rest)
            return rest if of_shell else shlex.join(words)
        if _DOCUMENT.fullmatch(rest):
            text = self.documents[0].text
            program = re.match(r"#!(?=.*\n).*?\b(\w++)(?:[ \t]++-.*)?\r?\n", text)
            return text if program is None or program[1] in command.SHELLS else ""
        return "\n".join([rest, *(f"{each.text}{each.delimiter}" for each in self.documents)])


@dataclass
class _Stage:
    """image: what it is made from in the end; entrypoint, command: None where the file has none.

    known: what an instruction can name, of ENV and else of ARG; run: scripts; files: with their text, of
    here-documents.
    """

    image: str = ""
    entrypoint: tuple[str, ...] | None = None
    command: tuple[str, ...] | None = None
    shell: bool = False  # whether the entrypoint is of the shell form
    own: bool = False  # whether the command stands in this stage
    environment: dict[str, str | None] = field(default_factory=dict)
    known: Variables = field(default_factory=Variables)
    run: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)


def read(text: str) -> list[Launch]:
    """The launch of the last stage. Raises Unreadable where it has none."""
    stage = _last(text)
    world = World()
    for path, content in stage.files.items():
        world.write(path, content)
    installs_ray, installs_vllm = _built(stage, world)
    words = (*(stage.entrypoint or ()), *(() if stage.shell else stage.command or ()))
    # what docker run adds is not seen
    container = Container(stage.image, whole=False)
    described = Described(container, words, stage.environment, replaced=stage.entrypoint is not None)
    found: list[Launch] = []
    for files in [world, World()] if words else []:  # a script may only go on with the words of CMD
        found = found or Shell("the Dockerfile", stage.environment, files).contained(described)
    if not found:
        raise Unreadable("no CMD and no ENTRYPOINT of the Dockerfile's last stage starts vLLM")
    return [replace(each, installs_ray=installs_ray, installs_vllm=installs_vllm) for each in found]


def _built(stage: _Stage, world: World) -> tuple[bool, bool]:
    """Reads what is run while the image is made. Whether that installs Ray, and a vLLM."""
    shells = []
    own = World(world.files)
    for each in stage.run:
        own.left -= len(stage.environment)
        if own.left <= 0:
            break
        shells.append(Shell("the Dockerfile", stage.environment, own))
        with suppress(Unreadable):
            shells[-1].read(each)
    return any(each.installs_ray for each in shells), any(each.installs_vllm for each in shells)


def _last(text: str) -> _Stage:
    stages: dict[str, _Stage] = {}
    begin = stage = _Stage()  # before the first FROM
    for each in _instructions(text):
        if each.name != "FROM":
            _takes(stage, each, begin.known)
            continue
        image, *more = [word for word in each.rest.split() if not word.startswith("--")] or [""]
        image = _valued(image, begin.known)
        base = stages.get(image.lower())
        stage = _after(base) if base else _Stage(image)
        if len(more) == 2:
            stages[more[1].lower()] = stage
    return stage


def _takes(stage: _Stage, given: _Instruction, defaults: Variables) -> None:
    """Any other instruction. defaults: of arguments that stand before the first FROM."""
    if given.name == "ARG":
        for name, value in _arguments(given.rest, stage.known, defaults):
            if name not in stage.environment:
                stage.known.assign(name, value)
    elif given.name == "ENV":
        for name, value in _variables(given.rest, stage.known):
            stage.environment[name] = value
            stage.known.assign(name, value)
    elif given.name == "RUN":
        stage.run.append(given.script)
    elif given.name in ("COPY", "ADD"):
        stage.files |= _files(given, stage.known)
    elif given.name == "ENTRYPOINT":
        stage.entrypoint, stage.shell = _command(given.rest)
        stage.command = stage.command if stage.own else None
    elif given.name == "CMD":
        stage.command, stage.own = _command(given.rest)[0], True


def _after(base: _Stage) -> _Stage:
    return replace(
        base,
        environment={**base.environment},
        known=base.known.copy(),
        run=[*base.run],
        files={**base.files},
        own=False,
    )


def _instructions(text: str) -> Iterator[_Instruction]:
    lines = iter(text.split("\n"))
    for line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, rest = (*_joined(line, lines).split(maxsplit=1), "", "")[:2]
        inner = rest.split(maxsplit=1)[0] if name.upper() == "ONBUILD" and rest else name
        documents: tuple[Document, ...] = ()
        if inner.upper() in _HAS_DOCUMENTS:
            documents = tuple(replace(each, text=_below(each, lines)) for each in _announced(rest))
        yield _Instruction(name.upper(), rest.strip(), documents)


def _joined(line: str, lines: Iterator[str]) -> str:
    """A line with those that go on with it: comments and empty lines between them count for nothing."""
    made = [line.rstrip("\r")]
    while (end := _CONTINUES.search(made[-1])) is not None:
        made[-1] = made[-1][: end.start()]
        more = (each for each in lines if each.strip() and not each.lstrip().startswith("#"))
        made.append(next(more, "").rstrip("\r"))
    return "".join(made)


def _announced(rest: str) -> Iterator[Document]:
    """The here-documents that begin below an instruction."""
    for found in _PIECE.finditer(rest):
        if found["document"] is not None:
            name = found[3]
            bare = _MARKS.sub(lambda mark: next(each for each in mark.groups() if each is not None), name)
            yield Document(expands="'" not in name and '"' not in name, delimiter=bare, indented=bool(found[2]))


def _below(document: Document, lines: Iterator[str]) -> str:
    """Takes the lines of a here-document. Raises Unreadable where it has no end, which docker refuses, too."""
    made: list[str] = []
    for line in lines:
        bare = line.lstrip("\t") if document.indented else line
        if bare.rstrip("\r") == document.delimiter:
            return "".join(made)
        made.append(f"{bare}\n")
    raise Unreadable("a here-document of the Dockerfile has no end: no line is its delimiter alone")


def _files(given: _Instruction, known: Variables) -> dict[str, str]:
    """The files that COPY or ADD makes of here-documents, by where they are in the image."""
    words = [each for each in shell_words.parted(given.rest) if not each.startswith("--")]
    if not words:
        return {}
    target = words[-1]
    folder = target.endswith("/") or len(given.documents) + len(words) > 2
    return {
        f"{target.rstrip('/')}/{each.delimiter}" if folder else target: (
            known.text(shell_words.parts(each.text, marks=True)) if each.expands else each.text
        )
        for each in given.documents
    }


def _command(rest: str) -> tuple[tuple[str, ...], bool]:
    """The words, and whether they are of the shell form, which is also what is no JSON array of texts."""
    with suppress(ValueError):
        found = bounds.loads(rest) if rest.startswith("[") else None
        if isinstance(found, list) and all(isinstance(each, str) for each in found):
            return tuple(found), False
    return ("/bin/sh", "-c", rest), True


def _variables(rest: str, known: Variables) -> Iterator[tuple[str, str]]:
    """`NAME=value ...`, or the old form `NAME value`."""
    name, _, value = rest.partition(" ")
    if "=" not in name:
        yield name, _filled(value.strip(), shell_words.parts(value.strip()), known)
        return
    for word in _words(rest, known):
        name, equals, value = word.partition("=")
        if equals:
            yield name, value


def _arguments(rest: str, known: Variables, defaults: Variables) -> Iterator[tuple[str, Value]]:
    """`NAME=value ...`; one without a value has that of before the first FROM."""
    for word in _words(rest, known):
        name, equals, value = word.partition("=")
        found = value if equals else defaults.values.get(name)
        if found is not None:
            yield name, found


def _words(rest: str, known: Variables) -> list[str]:
    """Words with the variables that are known, as they were before this instruction."""
    try:
        found = [each for each in shell_words.tokens(rest) if isinstance(each, Word)]
    except ValueError:
        return rest.split()
    return [_filled(each.plain, each.parts, known) for each in found]


def _filled(plain: str, parts: Sequence[Part], known: Variables) -> str:
    """A text with the variables that are known; as it is written where they make it long."""
    found = known.text(parts)
    return found if len(found) <= max(_LONGEST, len(plain)) else plain


def _valued(image: str, defaults: Variables) -> str:
    """An image with the defaults of the file's arguments; others stay unknown."""
    return filled(defaults.text(shell_words.parts(image)))
