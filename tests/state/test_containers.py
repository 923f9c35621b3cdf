"""Docker knows the nvidia runtime."""

from __future__ import annotations

import json

import pytest

from tests.state.conftest import Said

KEYRING = "/etc/apt/keyrings/sparkrig-nvidia-container-toolkit.gpg"


@pytest.mark.asks(runtimes="docker info --format '{{json .Runtimes}}'")
def test_docker_runs_with_the_nvidia_runtime(said: Said) -> None:
    assert "nvidia" in json.loads(said.runtimes.good)


@pytest.mark.asks(daemon="cat /etc/docker/daemon.json", enabled="systemctl is-enabled docker")
def test_the_runtime_is_on_file_for_the_next_boot(said: Said) -> None:
    document = json.loads(said.daemon.good)
    assert document["runtimes"]["nvidia"], "a path of its owner's choice is as good as ours"
    assert said.enabled.good == "enabled"


@pytest.mark.asks(
    toolkit="dpkg-query -W -f='${db:Status-Status}' nvidia-container-toolkit",
    runtime="command -v nvidia-container-runtime",
)
def test_the_toolkit_is_installed_and_its_runtime_is_there(said: Said) -> None:
    assert said.toolkit.good == "installed"
    assert said.runtime.good


@pytest.mark.asks(
    source="cat /etc/apt/sources.list.d/sparkrig-nvidia-container-toolkit.sources",
    keyring=f"stat -c '%a %U' {KEYRING}",
)
def test_its_repository_is_trusted_by_its_own_key_alone(said: Said) -> None:
    if said.source.code != 0:  # DGX OS brings the toolkit and its source
        return
    assert f"Signed-By: {KEYRING}" in said.source.text
    assert said.keyring.good == "644 root"
