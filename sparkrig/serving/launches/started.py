"""What a command of a script starts: a container, a program in one, another shell, or a server where it stands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sparkrig.serving import container
from sparkrig.serving.container import Described
from sparkrig.serving.launch import Launch, Unreadable
from sparkrig.serving.launches import command
from sparkrig.serving.launches.variables import Variables

# Characters of what is followed, since functions may call each other without end; a command counts more
_MOST_READ = 1_000_000
_MOST_MOUNTED = 10_000  # files times mounts
_REMOTE = frozenset({"ssh", "tmux", "screen", "su", "runuser"})
_SSH_VALUES = frozenset("BbcDEeFIiJLlmOopQRSWw")


@dataclass
class World:
    """What all shells of one text share.

    files: scripts that it writes; containers: by name; elsewhere: scripts that it runs and that are not in it.
    """

    files: dict[str, str] = field(default_factory=dict)
    containers: dict[str, Described] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    left: int = _MOST_READ
    depth: int = 0
    running: set[str] = field(default_factory=set)  # scripts that are read

    def write(self, path: str, text: str) -> None:
        """Keeps a file that is written."""
        self.files[path.removeprefix("./")] = text


class Starter(ABC):
    """What starts things. source: of its launches, in words; given: the environment that it starts with."""

    def __init__(
        self, source: str, given: Mapping[str, str | None] | None = None, world: World | None = None
    ) -> None:
        self.source = source
        self.variables = Variables(given)
        self.world = world or World()
        self.launches: list[Launch] = []
        self.inside: Described | None = None  # the container in which what follows is typed
        self.starts_ray = self.installs_ray = self.installs_vllm = False

    @abstractmethod
    def read(self, text: str) -> list[Launch]:
        """The launches of a script. Raises Unreadable where a quotation mark is not closed."""

    def starts(self, words: Sequence[str], before: Mapping[str, str], document: str, into: str | None) -> None:
        """Reads a command. before: variables that stand before it; into: the file of its output."""
        name = command.base(words[0]) if words else ""
        self.starts_ray = self.starts_ray or command.starts_ray(words)
        if document and (into or "tee" in (name, *words[1:2])):
            self.world.write(into or words[-1], document)
            return
        environment = {**self.variables.environment, **before, **command.assigned(words)}
        if name in _REMOTE:
            self._remote(name, words, document)
        elif (cluster := command.cluster(words)) is not None:
            found = self.contained(replace(cluster, environment=self._passed(cluster, environment)))
            self.launches += [replace(each, wrapper=command.RUN_CLUSTER) for each in found]
        elif not self._in_container(words, environment, document):
            self._here(words, environment, document)

    def nested(self, text: str, shell: Starter, arguments: Sequence[str] = ()) -> list[Launch]:
        """The launches of a script in a command, which is no error where it cannot be parted.

        arguments: of the script; without any they stay unknown, for whoever types the command may add some.
        """
        if arguments:
            shell.variables.give(arguments)
        try:
            return shell.read(text)
        except Unreadable as error:
            self.world.errors.append(str(error))
            return []

    def _script(
        self, words: Sequence[str], document: str, files: Mapping[str, str]
    ) -> tuple[str, Sequence[str]] | None:
        """What a command runs as a script: `bash -c TEXT`, a file that is known, or standard input.

        Its text, and the arguments that it is given; the one behind TEXT is its name.
        """
        text = command.shell_script(words)
        if text is not None:
            return text, words[words.index(text) + 2 :]
        file = command.script_file(words) or ""
        if file and (name := file.removeprefix("./")) in files:
            return files[name], words[words.index(file) + 1 :]
        last = command.base(words[-1]) if words else ""
        of_input = document and (last in command.SHELLS or words[-1:] in (["-s"], ["-"]))
        return (document, ()) if of_input else None

    def _here(self, words: Sequence[str], environment: Mapping[str, str | None], document: str) -> None:
        """A command that names no container; it may be typed inside one."""
        inner = container.options(words[words.index("exec") + 1 :])[0] if "exec" in words else {}
        environment = {**environment, **container.environment(inner.get("env", ()))}
        unseen = command.enters(words)
        script = self._script(words, document, self.world.files)
        if script is not None:
            shell = type(self)(self.source, environment, self.world)
            shell.inside = self.inside
            found = self.nested(script[0], shell, script[1])
            self.installs_ray |= shell.installs_ray
            self.installs_vllm |= shell.installs_vllm
            self.launches += [replace(each, unseen=each.unseen or unseen) for each in found]
            return
        if (file := command.script_file(words) or "").endswith(".sh"):
            self.world.elsewhere.append(file)
        bare = (replace(each, unseen=unseen) for each in command.bare(words, environment, self.source))
        if (inside := self.inside) is None:
            self.launches += bare
            return
        merged = {**inside.environment, **environment}
        self.launches += [command.within(replace(each, environment=merged), inside) for each in bare]

    def _remote(self, name: str, words: Sequence[str], document: str) -> None:
        """A command on another host or in a terminal of its own, whose words another shell parts."""
        rest = [*words[1:]]
        while name == "ssh" and rest and (rest[0].startswith("-") or "[@]" in rest[0]):
            option = rest.pop(0)
            if option[-1:] in _SSH_VALUES and len(option) == 2 and rest:
                rest.pop(0)
        text = " ".join(rest[1:]) if name == "ssh" else next((each for each in rest if " " in each), "")
        inner = document if not text or (command.base(text.split()[0]) in command.SHELLS and document) else text
        if inner:
            self.launches += self.nested(inner, type(self)(self.source, {}, self.world))
        elif name != "ssh":
            self._here(words, self.variables.environment, "")

    def _in_container(self, words: Sequence[str], environment: Mapping[str, str | None], document: str) -> bool:
        """`docker run`, `docker exec` and `docker cp`. False where it is none of these."""
        place = next(
            (at for at, word in enumerate(words) if command.base(word) in command.CONTAINER_ENGINES), None
        )
        verbs = ("run", "create", "exec", "cp", "compose")
        at = next((at for at in range((place or 0) + 1, len(words)) if words[at] in verbs), None)
        if place is None or at is None or words[at] == "compose":
            return False
        rest = words[at + 1 :]
        if words[at] == "cp":
            return self._copied(rest)
        if words[at] == "exec":
            return self._executed(rest, document)
        try:
            described = container.typed(rest)
        except ValueError as error:
            self.world.errors.append(str(error))
            return True
        described = replace(described, environment=self._passed(described, environment))
        self._remember(rest, described)
        self.launches += self.contained(described, f"docker run {described.container.image}", document)
        return True

    @staticmethod
    def _passed(described: Described, environment: Mapping[str, str | None]) -> dict[str, str | None]:
        """The environment of a container, with the values that are passed on from here."""
        given = described.environment.items()
        return {name: environment.get(name) if value is None else value for name, value in given}

    def _remember(self, rest: Sequence[str], described: Described) -> None:
        """A container by its name; one that is a shell for a person is where the next lines are typed."""
        found, _ = container.options(rest)
        for name in found.get("name", ()):
            self.world.containers[name] = described
        shell = len(described.words) == 1 and command.base(described.words[0]) in command.SHELLS
        if shell and "interactive" in found and "detach" not in found:
            self.inside = described

    def _copied(self, rest: Sequence[str]) -> bool:
        paths = container.options(rest)[1]
        text = self.world.files.get(paths[0].removeprefix("./")) if len(paths) == 2 else None
        if text is not None:
            self.world.write(paths[1].partition(":")[2] or paths[1], text)
        return True

    def _executed(self, rest: Sequence[str], document: str) -> bool:
        """What is run in a container that was started before. False where that is not known."""
        found, words = container.options(rest)
        described = self.world.containers.get(words[0]) if words else None
        if described is None:
            return False
        given = replace(described, environment=container.environment(found.get("env", ())))
        more = self._passed(given, self.variables.environment)
        whole = described.whole and "env-file" not in found and container.UNKNOWN not in found
        inner = replace(
            described,
            words=tuple(words[1:]),
            environment={**described.environment, **more},
            whole=whole,
            replaced=True,
        )
        if len(words) == 2 and command.base(words[1]) in command.SHELLS and not document:
            self.inside = inner
            return True
        self.launches += self.contained(inner, f"docker exec {words[0]}", document)
        return True

    def contained(self, described: Described, source: str = "", document: str = "") -> list[Launch]:
        """What a container runs."""
        source = source or self.source
        files = self.world.files | self._mounted(described)
        script = self._script(described.words, document, files)
        if script is not None:
            shell = type(self)(source, described.environment, self.world)
            found = self.nested(script[0], shell, script[1])
            if not found and shell.starts_ray:
                found = [Launch(source, environment=described.environment, ray=True)]
            return [command.within(each, described) for each in found]
        return [command.within(each, described) for each in command.contained(described, source)]

    def _mounted(self, described: Described) -> dict[str, str]:
        """Files of the text where a container sees them."""
        seen: dict[str, str] = {}
        if len(self.world.files) * len(described.container.mounts) > _MOST_MOUNTED:
            return seen
        for mount in described.container.mounts:
            source = mount.source.removeprefix("./").removeprefix("$PWD/").rstrip("/")
            for path, text in self.world.files.items():
                if source and (path == source or path.startswith(f"{source}/")):
                    seen[mount.target.rstrip("/") + path[len(source) :]] = text
        return seen
