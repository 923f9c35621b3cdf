"""The key with which the user logs in to a Spark after its onboarding: found on this machine, or made there."""

from __future__ import annotations

import getpass
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

from paramiko import Agent, PasswordRequiredException, PKey, SSHException

from sparkrig.cure import quoted_path
from sparkrig.onboarding.operator import PublicKey, public
from sparkrig.refusal import Refusal
from sparkrig.terminal import atomic_write
from sparkrig.text import reason

_USUAL = ("id_ed25519", "id_ecdsa", "id_rsa")


@dataclass(frozen=True)
class OwnKey:
    """file: the private half; public: None until the pair is made; told: whether the inventory has to name it."""

    file: Path
    public: PublicKey | None
    told: bool = False


def find(asked: str | None, configured: tuple[str, ...]) -> OwnKey:
    """The key to let in. asked: a file of it; configured: those that inventory and ~/.ssh/config name.

    Raises Refusal where it cannot be used without a passphrase.
    """
    folder = Path("~/.ssh").expanduser()
    usual = [folder / name for name in _USUAL]
    if asked:
        file = Path(asked.removesuffix(".pub")).expanduser().absolute()
        return OwnKey(file, _usable(file), told=file not in [*usual, *map(Path, configured)])
    for file in [*map(Path, configured), *usual]:
        if file.exists() or _public(file).exists():
            return OwnKey(file, _usable(file))
    for key in Agent().get_keys():
        return OwnKey(folder / _USUAL[0], PublicKey(f"{key.get_name()} {key.get_base64()}", str(key.comment)))
    return OwnKey(folder / _USUAL[0], None)


def make(key: OwnKey) -> PublicKey:
    """Make the pair, without a passphrase. Raises Refusal."""
    atomic_write.folder(key.file)
    whose = f"{getpass.getuser()}@{socket.gethostname()}"
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", whose, "-f", str(key.file)]
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, timeout=60)
    if done.returncode:
        raise Refusal(
            f"no key was made: {' '.join(done.stderr.split())}",
            f"ssh-keygen -t ed25519 -f {quoted_path(key.file)}",
        )
    return _usable(key.file)


def _public(file: Path) -> Path:
    return file.with_name(f"{file.name}.pub")


def _usable(file: Path) -> PublicKey:
    public_file = _public(file)
    again = f"ssh-keygen -y -f {quoted_path(file)} > {quoted_path(public_file)}"
    try:
        public_key = public(public_file.read_text(encoding="utf-8"), str(public_file))
    except UnicodeDecodeError:
        raise Refusal(f"{public_file} is no text in UTF-8", again) from None
    except OSError as error:
        cure = again if file.exists() else f"ssh-keygen -t ed25519 -f {quoted_path(file)}"
        raise Refusal(f"{public_file} cannot be read: {reason(error)}", cure) from None
    if any(f"{key.get_name()} {key.get_base64()}" == public_key.bare for key in Agent().get_keys()):
        return public_key
    try:
        PKey.from_path(file)
    except (PasswordRequiredException, TypeError):  # the latter is how `cryptography` puts it
        raise Refusal(
            f"{file} has a passphrase, and no ssh agent holds it", f"ssh-add {quoted_path(file)}"
        ) from None
    except (OSError, SSHException, ValueError) as error:
        raise Refusal(f"{file} cannot be used: {error}", "sparkrig onboard ADDRESS --key FILE") from None
    return public_key
