"""Docker knows the nvidia runtime."""

from __future__ import annotations

import json

from testinfra.host import Host


def test_docker_runs_with_the_nvidia_runtime(host: Host) -> None:
    assert "nvidia" in json.loads(host.check_output("docker info --format '{{json .Runtimes}}'"))


def test_the_runtime_is_on_file_for_the_next_boot(host: Host) -> None:
    document = json.loads(host.file("/etc/docker/daemon.json").content_string)
    assert document["runtimes"]["nvidia"]["path"].endswith("nvidia-container-runtime")
    assert host.service("docker").is_enabled


def test_the_toolkit_is_installed_and_its_runtime_is_there(host: Host) -> None:
    assert host.package("nvidia-container-toolkit").is_installed
    assert host.exists("nvidia-container-runtime")


def test_its_repository_is_trusted_by_its_own_key_alone(host: Host) -> None:
    source = host.file("/etc/apt/sources.list.d/sparkrig-nvidia-container-toolkit.sources")
    if not source.exists:  # DGX OS brings the toolkit and its source
        return
    keyring = "/etc/apt/keyrings/sparkrig-nvidia-container-toolkit.gpg"
    assert f"Signed-By: {keyring}" in source.content_string
    assert host.check_output("stat -c '%%a %%U' %s", keyring) == "644 root"
