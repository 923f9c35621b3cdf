"""Who gets the locks of a pair where several controllers begin at the same moment: every order of their steps."""

from __future__ import annotations

import getpass
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sparkrig import login, programs
from sparkrig.operations import journal
from sparkrig.operations.journal import Run
from sparkrig.refusal import Refusal
from sparkrig.runs import lock
from sparkrig.ssh import remote
from sparkrig.ssh.remote import Lost
from tests.tables import each_row
from tests.unit.runs.machines import Half, Machine, every_order, shell
from tests.unit.shells import sh
from tests.unit.sshd import keygen, sshd
from tests.unit.turns import in_turn

ROOT = Path(__file__).resolve().parents[3]
BOTH, ONE = ("a", "b"), ("b",)


@dataclass
class Controller:
    """A process that begins a run on some machines, and keeps it until the others have come to an end."""

    run: Run
    hosts: dict[str, Half]
    refused: Refusal | None = None
    won: bool = False

    def __call__(self) -> None:
        try:
            journal.begin(self.run, self.hosts)  # type: ignore[arg-type]
            self.won = True
        except Refusal as refusal:
            self.refused = refusal


@pytest.fixture(autouse=True)
def model(monkeypatch: pytest.MonkeyPatch) -> None:
    def spawn(function: Callable[..., Any], *words: Any) -> Any:
        return None if function is journal._hold else SimpleNamespace(get=lambda: function(*words))

    monkeypatch.setattr(journal, "spawn", spawn)
    monkeypatch.setattr(journal, "_shell", shell)
    monkeypatch.setattr(journal, "_claim", lambda run, hosts: None)
    monkeypatch.setattr(journal, "_apt_is_free", lambda at: None)
    monkeypatch.setattr(remote, "each", in_turn)


World = tuple[list[Machine], list[Controller]]


def controllers(*wanted: Sequence[str], identities: tuple[str, str] = ("1", "2")) -> Callable[[], World]:
    """Controllers that want machines, in the order and by the names of their own inventories."""

    def make() -> World:
        machines = dict(zip("ab", map(Machine, identities), strict=True))
        runs = [Run(f"R{number}", id=f"R{number}") for number in range(len(wanted))]
        made = [
            Controller(
                run, {(name := f"{run.id}-{at}"): Half(name, machines[each]) for at, each in enumerate(names)}
            )
            for run, names in zip(runs, wanted, strict=True)
        ]
        return [*machines.values()], made

    return make


def test_of_runs_that_begin_at_the_same_moment_one_wins_in_every_order() -> None:
    """None both lose, none both win; whoever lost names who won, and leaves nothing behind."""

    def holds(make: Callable[[], World]) -> None:
        ends = 0
        for order, (machines, made) in every_order(make):
            ends += 1
            winners = [each for each in made if each.won]
            assert len(winners) == 1, f"order {order}: {len(winners)} win"
            (winner,) = winners
            for each in made:
                assert each.won or f"for: {winner.run.id}" in str(each.refused), order
            for machine in machines:
                mine = machine in [half.machine for half in winner.hosts.values()]
                assert machine.owner == (winner.run.id if mine else ""), order
                assert machine.runs == ({winner.run.id} if mine else set()), order
        assert ends > 3

    each_row(
        {
            "the same inventory": controllers(BOTH, BOTH),
            "another order of the inventory": controllers(BOTH, BOTH[::-1]),
            "the higher identity first": controllers(BOTH, BOTH[::-1], identities=("2", "1")),
            "one host alone": controllers(BOTH, ONE),
            "one host alone, twice": controllers(ONE, ONE),
        },
        holds,
    )
    with pytest.raises(AssertionError):
        holds(controllers(("a",), ("b",)))  # two who want nothing of each other both win, which the count sees


@pytest.mark.slow  # some thousand orders
def test_of_three_one_wins_in_every_order() -> None:
    def holds(make: Callable[[], World]) -> None:
        for order, (machines, made) in every_order(make):
            (winner,) = [each for each in made if each.won]
            mine = [half.machine for half in winner.hosts.values()]
            for machine in machines:
                assert machine.owner == (winner.run.id if machine in mine else ""), order

    each_row(
        {
            "all want both": controllers(BOTH, BOTH[::-1], BOTH),
            "one wants a host": controllers(BOTH, BOTH[::-1], ONE),
        },
        holds,
    )


def test_hosts_that_cannot_be_told_apart_are_ordered_by_name() -> None:
    machine = Machine("1")
    hosts = {name: Half(name, machine) for name in ("b", "a")}
    assert [*journal._ordered(hosts, {"a": "1", "b": "1"})] == ["a", "b"]  # type: ignore[arg-type]


def test_a_host_that_does_not_say_who_it_is_is_not_locked() -> None:
    machine = Machine("1")
    hosts = {name: Half(name, machine) for name in ("a", "b")}
    with pytest.raises(Refusal, match="b cannot be locked: gone"):
        journal._ordered(hosts, {"a": "1", "b": Lost("gone")})  # type: ignore[arg-type]


# --- one controller, its real connection and a real lock

