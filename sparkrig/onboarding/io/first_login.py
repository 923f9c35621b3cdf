"""A way into a host that pyinfra cannot log in to yet: its host key, a login by password, root by sudo's password.

pyinfra would put a password into the text of each remote command (seen with pyinfra 3.10.0); here it
travels on standard input alone.
"""

from __future__ import annotations

import getpass
import shlex
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from paramiko import (
    AuthenticationException,
    BadAuthenticationType,
    BadHostKeyException,
    Channel,
    HostKeys,
    PKey,
    SSHClient,
    SSHConfig,
    SSHException,
)
from paramiko.channel import ChannelFile
from paramiko.ssh_exception import IncompatiblePeer, NoValidConnectionsError
from pydantic import SecretStr
from pyinfra.api import FactBase
from pyinfra.api.exceptions import FactProcessError

from sparkrig.cure import quoted, quoted_path
from sparkrig.onboarding.address import Address
from sparkrig.onboarding.hostkey import HostKey
from sparkrig.parsing import bounds, rows
from sparkrig.refusal import Refusal
from sparkrig.ssh import transport
from sparkrig.ssh.remote import Failed, Lost

T = TypeVar("T")

_CONNECT_S = 10
_LOGIN_S = 40  # pam_faillock and the like delay the answer to a wrong password
_GRACE_S = 20
_SIGNATURES = {"ssh-rsa": ("rsa-sha2-512", "rsa-sha2-256", "ssh-rsa")}  # RFC 8332: one key, several names


@dataclass(frozen=True)
class Target:
    """Where a Spark is: what was typed, over the inventory's data, over ~/.ssh/config, as with pyinfra.

    typed: the address as an inventory has it; host: the one behind it; keys: private keys to try; only: whether
    these alone, without the usual ones and the agent's; tells_user, tells_port: whether user and port are known
    without a new entry; guessed: whether nothing names the user; it is then this machine's user, as with ssh.
    """

    typed: str
    host: str
    port: int
    user: str
    known_hosts: Path
    keys: tuple[str, ...] = ()
    only: bool = False
    tells_user: bool = False
    tells_port: bool = False
    guessed: bool = False

    @property
    def entry(self) -> str:
        """How known_hosts calls it."""
        return self.host if self.port == 22 else f"[{self.host}]:{self.port}"

    @property
    def ssh(self) -> str:
        """The command that a person would look with."""
        port = [] if self.port == 22 else ["-p", str(self.port)]
        return shlex.join(["ssh", *port, f"{self.user}@{self.typed}", "true"])


def target(address: Address, data: Mapping[str, Any]) -> Target:
    """Where a Spark is reached. data: what an inventory has for it, or for every host. Raises Refusal."""
    file = Path(str(data.get("ssh_config_file") or "~/.ssh/config")).expanduser()
    try:
        config: Mapping[str, Any] = SSHConfig.from_path(str(file)).lookup(address.host) if file.exists() else {}
    except Exception as error:  # its parser raises several
        raise Refusal(f"{file} cannot be read ({error})", f"ssh -G {quoted(address.host)}") from None
    proxy = config.get("proxyjump") or config.get("proxycommand") or "none"
    if proxy.lower() != "none":  # ssh_config(5): the word that takes an earlier one back
        raise Refusal(
            f"{file} leads to {address.host} by way of {proxy}, and one of no inventory is only reached directly",
            "sparkrig docs onboarding, by hand",
        )
    told_user = data.get("ssh_user") or config.get("user")
    told_port = int(data.get("ssh_port") or config.get("port") or 22)
    known_hosts = data.get("ssh_known_hosts_file") or _first(config.get("userknownhostsfile", ""))
    keys = [data["ssh_key"]] if data.get("ssh_key") else config.get("identityfile", [])
    return Target(
        address.host,
        config.get("hostname", address.host),
        address.port or told_port,
        str(address.user or told_user or getpass.getuser()),
        Path(str(known_hosts)).expanduser(),
        tuple(str(Path(key).expanduser()) for key in keys),
        only=bool(data.get("ssh_key")),
        tells_user=bool(told_user) and address.user in (None, told_user),
        tells_port=address.port in (None, told_port),
        guessed=not (address.user or told_user),
    )


