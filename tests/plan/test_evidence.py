"""Archives of `sparkrig support` as fixtures: each goes through our parsers, explain and doctor."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sparkrig.explain.explanation import Explained
from sparkrig.explain.tools import explain
from sparkrig.facts.examination import Examination
from sparkrig.host import board
from sparkrig.host.identity import is_spark
from sparkrig.network import profiles
from sparkrig.operations import support
from sparkrig.redaction.redactor import Redactor
from tests.attacks import lines
from tests.looks import whole
from tests.plan.conftest import PING, ROOT, together
from tests.plan.examined import doctor
from tests.tables import each_row

FOLDERS = sorted((ROOT / "tests" / "fixtures" / "support").iterdir())


# checks that came after the archives were made
SINCE = {"host.journal", "host.rollback", "host.update", "release.newest", "pair.halves", *board.VERDICTS}


def machines(folder: Path) -> Iterator[Path]:
    return (each.parent for each in sorted(folder.glob("machine-*/looks")))


def explained(folder: Path) -> dict[str, list[Explained]]:
    """What explain makes of the tools of an archive, by tool."""
    found: dict[str, list[Explained]] = {}
    for file in sorted(folder.glob("machine-*/tools/*.txt")):
        for each in explain(file.read_text(encoding="utf-8")):
            found.setdefault(each.tool.split(":")[0], []).append(each)
    return found


def test_the_looks_of_each_archive_are_understood() -> None:
    def holds(folder: Path) -> None:
        for machine in machines(folder):
            text = whole((machine / "looks" / "examination.txt").read_text())
            found = Examination().process(text.splitlines())
            assert is_spark(found.identity)[0] and found.network.links and found.nics

    each_row(FOLDERS, holds)


def test_what_a_doctor_said_then_is_what_it_says_of_the_archive(tmp_path: Path) -> None:
    """Pseudonyms keep what judgement needs: the same checks hold and fail as on the hosts themselves."""

    def holds(folder: Path) -> None:
        then = json.loads((folder / "doctor.json").read_text())
        settings = json.loads((folder / "settings.json").read_text())
        hosts = [entry(machine, settings[machine.name]) for machine in machines(folder)]
        now = doctor(tmp_path, hosts, "--json").report
        later = {key: each for key, each in statuses(now).items() if key[1] in SINCE}
        assert {**statuses(then), **later} == statuses(now)
        assert len(later) == len(hosts) * len(SINCE)

    each_row([folder for folder in FOLDERS if (folder / "doctor.json").exists()], holds)


@pytest.mark.slow  # a doctor of each archive, made of texts that were redacted with 230 lines beside them: 3 s
def test_a_doctor_says_of_redacted_looks_what_it_says_of_the_looks(tmp_path: Path) -> None:
    def holds(folder: Path) -> None:
        then = json.loads((folder / "doctor.json").read_text())
        settings = json.loads((folder / "settings.json").read_text())
        netdevs = {netdev for each in settings.values() for netdev in each["fabric"]}
        redactor = Redactor(ordinary=support._ordinary(), shared=map(profiles.uuid, netdevs))
        looks = {file: file.read_text() for file in folder.glob("machine-*/looks/*.txt")}
        for text in (*looks.values(), *(each.line for each in lines.planted())):
            redactor.learn(text)
        hosts = []
        for machine in machines(folder):
            (tmp_path / machine.name / "looks").mkdir(parents=True)
            for file in (machine / "looks").iterdir():
                (tmp_path / machine.name / "looks" / file.name).write_text(redactor.redact(looks[file]))
            hosts.append(entry(tmp_path / machine.name, settings[machine.name]))
        now = doctor(tmp_path, hosts, "--json").report
        assert statuses(then) == {key: each for key, each in statuses(now).items() if key[1] not in SINCE}

    each_row([folder for folder in FOLDERS if (folder / "doctor.json").exists()], holds)


# files that this toolkit writes whole are compared with the text of its own version
_OURS = re.compile(r"environment\..+|driver\.(pin|unattended-upgrades)")


def statuses(report: dict[str, Any]) -> dict[tuple[str, str], str]:
    return {
        (host["name"].removeprefix("@fake/"), row["id"]): row["status"]
        for host in report["hosts"]
        for row in host["rows"]
        if not _OURS.fullmatch(row["id"])
    }


def entry(machine: Path, settings: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """A fake host that prints what a machine of an archive printed, now."""

    def look(name: str) -> list[str]:
        file = machine / "looks" / f"{name}.txt"
        text = whole(file.read_text()) if file.exists() else ""
        return re.sub(r"(?m)^clock .*$", f"clock {time.time()}", text).splitlines()

    answers = {
        "#sparkrig:end identity": look("examination"),
        "SPARKRIG_PROBE": look("neighbours"),
        PING: look("pings"),
    }
    fake = {"fake_responses": {**together(answers), **answers}, "fake_delay": 0, "fake_delay_jitter": 0}
    return f"@fake/{machine.name}", {
        **{key: value for key, value in settings.items() if value is not None},
        **fake,
    }


def test_explain_reads_the_tools_of_an_archive() -> None:
    """Of one with outputs of tools that owners published; a guest has neither show_gids nor a cable to ask."""
    found = explained(ROOT / "tests" / "fixtures" / "support" / "published-tools")
    assert {"nvidia-smi", "nvidia-smi -q", "nvidia-smi -L", "show_gids", "ethtool", "package list"} <= set(found)
    causes = {finding.verdict.cause for each in found["show_gids"] for finding in each.findings}
    assert "one-subnet" in causes
    assert all(finding.verdict.healthy for each in found["package list"] for finding in each.findings)
