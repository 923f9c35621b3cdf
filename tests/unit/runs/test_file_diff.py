"""What writing a file of ours would change in the one on a host, and what keeps lines of a user's own there."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import pytest
from pyinfra.context import ctx_state

from sparkrig.files import File, Found
from sparkrig.host import branches
from sparkrig.network import environment, gid
from sparkrig.operations import plan
from sparkrig.resources import file_diff
from sparkrig.runs.change import of_file
from tests.tables import each_row

BLOCK = f"{gid.BLOCK_BEGIN}\nNCCL_IB_GID_INDEX=%d\n{gid.BLOCK_END}\n"
TEXT = "# ours\nNCCL_SOCKET_IFNAME=cx\n"
CONF = File(environment.NCCL_CONF, TEXT + BLOCK % 3)
ENV = File(environment.CONTAINER_ENV, TEXT)
HEAD = "# Written by sparkrig for spark-a. docker run --env-file /etc/sparkrig/container.env ..."
SETTING = "the setting nccl_conf keeps"

ROWS: dict[str, tuple[File, str, list[str], str]] = {
    "as it is": (CONF, CONF.content, [], ""),
    "another index": (CONF, TEXT + BLOCK % 5, [], ""),
    "a line more": (CONF, f"{CONF.content}NCCL_DEBUG=INFO\n", ["- NCCL_DEBUG=INFO"], f"{SETTING} NCCL_DEBUG"),
    "one of ours in a file of a user's own": (
        CONF,
        TEXT.replace("=cx", "=eth0"),
        [
            "- NCCL_SOCKET_IFNAME=eth0",
            "+ NCCL_SOCKET_IFNAME=cx",
            *(f"+ {row}" for row in (BLOCK % 3).splitlines()),
        ],
        f"{SETTING} NCCL_SOCKET_IFNAME",
    ),
    "one that an earlier deploy wrote": (
        CONF,
        CONF.content.replace("# ours", HEAD).replace("=cx", "=eth0"),
        [f"- {HEAD}", "- NCCL_SOCKET_IFNAME=eth0", "+ # ours", "+ NCCL_SOCKET_IFNAME=cx"],
        "",
    ),
    "all that an earlier deploy wrote, and a line more": (
        ENV,
        f"{HEAD}\n{''.join(f'{name}=x{chr(10)}' for name in sorted(environment.NAMES))}NCCL_DEBUG=INFO\n",
        [
            f"- {HEAD}",
            *(f"- {name}=x" for name in sorted(environment.NAMES)),
            *("- NCCL_DEBUG=INFO", "+ # ours", "+ NCCL_SOCKET_IFNAME=cx"),
        ],
        "the setting environment keeps NCCL_DEBUG",
    ),
    "one of ours gone": (ENV, "# ours\n", ["+ NCCL_SOCKET_IFNAME=cx"], ""),
    "a comment": (
        CONF,
        f"# mine\n{CONF.content}",
        ["- # mine"],
        "the setting nccl_conf keeps variables, and nothing keeps other lines",
    ),
    "a secret": (
        ENV,
        f"{TEXT}export HF_TOKEN=hf_canary\nA=b\n",
        ["- export HF_TOKEN=***", "- A=b"],
        "the setting environment keeps A; the setting secrets is for HF_TOKEN",
    ),
    "an escape": (ENV, f"{TEXT}A=\x1b[31m\n", ["- A= [31m"], "the setting environment keeps A"),
    "a pin": (
        branches.pin_file(580),
        f"{branches.pin_file(580).content}Package: mine\n",
        ["- Package: mine"],
        "a file of your own beside it keeps them",
    ),
    "a pin that was changed": (
        branches.pin_file(580),
        branches.pin_file(580).content.replace("Pin-Priority: -1", "Pin-Priority: 1"),
        ["- Pin-Priority: 1", "+ Pin-Priority: -1"] * 2,
        "the pin was changed, and the deploy puts back what is declared",
    ),
    "dashes": (
        ENV,
        f"-- a\n{TEXT}",
        ["- -- a"],
        "the setting environment keeps variables, and nothing keeps other lines",
    ),
}


def changed(diff: Sequence[str]) -> list[str]:
    """The rows that come and go, below the head of the file."""
    return [f"{row[0]} {row[1:]}" for row in diff[2:] if row[0] in "+-"]


def test_what_goes_and_what_keeps_it() -> None:
    def holds(wanted: File, there: str, rows: list[str], keeps: str) -> None:
        made = of_file(wanted, Found(there, "0644", "root:root"))
        assert changed(made.diff) == rows
        assert made.keeps == keeps and made.line.endswith(f" ({keeps})" if keeps else "")

    each_row(ROWS, holds)


def test_a_new_file_is_all_new_and_a_long_one_is_cut() -> None:
    made = of_file(ENV, None)
    assert changed(made.diff) == ["+ # ours", "+ NCCL_SOCKET_IFNAME=cx"] and made.keeps == ""
    long = Found("\n".join(f"{n}{'x' * 500}" for n in range(5000)), "0644", "root:root")
    rows = of_file(ENV, long).diff
    assert rows[0] == "# the last line has no end"
    assert len(rows) == file_diff.SHOWN + 2 and rows[-1] == "... more lines differ"
    assert max(map(len, rows)) < 130


def test_a_plan_and_its_run_say_it_once_for_each_host(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    with ctx_state.use(SimpleNamespace()):
        for name in ("spark-a", "spark-a", "spark-b"):
            here = SimpleNamespace(name=name, log=said.append, current_op_hash="77")
            monkeypatch.setattr(plan, "host", here)
            plan.report([of_file(ENV, Found(f"{TEXT}A=1\n", "0644", "root:root"))])
    assert said.count("    -A=1") == 2
