"""`sparkrig models update`: tables are taken whole or not at all, checked as at run, and there is a way back."""

from __future__ import annotations

import errno
import fcntl
import gzip
import io
import os
import shutil
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sparkrig.cli import lint
from sparkrig.cli import models as verb
from sparkrig.serving import tables
from sparkrig.serving.io import catalogue_files, lint_rules, table_archive, table_update, taken_tables, vllm_flags
from tests.tables import each_row

CARRIED = catalogue_files.newest(catalogue_files.FOLDER)
DAY = datetime.now(UTC).date()
NEWER = f"newer-page:\n  title: a page\n  where: https://example.com/\n  day: {DAY}\n"


@pytest.fixture(scope="module")
def carried(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of the repository with three models, which are as good as all and read sooner."""
    made = tmp_path_factory.mktemp("carried") / "models"
    for room in ("lint", "vllm"):
        shutil.copytree(catalogue_files.FOLDER / room, made / room)
    for name in ("gpt-oss-120b", "gpt-oss-20b", "hy3", "sources", "errors"):
        shutil.copy(catalogue_files.FOLDER / f"{name}.yaml", made)
    return made


@pytest.fixture(autouse=True)
def data(tmp_path: Path, carried: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder for data, and a current folder that is in no project."""
    monkeypatch.setattr(catalogue_files, "FOLDER", carried)
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("SPARKRIG_TABLES", raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "data" / "sparkrig" / "tables"


@pytest.fixture
def newer(tmp_path: Path) -> Path:
    """A set of tables: one model less, one changed, a source and a rule more."""
    made = tmp_path / "newer" / "models"
    shutil.copytree(catalogue_files.FOLDER, made)
    (made / "hy3.yaml").unlink()
    changed(made / "gpt-oss-120b.yaml", "\nparameters_b: 117\n", "\nparameters_b: 118\n")
    changed(made / "vllm" / "images.yaml", "'26.10': 0.31.0", "'26.10': 0.32.0")
    sources = made / "sources.yaml"
    sources.write_text(sources.read_text() + NEWER)
    rows = made / "lint" / "memory.yaml"
    row = (
        "own-row:\n  severity: note\n  meaning: a test\n  better: a test\n  when: {flags: {seed: given}}\n"
        "  reasons: [{source: newer-page, date: 2026-11-28, says: a test}]\n"
    )
    rows.write_text(rows.read_text() + row)
    return made.parent


def changed(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def run(*words: str, answer: str = "") -> Result:
    return CliRunner().invoke(verb.models, ["update", *words], input=answer)


def refused(source: str | Path, said: str) -> None:
    """One sentence, exit code 1, and nothing is changed."""
    before = sorted(taken_tables.home().rglob("*"))
    done = run(str(source), "--yes")
    assert (done.exit_code, done.stdout, len(done.stderr.splitlines())) == (1, "", 1), done.output
    assert said in done.stderr and "Try: " in done.stderr, done.stderr
    assert sorted(taken_tables.home().rglob("*")) == before


def packed(folder: Path, file: Path) -> Path:
    with tarfile.open(file, "w:gz") as archive:
        archive.add(folder, "sparkrig-main")
    return file


def zipped(folder: Path, file: Path) -> Path:
    with zipfile.ZipFile(file, "w") as archive:
        for each in folder.rglob("*"):
            archive.write(each, Path("sparkrig-main") / each.relative_to(folder))
    return file


# --- taken


def test_newer_tables_are_shown_asked_for_used_and_gone_back_from(newer: Path, data: Path) -> None:
    shown = run(str(newer), "--yes")
    assert shown.exit_code == 0 and shown.stdout.splitlines() == [
        f"In use: tables of {CARRIED}. Offered: tables of {DAY}.",
        "models: 1 changed (gpt-oss-120b), 1 gone (hy3)",
        "images that launches start: 1 gone (ghcr.io/miaai-lab/hy3-dual-dgx-spark:vllm-probe-modded)",
        "sources: 1 new (newer-page)",
        "rules of lint: 1 new (own-row)",
        "images of NVIDIA: 1 changed (26.10)",
        f"In use: tables of {DAY}. Go back with: sparkrig models update --back",
    ]
    known = catalogue_files.catalogue()
    assert "hy3" not in known.models and known.models["gpt-oss-120b"].parameters_b == 118
    assert "own-row" in {rule.id for rule in lint_rules.rules()}
    assert "hy3" not in catalogue_files.names() and vllm_flags.knowledge().images["26.10"] == (0, 32, 0)
    assert run(str(newer), "--yes").stdout == f"The tables in use, of {DAY}, hold the same.\n"
    back = run("--back")
    assert back.stdout == f"In use: tables of {CARRIED}, that sparkrig carries.\n"
    assert "hy3" in catalogue_files.catalogue().models
    assert [each.name for each in data.iterdir()] == ["used.json"]
    assert "none are before them. Try: sparkrig models" in run("--back").stderr


def test_the_ones_before_are_kept_and_those_before_them_are_not(newer: Path, data: Path) -> None:
    assert run(str(newer), "--yes").exit_code == 0
    for count in (119, 120):
        changed(newer / "models" / "gpt-oss-120b.yaml", f"_b: {count - 1}\n", f"_b: {count}\n")
        assert run(str(newer), "--yes").exit_code == 0
    assert len([each for each in data.iterdir() if each.is_dir()]) == 2
    assert run("--back").stdout == f"In use: tables of {DAY}, from {newer}.\n"
    assert catalogue_files.catalogue().models["gpt-oss-120b"].parameters_b == 119


def test_of_two_at_once_one_is_refused_and_neither_takes_the_others_files(newer: Path, data: Path) -> None:
    data.mkdir(parents=True, exist_ok=True)
    checked, left = data / ".new-1", data / ".new-2"
    for folder in (checked, left):
        folder.mkdir()
    os.utime(left, (0, 0))
    handle = os.open(data, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    done = run(str(newer), "--yes")
    assert done.exit_code == 1 and "another sparkrig models update is at work" in done.stderr
    assert not taken_tables.file().exists()
    os.close(handle)
    assert run(str(newer), "--yes").exit_code == 0
    assert checked.exists() and not left.exists()


def test_the_way_back_is_read_once_nobody_else_is_at_work(
    newer: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another update ends just before: it is that one which is taken back."""
    assert run(str(newer), "--yes").exit_code == 0
    alone, offer = table_update._alone, table_update.offer
    changed(newer / "models" / "gpt-oss-120b.yaml", "_b: 118\n", "_b: 119\n")
    other = offer(str(newer))

    @contextmanager
    def after_another() -> Iterator[None]:
        monkeypatch.setattr(table_update, "_alone", alone)
        table_update.take(other)
        with alone():
            yield

    monkeypatch.setattr(table_update, "_alone", after_another)
    assert run("--back").exit_code == 0
    assert catalogue_files.catalogue().models["gpt-oss-120b"].parameters_b == 118


def test_ctrl_c_leaves_the_old_tables_or_the_new_and_says_which(
    newer: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def holds(module: Any, name: str, after: bool) -> None:
        whole = getattr(module, name)

        def interrupted(*words: Any, **more: Any) -> None:
            if after:
                whole(*words, **more)
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(module, name, interrupted)
            done = run(str(newer), "--yes")
        said = "the other tables are in use" if after else "nothing was changed"
        assert (done.exit_code, done.stderr.strip()) == (1, f"Interrupted; {said}."), done.output
        assert (catalogue_files.used() != catalogue_files.FOLDER) is after
        assert not [*data.glob(".new-*")]

    each_row(
        [
            (table_archive, "read", False),
            (table_update, "loaded", False),
            (table_update, "take", False),
            (table_update, "_record", False),
            (table_update, "_record", True),
        ],
        holds,
    )


def test_what_is_not_agreed_to_is_not_taken(newer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "there is no terminal to ask at. Try: the same with --yes" in run(str(newer), answer="n\n").stderr
    monkeypatch.setattr("sparkrig.cli.files.must_answer", lambda _: None)
    assert run(str(newer), answer="n\n").exit_code == 1 and catalogue_files.used() == catalogue_files.FOLDER
    assert run(str(newer), answer="y\n").exit_code == 0 and catalogue_files.used() != catalogue_files.FOLDER


def test_an_archive_of_a_project_has_them_too(
    newer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (newer / "link").symlink_to("models")  # as the repository has them
    for made in (packed(newer, tmp_path / "a.tar.gz"), zipped(newer / "models", tmp_path / "a.zip")):
        monkeypatch.setenv("SPARKRIG_TABLES", str(made))
        done = run("--yes")
        assert done.exit_code == 0, done.stderr
        assert catalogue_files.catalogue().models["gpt-oss-120b"].parameters_b == 118
        assert run("--back").exit_code == 0


def test_a_row_of_the_project_and_carried_tables_that_are_newer_are_used(
    newer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(str(newer), "--yes").exit_code == 0
    assert catalogue_files.used() != catalogue_files.FOLDER
    above = catalogue_files.catalogue(beside=catalogue_files.FOLDER)  # as a row of a project is
    assert above.models["gpt-oss-120b"].parameters_b == 117
    monkeypatch.setattr(catalogue_files, "newest", lambda _: DAY + timedelta(days=1))
    assert catalogue_files.used() == catalogue_files.FOLDER


# --- refused


def test_a_table_that_cannot_stand_is_named_and_none_is_taken(newer: Path) -> None:
    kept = {file: file.read_text() for file in (newer / "models").rglob("*.yaml")}

    def holds(name: str, old: str, new: str, said: str) -> None:
        file = newer / "models" / name
        changed(file, old, new)
        try:
            refused(newer, said)
        finally:
            file.write_text(kept[file])

    rows = {
        "field": ("gpt-oss-120b.yaml", "\nnodes: 1\n", "\nnodes: many\n", "newer: gpt-oss-120b.yaml: nodes: "),
        "unknown": ("gpt-oss-120b.yaml", "\nnodes: 1\n", "\nnodes: 1\nrun: x\n", "run: Extra inputs are not"),
        "name": ("gpt-oss-20b.yaml", "name: gpt-oss-20b", "name: other", "the name is other, gpt-oss-20b"),
        "source": ("sources.yaml", "shape-gpt-oss:", "other:", "nothing is known of the source shape-gpt-oss"),
        "rule": (
            "lint/memory.yaml",
            "severity: note\n  meaning: a test",
            "meaning: a test",
            "memory.yaml: own-row.severity: ",
        ),
        "computed": ("lint/memory.yaml", "  when: {flags: {seed: given}}\n", "", "own-row: `when` expected"),
        "flags": ("vllm/flags.yaml", "\nread: ", "\nread: x", "vllm/flags.yaml: read: Input"),
        "yaml": ("sources.yaml", "newer-page:", "newer-page: [", "sources.yaml is no YAML"),
        "escape": ("sources.yaml", "title: a page", 'title: "a \\e[31m page"', "a character that cannot be shown"),
        "to come": ("sources.yaml", f"day: {DAY}", "day: 2099-01-01", "of 2099-01-01, a day that is"),
    }
    each_row(rows, holds)
    shutil.rmtree(newer / "models" / "vllm")
    refused(newer, "flags.yaml cannot be read: no such file or directory")


def test_older_tables_are_refused(newer: Path, tmp_path: Path) -> None:
    old = tmp_path / "old"
    shutil.copytree(newer, old)
    assert run(str(newer), "--yes").exit_code == 0
    changed(old / "models" / "sources.yaml", f"day: {DAY}", f"day: {DAY - timedelta(days=1)}")
    refused(old, f"is older than the tables in use: of {DAY - timedelta(days=1)}, and those are of {DAY}")
    changed(old / "models" / "sources.yaml", f"day: {DAY - timedelta(days=1)}", f"day: {DAY}")
    changed(old / "models" / "sources.yaml", NEWER, "")
    changed(old / "models" / "sources.yaml", f"day: {CARRIED}", f"day: {DAY}")
    rule = old / "models" / "lint" / "memory.yaml"
    rule.write_text(rule.read_text().partition("own-row:")[0])
    refused(old, "is older than the tables in use: it lacks 1 of their sources")


def test_a_torn_archive_is_refused_wherever_it_ends(newer: Path, tmp_path: Path) -> None:
    for made in (packed(newer, tmp_path / "a.tar.gz"), zipped(newer, tmp_path / "a.zip")):
        whole = made.read_bytes()
        for end in (2, 100, len(whole) // 2, len(whole) - 30, len(whole) - 1):
            made.write_bytes(whole[:end])
            refused(made, "torn")
        made.write_bytes(whole[: len(whole) // 2] + b"\0\0\0\0" + whole[len(whole) // 2 + 4 :])
        refused(made, "torn")
    made.write_bytes(b"no archive")
    refused(made, "is no archive: .tar.gz or .zip expected")
    refused(tmp_path / "none.zip", "is no folder and no file")


def with_member(newer: Path, file: Path, **about: Any) -> Path:
    """An archive with the tables, and one member more."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        archive.add(newer, "sparkrig-main")
        member = tarfile.TarInfo(about.pop("name"))
        for field, value in about.items():
            setattr(member, field, value)
        archive.addfile(member)
    file.write_bytes(gzip.compress(content.getvalue(), 1))
    return file


def test_a_hostile_archive_is_refused(newer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = tmp_path / "a.tar.gz"
    for name in ("../evil.yaml", "/etc/evil.yaml", "sparkrig-main/models/../../x.yaml", "a\x1b[31m.yaml"):
        refused(with_member(newer, made, name=name), "a plain path expected")
    assert not (tmp_path / "evil.yaml").exists()
    link = {"name": "sparkrig-main/models/x.yaml", "type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}
    refused(with_member(newer, made, **link), "x.yaml of " + str(made) + " is a link or a device")
    (newer / "models" / "x.yaml").symlink_to("/etc/passwd")
    refused(newer, "is a link or a device")
    (newer / "models" / "x.yaml").unlink()
    (newer / "models" / "$(reboot).yaml").write_text((newer / "models" / "gpt-oss-20b.yaml").read_text())
    refused(newer, "$(reboot) expected")
    (newer / "models" / "$(reboot).yaml").unlink()
    bounds = {
        "_PACKED": "is larger than 10 bytes",
        "_UNPACKED": "is larger than 10 bytes when unpacked",
        "_MEMBERS": "has more than 10 files",
        "_TABLE": "is larger than 10 bytes",
        "_TABLES": "at most 10 expected",
    }
    overflow = {"name": "sparkrig-main/x", "pax_headers": {"size": "9" * 400}}
    refused(with_member(newer, made, **overflow), "is torn")
    packed(newer, made)
    for bound, said in bounds.items():
        with monkeypatch.context() as patched:
            patched.setattr(table_archive, bound, 10)
            refused(made, said)
    refused(packed(tmp_path / "here", made), "has no models/sources.yaml")


def test_a_full_disk_leaves_the_ones_before(newer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(str(newer), "--yes").exit_code == 0
    changed(newer / "models" / "gpt-oss-120b.yaml", "_b: 118\n", "_b: 119\n")
    left = [0]

    def full(_: int) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    files = len(table_archive.read(str(newer)))
    for count in (0, 5, files, 2 * files):  # in the first copy, and where the record is written
        left[0] = count
        done = run(str(newer), "--yes")
        assert done.exit_code == 1 and "no space left on device" in done.stderr
        assert catalogue_files.catalogue().models["gpt-oss-120b"].parameters_b == 118
    left[0] = 10 * files
    assert run(str(newer), "--yes").exit_code == 0


def test_a_record_that_is_broken_leads_back(newer: Path, data: Path) -> None:
    assert run(str(newer), "--yes").exit_code == 0
    for text in ("{", "[]", '{"used": {"digest": "../../etc", "day": "2026-01-01", "source": ""}}'):
        (data / "used.json").write_text(text)
        done = CliRunner().invoke(verb.models)
        assert (
            done.exit_code == 1
            and "does not name the tables in use. Try: sparkrig models update --back" in done.stderr
        )
        assert verb._Name().shell_complete(None, None, "gpt") == []  # type: ignore[arg-type]
    assert run("--back").stdout == f"In use: tables of {CARRIED}, that sparkrig carries.\n"


def test_a_taken_table_that_a_newer_sparkrig_cannot_read_leads_back(newer: Path) -> None:
    assert run(str(newer), "--yes").exit_code == 0
    changed(catalogue_files.used() / "gpt-oss-20b.yaml", "nodes: 1", "nodes: many")
    done = CliRunner().invoke(verb.models)
    assert done.exit_code == 1 and done.stderr.endswith("Try: sparkrig models update --back\n")


# --- from an address


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, dict[str, Any]]]:
    answers: dict[str, Any] = {}

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            code, body, headers = answers[self.path]
            self.send_response(code)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", answers
    server.shutdown()
    server.server_close()


def test_tables_of_an_address(newer: Path, tmp_path: Path, web: Any) -> None:
    address, answers = web
    whole = packed(newer, tmp_path / "a.tar.gz").read_bytes()
    answers["/moved"] = (302, b"", {"Location": "/a.tar.gz"})
    answers["/a.tar.gz"] = (200, whole, {})
    assert run(f"{address}/moved", "--yes").exit_code == 0
    assert run("--back").exit_code == 0
    answers["/none"] = (404, b"", {})
    answers["/torn"] = (200, whole[:5000], {"Content-Length": str(len(whole)), "Connection": "close"})
    answers["/plain"] = (302, b"", {"Location": "http://example.com/a.tar.gz"})
    answers["/file"] = (302, b"", {"Location": "file:///etc/passwd"})
    answers["/page"] = (200, b"<html>", {})
    answers["/long"] = (200, b"<html>", {"Content-Length": "9" * 5000, "Connection": "close"})

    rows = {
        "not there": (f"{address}/none", "answers 404"),
        "torn": (f"{address}/torn", f"is torn: 5,000 of {len(whole):,} bytes came"),
        "without tls": (f"{address}/plain", "leads to where it is no https"),
        "a file": (f"{address}/file", "leads to where it is no https"),
        "a page": (f"{address}/page", "is no archive"),
        "a length of 5,000 digits": (f"{address}/long", "is no archive"),
        "no network": ("http://127.0.0.1:9/a.tar.gz", "could not be asked: connection refused"),
        "http": ("http://example.com/a.tar.gz", "is no https address without a login"),
        "a login": ("https://me:word@example.com/a", "is no https address without a login"),
        "file": ("file:///etc/passwd", "is no https address"),
    }
    each_row(rows, refused)


# --- their age


def test_old_tables_are_said_to_be_old(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tables.age(date(2026, 9, 1), date(2026, 10, 31)) == ""
    said = "Tables are of 2026-09-01. Try: sparkrig models update SOURCE"
    assert tables.age(date(2026, 9, 1), date(2026, 11, 1)) == said
    monkeypatch.setattr(catalogue_files, "newest", lambda _: date(2026, 1, 31))
    asked: list[Callable[[], Result]] = [
        lambda: CliRunner().invoke(verb.models),
        lambda: CliRunner().invoke(verb.models, ["gpt-oss-20b"]),
        lambda: CliRunner().invoke(lint.lint, ["--", "vllm", "serve", "openai/gpt-oss-20b"]),
    ]
    for ask in asked:
        assert "Tables are of 2026-01-31" in ask().stderr
    assert "Tables" not in CliRunner().invoke(verb.models, ["--json"]).stderr
