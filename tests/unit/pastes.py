"""What people paste."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from sparkrig.cli.explain import explain as command

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"


HEALTHY = (FIXTURES / "bandwidth" / "ib_write_bw.txt").read_text()


def perftest(average: str, rate: str, unit: str = "Gb/sec") -> str:
    """The recorded healthy run with another figure."""
    return HEALTHY.replace("111.86", average).replace("0.213358", rate).replace("Gb/sec", unit)


SLOW = perftest("13.35", "0.025463")


def run(*words: str, text: str | bytes = "") -> Result:
    return CliRunner().invoke(command, list(words), input=text)
