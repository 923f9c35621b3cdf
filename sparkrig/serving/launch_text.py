"""Reads launches of vLLM: a command line, a script, a compose file, a recipe, or what `docker inspect` printed.

Nothing is run, and nothing beyond the given text is read: what a `--config` file, an `--env-file` or the image
sets is not seen, and a judge of a launch has to know that (`Launch.whole`).
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

import yaml

from sparkrig.parsing import bounds, safe_yaml
from sparkrig.serving import arguments, container, recipe
from sparkrig.serving.container import Described
from sparkrig.serving.launch import SERVER, Launch, Unreadable
from sparkrig.serving.recipe import VLLM, Recipe

_ENGINES = frozenset({"docker", "podman", "nerdctl"})

_MODULES = frozenset({"vllm.entrypoints.openai.api_server", "vllm.entrypoints.api_server"})

_CLI = "vllm.entrypoints.cli.main"

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ash"})

_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)

_NAMED = re.compile(r"\$\$|\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?::?([-?+])([^{}]*))?\})")

# the variable by which eugr/spark-vllm-docker takes options for docker [@forum-365083-thread]
_MORE_OPTIONS = "VLLM_SPARK_EXTRA_DOCKER_ARGS"


def read(text: str) -> list[Launch]:
    """Every launch of vLLM in a text: a command, script, compose file, recipe, or what `docker inspect` printed.

    Raises Unreadable where there is none.
    """
    bare = text.strip()
    if not bare:
        raise Unreadable("nothing was given")
    if bare[0] in "[{":
        return _inspected(bare)
    if re.match(r"(?:\s*#.*\n|\s*\n)*(?:---|[A-Za-z_][\w.-]*:(?:\s|$))", bare):
        return _yaml(bare)
    return _found(_script(bare, "the command line"))


def typed(words: Sequence[str]) -> list[Launch]:
    """The same of words that a shell has already parted."""
    return _found(_command([*words], {}, "the command line"))


def _found(launches: Iterable[Launch]) -> list[Launch]:
    found = [*launches]
    if not found:
        raise Unreadable("no `vllm serve` and no container of vLLM is in it")
    return found


def _script(text: str, source: str, given: Mapping[str, str | None] | None = None) -> Iterator[Launch]:
    """The launches of a shell script. given: the environment it starts with."""
    exported = dict(given or {})
    known = {name: value for name, value in exported.items() if value is not None}
    commands = [*_commands(text)]
    for words in commands:
        filled = [part for word in words for part in _expanded(word, known)]
        settings = filled[1:] if filled[:1] == ["export"] else filled
        if all(map(_ASSIGNED.fullmatch, settings)):
            pairs = container.environment(settings)
            known |= {name: value or "" for name, value in pairs.items()}
            exported |= pairs if filled[:1] == ["export"] else {}
            continue
        for each in _command(filled, exported, source):
            yield replace(each, installs_ray=each.installs_ray or any(map(_installs_ray, commands)))


def _commands(text: str) -> Iterator[list[str]]:
    """The simple commands of a script, word by word.

    What was pasted from a page is taken as it was meant: quotes, dashes, and lines that lost their backslash.
    """
    text = text.translate(str.maketrans("\u201c\u201d\u2018\u2019\u00a0", "\"\"'' "))
    text = re.sub(r"(?<!\S)[\u2013\u2014](?=[a-z])", "--", text)
    text = re.sub(r"(?m)(^|(?<=\s))#.*$", "", text)
    text = re.sub(r"\\\s*\n\s*|(?<=\s)\\[ \t]+(?=\S)", " ", text)
    text = re.sub(r"(?<=\s)(?:\d|&)?>>?[ \t]*(?:&\d|\S+)", " ", text)
    text = re.sub(r"\$\([^()]*\)", "$COMMAND", text)
    text = re.sub(r"\s*\n\s*(?=--?[A-Za-z])", " ", text)
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|()\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    command: list[str] = []
    try:
        for word in lexer:
            if set(word) <= set(";&|()\n") and word:
                if command:
                    yield command
                command = []
            else:
                command.append(word)
    except ValueError:
        raise Unreadable("a quotation mark in it is not closed") from None
    if command:
        yield command


def _words(text: str) -> list[str]:
    return [word for command in _commands(text) for word in command]


def _expanded(word: str, known: Mapping[str, str]) -> list[str]:
    """A word with its variables, which is several where it is one variable of several words: `$COMMAND`."""
    filled = _filled(word, known)
    if not _NAMED.fullmatch(word) or not re.search(r"\s", filled):
        return [filled]
    return _words(filled)


def _filled(word: str, known: Mapping[str, str]) -> str:
    """A word with the variables that are known; others stay as they stand."""

    def value(found: re.Match[str]) -> str:
        if found[0] == "$$":
            return "$"
        name, default = found[1] or found[2], found[4] if found[3] == "-" else None
        return known.get(name) or (found[0] if default is None else default)

    return _NAMED.sub(value, word)


def _installs_ray(words: Sequence[str]) -> bool:
    return "install" in words and any(re.match(r"ray\b", each) for each in words)


def _command(words: list[str], exported: Mapping[str, str | None], source: str) -> Iterator[Launch]:
    """The launch in one command: a container's, or a bare one."""
    before = _assigned(words)
    engine = next((place for place, word in enumerate(words) if _base(word) in _ENGINES), None)
    verb = (
        next((each for each in words[engine + 1 :] if each in ("run", "create")), "") if engine is not None else ""
    )
    if engine is not None and verb and not {"exec", "compose"} & {*words[engine : words.index(verb, engine)]}:
        try:
            described = container.typed(words[words.index(verb, engine) + 1 :])
        except ValueError as error:
            raise Unreadable(str(error)) from None
        seen = {**exported, **before}
        variables = {
            name: seen.get(name) if value is None else value for name, value in described.environment.items()
        }
        yield from _contained(replace(described, environment=variables), f"docker run {described.container.image}")
        return
    yield from _bare(words, {**exported, **before}, source)


