"""The machine that runs sparkrig as a host: its name, and commands on it as sshd would run them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyinfra.api import Config, Host, Inventory, State
from pyinfra.api.exceptions import ConnectError, InventoryError
from pyinfra.connectors.util import CommandOutput

from sparkrig import login
from sparkrig.parsing import bounds
from sparkrig.ssh import controller
from sparkrig.ssh.here import HereConnector
from sparkrig.ssh.shell import script
from tests.tables import each_row


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Host:
    monkeypatch.setattr(controller, "_IN_CONTAINER", ())
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SUDO_USER", raising=False)
    return made("@here/spark-a")


def made(name: str, **data: Any) -> Host:
    hosts = [(name, {"pair": "sparks", **data})]
    inventory = Inventory((hosts, {}), sparks=([name], {"mtu": 9000}))  # type: ignore[no-untyped-call]
    State(inventory, Config())  # type: ignore[no-untyped-call]
    (host,) = inventory
    return host


def run(at: Host, text: str, *, timeout: float = 20, **more: Any) -> tuple[bool, CommandOutput]:
    command = script(text, seconds=10)
    return at.connector.run_shell_command(command, False, False, _timeout=timeout, **more)  # type: ignore[arg-type]


def test_it_has_the_name_that_the_inventory_gives_it(here: Host) -> None:
    assert (here.name, isinstance(here.connector, HereConnector)) == ("spark-a", True)
    assert here.data.pair == "sparks" and here.data.mtu == 9000, "what its inventory and its group say of it"
    assert here.data.get(login.HERE) == controller.user()
    for name in ("@here", "@here/"):
        with pytest.raises(InventoryError, match='NAME" is expected'):
            made(name)


def test_what_it_prints_and_how_it_ends(here: Host) -> None:
    here.connect()
    ok, told = run(here, 'printf "a\\377b\\nlast"; echo no >&2; exit 3')
    assert (ok, told.stdout_lines, told.stderr_lines) == (False, ["a\ufffdb", "last"], ["no"])
    ok, told = run(here, "cat; cat >&2", _stdin="hello")
    assert (ok, told.stdout_lines) == (True, ["hello"])
    assert run(here, "exit 0", _stdin="x" * 1_000_000)[0], "what a command does not read is no failure of it"
    ok, told = run(here, "cat", _stdin="x" * 1_000_000)
    assert ok and told.stdout_lines == ["x" * 1_000_000], "more than a pipe holds, both ways"
    assert run(here, "exit 4", _success_exit_codes=[0, 4])[0] and not run(here, "exit 4")[0]


def test_a_command_is_begun_as_sshd_begins_it(here: Host, tmp_path: Path) -> None:
    """In a session of its own: Ctrl-C at the terminal is for sparkrig, not for what it does on the machine."""
    _, told = run(here, "pwd; cut -d ' ' -f 6 /proc/$$/stat; tty; echo $SPARKRIG_SEEN")
    folder, session, terminal = told.stdout_lines[:3]
    assert folder == str(tmp_path), "no module of a project hides one of Python's"
    assert int(session) != os.getsid(0)
    assert terminal == "not a tty"


def test_what_is_printed_has_an_end(here: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "STREAM_BYTES", 3 << 20)
    monkeypatch.setattr(bounds, "STREAM_ROWS", 1000)
    assert len(run(here, "yes | head -n 1000")[1].stdout_lines) == 1000, "as many as are expected"

    def holds(text: str) -> None:
        began = time.monotonic()
        ok, told = run(here, text)
        assert not ok and told.stderr_lines[-1] == "it printed more than the 3 MiB and 1000 rows expected"
        assert sum(map(len, told.output_lines)) <= (3 << 20) + 100
        assert time.monotonic() - began < 5, "the other stream is not waited for"

    each_row([f"{what}{where}" for what in ("cat /dev/zero", "yes") for where in ("", " >&2")], holds)


def test_a_command_that_does_not_end_is_given_up_and_learns_it(here: Host, tmp_path: Path) -> None:
    with pytest.raises(TimeoutError):
        run(here, f"echo $$ >{tmp_path}/pid; while echo; do sleep 0.05; done", timeout=0.5)
    pid = (tmp_path / "pid").read_text().strip()
    assert soon(lambda: not Path("/proc", pid).exists()), "it goes on printing to nothing"


def soon(true: Callable[[], bool]) -> bool:
    end = time.monotonic() + 10
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    return true()


def test_what_cannot_set_up_its_machine_says_so(
    here: Host, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    here.connect()
    monkeypatch.setenv("SUDO_USER", "nvidia")
    made("@here/spark-a", **{login.UNLISTED: True}).connect(
        raise_exceptions=True
    )  # who only looks may be root by sudo
    for why in (login.UNDER_SUDO, login.IN_CONTAINER):
        with pytest.raises(ConnectError) as raised:
            made("@here/spark-a").connect(raise_exceptions=True)
        assert str(raised.value) == str(why)
        assert login.hindrance("spark-a", {login.HERE: "nvidia"}, str(why)) == ("ssh", why)
        monkeypatch.setattr(controller, "_IN_CONTAINER", (tmp_path,))
