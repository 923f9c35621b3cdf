"""What should be, in the order of a person's runbook."""

from __future__ import annotations

from pathlib import Path


def run(name: str) -> None:
    """Run a deploy from a file of a project's own, as pyinfra runs one: without a name of its own.

    pyinfra's local.include would put the path of the file in front of the name of each operation.
    """
    file = Path(__file__).with_name(f"{name}.py")
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), {"__file__": str(file)})  # noqa: S102 - ours
