"""Who logs in by ssh: settings `login_keys` and `login_passwords`.

The keys stand in a file of sparkrig's own, beside those in the user's authorized_keys, which no run changes. sshd
takes the first value that it reads, so the drop-in comes before those of others. A change is under guard: the host
takes it back unless a new connection gets in. Sources: sshd_config(5), sshd(8) of OpenSSH 9.6.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sparkrig import programs
from sparkrig.cure import as_root, local, on_host
from sparkrig.files import File, Managed
from sparkrig.parsing import public_key
from sparkrig.parsing.grammar import USER
from sparkrig.parsing.rows import told
from sparkrig.refusal import Refusal
from sparkrig.resources import file_diff
from sparkrig.resources.check import Check, Subject
from sparkrig.resources.kind import Kind
from sparkrig.resources.resource import Changes, Guard, Resource
from sparkrig.text import listed, plain
from sparkrig.value import Value

if TYPE_CHECKING:
    from sparkrig.resources.state import State

DROP_IN = "/etc/ssh/sshd_config.d/10-sparkrig.conf"
KEYS = "/etc/ssh/sparkrig_authorized_keys"
USUAL = (".ssh/authorized_keys", ".ssh/authorized_keys2")  # sshd's default

_HEAD = "# Written by sparkrig: login_keys and login_passwords of the inventory.\n"


@dataclass(frozen=True)
class Login(Value):
    """How sshd lets the user of the run in.

    user: who began the commands of the run; keys: how many public keys that user's own files have; reads: whether
    sshd reads drop-ins before the rest of its configuration; passwords: whether it takes them from the user;
    files: where it looks for keys; before: drop-ins of others that come first and set the same, with their row;
    shut: rows of sshd's files by which a new connection of the user may not get in, whatever the key.
    """

    user: str = ""
    keys: int = 0
    reads: bool = False
    passwords: bool = True
    files: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    shut: tuple[str, ...] = ()


class SshLogin(Resource[Login]):
    """The keys that get in, and whether passwords do."""

    name, title, step = "login", "Login", "keys and passwords of ssh"
    files = (Managed(DROP_IN), Managed(KEYS))
    guard = Guard(
        what="login",
        test="mkdir -p /run/sshd && sshd -t",
        live=programs.text("operations/login_live.sh"),
        verify=programs.text("operations/login_verify.sh"),
        units=("ssh.service", "ssh.socket", "sshd.service"),
    )
    script = programs.text("facts/login.sh")
    absent = Login()
    kinds = (
        Kind(
            "access.login",
            "access",
            "sshd takes the declared keys, and passwords only if declared",
            "a file of sshd's was edited or removed by hand, or another one comes before it",
            "docs/access.md#login",
        ),
    )

    def parse(self, lines: Iterable[str]) -> Login:
        rows = told(lines, "user", "keys", "reads", "password", "keyboard", "files", "before", "shut")
        words = dict(rows)
        return Login(
            user=USER.held(words["user"]) if words.get("user") else "",
            keys=int(words.get("keys", "0")),
            reads="reads" in words,
            passwords="no" not in words.get("password", "") or "no" not in words.get("keyboard", ""),
            files=tuple(words.get("files", "").split()),
            before=tuple(plain(rest) for word, rest in rows if word == "before"),
            shut=tuple(plain(rest) for word, rest in rows if word == "shut"),
        )

    def changes(self, subject: Subject) -> Changes:
        """Nothing without the settings. Raises Refusal where someone could be left without a way in."""
        seen, there = self.seen(subject), subject.found.files
        wanted = [*_files(subject, seen)]
        changes = Changes.of(wanted, there, self.files)
        if wanted and not changes:
            _must_count(subject, seen)
        return changes

    def settings_of(self, found: State) -> Mapping[str, Any]:
        rows = found.files[KEYS].content.splitlines() if KEYS in found.files else []
        keys = [row for row in rows if row and not row.startswith("#") and not public_key.fault(row)]
        shut = DROP_IN in found.files and "\nPasswordAuthentication no\n" in found.files[DROP_IN].content
        return {**({"login_keys": keys} if keys else {}), **({"login_passwords": False} if shut else {})}

    def checks(self, subject: Subject) -> Iterator[Check]:
        settings = subject.settings
        declared = bool(settings.login_keys) or not settings.login_passwords
        keys = f"{len(settings.login_keys)} declared keys" if settings.login_keys else "the user's own keys"
        want = f"{keys}{'' if settings.login_passwords else ', and no password'}"

        def odd(changes: Changes) -> list[str]:
            return file_diff.differences(changes.write, changes.remove, subject.found.files)

        return self.sole_check(subject, want, declared=declared, odd=odd)


LOGIN = SshLogin()


def _files(subject: Subject, seen: Login) -> Iterator[File]:
    keys, passwords = subject.settings.login_keys, subject.settings.login_passwords
    if not keys and passwords:
        return
    _judge(subject, seen)
    shut = "" if passwords else "PasswordAuthentication no\nKbdInteractiveAuthentication no\n"
    ours = (
        f"Match User {seen.user}\n    AuthorizedKeysFile {' '.join((*USUAL, KEYS))}\nMatch all\n" if keys else ""
    )
    yield File(DROP_IN, f"{_HEAD}{shut}{ours}")
    if keys:
        yield File(KEYS, _HEAD + "".join(f"{key}\n" for key in keys))


def _judge(subject: Subject, seen: Login) -> None:
    if not seen.user or not seen.reads:
        what = (
            "sshd does not read /etc/ssh/sshd_config.d before the rest" if seen.user else "who logs in is not told"
        )
        raise Refusal(what, on_host("sudo grep -n Include /etc/ssh/sshd_config"))
    if seen.before:
        raise Refusal(
            f"sshd goes by {listed(seen.before)} first",
            on_host("ls /etc/ssh/sshd_config.d", ": take the row out, or give that file a later number than 10"),
        )
    if not {*seen.files} <= {*USUAL, KEYS}:
        what = f"sshd looks for keys in {listed(map(plain, seen.files))}"
        raise Refusal(what, as_root(f"grep -rni AuthorizedKeysFile {_CONFIG}"))
    if seen.shut:  # perhaps never read yet: a reload would make it count
        what = f"sshd's files keep {seen.user} out, once they are read again ({listed(seen.shut)})"
        raise Refusal(what, as_root(f"grep -rnE 'Allow|Deny|PubkeyAuth' {_CONFIG}"))
    if not subject.settings.login_keys and not seen.keys:
        raise Refusal(
            f"{seen.user} has no key in {USUAL[0]}, and no password would be taken",
            local("cat ~/.ssh/*.pub", "; declare your key of this machine in login_keys"),
        )


def _must_count(subject: Subject, seen: Login) -> None:
    """Raise Refusal where sshd goes by another file, although ours are as they should be."""
    settings = subject.settings
    amiss = ["takes passwords"] if seen.passwords and not settings.login_passwords else []
    amiss += ["does not read the declared keys"] if settings.login_keys and KEYS not in seen.files else []
    if amiss:
        raise Refusal(f"sshd {listed(amiss)}, against {DROP_IN}", as_root(f"grep -rn 'Match\\|Auth' {_CONFIG}"))


_CONFIG = "/etc/ssh/sshd_config /etc/ssh/sshd_config.d"
