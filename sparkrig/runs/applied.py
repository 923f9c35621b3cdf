"""A run of pyinfra, read from the lines that it prints: which step, what each host printed, and how it ended."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from sparkrig.cure import quoted_path
from sparkrig.refusal import BUSY, SAID
from sparkrig.text import listed, plain, step

# pyinfra's own words, of the version in requirements.lock
_STEP = re.compile(r"--> Starting operation: (.+)")
_HOST = re.compile(r"\s+\[(\S+)\] (.*)")
_STAGES = {
    "--> Connecting to hosts": "connecting",
    "--> Preparing operation": "looking",
    "--> Disconnecting": "disconnecting",
}
_AT_WORK = ("Connected", "Ready: ", "noop: ")
_BUSY = re.compile(rf" {BUSY} \(\d+ s\)$")
PROGRESS = re.compile(r"(100|\d\d?) % of ")  # how far a long step is: what a host says in the place of its last
_UNREACHABLE = re.compile(r"Could not connect|SSH |Authentication|Host key|No host key|The host key")
_CHECKS = ("Bandwidth: ", "Driver: prove ")
_ERROR = re.compile(
    r"--> (?:(?=[^:]*[Ee]rror)[^:]*+|An exception occurred in|An internal exception occurred): *(.*)"
)


def _named(step: str) -> str:
    """Without what pyinfra puts behind it, in brackets."""
    name, _, aside = step.rstrip(" ").rpartition("(")
    return (name if name and aside.find(")") == len(aside) - 1 else step).rstrip(" ")


@dataclass
class Applied:
    """What a run did so far.

    stage: what pyinfra is at, in words; step: the operation, empty before the first; changed: by host, the steps
    that changed it; sentences: by host, why nothing more was done there; failed: by host, the step that failed;
    unreachable: the hosts that could not be connected to; trouble: what pyinfra itself ended with; interrupted:
    whether it was ended by Ctrl-C.
    """

    stage: str = "starting"
    step: str = ""
    changed: dict[str, list[str]] = field(default_factory=dict)
    sentences: dict[str, list[str]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    unreachable: list[str] = field(default_factory=list)
    trouble: str = ""
    interrupted: bool = False

    @property
    def whole(self) -> bool:
        """Whether it got to its end on each host; pyinfra ends with 0 after Ctrl-C, too."""
        return not (self.interrupted or self.failed or self.sentences)

    @property
    def lost(self) -> bool:
        """Whether a host could not be connected to, or the connection was lost in the middle of a step."""
        told = [text for sentence in self.sentences.values() for text in sentence]
        return bool(self.unreachable) or any("connection was lost" in text for text in told)

    @property
    def checked(self) -> bool:
        """Whether it is a check alone that failed: what it is about is changed, and stays."""
        return bool(self.failed) and all(step.startswith(_CHECKS) for step in self.failed.values())

    def exit_code(self, *, back: bool) -> int:
        """Of a run that did not get to its end. back: whether what it changed was put back."""
        if back:
            return 4
        if self.lost:
            return 3
        return 2 if self.checked and not self.interrupted else 1

    def why(self) -> list[str]:
        """Why nothing more was done: hosts of a pair often hear the same."""
        said: dict[str, list[str]] = {}
        for name, told in self.sentences.items():
            for text in dict.fromkeys(told):
                said.setdefault(text, []).append(name)
        return [f"✗ {listed(names)}: {text}" for text, names in said.items()]

    def ended(self, typed: str, again: str, deploy: str) -> str:
        """How a run that did not get to its end stands, and what to type. typed: the inventory, quoted."""
        if self.interrupted:
            where = f" at {self.step}" if self.step else ""
            return f"Interrupted{where}; what was done before stays. It goes on with: {again}"
        failed = [f"{name} at {step}" for name, step in self.failed.items()]
        if self.checked:
            return f"A check failed on {listed(failed)}; what was done before stays. Try: sparkrig doctor {typed}"
        if failed:
            return f"The run ended on {listed(failed)}; what was done before stays. It goes on with: {again}"
        if self.unreachable:
            return f"{listed(self.unreachable)} could not be reached. Try: sparkrig doctor {typed} access"
        if self.sentences:
            return "Refused; nothing was changed."
        why = f": {self.trouble}" if self.trouble else ""
        return f"pyinfra did not get to its end{why}. Try: pyinfra {typed} {quoted_path(deploy)} --dry"

    def read(self, line: str) -> Said | None:
        """Take the next line; what a host prints in it, or None."""
        text = line.rstrip("\n")
        if found := _STEP.fullmatch(text):
            self.step = self.stage = step(plain(_named(found[1])))
            return None
        if found := _HOST.fullmatch(text):
            return self._host(found[1], plain(found[2]))
        for words, stage in _STAGES.items():
            if text.startswith(words):
                self.stage = stage
        if found := _ERROR.fullmatch(text):
            self.trouble = plain(found[1])
        return None

    def _host(self, name: str, text: str) -> Said | None:
        if text.startswith(("Success", "No changes", "Skipped")):
            if text.startswith("Success"):
                self.changed.setdefault(name, []).append(self.step)
            return Said(name, "", done=True)
        if text.startswith("Error"):
            self.failed.setdefault(name, self.step)
            return Said(name, "", done=True)
        if text.startswith(SAID):
            sentence = text.removeprefix(SAID)
            self.sentences.setdefault(name, []).append(sentence)
            return Said(name, sentence, wrong=True)
        if self.stage == "connecting" and _UNREACHABLE.match(text):
            self.unreachable.append(name)
            self.sentences.setdefault(name, []).append(text)
            return Said(name, text, wrong=True)
        quiet = text.startswith(_AT_WORK) or _BUSY.search(text)  # what the screen shows by itself
        return None if quiet else Said(name, text)


@dataclass(frozen=True)
class Said:
    """What a host reported: a sentence, or that the step is done; wrong: why nothing more is done there."""

    host: str
    text: str
    wrong: bool = False
    done: bool = False
