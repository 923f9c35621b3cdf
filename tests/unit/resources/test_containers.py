"""Docker's runtime: merged, never templated; and no restart under running containers without leave."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from pathlib import Path

import pytest

from sparkrig.facts.resources import Containers as Fact
from sparkrig.refusal import Refusal
from sparkrig.resources.containers import (
    CONTAINERS,
    DAEMON_JSON,
    KEYRING,
    SOURCE_PATH,
    Containers,
    Needs,
    merge,
    plan,
    source_file,
    to_install,
)
from tests.tables import each_row

NVIDIA = {"args": [], "path": "nvidia-container-runtime"}
REGISTERED = json.dumps({"runtimes": {"nvidia": NVIDIA}})


def host(
    daemon: str | None = REGISTERED, runtimes: str = "nvidia runc", running: int = 0, more: str = ""
) -> Containers:
    info = {"runtimes": {name: {"path": name} for name in runtimes.split()}, "running": running}
    rows = ["docker", f"info {json.dumps(info)}", "toolkit 1.19.0-1", *more.splitlines()]
    if daemon is not None:
        rows.append(f"daemon {base64.b64encode(daemon.encode()).decode()}")
    return CONTAINERS.parse(rows)


def test_parse() -> None:
    found = host(running=2, more="source /etc/apt/sources.list.d/a.list\nsource /etc/apt/sources.list.d/b.sources")
    assert found == Containers(
        installed=True,
        docker=True,
        trouble="",
        runtimes=("nvidia", "runc"),
        running=2,
        daemon_json=REGISTERED,
        toolkit="1.19.0-1",
        sources=("/etc/apt/sources.list.d/a.list", "/etc/apt/sources.list.d/b.sources"),
    )


def test_parse_of_a_host_without_docker_or_toolkit() -> None:
    found = CONTAINERS.parse(["toolkit "])
    assert not found.installed and not found.docker and found.toolkit is None and found.daemon_json is None


def test_an_absent_and_an_empty_daemon_json_are_told_apart() -> None:
    assert host(None).daemon_json is None
    assert host("").daemon_json == ""


@pytest.mark.parametrize("row", ["info {", "daemon abc"])
def test_nonsense_is_a_value_error(row: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        CONTAINERS.parse(["docker", row])


def test_merge_into_nothing() -> None:
    def holds(text: str | None) -> None:
        assert json.loads(merge(text)) == {"runtimes": {"nvidia": NVIDIA}}

    each_row([None, "", " \n", "{}", '{"runtimes": {}}'], holds)


def test_merge_keeps_every_other_key() -> None:
    theirs = {
        "exec-opts": ["native.cgroupdriver=cgroupfs"],
        "runtimes": {"kata": {"path": "/usr/bin/kata", "args": ["-x"]}},
        "registry-mirrors": ["https://mirror.example.org"],
    }
    assert json.loads(merge(json.dumps(theirs))) == {
        **theirs,
        "runtimes": {"kata": {"path": "/usr/bin/kata", "args": ["-x"]}, "nvidia": NVIDIA},
    }


@pytest.mark.parametrize(
    "text",
    [
        REGISTERED,
        '{"runtimes":{"nvidia":{"path":"/usr/bin/nvidia-container-runtime","args":["--debug"]}}}',  # their choice
        '{\n  "default-runtime": "nvidia",\n\t"runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}\n}\n\n',
    ],
)
def test_a_registered_runtime_keeps_the_file_to_the_byte(text: str) -> None:
    assert merge(text) == text


def test_an_entry_without_a_path_is_none() -> None:
    def holds(entry: str) -> None:
        assert json.loads(merge(f'{{"runtimes": {{"nvidia": {entry}}}}}'))["runtimes"]["nvidia"] == NVIDIA

    each_row(["null", "{}", '{"args": []}', '"nvidia-container-runtime"', '{"path": ""}'], holds)


def test_merge_is_idempotent() -> None:
    once = merge('{"log-driver": "journald"}')
    assert merge(once) == once and once.endswith("}\n")


def test_a_file_that_nobody_can_merge_is_refused() -> None:
    def holds(text: str, what: str) -> None:
        with pytest.raises(Refusal, match=what) as caught:
            merge(text)
        assert DAEMON_JSON in caught.value.what and DAEMON_JSON in caught.value.cure
        with pytest.raises(Refusal, match=what):
            plan(host(text), restart_docker=True)

    each_row(
        [
            ('{"runtimes": {},}', "not valid JSON"),
            ("// comment\n{}", "not valid JSON"),
            ("[]", "not a JSON object"),
            ("null", "not a JSON object"),
            ('{"runtimes": []}', "object of runtimes"),
            ('{"runtimes": null}', "object of runtimes"),
        ],
        holds,
    )


def test_nothing_to_do() -> None:
    made = plan(host(), restart_docker=False)
    assert made == Needs(install_toolkit=False, add_source=False, daemon_json=None, restart=False) and not made


@pytest.mark.parametrize("daemon", [None, "", '{"log-driver": "journald"}'])
def test_a_runtime_that_is_not_registered(daemon: str | None) -> None:
    made = plan(host(daemon, "runc"), restart_docker=False)
    assert made.restart and made.daemon_json is not None and made.daemon_json.path == DAEMON_JSON
    assert made.daemon_json.content == merge(daemon) and made.daemon_json.mode == "keep"


def test_a_runtime_in_the_file_that_docker_has_not_loaded() -> None:
    made = plan(host(runtimes="runc"), restart_docker=False)
    assert made.restart and made.daemon_json is None


def test_a_runtime_that_docker_has_needs_no_restart_for_its_file() -> None:
    """The engine has it; the file is for its next start, and running containers are in no danger."""
    made = plan(host('{"log-driver": "journald"}', running=2), restart_docker=False)
    assert made.daemon_json is not None and not made.restart
    assert made.daemon_json.content == merge('{"log-driver": "journald"}')


def test_a_runtime_of_the_command_line_stays_out_of_the_file() -> None:
    """dockerd does not start where a flag and daemon.json both name runtimes."""
    for daemon in (None, '{"log-driver": "journald"}'):
        found = host(daemon, running=2, more="flag")
        assert found.by_flag and not plan(found, restart_docker=False)


@pytest.mark.parametrize(("daemon", "runtimes"), [(None, "runc"), (REGISTERED, "runc")])
def test_running_containers_are_not_stopped_without_leave(daemon: str | None, runtimes: str) -> None:
    with pytest.raises(Refusal, match=r"2 container\(s\) are running") as caught:
        plan(host(daemon, runtimes, running=2), restart_docker=False)
    assert "restart_docker=True" in caught.value.cure
    assert plan(host(daemon, runtimes, running=2), restart_docker=True).restart


def test_running_containers_do_not_matter_where_docker_need_not_restart() -> None:
    assert not plan(host(running=2), restart_docker=False)


def test_a_dead_docker_is_refused_with_what_it_said() -> None:
    found = CONTAINERS.parse(["docker", "trouble Cannot connect to the Docker daemon", "toolkit 1.19.0-1"])
    with pytest.raises(Refusal, match=r"does not answer \(Cannot connect to the Docker daemon\)"):
        plan(found, restart_docker=True)


def test_absent_docker_is_refused_and_never_docker_io() -> None:
    with pytest.raises(Refusal, match="docker is not installed") as caught:
        plan(CONTAINERS.parse(["toolkit 1.19.0-1"]), restart_docker=True)
    assert "docker-ce" in caught.value.cure and "docker.io" not in caught.value.cure


@pytest.mark.parametrize(
    ("toolkit", "source", "install", "add"),
    [
        ("1.19.0-1", False, False, False),
        ("1.19.0-1", True, False, False),
        ("", True, True, False),  # a repository that is there is not added again
        ("", False, True, True),
    ],
)
def test_the_toolkit_is_installed_only_where_absent(toolkit: str, source: bool, install: bool, add: bool) -> None:
    rows = ["docker", 'info {"runtimes": {"nvidia": {}}, "running": 0}', f"toolkit {toolkit}"]
    rows.append(f"daemon {base64.b64encode(REGISTERED.encode()).decode()}")
    if source:
        rows.append("source /etc/apt/sources.list.d/nvidia-container-toolkit.list")
    made = plan(CONTAINERS.parse(rows), restart_docker=False)
    assert (made.install_toolkit, made.add_source, bool(made)) == (install, add, install)


def test_the_source_is_signed_by_its_own_key_alone() -> None:
    url = "https://nvidia.github.io/libnvidia-container/stable/deb/$(ARCH)"
    lines = source_file(url).content.splitlines()
    assert lines[1:] == ["Types: deb", f"URIs: {url}", "Suites: /", f"Signed-By: {KEYRING}"]
    assert source_file(url).path.endswith(".sources")


def test_paused_containers_would_be_stopped_too() -> None:
    found = CONTAINERS.parse(
        ["docker", 'info {"runtimes": {"runc": {}}, "running": 0, "paused": 1}', "toolkit 1.19.0-1"]
    )
    with pytest.raises(Refusal, match=r"1 container\(s\) are running"):
        plan(found, restart_docker=False)


def test_an_engine_that_is_not_there_is_said_even_where_docker_exits_0() -> None:
    found = CONTAINERS.parse(
        ["docker", 'info {"runtimes": null, "running": 0}', "trouble Cannot connect", "toolkit "]
    )
    with pytest.raises(Refusal, match=r"docker does not answer \(Cannot connect\)"):
        plan(found, restart_docker=False)


def test_a_source_of_ours_that_did_not_help_is_written_anew() -> None:
    found = CONTAINERS.parse(
        ["docker", 'info {"runtimes": {}, "running": 0}', "toolkit ", f"source {SOURCE_PATH}"]
    )
    assert plan(found, restart_docker=False).add_source
    theirs = CONTAINERS.parse(
        ["docker", 'info {"runtimes": {}, "running": 0}', "toolkit ", "source /etc/apt/sources.list.d/a.list"]
    )
    assert not plan(theirs, restart_docker=False).add_source


def test_a_version_is_asked_of_every_part_of_the_toolkit() -> None:
    assert to_install(None) == ["nvidia-container-toolkit"]
    assert to_install("1.17.8-1") == [
        "nvidia-container-toolkit=1.17.8-1",
        "nvidia-container-toolkit-base=1.17.8-1",
        "libnvidia-container-tools=1.17.8-1",
        "libnvidia-container1=1.17.8-1",
    ]


@pytest.mark.parametrize(
    ("states", "asked"),
    [
        ("loaded\ninactive", False),
        ("loaded\nfailed", False),
        ("masked\ninactive", False),
        ("loaded\ninactive\nmasked", False),
        ("loaded\nactive\nmasked", False),  # it does not start again
        ("loaded\nactive", True),
        ("loaded\nactivating", True),
        ("not-found\ninactive", True),  # another engine behind the same command
    ],
)
def test_a_stopped_engine_is_not_started_by_a_look(tmp_path: Path, states: str, asked: bool) -> None:
    load, active, socket = (*states.splitlines(), "loaded")[:3]
    shown = {
        "NetworkManager.service": ("loaded", "active"),
        "docker.service": (load, active),
        "docker.socket": (socket, "inactive"),
    }
    units = "".join(
        f"Id={unit}\\nLoadState={each[0]}\\nActiveState={each[1]}\\n\\n" for unit, each in shown.items()
    )
    tools = {"systemctl": f"printf '{units}'", "docker": f"touch {tmp_path}/asked; exit 1"}
    for name, text in tools.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-c", Fact.script], env=env, capture_output=True, text=True, timeout=30, check=False
    )
    assert (tmp_path / "asked").exists() is asked
    found = CONTAINERS.parse(done.stdout.splitlines())
    assert found.installed and not found.docker
    masked = "masked" in (load, socket)
    assert asked or found.trouble == f"docker is {'masked' if masked else load} {active}"


def test_only_what_apt_reads_is_a_source(tmp_path: Path) -> None:
    """sources.list(5): a file with other characters in its name is ignored, so it brings no toolkit."""
    folder = tmp_path / "sources.list.d"
    folder.mkdir()
    line = "deb https://nvidia.github.io/libnvidia-container/stable/deb /\n"
    for name in ("nvidia.list", "a (copy).list", "x.list\nsource \n.list", "nvidia.list\nnvidia.list"):
        (folder / name).write_text(line)
    (folder / "off.sources").write_text("Enabled: no\nURIs: https://nvidia.github.io/libnvidia-container\n")
    script = Fact.script.replace("/etc/apt", str(tmp_path))
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=30, check=False)
    assert CONTAINERS.parse(done.stdout.splitlines()).sources == (f"{folder}/nvidia.list",)