def _bare(words: list[str], environment: Mapping[str, str | None], source: str) -> Iterator[Launch]:
    """A command that shows nothing of the container it runs in, if any."""
    inside = container.options(words[words.index("exec") + 1 :])[0] if "exec" in words else {}
    environment = {**environment, **container.environment(inside.get("env", ()))}
    shell = _shell_script(words)
    if shell is not None:
        yield from _script(shell, source, environment)
        return
    found = _served(words)
    if found is None:
        return
    before, rest = found
    more = container.options(_words(environment.get(_MORE_OPTIONS) or ""))[0]
    wrapper = next((_base(word) for word in before if word.endswith(".sh")), "")
    made = _launch(source, rest, environment)
    solo = "--solo" in before  # of eugr/spark-vllm-docker: no Ray and no second node is added
    yield replace(made, mounts=container.mounts(more), wrapper=wrapper, solo=solo)


def _contained(described: Described, source: str) -> Iterator[Launch]:
    """What a container runs. An image of vLLM itself takes the words as arguments of its server."""
    words, image = [*described.words], described.container.image
    shell = _shell_script(words)
    if shell is not None:
        found = [*_script(shell, source, described.environment)]
    elif (served := _served(words)) is not None:
        found = [_launch(source, served[1], described.environment)]
    elif _ray(words):
        found = [Launch(source, environment=described.environment, ray=True)]
    elif not described.replaced and _takes_arguments(image, words):
        found = [_launch(source, words, described.environment)]
    else:
        found = []
    kept = not described.replaced or any("entrypoint" in word for word in words[:2])
    for each in found:
        yield replace(
            each,
            container=described.container,
            mounts=described.container.mounts,
            whole=described.whole,
            replaced=not kept,
        )


def _takes_arguments(image: str, words: Sequence[str]) -> bool:
    """Whether the image is one of vLLM whose own entrypoint is given these words."""
    named = "vllm" in image and re.match(r"-|\$|[\w.-]+/|/(?!bin|usr|opt)", (words or ["-"])[0]) is not None
    return named or SERVER.match(image) is not None


def _launch(source: str, words: Sequence[str], environment: Mapping[str, str | None]) -> Launch:
    read = arguments.read(words)
    return Launch(source, read.model, read.flags, environment, extra=read.extra, broken=read.broken)


def _served(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]] | None:
    """The words before `vllm serve`, and its arguments."""
    for place, word in enumerate(words):
        if (_base(word) == "vllm" or word == _CLI) and words[place + 1 : place + 2] == ["serve"]:
            return words[:place], words[place + 2 :]
        if word in _MODULES:
            return words[:place], words[place + 1 :]
    return None


def _ray(words: Sequence[str]) -> bool:
    return any(
        _base(word) == "ray" and [*words[place + 1 : place + 2]] == ["start"] for place, word in enumerate(words)
    )


