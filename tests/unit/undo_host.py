"""A host on which the scripts of runs and undos are run."""

from __future__ import annotations

import base64
import shutil
from pathlib import Path
from typing import Any, ClassVar

from sparkrig.network import environment
from sparkrig.operations.files import WRITE
from sparkrig.operations.journal import noted
from sparkrig.resources import containers
from sparkrig.runs import journal, journal_look, lock, undo, undo_merge
from sparkrig.runs.journal import Journal
from sparkrig.runs.undo import Plan
from sparkrig.ssh.shell import script
from tests.unit.holders import Holders
from tests.unit.shells import well
from tests.unit.simulated import SimulatedHost

DAEMON, NCCL = containers.DAEMON_JSON, environment.NCCL_CONF
PATHS = (DAEMON, NCCL, environment.GID_MODULE)


class Spark(SimulatedHost):
    """A host below a folder: its /etc, /run and /var/lib, and what stands in for apt-mark and docker."""

    environment: ClassVar = {"SSH_CONNECTION": "10.0.2.2 5 10.0.2.15 22"}

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        for name in ("etc/docker", "var/lib/sparkrig", "var/lib/dpkg", "run"):
            (root / name).mkdir(parents=True)
        self.held, self.restarts = root / "var/lib/dpkg/status", root / "restarts"
        self.held.write_text("")
        self.tool(
            "apt-mark",
            f"""case $1 in
showhold) cat {self.held} ;;
hold) shift; cat {self.held} >{root}/new; printf '%s\\n' "$@" >>{root}/new; mv {root}/new {self.held} ;;
unhold) grep -vx "$2" {self.held} >{root}/new; mv {root}/new {self.held} ;;
esac""",
        )
        for name in ("dpkg-query", "docker", "dockerd", "sync", "chown"):
            self.tool(name)
        self.tool("systemctl", f"echo x >>{self.restarts}")
        self.holders = Holders(self.here)

    def begin(self, run: str, undoes: str = "") -> None:
        self.holders.cut()  # whoever held it is gone
        shutil.rmtree(self.root / "run/sparkrig", ignore_errors=True)
        self.holders.start(run)
        given = lock.given(run, "ann@laptop", "x", "0", undoes)
        well(self.sh(journal.BEGIN, run, given, "", *PATHS))

    def end(self, run: str) -> None:
        well(self.sh(journal.END, run, "", *PATHS))

    def step(self, run: str, text: str, *words: str, stdin: str = "", name: str = "one", cut: bool = False) -> Any:
        """A step of a run. cut: the power goes within it, so that its end is not noted either."""
        whole = noted(script(text, *words), f"{lock.RUNS}/{run}", name).get_raw_value()
        begun, end, _ = whole.partition("rc=$?; note ")
        assert end
        return self.sh(begun if cut else whole, stdin=stdin)

    def write(self, run: str, path: str, text: str, before: str = "", after: str = "") -> None:
        """A step that writes a file; before, after: what happens around its taking its place."""
        place = '  mv -fT "$new" "$name"; sync .'
        assert place in WRITE
        program = WRITE.replace(place, f"{before}{place}\n{after}")
        folder, _, name = path.rpartition("/")
        row = f"{folder} {name} 0644 {base64.b64encode(text.encode()).decode()}\n"
        self.step(run, program, "", stdin=row, cut=bool(before or after))

    def look(self) -> Journal:
        done = well(self.sh(journal_look.LOOK))
        return journal_look.parse(done.stdout.replace(str(self.root), "").splitlines())

    def plan(self, run: str) -> Plan:
        plan = undo.plan(self.look(), run, everything=False)
        texts = self.sh(undo.TEXTS, *undo_merge.texts_of(plan)).stdout.replace(str(self.root), "")
        return undo_merge.merged(plan, undo_merge.parse_texts(texts.splitlines()))

    def undo(self, run: str, name: str) -> Plan:
        plan, before = self.plan(run), f"{lock.RUNS}/{run}/before/files"
        self.begin(name, undoes=run)
        for text, words, rows in (
            (undo.RESTORE, (before,), plan.files(docker=False)),
            (undo.DOCKER, ("no", before), plan.files(docker=True)),
        ):
            if rows:
                step = undo.step(undo.DOCKER_PART if text is undo.DOCKER else "files")
                well(self.step(name, text, *words, stdin=rows, name=step))
        if held := plan.holds():
            assert self.step(name, undo.HOLDS, *held).returncode == 0
        self.end(name)
        return plan
