"""A desk whose hosts are of a story: tests/plan/update_story.py."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Sequence
from typing import Any

from tests.plan.clustered import Cluster
from tests.plan.conftest import A, B, Host
from tests.plan.desk import Desk, Done
from tests.plan.update_story import DRIVERS, OLD
from tests.plan.updating import ahead, every, look, pair, spark
from tests.unit import updates

HEAD = "from tests.plan import update_story\nupdate_story.play(__import__('pathlib').Path({folder!r}))\n"
ASKED = """
import sys
import sparkrig.terminal.terminal
sys.stdin.isatty = lambda: True
sparkrig.terminal.terminal.confirm = lambda question: print(question) or {answer}
"""
SERVES = "\n".join(["looked", "unit LoadState=loaded", "unit ActiveState=active", "unit SubState=running"])


class Played(Desk):
    """A desk whose hosts are of a story."""

    def begins(self, serves: str = "", dead: bool = False, **more: Any) -> Played:
        """serves: the host that serves; more: what else a Spark of the story has."""
        board = {"firmware": "\n".join(updates.board("sparky"))} if "firmware" in more else {}
        seen = {
            name: look(
                "sparketa", letter, *every("sparketa"), **board, **({"serving": SERVES} if name == serves else {})
            )
            for name, letter in ((A, "a"), (B, "b"))
        }
        return self._begins(pair(seen[A], seen[B], ahead("sparketa")), dead, **more)

    def begins_as(self, cluster: Cluster, serves: Collection[str] = (), dead: bool = False) -> Played:
        """The same of a cluster. serves: the hosts that serve."""
        hosts = []
        for host in cluster.settled():
            more = {"serving": SERVES} if host.name in serves else {}
            hosts.append(spark(host, look("sparketa", "a", *every("sparketa"), **more), ahead("sparketa")))
        return self._begins(hosts, dead)

    def _begins(self, hosts: Sequence[Host], dead: bool, **more: Any) -> Played:
        self.has(hosts)
        self.inventory.write_text(HEAD.format(folder=str(self.folder)) + self.inventory.read_text())
        kernels = {"kernel": OLD, "default": OLD, "once": "", "dead": dead}
        each = {**kernels, "firmware": {}, "installed": DRIVERS[OLD], "plan": [], "steps": [], **more}
        sparks = {host.name: {**each, "boot": str(uuid.uuid4())} for host in hosts}
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
        names = {name[-1].upper(): name for name in self.state["sparks"]}
        keys = {(f"{names[key[0]]} {key[2:]}" if key[1:2] == "_" else key): each for key, each in more.items()}
        self.keep({**self.state, "trouble": keys})

    def update(self, *words: str) -> Done:
        self.keep({**self.state, "order": []})
        return self.typed("update", "--yes", "--to", "candidate", *words)

    def asks(self, *words: str, answer: bool) -> Done:
        """The same command at a terminal, where each question is printed and has this answer."""
        kept = self.inventory.read_text()
        self.inventory.write_text(kept + ASKED.format(answer=answer))
        self.keep({**self.state, "order": []})
        done = self.typed("update", "--to", "candidate", *words)
        self.inventory.write_text(kept)
        return done

    def order(self, of: str | None = None) -> list[str]:
        """What was done on the hosts, in its order."""
        return [task for name, task, *_ in self.state["order"] if of in (None, name)]

    def kernels(self) -> list[str]:
        return [each["kernel"] for each in self.state["sparks"].values()]
