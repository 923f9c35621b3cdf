"""A folder with an inventory of fake hosts, and the commands that a person types on it."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests import warm

if TYPE_CHECKING:  # which has the desk as a fixture
    from tests.plan.conftest import Host

ROOT = Path(__file__).resolve().parents[2]
Entry = tuple[str, dict[str, Any]]
PRINTED = "fake_responses"
HEAD = "from sparkrig.inventory import checked as _checked\n"
# what each process that loads the inventory does besides: nothing settles on a fake host, and commands are counted
NOTED = """
import sparkrig.operations.guard as _guard
_guard.APART_S = _guard.PAUSE_S = 0
from pyinfra.connectors.fake import FakeConnector as _Fake
if not hasattr(_Fake, "noted"):
    _Fake.noted = _Fake.run_shell_command
    def _run(self, command, *words, **more):
        with open({file!r}, "a") as file:
            file.write(repr((self.host.name, str(command))) + "\\n")
        return self.noted(command, *words, **more)
    _Fake.run_shell_command = _run
"""


def defaults(folder: Path) -> None:
    """Those of all settings, as they stand beside an inventory."""
    (folder / "group_data").mkdir(parents=True, exist_ok=True)
    text = (ROOT / "inventories" / "group_data" / "all.py").read_text()
    (folder / "group_data" / "all.py").write_text(text)


class _Beside:
    """What stands in the file beside an inventory: Python compiles a literal of that size for ten milliseconds."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"_beside[{self._name!r}]"


def write(folder: Path, entries: Sequence[Entry], head: str = HEAD) -> Path:
    """An inventory of these hosts; what they print stands beside it, in a file that no later inventory changes."""
    defaults(folder)
    printed = pickle.dumps({name: data[PRINTED] for name, data in entries if PRINTED in data})
    beside = folder / f"{sha256(printed).hexdigest()}.printed"
    beside.write_bytes(printed)
    rows = [(name, {**data, PRINTED: _Beside(name)} if PRINTED in data else data) for name, data in entries]
    file = folder / "sparks.py"
    head += "import pickle as _pickle\nfrom pathlib import Path as _Path\n"
    head += f"_beside = _pickle.loads(_Path({str(beside)!r}).read_bytes())\n"
    file.write_text(f"{head}sparks = _checked({rows!r}, __file__)\n")
    return file


@dataclass(frozen=True)
class Done:
    """A command that ended."""

    code: int
    out: str
    said: str

    @property
    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def wrong(self) -> dict[str, set[str]]:
        """By host, what does not hold."""
        return {
            host["name"]: {row["id"] for row in host["rows"] if row["status"] not in ("ok", "skipped")}
            for host in self.report["hosts"]
        }

    def row(self, host: str, id: str) -> dict[str, Any]:
        rows = next(each["rows"] for each in self.report["hosts"] if each["name"] == host)
        return next(row for row in rows if row["id"] == id)


@dataclass
class Desk:
    """A folder with an inventory, and what is typed in the repository."""

    folder: Path
    inventory: Path = field(init=False)

    def __post_init__(self) -> None:
        self.inventory = self.folder / "sparks.py"
        defaults(self.folder)

    def has(self, hosts: Sequence[Host]) -> Desk:
        write(self.folder, [host.entry() for host in hosts])
        return self

    def typed(self, verb: str, *words: str, at: Path = ROOT) -> Done:
        env = {"XDG_STATE_HOME": str(self.folder / "state"), "NO_COLOR": "1", "COLUMNS": "80"}
        done = warm.run("sparkrig", verb, str(self.inventory), *words, cwd=at, env=env)
        assert "Traceback" not in done.stderr, done.stderr[-2500:]
        return Done(done.returncode, done.stdout, done.stderr)

    def drift(self, *words: str) -> Done:
        return self.typed("drift", "--json", *words)


def noted(desk: Desk, hosts: list[Host]) -> Desk:
    """The same hosts, whose commands are written down."""
    desk.has(hosts)
    (desk.folder / "commands").write_text("")
    text = NOTED.format(file=str(desk.folder / "commands")) + desk.inventory.read_text()
    desk.inventory.write_text(text)
    return desk


def commands(desk: Desk) -> list[str]:
    return (desk.folder / "commands").read_text().splitlines()
