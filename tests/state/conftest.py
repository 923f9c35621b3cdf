"""testinfra on the hosts of an inventory: pytest tests/state --inventory inventories/pair.py

What is expected comes from the inventory's own settings; what is found comes from plain commands on the
host, and from none of our facts. Host keys are checked strictly: testinfra's default backend accepts any.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import testinfra
from testinfra.host import Host

from sparkrig import inventory, login, settings, ssh
from sparkrig.fleet import Fleet
from sparkrig.settings import Settings


@dataclass(frozen=True)
class Spark:
    """One host under test: its name, and the settings of its whole fleet."""

    name: str
    fleet: Fleet

    @property
    def settings(self) -> Settings:
        return self.fleet[self.name]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--inventory", type=Path, help="inventory file whose hosts are looked at")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "spark" in metafunc.fixturenames:
        fleet = _fleet(metafunc.config)
        metafunc.parametrize("spark", [Spark(name, fleet) for name in fleet], ids=list(fleet), scope="session")


def _fleet(config: pytest.Config) -> Fleet:
    file = config.getoption("--inventory")
    if file is None:
        raise pytest.UsageError("say which hosts: pytest tests/state --inventory inventories/pair.py")
    try:
        return Fleet.parse(inventory.load(file))
    except settings.SettingsError as error:
        raise pytest.UsageError(str(error)) from None


@pytest.fixture(scope="session")
def ssh_config(pytestconfig: pytest.Config) -> Iterator[Path]:
    """An OpenSSH configuration for the inventory; one connection per host serves the whole session."""
    with tempfile.TemporaryDirectory(prefix="sr-") as folder:  # short: it holds the control sockets
        file = Path(folder, "config")
        file.write_text(ssh.config(inventory.load(pytestconfig.getoption("--inventory")), folder))
        yield file


@pytest.fixture(scope="session")
def host(spark: Spark, ssh_config: Path, pytestconfig: pytest.Config) -> Host:
    """testinfra's host, as root; the first connection is the one that all later ones share."""
    data = inventory.load(pytestconfig.getoption("--inventory"))[spark.name]
    if not login.over_ssh(spark.name, data):
        return testinfra.get_host("local://?sudo=True")
    first = ["ssh", "-F", str(ssh_config), spark.name, "true"]
    done = subprocess.run(first, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        said = login.explained(spark.name, data, done.stderr) or done.stderr.strip()
        pytest.fail(f"{spark.name}: {said}", pytrace=False)
    return testinfra.get_host(f"ssh://{spark.name}?ssh_config={ssh_config}&sudo=True")


@pytest.fixture(scope="session")
def cabled(host: Host, spark: Spark) -> dict[str, str]:
    """Address by netdev of what is declared and has a carrier; on a pair all of it must have one."""
    links = json.loads(host.check_output("ip -j link"))
    up = {link["ifname"] for link in links if "LOWER_UP" in link.get("flags", [])}
    wanted = {netdev: str(address) for netdev, address in spark.settings.fabric.items()}
    if spark.settings.group_name:
        assert set(wanted) <= up
    return {netdev: address for netdev, address in wanted.items() if netdev in up}
