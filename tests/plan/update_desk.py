"""A desk whose two hosts are of a story: tests/plan/update_story.py."""

from __future__ import annotations

import json
import uuid
from typing import Any

from tests.plan.conftest import A, B
from tests.plan.desk import Desk, Done
from tests.plan.update_story import DRIVERS, OLD
from tests.plan.updating import ahead, every, look, pair
from tests.unit import updates

HEAD = "from tests.plan import update_story\nupdate_story.play(__import__('pathlib').Path({folder!r}))\n"
SERVES = "\n".join(["looked", "unit LoadState=loaded", "unit ActiveState=active", "unit SubState=running"])


class Played(Desk):
    """A desk whose two hosts are of a story."""

    def begins(self, serves: str = "", dead: bool = False, **more: Any) -> Played:
        """serves: the host that serves; more: what else a Spark of the story has."""
        board = {"firmware": "\n".join(updates.board("sparky"))} if "firmware" in more else {}
        seen = {
            name: look(
                "sparketa", letter, *every("sparketa"), **board, **({"serving": SERVES} if name == serves else {})
            )
            for name, letter in ((A, "a"), (B, "b"))
        }
        self.has(pair(seen[A], seen[B], ahead("sparketa")))
        self.inventory.write_text(HEAD.format(folder=str(self.folder)) + self.inventory.read_text())
        kernels = {"kernel": OLD, "default": OLD, "once": "", "dead": dead}
        spark = {**kernels, "firmware": {}, "installed": DRIVERS[OLD], "plan": [], "steps": [], **more}
        sparks = {name: {**spark, "boot": str(uuid.uuid4())} for name in (A, B)}
        self.keep({"sparks": sparks, "order": [], "trouble": {}})
        return self

    @property
    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "story.json").read_text())
        return found

    def keep(self, state: dict[str, Any]) -> None:
        (self.folder / "story.json").write_text(json.dumps(state))

    def trouble(self, **more: str) -> None:
        """What goes wrong next: `A_install="lost"`."""
        names = {"A": A, "B": B}
        keys = {
            (f"{names[key[0]]} {key[2:]}" if key[:2] in ("A_", "B_") else key): each for key, each in more.items()
        }
        self.keep({**self.state, "trouble": keys})

    def update(self, *words: str) -> Done:
        self.keep({**self.state, "order": []})
        return self.typed("update", "--yes", "--to", "candidate", *words)

    def order(self, of: str | None = None) -> list[str]:
        """What was done on the hosts, in its order."""
        return [task for name, task, *_ in self.state["order"] if of in (None, name)]

    def kernels(self) -> list[str]:
        return [self.state["sparks"][name]["kernel"] for name in (A, B)]
