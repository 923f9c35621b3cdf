"""The guard of files that a service reads (templates/guard.py): a service of one line follows a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.templates.guarded_host import Host

NEW, OLD, GONE = "etc/svc/new.conf", "etc/svc/old.conf", "etc/svc/gone.conf"
BEFORE = {OLD: "old", GONE: "gone"}


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A host whose service follows what stands in its folder, by `live`."""
    made = Host(tmp_path)
    (tmp_path / "etc/svc").mkdir(parents=True)
    for path, text in BEFORE.items():
        (tmp_path / path).write_text(text)
    (tmp_path / OLD).chmod(0o640)
    order(made)
    return made


def order(host: Host, **changes: str) -> None:
    """A new file, another text of one, and one that goes."""
    files = [
        {"path": f"/{NEW}", "text": "new", "mode": "0600", "kept": None},
        {"path": f"/{OLD}", "text": "other", "mode": "0644", "kept": None},
        {"path": f"/{GONE}", "text": None, "mode": "0644", "kept": None},
    ]
    folder = host.root / "etc/svc"
    live = f"cat {folder}/*.conf >{host.root}/running"
    verify = f'[ "$(cat {folder}/*.conf)" = "$(cat {host.root}/running)" ]'
    given: dict[str, Any] = {"files": files, "test": ":", "live": live, "verify": verify, "units": ["svc.service"]}
    host.order(links=[], profiles=[], **{**given, **changes})


def there(host: Host) -> dict[str, str]:
    """The service's files; a name of a moment is none of them."""
    return {f"etc/svc/{file.name}": file.read_text() for file in (host.root / "etc/svc").iterdir()}


def running(host: Host) -> str:
    return (host.root / "running").read_text()


def told(host: Host) -> tuple[str, str]:
    said = host.guard.told()
    return said["state"], said["detail"]


def test_files_are_applied_and_committed_without_a_word_to_networkmanager(host: Host) -> None:
    host.program.start(host.guard)
    assert told(host) == ("applied", "") and running(host) == "newother"
    assert there(host) == {NEW: "new", OLD: "other"}
    assert [(host.root / path).stat().st_mode & 0o777 for path in (NEW, OLD)] == [0o600, 0o644]
    unit = host.root / "etc/systemd/system/sparkrig-guard.service"
    assert "Before=NetworkManager.service network-pre.target svc.service\n" in unit.read_text()
    host.program.commit(host.guard)
    assert told(host) == ("committed", "") and not unit.exists()
    wrote = host.guard.folder.parent / "wrote"
    rows = (wrote / "state").read_text().splitlines()
    assert [row.split(" ")[:3] for row in rows] == [
        ["file", f"/{NEW}", "600"],
        ["file", f"/{OLD}", "644"],
        ["file", f"/{GONE}", "absent"],
    ], "an undo takes back what a run noted as its own"
    assert (wrote / "files" / NEW).read_text() == "new"
    assert not [act for act in host.acts if "busctl" in act or "nmcli" in act]


@pytest.mark.parametrize("verb", ["rollback", "revert", "recover"])
def test_each_way_back_puts_back_the_files_with_their_modes(host: Host, verb: str) -> None:
    host.program.start(host.guard)
    getattr(host.program, verb)(host.guard, *([] if verb == "recover" else ["why"]))
    assert there(host) == BEFORE and (host.root / OLD).stat().st_mode & 0o777 == 0o640
    assert told(host)[0] == "rolled-back" and host.program.NOT_RESTORED not in told(host)[1]
    assert running(host) == ("newother" if verb == "recover" else "goneold")  # at boot no service runs yet


@pytest.mark.parametrize(
    ("broken", "said", "follows"),
    [
        # what was never followed needs no way back, which a file of another's could bar
        ({"test": "echo line 3 is wrong >&2; exit 1"}, "the new files are refused: line 3 is wrong", False),
        (
            {"verify": "echo another one comes first; exit 1"},
            "the new files have no effect: another one comes first",
            True,
        ),
    ],
)
def test_what_a_program_refuses_goes_back(host: Host, broken: dict[str, str], said: str, follows: bool) -> None:
    order(host, **broken)
    host.program.start(host.guard)
    assert told(host) == ("rolled-back", said) and there(host) == BEFORE
    assert running(host) == "goneold" if follows else not (host.root / "running").exists()


def test_a_service_that_cannot_follow_is_told_of_both_ways(host: Host) -> None:
    order(host, live="echo no such unit; exit 5")
    host.program.start(host.guard)
    why = "the files could not be applied: no such unit"
    assert told(host) == ("rolled-back", f"{why}; not as before: {why}") and there(host) == BEFORE


def test_what_another_one_wrote_meanwhile_is_not_confirmed(host: Host) -> None:
    host.program.start(host.guard)
    (host.root / NEW).write_text("theirs")
    host.program.commit(host.guard)
    assert told(host) == ("rolled-back", f"/{NEW} was changed by another one meanwhile") and there(host) == BEFORE


def test_a_link_in_the_place_of_a_file_is_refused_before_anything(host: Host) -> None:
    (host.root / GONE).unlink()
    (host.root / GONE).symlink_to("old.conf")
    host.program.start(host.guard)
    assert told(host) == ("rolled-back", f"/{GONE} is no plain file; nothing was changed")
    assert not (host.root / "running").exists() and (host.root / OLD).read_text() == "old"


def test_what_cannot_be_put_back_is_named(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    host.program.start(host.guard)
    monkeypatch.setattr(host.program, "restore_file", full)
    host.program.rollback(host.guard, "why")
    left = "; ".join(f"{path} differs" for path in (NEW, OLD, GONE))
    assert told(host) == ("rolled-back", f"why; not as before: {left}")


def test_a_copy_that_the_host_keeps_is_put_there_as_it_was(host: Host) -> None:
    kept = host.root / "kept"
    kept.write_text("earlier")
    kept.chmod(0o604)
    order(host, files=[{"path": f"/{OLD}", "text": None, "mode": "0644", "kept": "/kept"}])  # type: ignore[arg-type]
    host.program.start(host.guard)
    assert there(host) == {**BEFORE, OLD: "earlier"} and (host.root / OLD).stat().st_mode & 0o777 == 0o604
    assert json.loads((host.folder / "order.json").read_text())["files"] and told(host) == ("applied", "")
