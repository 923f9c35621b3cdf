"""Ask a host outside of an operation: one script, one fact, both hosts of a pair side by side.

pyinfra gives an operation's global arguments (sudo and its like) only to the host that it runs for; here
they are taken from the host's own data. Needs gevent's patched standard library, as the pyinfra command has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any, TypeVar

from gevent import Timeout
from gevent.pool import Pool
from paramiko.ssh_exception import SSHException
from pydantic import SecretStr
from pyinfra import state as run
from pyinfra.api import FactBase, Host, QuoteString, StringCommand
from pyinfra.api.exceptions import FactProcessError, PyinfraError
from pyinfra.connectors.base import BaseConnector
from pyinfra.connectors.util import CommandOutput
from pyinfra.context import ctx_state

from sparkrig.facts.noun import understood
from sparkrig.login import SUDO
from sparkrig.parsing import rows
from sparkrig.ssh.shell import limited, script
from sparkrig.text import plain

T = TypeVar("T")
Keep = Callable[[str, str, str], None]
"""Is given a host's name, the name of a fact, and what the host printed for it."""

_LOGIN = ("_sudo", "_sudo_user", "_use_sudo_login", "_use_sudo_password", "_sudo_password")
_GRACE_S = 20  # after the host's own limit, for the way there and back
_CONNECT_S = 15
_SAID = 1000  # characters of a host's last words
_AT_ONCE = 64  # hosts; each takes a key exchange, and some of the 1024 files that a process may have open


class _Answer(Exception):
    """A message that may be the words of a host: in one line, made plain and cut to a limit.

    cure: what to try where it is another thing than for any host; empty for that.
    """

    def __init__(self, text: str, cure: str = "") -> None:
        super().__init__(plain(text[:_SAID]))
        self.cure = cure


class Lost(_Answer):
    """A host that cannot be reached, or did not answer in time; what it still does is unknown."""


class Failed(_Answer):
    """A command or a fact that ended without success; the message is what the host printed."""


def connection(at: Host) -> BaseConnector:
    """A new connection, by the same key, address and host key. Raises Lost.

    An old one may be dead and not know it, or have been given up while the host was busy.
    """
    connector = at.connector_cls(at.state, at)
    try:
        with Timeout(_CONNECT_S, TimeoutError("no connection in time")):
            connector.connect()
    except (PyinfraError, TimeoutError) as error:
        raise Lost(f"{at.name} cannot be reached by a new ssh connection ({error})") from None
    return connector


def shell(at: Host, text: str, *words: str, seconds: int, stdin: str | None = None) -> str:
    """Standard output of a script. Raises Failed with its last words, or Lost."""
    return execute(at, script(text, *words, seconds=seconds, _stdin=stdin), seconds)


def execute(at: Host, command: StringCommand, seconds: int, *, quiet: bool = False) -> str:
    """Standard output of a command that the host ends after `seconds`. Raises as `shell` does.

    What the command itself carries (its standard input) goes with it, as it would in an operation. quiet: what it
    prints is not shown, not even with -vvv.
    """
    began = monotonic()
    how = {**_how(at), **command.connector_arguments, **({"print_output": False} if quiet else {})}
    if answer := at.data.get(SUDO):
        command, how = _answering(command, how, answer)
    try:
        ok, output = at.run_shell_command(command, _timeout=seconds + _GRACE_S, **how)
    except (TimeoutError, OSError, EOFError, SSHException) as error:
        raise Lost(f"{at.name} does not answer ({str(error) or type(error).__name__})") from None
    except PyinfraError as error:
        raise Failed(str(error)) from None
    if not ok:
        raise Failed(" ".join(output.stderr_lines[-2:]) or _unsaid(output, seconds, monotonic() - began))
    return str(output.stdout)


def _unsaid(output: CommandOutput, seconds: int, took: float) -> str:
    """How a command ended that wrote no error. took: the seconds that it ran; seconds: those that it may."""
    if took >= seconds:
        return f"it ended without a word, over its {seconds} s"
    printed = " ".join(output.stdout_lines[:2])
    if not printed:
        return f"it ended without a word after {took:.0f} s; the connection may have broken off"
    return (
        f"it ended after {took:.0f} s; a start-up file of the login (~/.bashrc) may end it, and printed: {printed}"
    )


def read(at: Host, fact: FactBase[T], *arguments: Any, seconds: int, keep: Keep | None = None) -> T:
    """One fact, without pyinfra's own report of it. Raises Failed or Lost.

    keep: is given what the host printed, before it is understood.
    """
    told = printed(at, fact, *arguments, seconds=seconds)
    if keep:
        keep(at.name, type(fact).__name__.lower(), told)
    return _or_failed(lambda: fact.process(rows.of(told)))


def parsed(name: str, parse: Callable[[], T]) -> T:
    """What a host's answer to a script means. Raises Failed where it is garbage; name: what was asked for."""
    return _or_failed(lambda: understood(name, parse))


def _or_failed(parse: Callable[[], T]) -> T:
    try:
        return parse()
    except FactProcessError as error:
        raise Failed(str(error)) from None


def printed(at: Host, fact: FactBase[Any], *arguments: Any, seconds: int) -> str:
    """What a host prints for a fact, not yet understood. Raises Failed or Lost."""
    return execute(at, limited(seconds, "sh", "-c", QuoteString(fact.command(*arguments))), seconds)


def login(at: Host) -> dict[str, Any]:
    """How commands become root on a host."""
    return {key: at.data.get(key) for key in _LOGIN if at.data.get(key) is not None}


def each(hosts: Mapping[str, Host | Failed | Lost], ask: Callable[[Host], T]) -> dict[str, T | Failed | Lost]:
    """What each host answers, asked side by side, or why it does not; a host that was lost before stays so."""
    pool = Pool(_AT_ONCE)
    asked = {name: pool.spawn(_answer, at, ask) for name, at in hosts.items()}
    return {name: answer.get() for name, answer in asked.items()}


def every(hosts: Mapping[str, Host], ask: Callable[[Host], T]) -> dict[str, T]:
    """The same where all are needed. Raises Failed or Lost for the first that does not answer, with its name."""
    found: dict[str, T] = {}
    for name, answer in each(hosts, ask).items():
        if isinstance(answer, (Failed, Lost)):
            raise type(answer)(f"{name}: {answer}")
        found[name] = answer
    return found


def _answer(at: Host | Failed | Lost, ask: Callable[[Host], T]) -> T | Failed | Lost:
    if isinstance(at, Exception):
        return at
    try:
        return ask(at)
    except (Failed, Lost) as error:
        return error


def _answering(
    command: StringCommand, how: dict[str, Any], answer: SecretStr
) -> tuple[StringCommand, dict[str, Any]]:
    """A command whose sudo asks for a password, which is the first row of its standard input and in no text.

    -k: sudo asks each time, so that the row is never left to the command. That is one command, as each of a look
    is (sparkrig.ssh.shell.limited): another shell around it would quote a long script once more.
    """
    rows = [f"{answer.get_secret_value()}\n", *([how["_stdin"]] if how.get("_stdin") else [])]
    asking = StringCommand("env", "LC_ALL=C", "sudo", "-k", "-S", "-p", "''", "--", command)
    return asking, {**how, "_sudo": False, "_stdin": rows}


def _how(at: Host) -> dict[str, Any]:
    """As root, and shown with -vv and -vvv like every other command."""
    shown = {"print_input": run.print_input, "print_output": run.print_output} if ctx_state.isset() else {}
    return {**shown, **login(at)}
