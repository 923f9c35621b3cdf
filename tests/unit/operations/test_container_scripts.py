"""Docker's new runtime: read by a reload, or else by a restart.

That a reload is enough was seen with docker 20.10.24 (2026-11-25): the runtime was there 60 ms later, and a file
that contradicts an option of dockerd was refused, with the runtimes as before.
"""

from __future__ import annotations

from pathlib import Path

from sparkrig.operations import containers
from tests.tables import each_row
from tests.unit.shells import sh, tool

HAS, LACKS = '{"nvidia":{"path":"nvidia-container-runtime"},"runc":{}}', '{"runc":{},"their-nvidia":{}}'


def test_docker_is_restarted_only_where_a_reload_does_not_do(tmp_path: Path) -> None:
    log = tmp_path / "log"
    tools = tmp_path / "tools"
    tool(tools, "sleep", "")

    def loads(reload: str, shown: list[str], expected: list[str]) -> None:
        """shown: the runtimes at each question, the last of them from then on."""
        log.write_text("")
        (tmp_path / "shown").write_text("".join(f"{each}\n" for each in shown))
        tool(tools, "systemctl", f'echo "$*" >>{log}; if [ $1 = reload ]; then {reload}; fi')
        next_one = f"if [ $(wc -l <{tmp_path}/shown) -gt 1 ]; then sed -i 1d {tmp_path}/shown; fi"
        tool(tools, "docker", f"head -n 1 {tmp_path}/shown; {next_one}")
        done = sh(containers.LOAD, path=tools)
        assert (done.returncode, log.read_text().splitlines()) == (0, expected), done.stderr

    reload, restart = "reload docker", "restart docker"
    each_row(
        {
            "at once": (":", [HAS], [reload]),
            "after a moment": (":", [LACKS, "", HAS], [reload]),
            "never": (":", [LACKS], [reload, restart]),
            "an engine without a reload": ("exit 1", [LACKS], [reload, restart]),
        },
        loads,
    )


def test_a_restart_that_fails_is_the_end_of_it(tmp_path: Path) -> None:
    tool(tmp_path, "docker", "exit 1")
    tool(tmp_path, "sleep", "")
    tool(tmp_path, "systemctl", "exit 5")
    assert sh(containers.LOAD, path=tmp_path).returncode == 5


def test_systemd_finds_nothing_to_fill_in_there() -> None:
    """It runs the text as a word of a unit, where `${NAME}` and `$$` are its own (systemd.service(5))."""
    assert "$" not in containers.LOAD
