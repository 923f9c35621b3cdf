"""The host's own name: setting `hostname`.

A Spark comes with one such as spark-1b3b. hostnamed keeps it in /etc/hostname, and a row of /etc/hosts leads it to
127.0.1.1, so that it is found without any DNS. Sources: hostnamectl(1) and hostname(5) of systemd 255; RFC 1123,
2.1; Debian Reference, 5.1.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sparkrig import programs
from sparkrig.cure import advice, on_host
from sparkrig.files import Managed
from sparkrig.parsing.rows import told
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Check, Subject
from sparkrig.resources.kind import Kind
from sparkrig.resources.resource import Changes, Edit, Resource
from sparkrig.text import bare_name, listed
from sparkrig.value import Value

NAME_FILE, HOSTS_FILE = "/etc/hostname", "/etc/hosts"

SET = programs.text("operations/hostname_set.sh")
IN_HOSTS = programs.text("operations/hostname_hosts.sh")
# Of an undo, once the file is back. Where there was none, the name of now stays until the next start.
_TAKE = (
    f"if name=$(grep -sm 1 '^[^#]' {NAME_FILE}); then "
    'timeout -k 2 60 hostnamectl --static --transient set-hostname "$name"; fi'
)


@dataclass(frozen=True)
class Hostname(Value):
    """The host's name.

    name: the one of now, empty where the host did not tell; static: the one of the next start, empty where none is
    written down; in_hosts: whether /etc/hosts has the one of now behind 127.0.1.1.
    """

    name: str = ""
    static: str = ""
    in_hosts: bool = False


class OwnName(Resource[Hostname]):
    """The name that the host has now and at its next start, and its row of /etc/hosts."""

    name, title, step = "hostname", "Hostname", "name of the host"
    files = (Managed(NAME_FILE, "shared", reload=_TAKE), Managed(HOSTS_FILE, "shared"))
    script = programs.text("facts/hostname.sh")
    absent = Hostname()
    kinds = (
        Kind(
            "host.hostname",
            "access",
            "the host has the declared name, and /etc/hosts has it, too",
            "the name was changed by hand, or by cloud-init at a start",
            "docs/settings.md#what-a-spark-should-be",
        ),
    )

    def parse(self, lines: Iterable[str]) -> Hostname:
        words = dict(told(lines, "name", "static", "hosts"))
        return Hostname(words.get("name", "").strip(), words.get("static", "").strip(), "hosts" in words)

    def changes(self, subject: Subject) -> Changes:
        """Nothing without the setting. Raises Refusal where another host has it, or this one would be lost."""
        name = subject.settings.hostname
        if name is None:
            return Changes()
        seen = self.seen(subject)
        _judge(subject, name, seen)
        return Changes(edits=tuple(_edits(name, seen)))

    def checks(self, subject: Subject) -> Iterator[Check]:
        name = subject.settings.hostname
        if name is None:
            return
        yield from self.sole_check(subject, name, declared=True, odd=lambda changes: changes.differences)


HOSTNAME = OwnName()


def _judge(subject: Subject, name: str, seen: Hostname) -> None:
    if not seen.name:
        raise Refusal("the host does not tell its name", on_host("cat /proc/sys/kernel/hostname"))
    alike = [host for host in subject.fleet if (subject.fleet[host].hostname or "").lower() == name.lower()]
    if len(alike) > 1:
        raise Refusal(
            f"{listed(map(bare_name, alike))} would all be called {name}",
            advice("set hostname beside each host of the inventory, and not for all of them"),
        )
    if seen.name != name and bare_name(subject.name).lower() == f"{seen.name}.local".lower():
        raise Refusal(
            f"the inventory reaches this host by the name that it has now ({bare_name(subject.name)}), which goes",
            advice("give the host another name in the inventory, and its address as ssh_hostname"),
        )


def _edits(name: str, seen: Hostname) -> Iterator[Edit]:
    """/etc/hosts first: sudo looks for the name of now there."""
    if not seen.in_hosts or seen.name != name:
        before = f"127.0.1.1 {seen.name}" if seen.in_hosts else None
        yield Edit(HOSTS_FILE, IN_HOSTS, (name, seen.name), before, f"127.0.1.1 {name}")
    if (seen.name, seen.static) != (name, name):
        until = f"{seen.static or 'none'}, and {seen.name} until the next start"
        before = seen.static if seen.name == seen.static else until
        yield Edit(NAME_FILE, SET, (name,), before, name)
