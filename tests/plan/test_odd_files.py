"""T1: files of a host that hold no text, are no files, or end their lines otherwise: a sentence of that host."""

from __future__ import annotations

import base64
import re
from dataclasses import replace

import pytest

from sparkrig.host import branches
from sparkrig.network import environment
from sparkrig.resources import containers
from tests.plan.clean import clean
from tests.plan.conftest import A, B, Deploy, Host, converged, pair, recorded, well
from tests.plan.desk import Desk
from tests.tables import each_row

DAEMON = containers.DAEMON_JSON
HALF = rb'{"log-driver": "\ud800"}'
LATIN = '{"log-driver": "café"}'.encode("latin-1")
# by what is wrong: the text of daemon.json, what is said of it, and the command to try
TEXTS = {
    "half of a surrogate pair": (
        HALF,
        f"{DAEMON} is not valid JSON (half of a surrogate pair in it is no text)",
        f"python3 -m json.tool {DAEMON}",
    ),
    "Latin-1": (LATIN, f"{DAEMON} is not UTF-8 text (byte 0xe9 in line 1)", f"iconv -f UTF-8 -t UTF-8 {DAEMON}"),
}


def with_daemon(text: str, content: bytes) -> str:
    """A look at a host with another daemon.json."""
    row = f"daemon {base64.b64encode(content).decode()}"
    found, count = re.subn(r"^(daemon .*\n)?(?=toolkit )", f"{row}\n", text, count=1, flags=re.MULTILINE)
    assert count == 1
    return found


def test_a_daemon_json_that_is_no_text_is_one_row_of_drift(desk: Desk) -> None:
    def holds(content: bytes, said: str, cure: str) -> None:
        done = desk.has(pair(converged("a"), with_daemon(converged("b"), content))).drift()
        clean(done)
        assert (done.code, done.wrong[A], done.wrong[B]) == (2, set(), {"containers.daemon-json"}), done.out
        row = done.row(B, "containers.daemon-json")
        assert row["found"] == said and cure in row["cure"], row

    each_row(TEXTS, holds)


def test_a_daemon_json_that_is_no_text_is_refused_before_the_first_change(deploy: Deploy) -> None:
    """It would be written anew in UTF-8, with other characters in it."""

    def refused(content: bytes, said: str, cure: str) -> None:
        run = deploy(pair(recorded("fresh-a"), with_daemon(recorded("fresh-b"), content)), "-y")
        told = [line for line in run.stderr.splitlines() if "Refused: " in line]
        assert run.code == 1 and "Traceback" not in run.stderr and run.changes == []
        assert len(told) == 1 and said in told[0] and cure in told[0] and "spark-b" in told[0], told

    each_row(TEXTS, refused)


def other(content: bytes) -> dict[str, bytes]:
    return {
        "CRLF": content.replace(b"\n", b"\r\n"),
        "Latin-1": content + b"# caf\xe9\n",
        "no last end": content.removesuffix(b"\n"),
    }


SHOWN = {
    "CRLF": "line ends are CRLF, not LF",
    "Latin-1": "it is not UTF-8 text (byte 0xe9 in line ",
    "no last end": "the last line has no end",
}
PIN = branches.PIN_PATH


def with_file(text: str, path: str, kind: str) -> str:
    """A look at a host with a file of ours that is another one."""

    def edited(row: re.Match[str]) -> str:
        return f"{row[1]} {base64.b64encode(other(base64.b64decode(row[2]))[kind]).decode()}"

    found, count = re.subn(rf"^({re.escape(path)} \d+ \S+) (\S+)$", edited, text, flags=re.MULTILINE)
    assert count == 1
    return found


def test_drift_says_what_lines_that_look_the_same_do_not_show(desk: Desk) -> None:
    def holds(kind: str) -> None:
        text = with_file(with_file(converged("b"), environment.NCCL_CONF, kind), PIN, kind)
        done = desk.has(pair(converged("a"), text)).drift()
        clean(done)
        assert done.code == 2 and not done.wrong[A], done.out
        assert {"driver.pin", "environment.nccl.conf"} <= done.wrong[B]
        for id in ("driver.pin", "environment.nccl.conf"):
            found = done.row(B, id)["found"]
            assert found.startswith(SHOWN[kind]) and "another order" not in found, found

    each_row([*SHOWN], holds)


@pytest.mark.slow  # whole deploys
def test_a_deploy_says_it_and_writes_the_file_anew(deploy: Deploy) -> None:
    def holds(kind: str) -> None:
        run = well(deploy(pair(converged("a"), with_file(converged("b"), PIN, kind)), "-y"))
        lines = run.stderr.splitlines()
        assert [line for line in lines if SHOWN[kind] in line and line.lstrip().startswith(f"[{B}]")], run.stderr
        assert [host for host, text in run.changes if "while read -r folder name mode content" in text] == [
            "spark-b"
        ]

    each_row([*SHOWN], holds)


def test_an_inventory_that_was_written_on_windows_simply_works(desk: Desk) -> None:
    desk.has(pair(converged("a"), converged("b")))
    for file in (desk.inventory, desk.folder / "group_data" / "all.py"):
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    accepted = b"- id: driver.pin\r\n  host: spark-b\r\n  why: tried out\r\n  until: 2099-01-01\r\n"
    (desk.folder / "sparks.accepted.yaml").write_bytes(accepted)
    done = desk.drift()
    clean(done)
    assert done.code == 0 and not done.wrong[A] | done.wrong[B], done.said


def test_an_inventory_with_half_of_a_surrogate_pair_is_refused_in_a_sentence(desk: Desk) -> None:
    def refused(hosts: list[Host]) -> None:
        done = desk.has(hosts).drift()
        clean(done)
        assert done.code == 1 and done.out == "" and done.said.count("\n") < 8, done.said
        done.said.encode()

    looks = converged("a"), converged("b")
    named = [replace(each, name=each.name.replace("-b", "-b\ud800")) for each in pair(*looks)]
    each_row({"a variable": (pair(*looks, environment={"X": "\ud800"}),), "a host": (named,)}, refused)