def _first(files: str) -> str:
    """The first of the files that an option of ssh_config names, each in quotes where it has blanks."""
    try:
        named = shlex.split(files)
    except ValueError:  # a quote without its end
        named = files.split()
    return named[0] if named else "~/.ssh/known_hosts"


# --- host keys


def known(at: Target) -> list[HostKey]:
    """The keys under which a host is known. Raises Refusal for a file that cannot be read."""
    keys = HostKeys()
    try:
        if at.known_hosts.exists():
            keys.load(str(at.known_hosts))
    except Exception as error:  # it gives up on some broken lines
        raise Refusal(
            f"{at.known_hosts} cannot be read ({error})", f"ssh-keygen -lf {quoted_path(at.known_hosts)}"
        ) from None
    return [HostKey(kind, key.asbytes()) for kind, key in (keys.lookup(at.entry) or {}).items()]


def scan(at: Target, kinds: Sequence[str] = ()) -> HostKey:
    """The public key that a host shows, of one of these kinds where it has one; ed25519 goes first.

    Raises Lost where no host answers.
    """
    names = [name for kind in kinds for name in _SIGNATURES.get(kind, (kind,))]
    with _lost(at):
        try:
            return _scan(at, names)
        except IncompatiblePeer:
            return _scan(at, [])


def _scan(at: Target, names: Sequence[str]) -> HostKey:
    with socket.create_connection((at.host, at.port), _CONNECT_S) as sock:
        link = transport(sock)
        options = link.get_security_options()
        options.key_types = [name for name in names if name in options.key_types] or options.key_types
        try:
            link.start_client(timeout=_CONNECT_S)
            key = link.get_remote_server_key()
        finally:
            link.close()
    return HostKey(key.get_name(), key.asbytes())


@contextmanager
def _lost(at: Target) -> Iterator[None]:
    """Raise Lost for a connection that fails: with its address and port, and the reason."""
    where = f"{at.host} port {at.port}"
    try:
        yield
    except NoValidConnectionsError as error:
        why = ", ".join(str(each.args[-1]).lower() for each in error.errors.values())
        raise Lost(f"{where} cannot be reached ({why})") from None
    except socket.gaierror as error:
        said = f"{at.host} cannot be resolved ({error.strerror})"
        raise Lost(
            said, "sparkrig onboard, which searches this network, or its IP address in that place"
        ) from None
    except (OSError, EOFError, SSHException) as error:
        why = str(getattr(error, "strerror", None) or error or "it closed the connection").lower()
        raise Lost(f"{where} cannot be reached ({why})") from None


# --- logging in


