"""A whole paste: the records of owners, what is left unread, known signs among noise, and hosts that differ."""

from __future__ import annotations

import json
import random
import time

from sparkrig.explain.tools import SPLITTER, exit_code, explain, read
from tests.tables import data, each_row
from tests.unit.pastes import FIXTURES, HEALTHY, run

RECORDS = data(FIXTURES / "paste" / "records.yaml")
# lines of which each has a sign that is known, of all the tables
SIGNS = (FIXTURES / "paste" / "signs.txt").read_text().splitlines()
NOISE = (
    "It ran for days.",
    "## What I tried",
    "",
    "    value = 3",
    "| a | b |",
    "> and then",
    "$ ls /tmp",
    "1",
    "-- \n",
)


def _verdicts(text: str) -> list[str]:
    findings = [finding.verdict for one in explain(text) for finding in one.findings]
    return [f"{verdict.level} {verdict.cause}".strip() for verdict in findings]


def test_each_record_of_an_owner_has_its_verdict() -> None:
    def holds(record: dict[str, object]) -> None:
        text = str(record["text"])
        assert _verdicts(text) == record["verdicts"]
        assert exit_code(explain(text)) == record["exit"]

    each_row(RECORDS, holds)


def test_a_known_sign_among_healthy_pieces_and_noise_is_never_passed_over() -> None:
    healthy = [str(record["text"]) for record in RECORDS.values() if record["exit"] == 0] + [HEALTHY]
    chance = random.Random(51)

    def holds(sign: str) -> None:
        for _ in range(2):
            parts = [*chance.sample(healthy, 2), *chance.sample(NOISE, 4)]
            parts.insert(chance.randrange(len(parts) + 1), sign)
            assert exit_code(explain("\n".join(parts))) in (2, 3), parts

    each_row({sign: sign for sign in SIGNS}, holds)


def test_what_is_not_read_is_counted_and_shown_without_identifiers() -> None:
    text = "Dear all,\nmy token=hf_abcdefghijklmnopqrstuvwxyz123456 and 3c:6d:66:0a:0b:0c\n\n---\n" + HEALTHY
    assert len(read(text).unread) == 2
    assert run("-", text=text).output.rstrip().endswith("2 lines were not read (-v shows them)")
    shown = run("-v", "-", text=text).output
    assert "Dear all," in shown and "hf_abc" not in shown and "3c:6d" not in shown
    assert json.loads(run("--json", "-", text=text).output)["unread"] == 2
    assert "not read" not in run("-", text=HEALTHY).output


def test_a_sign_that_is_told_is_no_line_that_was_not_read_and_a_kernel_explains_it() -> None:
    text = str(RECORDS["kho-in-a-report"]["text"])
    assert len(read(text).unread) == 2
    (finding,) = (finding for one in explain(text) for finding in one.findings)
    assert "kernel 7.0.0-1019-nvidia, whose KHO" in finding.verdict.evidence


def test_long_texts_without_meaning_are_bounded() -> None:
    def holds(text: str) -> None:
        began = time.process_time()
        result = run("-v", "-", text=text)
        assert time.process_time() - began < 5 and len(result.output) < 20_000

    each_row(
        {
            "one line": "x" * 250_000,
            "lines": "NVRM: noise\n" * 5_000,
            "words": "not this\n" * 5_000,
            "blanks": " " * 50_000,
            "one name": "a" * 50_000,
            "names": "a_b, " * 5_000,
            "figures": "1 " * 25_000,
            "objects": '[{"ifindex":1,' * 5_000,
            "profile": "connection.id: a" * 5_000,
            "emphasis": "*_ " * 10_000,
        },
        holds,
    )


def test_what_stands_before_a_line_does_not_matter() -> None:
    text = f"| NVIDIA-SMI 580.173.02    Driver Version: 580.173.02    CUDA Version: 13.0 |\n{GPU}"

    def holds(before: str, behind: str) -> None:
        pasted = "".join(f"{before}{line}{behind}" for line in text.splitlines())
        assert _verdicts(pasted) == ["healthy"] and read(pasted).unread == ()

    each_row(
        {
            "a quote": ("> ", "\n"),
            "quoted twice": ("> > ", "\n"),
            "a no-break space": ("\u00a0", "\n"),
            "docker's time": ("2026-08-29T12:00:00.123456789Z ", "\n"),
            "compose": ("vllm-1  | ", "\n"),
            "mpirun": ("[1,0]<stdout>:", "\n"),
            "the journal": ("Nov 22 18:29:55 spark-a start.sh[12]: ", "\n"),
            "CRLF and colours": ("\x1b[32m", "\x1b[0m\r\n"),
        },
        holds,
    )


def test_each_prompt_has_its_command_and_its_host() -> None:
    def holds(prompt: str, host: str) -> None:
        text = f"{prompt} lspci -s 01:00.0 -vv\n\tLnkSta: Width x4\n"
        (piece,) = (piece for piece in SPLITTER.pieces(text) if piece.printed)
        assert (piece.tool, piece.command, piece.host) == ("lspci", "lspci -s 01:00.0 -vv", host)

    each_row(
        {
            "Ubuntu": ("me@spark-a:~/x$", "spark-a"),
            "a container": ("root@0a1b2c:/workspace#", "0a1b2c"),
            "in an environment": ("(venv) me@spark-a:~$", "spark-a"),
            "Fedora": ("[me@spark-a ~]$", "spark-a"),
            "zsh": ("me@spark-a ~ %", "spark-a"),
            "without a host": ("$", ""),
            "root": ("#", ""),
            "starship": ("\u276f", ""),
        },
        holds,
    )


def test_hosts_that_prompts_name_are_compared() -> None:
    def smi(driver: str) -> str:
        return f"| NVIDIA-SMI {driver}    Driver Version: {driver}    CUDA Version: 13.0 |\n" + GPU

    text = f"me@spark-a:~$ nvidia-smi\n{smi('580.173.02')}me@spark-b:~$ nvidia-smi\n{smi('580.126.09')}"
    *pieces, hosts = explain(text)
    assert [one.host for one in pieces] == ["spark-a", "spark-b"]
    (finding,) = hosts.findings
    assert (finding.subject, finding.verdict.level, finding.verdict.cause) == (
        "driver",
        "degraded",
        "hosts-differ",
    )
    assert "580.173.02 on spark-a, 580.126.09 on spark-b" in finding.verdict.evidence
    same = f"me@spark-a:~$ nvidia-smi\n{smi('580.173.02')}me@spark-b:~$ nvidia-smi\n{smi('580.173.02')}"
    assert exit_code(explain(same)) == 0


GPU = """\
|   0  NVIDIA GB10                    On  |   0000000F:01:00.0 Off |                  N/A |
| N/A   36C    P8              3W /  N/A  | Not Supported          |      0%      Default |
"""
