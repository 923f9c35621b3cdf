"""Why a host could not be connected to, by what paramiko raised: pyinfra's own words leave half of it out."""

from __future__ import annotations

from collections.abc import Mapping
from socket import gaierror
from typing import Any

from paramiko.ssh_exception import NoValidConnectionsError, SSHException
from pyinfra.api.exceptions import PyinfraError

from sparkrig import login


def passing(cause: BaseException | None) -> str | None:
    """The reason, where a host may be rebooting; None for what no waiting changes: its name, key, login."""
    if isinstance(cause, NoValidConnectionsError):
        return next(str(error.args[-1]).lower() for error in cause.errors.values())
    if isinstance(cause, gaierror):
        return None
    if isinstance(cause, (OSError, EOFError)):
        return str(cause) or "the connection was closed"
    said = str(cause) if isinstance(cause, SSHException) else ""
    if "SSH protocol banner" in said or "No existing session" in said:  # paramiko's word where it heard nothing
        return "its sshd does not answer"
    # "System is booting up": pam_nologin ends the connection in the middle of a login that is good
    return "it takes no logins" if "transport shut down or saw EOF" in said else None


def reason(name: str, data: Mapping[str, Any], error: PyinfraError) -> str:
    """Why a host could not be connected to: pyinfra's own words leave out whether it refused, or is not there."""
    about_its_key = login.explained(name, data, str(error))
    if about_its_key:
        return about_its_key
    cause = error.__context__
    if isinstance(cause, gaierror):  # an inventory's name for a host need not be the one that is looked up
        return f"Could not resolve {data.get('ssh_hostname') or name} ({cause.strerror})"
    if isinstance(cause, SSHException) and (why := passing(cause)):
        return f"Could not connect ({why})"
    if not isinstance(cause, NoValidConnectionsError):
        return str(error)
    # paramiko's text leaves out whether it was refused or had no way there
    tried = [f"{address} port {port}: {why}" for (address, port, *_), why in cause.errors.items()]
    return f"Could not connect ({', '.join(tried)})"
