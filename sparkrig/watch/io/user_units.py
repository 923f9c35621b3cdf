"""Units of systemd's user manager on this machine, which run as the user who typed the command.

Where there is none (macOS, a container, a user without a session), `manager` says so.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from sparkrig.cure import quoted, quoted_path
from sparkrig.refusal import Refusal
from sparkrig.ssh import controller
from sparkrig.terminal import atomic_write
from sparkrig.text import plain, reason

_SECONDS = 30


def folder() -> Path:
    """Where a user's own units lie (systemd.unit(5))."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "systemd" / "user"


def manager() -> None:
    """Raises Refusal where no user manager answers."""
    why = _failure("show-environment")
    if why:
        raise Refusal(
            f"systemd has no user manager here that answers ({why})",
            "the same with --every 1h --now, and that with --now alone in a crontab (sparkrig docs scheduling)",
        )


def lingers() -> bool | None:
    """Whether the manager runs while its user is logged out, too; None where logind does not say."""
    done = _run("loginctl", "show-user", controller.user(), "--property=Linger", "--value")
    return {"yes": True, "no": False}.get(done.stdout.strip()) if done else None


def written(texts: Mapping[str, str]) -> bool:
    """Whether the units are there, each as it should be."""
    return all(_text(folder() / name) == text for name, text in texts.items())


def write(texts: Mapping[str, str]) -> None:
    """Put units there and have the manager read them. Raises Refusal."""
    for name, text in texts.items():
        file = folder() / name
        atomic_write.folder(file)
        atomic_write.write(file, text)
    _must("daemon-reload")


def enable(timers: Sequence[str]) -> None:
    """Start timers, now and whenever the manager starts; those that run begin anew. Raises Refusal."""
    _must("enable", *timers)
    _must("restart", *timers)


def start(service: str, seconds: float) -> None:
    """Run a service once, and wait for its end, good or bad. Raises Refusal where it goes on for longer."""
    if _run("systemctl", "--user", "start", service, seconds=seconds) is None:
        raise Refusal(f"{service} goes on", f"systemctl --user status {quoted(service)}")


def active(timer: str) -> bool | None:
    """Whether a timer waits for its time; None where no manager says."""
    done = _run("systemctl", "--user", "is-active", timer)
    words = {"active": True, "activating": True, "reloading": True, "inactive": False, "failed": False}
    return words.get(done.stdout.strip()) if done else None


def there(names: Sequence[str]) -> list[Path]:
    """The files of units, and the links by which they start."""
    places = (folder(), folder() / "timers.target.wants")
    files = [place / name for name in names for place in places]
    return [file for file in files if file.is_symlink() or file.exists()]


def remove(names: Sequence[str]) -> bool:
    """Stop units, a run that goes on too, and remove their files; whether there were any. Raises Refusal.

    Where no manager answers, the files alone are removed: it reads none of them at its next start. One that does
    not know a unit (its folder was another one when it was written) does not disable it, so links go by hand.
    """
    files = there(names)
    if not files:
        return False
    _run("systemctl", "--user", "disable", "--now", *names)
    for file in files:
        _unlink(file)
    if not _failure("daemon-reload"):
        _run("systemctl", "--user", "reset-failed", *names)
    running = [name for name in names if active(name)]
    if running:
        raise Refusal(f"{running[0]} cannot be stopped", f"systemctl --user stop {quoted(*running)}")
    return True


def _unlink(file: Path) -> None:
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise Refusal(f"{file} cannot be removed: {reason(error)}", f"ls -ld {quoted_path(file.parent)}") from None


def _must(*words: str) -> None:
    why = _failure(*words)
    if why:
        raise Refusal(
            f"the user manager refused to {words[0]} units ({why})", f"systemctl --user {quoted(*words)}"
        )


def _failure(*words: str) -> str:
    """Why systemctl failed, in its own words; empty where it did not."""
    done = _run("systemctl", "--user", *words)
    if done is None:
        return "there is no systemctl, or it does not answer"
    said = plain(" ".join(done.stderr.split()))[:200]
    return (said or f"exit code {done.returncode}") if done.returncode else ""


def _run(*words: str, seconds: float = _SECONDS) -> subprocess.CompletedProcess[str] | None:
    """None where there is no such program, or it takes too long."""
    try:
        return subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


def _text(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
