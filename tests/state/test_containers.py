"""Docker knows the nvidia runtime."""

from __future__ import annotations

import json

from testinfra.host import Host


def test_docker_runs_with_the_nvidia_runtime(host: Host) -> None:
    assert "nvidia" in json.loads(host.check_output("docker info --format '{{json .Runtimes}}'"))


def test_the_runtime_is_on_file_for_the_next_boot(host: Host) -> None:
    document = json.loads(host.check_output("cat /etc/docker/daemon.json"))
    assert document["runtimes"]["nvidia"], "a path of its owner's choice is as good as ours"
    assert host.check_output("systemctl is-enabled docker") == "enabled"


def test_the_toolkit_is_installed_and_its_runtime_is_there(host: Host) -> None:
    installed = host.check_output("dpkg-query -W -f='${db:Status-Status}' nvidia-container-toolkit")
    assert installed == "installed"
    host.run_expect([0], "command -v nvidia-container-runtime")


def test_its_repository_is_trusted_by_its_own_key_alone(host: Host) -> None:
    source = host.run("cat /etc/apt/sources.list.d/sparkrig-nvidia-container-toolkit.sources")
    if source.rc != 0:  # DGX OS brings the toolkit and its source
        return
    keyring = "/etc/apt/keyrings/sparkrig-nvidia-container-toolkit.gpg"
    assert f"Signed-By: {keyring}" in source.stdout
    assert host.check_output("stat -c '%%a %%U' %s", keyring) == "644 root"
