"""What an update has changed: read on the Spark before its record is closed, said, and kept on this machine."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter
from pyinfra.api import Host

from sparkrig import programs
from sparkrig.facts.firmware import Firmware
from sparkrig.host.update_record import Standing
from sparkrig.refusal import Refusal
from sparkrig.ssh import remote
from sparkrig.ssh.remote import Failed
from sparkrig.terminal import atomic_write, terminal
from sparkrig.text import file_name
from sparkrig.update import changes, firmware
from sparkrig.update.changes import Changed
from sparkrig.update.render import changes as drawn

_SECONDS = 600  # times `patience`; three answers of each server

RATE = programs.text("operations/update_rate.sh")
CHANGED = programs.text("operations/update_changed.sh")


def rate(at: Host, patience: float) -> None:
    """Keep on the host how fast it answers before anything changes. Raises Failed or Lost."""
    remote.shell(at, RATE, seconds=int(_SECONDS * patience))


def tell(at: Host, found: Standing, patience: float) -> None:
    """Say what changed, and keep it. An update does not fail for it. Raises Lost."""
    try:
        changed = _changed(at, found, patience)
    except Failed as failed:
        terminal.echo(f"{at.name}: what changed could not be read: {failed}", err=True)
        return
    for line in drawn.lines(changed):
        terminal.echo(f"{at.name}: {line}")
    file = path(at.name, changed)
    try:
        atomic_write.folder(file)
        atomic_write.write(file, TypeAdapter(Changed).dump_json(changed, indent=1).decode() + "\n", 0o600)
        atomic_write.write(file.with_suffix(".html"), drawn.html(changed), 0o600)
        terminal.echo(f"{at.name}: all that changed: {file}, and as a page {file.with_suffix('.html').name}")
    except Refusal as refusal:
        terminal.echo(f"{at.name}: {refusal.what}. Try: {refusal.cure}", err=True)


def path(host: str, changed: Changed) -> Path:
    """The file of an update, in the user's state folder."""
    from platformdirs import user_state_path

    return user_state_path("sparkrig") / "updates" / f"{file_name(host)}-{changed.id}.json"


def _changed(at: Host, found: Standing, patience: float) -> Changed:
    assert found.record is not None
    seconds = int(_SECONDS * patience)
    board: dict[str, str] = {}
    if found.record.firmware:
        parts = firmware.judge(remote.read(at, Firmware(), seconds=seconds), None, "")
        board = {str(part.which): part.board or part.fwupd for part in parts}
    printed = remote.shell(at, CHANGED, seconds=seconds).splitlines()
    return remote.parsed("what changed", lambda: changes.changed(at.name, found, printed, board))