def _shell_script(words: Sequence[str]) -> str | None:
    """What `bash -lc` is given."""
    for place, word in enumerate(words):
        if _base(word) in _SHELLS:
            flags = [*takewhile(lambda each: each.startswith("-"), words[place + 1 :])]
            rest = words[place + 1 + len(flags) :]
            if rest and any(re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", flag) for flag in flags):
                return rest[0]
    return None


def _assigned(words: Sequence[str]) -> dict[str, str | None]:
    """Variables that stand before a command."""
    found = (_ASSIGNED.fullmatch(word) for word in words[: next(_commanding(words), 0)])
    return {each[1]: each[2] for each in found if each}


def _commanding(words: Sequence[str]) -> Iterator[int]:
    """Where the command begins."""
    return (
        place
        for place, word in enumerate(words)
        if not _ASSIGNED.fullmatch(word) and word not in ("env", "sudo", "$")
    )


def _base(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _yaml(text: str) -> list[Launch]:
    """A compose file, a recipe, or what `vllm serve --config` takes."""
    try:
        document = safe_yaml.load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" near line {mark.line + 1}" if mark else ""
        raise Unreadable(f"it begins like YAML and is none{where}") from None
    if isinstance(document, dict) and "services" in document:
        return _composed(document["services"])
    if recipe.is_one(document):
        made = recipe.of(document)
        return of_recipe(made, made.command())
    if isinstance(document, dict) and "model" in document:
        return [_configured(document)]
    raise Unreadable(
        "the YAML has no services (a compose file), no command (a recipe) and no model (a --config file)"
    )


def _configured(document: Mapping[str, Any]) -> Launch:
    """A file of flags, of which true is a switch."""
    words: list[str] = []
    for name, value in document.items():
        given = value if isinstance(value, list) else [] if isinstance(value, bool) else [value]
        words.append(f"--no-{name}" if value is False else f"--{name}")
        words += [json.dumps(each) if isinstance(each, dict) else str(each) for each in given]
    return _launch("the --config file", words, {})


def of_recipe(made: Recipe, command: str) -> list[Launch]:
    """The launches in the command of a recipe; its script adds what containers need. Raises Unreadable."""
    if made.engine != VLLM:
        raise Unreadable(f"it is a recipe for {made.engine}, and this reads launches of vLLM alone")
    return _found(replace(each, wrapper="recipe") for each in _script(command, made.source, made.environment))


def others(command: str) -> list[str]:
    """The programs that a script starts beside vLLM, each by its first word."""
    return [words[0] for words in _commands(command) if words[:1] != ["export"] and _starts(words)]


def _starts(words: Sequence[str]) -> bool:
    return not all(map(_ASSIGNED.fullmatch, words)) and _served(words) is None


def _composed(services: Any) -> list[Launch]:
    if not isinstance(services, dict) or not all(isinstance(each, dict) for each in services.values()):
        raise Unreadable("the compose file has no services")
    found: list[Launch] = []
    for name, service in services.items():
        try:
            described = container.composed(_interpolated(service))
        except ValueError:
            raise Unreadable(f"a quotation mark in the command of service {name} is not closed") from None
        found += [replace(each, composed=True) for each in _contained(described, f"service {name}")]
    if not found:
        raise Unreadable(f"no service of the compose file runs vLLM ({', '.join(services)})")
    return found


def _interpolated(value: Any) -> Any:
    """What compose makes of `${NAME:-default}`; variables without a default stay as they stand."""
    if isinstance(value, dict):
        return {key: _interpolated(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_interpolated(each) for each in value]
    return _filled(value, {}) if isinstance(value, str) else value


def _inspected(text: str) -> list[Launch]:
    try:
        document = bounds.loads(text)
    except ValueError as error:
        why = f"line {error.lineno}" if isinstance(error, json.JSONDecodeError) else str(error)
        raise Unreadable(f"it begins like JSON and is none ({why}); docker inspect NAME prints some") from None
    objects = [each for each in (document if isinstance(document, list) else [document]) if isinstance(each, dict)]
    images = {str(each.get("Id")): str(each["Architecture"]) for each in objects if "Architecture" in each}
    containers = [each for each in objects if "HostConfig" in each]
    if not containers:
        raise Unreadable("it is JSON, but no container of docker inspect")
    found: list[Launch] = []
    for each in containers:
        name = str(each.get("Name", "")).strip("/") or "without a name"
        found += _contained(container.inspected(each, images), f"container {name}")
    if not found:
        program = container.inspected(containers[0], {}).words[0]  # its arguments may hold a secret
        raise Unreadable(f"the container runs `{program}`, which is no vLLM; give the command typed inside it")
    return found
