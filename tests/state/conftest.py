"""testinfra on the hosts of an inventory: pytest tests/state --inventory inventories/pair.py

What is expected comes from the inventory's own settings; what is found comes from plain commands on the
host, and from none of our facts. Host keys are checked strictly: testinfra's default backend accepts any.

A test names the commands that it judges in its marker `asks`, and reads the answers in the fixture `said`. Each
host is asked all commands of the selected tests in one go, and all hosts at once.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import testinfra
from testinfra.host import Host

from sparkrig import inventory, login, settings, ssh
from sparkrig.fleet import Fleet
from sparkrig.settings import Settings

ASK_S = 90  # for the answer to one command


@dataclass(frozen=True)
class Spark:
    """One host under test: its name, and the settings of its whole fleet."""

    name: str
    fleet: Fleet

    @property
    def settings(self) -> Settings:
        return self.fleet[self.name]


@dataclass(frozen=True)
class Answer:
    """What one command, run as root, printed, and its exit code; error is what it printed as such."""

    command: str
    code: int
    text: str
    error: str

    @property
    def good(self) -> str:
        """What it printed; a command that failed fails the test."""
        assert self.code == 0, f"exit code {self.code} of {self.command}: {self.error}"
        return self.text


class Unreachable(Exception):
    """A host could not be asked; the text says why."""


# what a host is asked under one name: a command, or what makes commands of its settings
Asked = str | Callable[[Spark], list[str]]


class Said:
    """The answers of one host to what one test asks."""

    def __init__(self, asked: Mapping[str, Asked], spark: Spark, answers: Mapping[str, Answer]) -> None:
        self._all = {name: [answers[each] for each in commands(one, spark)] for name, one in asked.items()}

    def __getattr__(self, name: str) -> Answer:
        """The answer to the one command of that name."""
        (answer,) = self._all[name]
        return answer

    def each(self, name: str) -> list[Answer]:
        """The answers to all commands of that name."""
        return self._all[name]


asks_links = pytest.mark.asks(links="ip -j link")


def cabled(said: Said, spark: Spark) -> dict[str, str]:
    """Address by netdev of what is declared and has a carrier; on a pair all of it must have one.

    Its test is marked `asks_links`.
    """
    links = json.loads(said.links.good)
    up = {link["ifname"] for link in links if "LOWER_UP" in link.get("flags", [])}
    wanted = {netdev: str(address) for netdev, address in spark.settings.fabric.items()}
    if spark.settings.group_name:
        assert set(wanted) <= up
    return {netdev: address for netdev, address in wanted.items() if netdev in up}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "asks(**commands): what each host is asked, by the names in `said`")


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


@pytest.fixture
def host() -> None:
    """In the place of testinfra's own, which is this machine where no backend is told."""
    pytest.fail("name the commands in the marker asks, and read the answers in said", pytrace=False)


@pytest.fixture
def said(request: pytest.FixtureRequest, spark: Spark, answers: Mapping[str, Future[dict[str, Answer]]]) -> Said:
    try:
        return Said(asked(request.node), spark, answers[spark.name].result())
    except Unreachable as error:
        pytest.fail(f"{spark.name}: {error}", pytrace=False)


@pytest.fixture(scope="session")
def answers(request: pytest.FixtureRequest) -> Iterator[Mapping[str, Future[dict[str, Answer]]]]:
    """The answers of each host to all commands of the selected tests, by the command."""
    data = inventory.load(request.config.getoption("--inventory"))
    wanted: dict[str, dict[str, None]] = {}  # a set in order
    for item in request.session.items:
        if isinstance(item, pytest.Function) and "said" in item.fixturenames:
            spark: Any = item.callspec.params["spark"]
            for one in asked(item).values():
                wanted.setdefault(spark.name, {}).update(dict.fromkeys(commands(one, spark)))
    with tempfile.TemporaryDirectory(prefix="sr-") as folder, ThreadPoolExecutor(len(wanted)) as pool:
        file = Path(folder, "config")  # short: it holds the control sockets
        file.write_text(ssh.config(data, folder))
        yield {name: pool.submit(ask, name, data[name], [*rows], file) for name, rows in wanted.items()}


def asked(item: pytest.Item) -> dict[str, Asked]:
    """What a test asks, by the names that it reads the answers by."""
    return {name: one for mark in item.iter_markers("asks") for name, one in mark.kwargs.items()}


def commands(one: Asked, spark: Spark) -> list[str]:
    return [one] if isinstance(one, str) else one(spark)


def ask(name: str, data: Mapping[str, Any], rows: list[str], config: Path) -> dict[str, Answer]:
    """Ask one host all of the commands in one go, over one connection. Raises Unreachable."""
    host = _connected(name, data, config)
    # what a command prints has no null byte
    each = "timeout {} sh -c {} </dev/null; printf '\\n%s\\0' $?; printf '\\0' >&2\n"
    script = "".join(each.format(ASK_S, shlex.quote(row)) for row in rows)
    done = host.run(script)
    texts, errors = (stream.split("\0")[:-1] for stream in (done.stdout, done.stderr))
    if not len(texts) == len(errors) == len(rows):
        raise Unreachable(f"{len(texts)} of {len(rows)} commands were answered: {done.stderr.strip()}")
    answers = {}
    for row, printed, error in zip(rows, texts, errors, strict=True):
        text, _, code = printed.rpartition("\n")
        answers[row] = Answer(row, int(code), text.rstrip("\n"), error.strip())
    return answers


def _connected(name: str, data: Mapping[str, Any], config: Path) -> Host:
    """testinfra's host, as root. Raises Unreachable."""
    if not login.over_ssh(name, data):
        return testinfra.get_host("local://?sudo=True")
    # testinfra tells nothing of a connection that fails
    first = ["ssh", "-F", str(config), name, "true"]
    done = subprocess.run(first, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        raise Unreachable(login.explained(name, data, done.stderr) or done.stderr.strip())
    return testinfra.get_host(f"ssh://{name}?ssh_config={config}&sudo=True")
