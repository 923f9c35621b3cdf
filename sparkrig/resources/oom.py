"""An early end of what eats the memory, before the host hangs: setting `oom`.

CUDA's memory on a GB10 belongs to no process and no cgroup [@gb10-ops], so systemd-oomd, which judges cgroups,
would end something else. earlyoom goes by MemAvailable, and is told by name whom to end; owners use it so
[@sparkrun-earlyoom].
Source: earlyoom(1) of 1.7, whose unit passes /etc/default/earlyoom: that file stays its owner's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sparkrig import programs
from sparkrig.files import Beside, File, Managed
from sparkrig.parsing.rows import told
from sparkrig.resources import file_diff
from sparkrig.resources.check import Check, Subject, check
from sparkrig.resources.kind import Kind
from sparkrig.resources.resource import Changes, Resource, release
from sparkrig.text import listed
from sparkrig.value import Value

if TYPE_CHECKING:
    from sparkrig.resources.state import State

PACKAGE = "earlyoom"
DROP_IN = f"/etc/systemd/system/{PACKAGE}.service.d/zz-sparkrig.conf"  # after another's override.conf
UNIT_FILE = f"/lib/systemd/system/{PACKAGE}.service"  # it is there with the package
INSTALLED = f"/usr/local/lib/sparkrig/{PACKAGE}"  # notes that a deploy installed the package

SETTLE = programs.text("operations/oom_settle.sh")

# By name, of which the kernel keeps 15 characters [@sparkrun-earlyoom]: the engines of models first, and never
# what leads to the host, or leads its containers.
FIRST = "^(VLLM|vllm|sglang|llama-|trtllm|tritonserver|ray|python)"
NEVER = "^(sshd|systemd|dockerd|containerd|dbus-daemon|NetworkManager)"
# SIGTERM at 2 % of memory and SIGKILL at 1 %, whatever swap is free: after `-s 100` alone SIGKILL waits for half
# of it. A Spark was lost at 0.2 GiB [@gb10-ops].
WORDS = f"/usr/bin/{PACKAGE} -m 2,1 -s 100,100 -r 3600 --prefer {FIRST} --avoid {NEVER}"


@dataclass(frozen=True)
class Early(Value):
    """words: how earlyoom was started, empty where it does not run."""

    words: str = ""


class EarlyEnd(Resource[Early]):
    """Whether earlyoom runs, and as what."""

    name, title, step, rereads = "oom", "Early end", "earlyoom as declared", "let earlyoom run so"
    files = (
        Managed(DROP_IN, reload=SETTLE),
        Managed(UNIT_FILE, "seen"),
        Managed(
            INSTALLED,
            reload=release(PACKAGE, INSTALLED),
            beside=Beside(f"package {PACKAGE}, unless another one came to need it"),
        ),
    )
    script = programs.text("facts/oom.sh")
    absent = Early()
    kinds = (
        Kind(
            "host.oom",
            "health",
            "earlyoom runs as declared",
            "it was stopped, removed, or started with other words by hand",
            "docs/alone.md#an-early-end",
        ),
    )

    def parse(self, lines: Iterable[str]) -> Early:
        words = dict(told(lines, "runs"))
        return Early(words.get("runs", "").strip())

    def changes(self, subject: Subject) -> Changes:
        files, on, runs = subject.found.files, subject.settings.oom == "earlyoom", self.seen(subject).words
        absent = UNIT_FILE not in files
        wanted = [File(DROP_IN, _TEXT)] if on else []
        if on and (absent or INSTALLED in files):  # else it is its owner's, and stays
            wanted.append(File(INSTALLED, _NOTE))
        made = Changes.of(wanted, files, (file for file in self.files if file.kind == "owned"))
        due = [DROP_IN] if on and (DROP_IN in made.paths or runs != WORDS) else []
        gone = [path for path in (DROP_IN, INSTALLED) if path in made.remove]
        return replace(made, reload=(*due, *gone), install=(PACKAGE,) if on and absent else ())

    def settings_of(self, found: State) -> Mapping[str, Any]:
        return {"oom": "earlyoom"} if DROP_IN in found.files else {}

    def checks(self, subject: Subject) -> Iterator[Check]:
        changes, on, runs = self.changes(subject), subject.settings.oom is not None, self.seen(subject).words
        if on or changes:
            odd = file_diff.differences(changes.write, changes.remove, subject.found.files)
            odd += [f"{PACKAGE} is not installed"] if changes.install else []
            if not odd and on and runs != WORDS:
                odd = [f"it runs as {runs}" if runs else "it does not run"]
            want = "earlyoom as declared" if on else "no earlyoom of ours"
            yield check("host.oom", not changes, want, listed(odd) or want, subject.apply)


OOM = EarlyEnd()

_NOTE = f"{PACKAGE} was installed by sparkrig, and is removed with this file: docs/alone.md\n"
_TEXT = "\n".join(
    [
        "# Written by sparkrig: docs/alone.md",
        "[Service]",
        "ExecStart=",  # that of the package
        "ExecStart=" + WORDS.replace(FIRST, f'"{FIRST}"').replace(NEVER, f'"{NEVER}"'),
        "",
    ]
)
