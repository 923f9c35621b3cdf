"""The lists of vLLM's flags, which are read at each start, against the table of all versions, which is not."""

from __future__ import annotations

from sparkrig.serving import arguments
from sparkrig.serving.flags import Flag
from sparkrig.serving.io import vllm_flags
from tests.tables import each_row

TABLES = vllm_flags.knowledge()


def values(flag: Flag) -> list[str]:
    """What stands behind a flag, of the kind that it takes."""
    if flag.takes in ("switch", "switch on"):
        return []
    return ["a", "b"] if flag.takes == "texts" else ["1"]


def test_each_flag_of_each_version_is_read_as_that_version_takes_it() -> None:
    def holds(flags: list[Flag]) -> None:
        for flag in flags:
            for name in (f"--{flag.name}", *(each for each in flag.also if not each.startswith("--"))):
                given = values(flag)
                typed = name if name.startswith("-") else f"--{name}"
                found = arguments.read(["--port", "1", typed, *given, "--dtype", "auto", "Q/M"])
                said = given if flag.takes == "texts" else given[0] if given else True
                if flag.name in ("port", "dtype", "model") or typed == "-O":  # -O was another flag's up to 0.11
                    continue
                assert found.flags.get(flag.name) == said, (typed, found.flags)
                assert (found.model, found.extra) == ("Q/M", ()), typed

    each_row(
        {
            ".".join(map(str, minor)): (
                [each for each in TABLES.table(minor).flags.values() if "." not in each.name],
            )
            for minor in TABLES.releases
        },
        holds,
    )


def test_a_beginning_that_several_flags_have_is_none_of_them() -> None:
    assert arguments.read(["--mamba-cache", "align"]).flags == {"mamba-cache": "align"}
    assert arguments.read(["--mamba-cache-mo", "align"]).flags == {"mamba-cache-mode": "align"}
