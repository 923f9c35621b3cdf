"""What this machine lacks is said in one sentence."""

from __future__ import annotations

import platform
import shutil
import socket
from collections import namedtuple
from pathlib import Path

import pytest

from lab import host, nodes, paths
from lab.commands import complaint, run
from lab.errors import LabError
from lab.waiting import wait_until

Usage = namedtuple("Usage", "total used free")


def test_an_error_says_what_expected_and_what_to_try() -> None:
    error = LabError("the cat is out", expected="it in", attempt="open the door")
    assert str(error) == "the cat is out (it in); try: open the door"


def test_missing_tools_are_named_with_their_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda tool, path: None)
    with pytest.raises(LabError) as caught:
        host.require_tools(host.TOOLS)
    assert "qemu-system-x86_64" in caught.value.happened
    assert caught.value.attempt == "sudo apt-get install openssh-client qemu-system-x86 qemu-utils"


def test_a_full_disk_is_named_with_the_room_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(2**40, 2**40, 2**30))
    with pytest.raises(LabError, match=r"has 1\.0 GiB left \(6\.0 GiB free\)"):
        host.require_room(tmp_path, host.BUILD_GIB)


def test_a_port_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(LabError, match=f"port {port} of 127.0.0.1 is in use"):
            host.require_free_ports([port])
    host.require_free_ports([port])


def test_two_commands_do_not_work_on_one_lab() -> None:
    with host.lock(), pytest.raises(LabError, match="another `sparkrig lab` command"), host.lock():
        pass
    with host.lock():
        pass


def test_a_user_without_subordinate_ids_is_told_how_to_get_them() -> None:
    with pytest.raises(LabError) as caught:
        host.require_subordinate_ids("somebody:100000:65536\n")
    assert "usermod --add-subuids" in caught.value.attempt


def test_another_architecture_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(LabError, match="this machine is aarch64"):
        host.require_build_host()


def test_a_lab_folder_too_deep_for_sockets_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARKRIG_LAB_DIR", "/tmp/" + "x" * 90)
    with pytest.raises(LabError, match="too long a name for Unix sockets"):
        paths.home()


@pytest.mark.parametrize("port", ["http", "80", "65535", "-1"])
def test_a_senseless_port_is_refused(port: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARKRIG_LAB_PORT", port)
    with pytest.raises(LabError, match="SPARKRIG_LAB_PORT"):
        nodes.ssh_port("spark-a")


def test_an_unknown_node_is_refused() -> None:
    with pytest.raises(LabError, match=r"no node 'spark-z' \(one of spark-a, .*, spark-d, spark-s\)"):
        nodes.check("spark-z")
    with pytest.raises(LabError, match="the switch is no Spark"):
        nodes.check("switch")


def test_guests_that_do_not_fit_into_the_memory_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "MEMORY", tmp_path / "meminfo")
    host.MEMORY.write_text("MemTotal: 16000000 kB\nMemAvailable: 4194304 kB\n")
    with pytest.raises(LabError, match=r"has 4\.0 GiB of memory left \(5\.2 GiB for 3 more guests\)"):
        host.require_memory(3, 1.75)
    host.require_memory(2, 1.75)


def test_waiting_ends_with_the_condition_or_with_a_sentence() -> None:
    answers = iter([False, False, True])
    wait_until(lambda: next(answers), 5, happened="never", attempt="")
    with pytest.raises(LabError, match="never came"):
        wait_until(lambda: False, 0, happened="never came", attempt="patience")


def test_a_failing_program_is_quoted() -> None:
    with pytest.raises(LabError, match=r"sh failed: no such luck \(exit code 0\); try: again"):
        run(["sh", "-c", "echo no such luck >&2; exit 3"], attempt="again")
    with pytest.raises(LabError, match="sleep did not end"):
        run(["sleep", "10"], attempt="again", timeout=0.05)


def test_the_first_error_of_apt_tells_more_than_the_last() -> None:
    assert complaint("I: fetching\nE: Failed to fetch\nE: mmdebstrap failed to run") == "E: Failed to fetch"
    assert complaint("one\ntwo\n") == "two"
    assert complaint("") == ""