# A restricted shell is on no list of shells, and forbids what a wrapper would do to hide itself (cd, exec, a path)
FORCED = 'ForceCommand exec /bin/rbash -c "$SSH_ORIGINAL_COMMAND"'
# argv: a folder for the host's, the inventory's data. Holds the lock until its standard input ends.
CONTROLLER = """if True:
    import json, sys
    from sparkrig.ssh import controller
    controller._IN_CONTAINER = ()
    from sparkrig.runs import journal as scripts, lock
    from sparkrig.ssh import session
    for place, name in (lock, "HOLD"), (lock, "LOCK"), (lock, "RELEASE"), (scripts, "ABANDON"):
        text = getattr(place, name).replace("-gt 200", "-gt 20").replace("/var/lib/sparkrig", f"{sys.argv[1]}/var")
        setattr(place, name, text.replace("/run/sparkrig", f"{sys.argv[1]}/run"))
    from sparkrig.operations import journal
    from sparkrig.refusal import Refusal
    with session.connected(json.loads(sys.argv[2])) as hosts:
        try:
            with journal.locked(journal.Run("a measurement"), hosts):
                print("locked", flush=True)
                sys.stdin.read()
        except Refusal as refusal:
            print(refusal, flush=True)
"""


@contextmanager
def controller(folder: Path, *lines: str, lock_of: Path | None = None) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock of a host in a folder, over pyinfra's own connection to OpenSSH's server.

    lock_of: the folder of the host, where it is another one than the server's.
    """
    key = keygen(folder / "key")
    with sshd(folder, lines=lines) as server:
        (server.home / ".ssh").mkdir(parents=True)
        (server.home / ".ssh/authorized_keys").write_text(Path(f"{key}.pub").read_text())
        keys = [f"[127.0.0.1]:{server.port} {each.read_text()}" for each in server.etc.glob("*.pub")]
        (folder / "known").write_text("".join(keys))
        known = {"ssh_known_hosts_file": str(folder / "known"), "ssh_config_file": "/dev/null"}
        at = {"ssh_hostname": "127.0.0.1", "ssh_port": server.port, "ssh_user": getpass.getuser()}
        with holding(lock_of or folder, {**at, **known, "ssh_key": str(key)}, f"state-{folder.name}") as process:
            yield process


@contextmanager
def holding(folder: Path, data: Mapping[str, Any], state: str = "state") -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock of a host in a folder. state: the folder of what it keeps itself."""
    with subprocess.Popen(
        [sys.executable, "-c", CONTROLLER, str(folder), json.dumps({"spark": data})],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_STATE_HOME": str(folder / state), "PYTHONPATH": str(ROOT)},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def seen(folder: Path) -> str:
    """What the host says of its lock: alive, dead, or nothing where there is none."""
    text = "set -e\n" + programs.text("runs/lock_functions.sh") + programs.text("runs/lock_seen.sh")
    return " ".join(sh(text.replace("/run/sparkrig", f"{folder}/run")).stdout.split()[1:2])


def becomes(folder: Path, state: str) -> bool:
    end = time.monotonic() + 20
    while seen(folder) != state and time.monotonic() < end:
        time.sleep(0.1)
    return seen(folder) == state


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


@pytest.mark.slow  # it starts Python, and waits for more than one tick of a lock's holder
def test_a_killed_controller_frees_its_lock_and_a_silent_one_keeps_it(tmp_path: Path) -> None:
    with controller(tmp_path, FORCED) as process:
        assert said(process) == "locked"
        time.sleep(2 * lock.TICK_S)
        assert seen(tmp_path) == "alive", "each exec but the holder's is over"
        process.kill()
        assert becomes(tmp_path, "dead")


@pytest.mark.slow  # it starts Python
def test_a_controller_gives_its_lock_back_and_leaves_no_process(tmp_path: Path) -> None:
    with controller(tmp_path, FORCED) as process:
        assert said(process) == "locked"
        told, complaint = process.communicate("")
        assert (process.returncode, told, complaint) == (0, "", "")
        assert seen(tmp_path) == "" and [*(tmp_path / "run").iterdir()] == []
    left = time.monotonic() + 20
    while (found := subprocess.run(["pgrep", "-f", f"{tmp_path}/run"], capture_output=True).stdout) and (
        time.monotonic() < left
    ):
        time.sleep(0.1)
    assert found == b""


@pytest.mark.slow  # it starts Python, and waits for more than one tick of a lock's holder
def test_a_controller_on_the_host_itself_holds_the_same_lock(tmp_path: Path) -> None:
    """One that came over ssh is refused meanwhile, and the death of the other one frees the host."""
    here = {login.HERE: getpass.getuser()}
    with holding(tmp_path, here) as process:
        assert said(process) == "locked"
        time.sleep(2 * lock.TICK_S)
        assert seen(tmp_path) == "alive"
        (tmp_path / "far").mkdir()
        for other in (here, None):
            with (
                holding(tmp_path, other, "another") if other else controller(tmp_path / "far", lock_of=tmp_path)
            ) as second:
                assert said(second).startswith("spark is locked by"), second
        assert seen(tmp_path) == "alive"
        process.kill()
        assert becomes(tmp_path, "dead")
    with holding(tmp_path, here) as process:
        assert said(process) == "locked"
        told, complaint = process.communicate("")
        assert (process.returncode, told, complaint) == (0, "", "")
        assert seen(tmp_path) == "" and [*(tmp_path / "run").iterdir()] == []


@pytest.mark.slow  # it starts Python
def test_a_server_of_one_session_alone_is_refused_with_what_it_lacks(tmp_path: Path) -> None:
    with controller(tmp_path, "MaxSessions 1") as process:
        told = said(process)
        assert told.startswith("spark cannot be locked: ") and "maxsessions" in told
        assert seen(tmp_path) == ""
