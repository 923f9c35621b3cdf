"""What hosts printed for a look, as it was recorded, with an empty part for each resource that came since.

So no recording is made anew for a resource: its host is one that told nothing of it.
"""

from __future__ import annotations

from sparkrig.facts.resources import FACTS


def whole(recording: str) -> str:
    """A recorded look at a Spark; one that is of something else stays as it is."""
    if end("identity") not in recording:
        return recording
    return recording + "".join(f"\n{end(name)}" for name in FACTS if end(name) not in recording)


def end(noun: str) -> str:
    return f"#sparkrig:end {noun} 0\n"