class Door:
    """A login on a host: what runs there, as its user and as root."""

    def __init__(self, at: Target, client: SSHClient) -> None:
        self.at = at
        self._client = client
        self._sudo: SecretStr | None = None

    def shell(self, text: str, *words: str, seconds: int = 60) -> str:
        """Standard output of a script; `words` are its $1, $2, ... Raises Failed with its last words, or Lost."""
        return self._run(["sh", "-c", text, "sparkrig", *words], "", seconds)

    def root(self, text: str, *words: str, seconds: int = 60) -> str:
        """The same as root, by sudo."""
        script = ["sh", "-c", text, "sparkrig", *words]
        if self.at.user == "root":
            return self._run(script, "", seconds)
        # -k: no credentials of before, so that what is proven is the password, or that none is asked for
        how = ("-S", "-p", "") if self._sudo else ("-n",)
        said = f"{self._sudo.get_secret_value()}\n" if self._sudo else ""
        return self._run(["env", "LC_ALL=C", "sudo", "-k", *how, "--", *script], said, seconds)

    def read(self, fact: FactBase[T], *arguments: Any, seconds: int) -> T:
        """One fact, as root. Raises Failed or Lost."""
        try:
            return fact.process(rows.of(self.root(str(fact.command(*arguments)), seconds=seconds)))
        except FactProcessError as error:
            raise Failed(str(error)) from None

    def is_root(self) -> bool:
        """Whether commands become root without a password; the password of `become_root` is dropped."""
        self._sudo = None
        try:
            self.root(":")
        except Failed:
            return False
        return True

    def become_root(self, password: SecretStr) -> None:
        """Let `root` use this password until `is_root` is asked. Raises Failed, in sudo's words."""
        self._sudo = password
        try:
            self.root(":")
        except Failed:
            self._sudo = None
            raise

    def _run(self, words: Sequence[str], stdin: str, seconds: int) -> str:
        command = shlex.join(["timeout", "-k", "5", str(seconds), *words])
        with _lost(self.at):
            channel = self._client.get_transport().open_session(timeout=_CONNECT_S)  # type: ignore[union-attr]
            with channel:
                channel.settimeout(seconds + _GRACE_S)  # for each piece that comes, so it is no end of them all
                alarm = threading.Timer(seconds + _GRACE_S, channel.close)
                alarm.start()
                try:
                    channel.exec_command(command)
                    channel.sendall(stdin.encode())
                    channel.shutdown_write()
                    # both at once: what is not read is kept, and a host need not wait until it is
                    with ThreadPoolExecutor(1) as beside:
                        errors = beside.submit(_bounded, channel, channel.makefile_stderr("rb"))
                        output = _bounded(channel, channel.makefile("rb"))
                    said = errors.result()
                    status = channel.recv_exit_status()
                    late = alarm.finished.is_set()
                finally:
                    alarm.cancel()
            if late:
                raise TimeoutError("timed out")
        if status != 0:
            raise Failed(" ".join(said.splitlines()[-2:]) or f"it ended without a word (exit {status})")
        return output


def _bounded(channel: Channel, stream: ChannelFile) -> str:
    """What a host prints, which it may do without an end. Raises Failed, with the channel closed."""
    content: bytes = stream.read(bounds.NOUN_CHARS + 1)
    if len(content) > bounds.NOUN_CHARS:
        channel.close()
        raise Failed(f"it printed more than {bounds.NOUN_CHARS >> 20} MB")
    return content.decode("utf-8", "replace")


@contextmanager
def door(at: Target, key: HostKey, password: SecretStr | None = None) -> Iterator[Door | None]:
    """A login on the host that shows this key, by the operator's own keys, or by a password alone.

    None where the host refuses the login. Raises Lost.
    """
    with _client(at, key) as client:
        with _lost(at):
            entered = _enter(client, at, password)
        yield Door(at, client) if entered else None


def takes_passwords(at: Target, key: HostKey) -> bool:
    """Whether the host that shows this key would take a password; True where it does not answer that.

    Raises Lost.
    """
    with _client(at, key) as client, _lost(at):
        _enter(client, replace(at, keys=(), only=True), None)
        under = client.get_transport()
        try:
            if under:
                under.auth_none(at.user)
        except BadAuthenticationType as refused:
            return not {"password", "keyboard-interactive"}.isdisjoint(refused.allowed_types)
        except SSHException:  # it ended the connection
            return True
        return True


@contextmanager
def _client(at: Target, key: HostKey) -> Iterator[SSHClient]:
    """One that takes no other host key than this, closed at the end."""
    client = SSHClient()
    client.get_host_keys().add(at.entry, key.kind, PKey.from_type_string(key.kind, key.blob))
    try:
        yield client
    finally:
        client.close()


def _enter(client: SSHClient, at: Target, password: SecretStr | None) -> bool:
    own = password is None
    try:
        client.connect(
            at.host,
            at.port,
            at.user,
            password=password.get_secret_value() if password else None,
            key_filename=[key for key in at.keys if Path(key).exists()] if own else None,  # type: ignore[arg-type]
            allow_agent=own and not at.only,
            look_for_keys=own and not at.only,
            timeout=_CONNECT_S,
            banner_timeout=_CONNECT_S,
            auth_timeout=_LOGIN_S,
            transport_factory=transport,
        )
    except BadHostKeyException:
        raise SSHException("it shows another host key than a moment ago") from None
    except AuthenticationException:
        return False
    except SSHException as error:
        if "No authentication methods available" in str(error):  # there is no key to try
            return False
        raise
    return True
