"""Who may use docker without sudo: setting `docker_users`.

A member of the group docker is as good as root: the daemon runs as root and mounts any folder for a container.
Sources: Docker's own page on its group [@docker-group]; gpasswd(1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sparkrig import programs
from sparkrig.cure import on_host, quoted
from sparkrig.files import File, Managed
from sparkrig.parsing.grammar import USER
from sparkrig.parsing.rows import told
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Check, Subject
from sparkrig.resources.kind import Kind
from sparkrig.resources.resource import Changes, Edit, Resource
from sparkrig.text import listed
from sparkrig.value import Value

if TYPE_CHECKING:
    from sparkrig.resources.state import State

GROUP_FILE = "/etc/group"
DECLARED = "/etc/sparkrig/docker-users"  # a user a line
OURS = "/var/lib/sparkrig/docker-users"  # those whom the program below made members

# Makes the members of the group what DECLARED has, and takes out those of OURS that it has no more.
SETTLE = programs.text("operations/docker_group.sh")

_HEAD = "# Written by sparkrig: each user below is a member of the group docker, which is as good as root.\n"


@dataclass(frozen=True)
class Group(Value):
    """members: of the group docker, None where there is no such group; users: all of the host."""

    members: tuple[str, ...] | None = None
    users: tuple[str, ...] = ()


class DockerGroup(Resource[Group]):
    """The members of the group docker."""

    name, title, step = "docker", "Docker group", "users of docker"
    files = (Managed(DECLARED, reload=SETTLE), Managed(OURS, "seen"))
    script = programs.text("facts/docker.sh")
    absent = Group()
    kinds = (
        Kind(
            "host.docker-group",
            "access",
            "the declared users are in the group docker, and no earlier ones",
            "a user was taken out of the group by hand, or docker was installed anew",
            "docs/alone.md#the-group-docker",
        ),
    )

    def parse(self, lines: Iterable[str]) -> Group:
        words = dict(told(lines, "members", "users"))
        members = tuple(filter(None, words["members"].split(","))) if "members" in words else None
        return Group(members, tuple(words.get("users", "").split()))

    def changes(self, subject: Subject) -> Changes:
        """Raises Refusal where a declared user, or the group itself, is not there."""
        names, files, seen = subject.settings.docker_users, subject.found.files, self.seen(subject)
        ours = set(_names(files[OURS].content)) if OURS in files else set()
        if names:
            _judge(names, seen)
        members = list(seen.members or ())
        after = [each for each in members if each in names or each not in ours]
        after += [each for each in names if each not in members]
        moved = after != members
        wanted = [File(DECLARED, _HEAD + "".join(f"{name}\n" for name in names))]
        made = Changes.of(wanted if names and (moved or DECLARED in files) else (), files, self.files[:1])
        edits = (Edit(GROUP_FILE, SETTLE, (), _row(members), _row(after, more=set(after) > set(members))),)
        return Changes(made.wanted, made.write, made.remove, edits=edits if moved else ())

    def settings_of(self, found: State) -> Mapping[str, Any]:
        there = found.files.get(DECLARED)
        return {"docker_users": _names(there.content)} if there else {}

    def checks(self, subject: Subject) -> Iterator[Check]:
        names = subject.settings.docker_users
        want = f"{listed(names)} in the group docker" if names else "nobody of ours in the group docker"
        return self.sole_check(subject, want, declared=bool(names), odd=lambda changes: changes.differences)


DOCKER = DockerGroup()


def _judge(names: Iterable[str], seen: Group) -> None:
    if seen.members is None:
        raise Refusal("the group docker is not there", on_host("sudo groupadd --system docker"))
    if absent := [name for name in names if name not in seen.users]:
        raise Refusal(
            f"docker_users has {listed(absent)}, and the host has no such user",
            on_host(f"sudo adduser {quoted(absent[0])}"),
        )


def _row(members: Iterable[str], *, more: bool = False) -> str:
    return f"docker:{','.join(members)}{' (as good as root)' if more else ''}"


def _names(text: str) -> list[str]:
    """The users of a file of ours."""
    return [line for line in text.splitlines() if USER.fits(line)]
