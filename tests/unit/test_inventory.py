"""Inventory files, read as pyinfra reads them; pyinfra itself is the measure."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyinfra.api.exceptions import InventoryError

from sparkrig import cure, login
from sparkrig.cure import quoted_path
from sparkrig.inventory import checked, fleet, load
from sparkrig.settings import DEFAULTS, SettingsError
from tests import warm

ALL = {"all": "mtu = 4500\nx_all = 'all'\n_sudo = True\n"}
FILES: dict[str, tuple[str, dict[str, str]]] = {
    "bare names": ("sparks = ['a', 'b']", {}),
    "host data": ("sparks = [('a', {'mtu': 4200}), 'b']", {}),
    "data of all": ("sparks = [('a', {'mtu': 4200}), 'b']", ALL),
    "group over all": ("sparks = ['a', 'b']", {**ALL, "sparks": "mtu = 9000\n"}),
    "group beside another": ("one = ['a']\ntwo = ['b']", {**ALL, "two": "mtu = 9000\n"}),
    "group data inline": ("sparks = (['a', 'b'], {'mtu': 9000, 'x_inline': 1})", ALL),
    "group file over inline": ("sparks = (['a'], {'mtu': 9000})", {**ALL, "sparks": "mtu = 4200\n"}),
    "group of the file": ("sparks = ['a', 'b']", {**ALL, "pair": "mtu = 9000\n"}),
    "group of the file against a group": (
        "sparks = ['a', 'b']",
        {**ALL, "pair": "mtu = 9000\n", "sparks": "mtu = 4200\n"},
    ),
    "group named as the file": ("pair = ['a']\nother = ['b']", {**ALL, "pair": "mtu = 9000\n"}),
    "a host in two groups": (
        "one = ['a', ('b', {'x_own': 1})]\ntwo = [('a', {'x_own': 2}), 'b']",
        {**ALL, "one": "mtu = 9000\n", "two": "mtu = 4200\n"},
    ),
    "all, inline": ("all = (['a', 'b'], {'mtu': 9000, 'x_inline': 1})", ALL),
    "all beside a group": ("all = [('a', {'mtu': 4200}), 'b']\none = [('a', {'mtu': 9000})]", ALL),
    "a group that knows more hosts than all": ("all = ['a']\none = ['a', 'b']", ALL),
    "private names and plain values": ("_hidden = ['c']\nnumber = 3\ntext = 'x'\nsparks = ['a']", ALL),
    "a list that is no group": ("ports = [1, 2]\nsparks = ['a']", ALL),
    "this machine": ("sparks = [('@here/a', {'mtu': 4200}), 'b']", {**ALL, "sparks": "mtu = 9000\n"}),
    "this machine in two groups": (
        "one = ['@here/a', 'b']\ntwo = [('@here/a', {'x_own': 2})]",
        {**ALL, "one": "mtu = 9000\n", "two": "mtu = 4200\n"},
    ),
    "imports in group data": ("sparks = ['a']", {"all": "import os\nfrom pathlib import Path\nmtu = 4500\n"}),
}


def write(folder: Path, text: str, data: dict[str, str]) -> Path:
    file = folder / "inventories" / "pair.py"
    (file.parent / "group_data").mkdir(parents=True)
    for group, content in data.items():
        (file.parent / "group_data" / f"{group}.py").write_text(content)
    file.write_text(text)
    return file


# pyinfra's command patches the standard library as it is imported, so it runs in a process of its own.
PYINFRA = """
import json, sys
from pyinfra_cli.inventory import make_inventory
from pyinfra.api import Config, State
from pyinfra.context import ctx_config, ctx_state
found = {}
for file in sys.argv[1:]:
    with ctx_state.use(State()), ctx_config.use(Config()):
        found[file] = [(host.name, host.data.dict()) for host in make_inventory(file, cwd="/")]
json.dump(found, sys.stdout)
"""


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, list[list[Any]]]]:
    """What pyinfra makes of each case: its file, and data by host in order."""
    files = {case: write(tmp_path_factory.mktemp("case"), *content) for case, content in FILES.items()}
    command = [sys.executable, "-W", "ignore", "-c", PYINFRA, *map(str, files.values())]
    shown = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {case: (file, shown[str(file)]) for case, file in files.items()}


@pytest.mark.slow
@pytest.mark.parametrize("case", FILES)
def test_the_same_data_as_pyinfra(theirs: dict[str, tuple[Path, list[list[Any]]]], case: str) -> None:
    file, expected = theirs[case]
    assert expected
    assert [[name, data] for name, data in load(file).items()] == expected  # in order: the first of a pair leads


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"there is no inventory file .*/pair\.py"):
        load(tmp_path / "pair.py")


def test_the_way_to_a_missing_file_is_named_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a b" / "inventories").mkdir(parents=True)
    (tmp_path / "a b" / "inventories" / "pair.py").touch()
    (tmp_path / "a b" / "tests" / "state").mkdir(parents=True)
    place, near = (re.escape(quoted_path(tmp_path / "a b" / name)) for name in ("", "inventories"))
    for folder, name, way in (
        ("a b", "inventories/none.py", "ls inventories$"),
        ("a b", "inventories/sparks.py", "ls inventories, or sparkrig onboard, which writes it$"),
        ("a b/tests/state", "inventories/none.py", f"ls {near}$"),
        ("a b/tests/state", "inventories/pair.py", f"cd {place}, where it is$"),
        (".", "inventories/pair.py", "sparkrig init sparks, which makes a project with inventories$"),
        (
            ".",
            "inventories/sparks.py",
            "sparkrig init sparks, .*; sparkrig onboard, typed there, writes sparks.py$",
        ),
    ):
        monkeypatch.chdir(tmp_path / folder)
        with pytest.raises(SettingsError, match=f"try: {way}"):
            load(Path(name))


def test_a_misspelt_file_is_offered_the_one_beside_it(tmp_path: Path) -> None:
    (tmp_path / "pair.py").touch()
    with pytest.raises(SettingsError, match=r"pari\.py; did you mean .*/pair\.py\? Try: "):
        load(tmp_path / "pari.py")


STRICT = "ssh_strict_host_key_checking = 'yes'\n"


def test_checked_returns_what_it_was_given(tmp_path: Path) -> None:
    file = write(tmp_path, "", {"all": f"mtu = 4500\n{STRICT}"})
    hosts: list[Any] = ["a", ("b", {"mtu": 4200, "ssh_user": "nvidia"})]
    assert checked(iter(hosts), str(file)) == hosts


@pytest.mark.parametrize(
    ("hosts", "data", "words"),
    [
        (
            [("a", {"mut": 1500})],
            {"all": STRICT},
            ["a: there is no setting mut", "did you mean mtu?", "Edit ", "pair.py"],
        ),
        (["a"], {"all": f"mtu = 'jumbo'\n{STRICT}"}, ["a: setting mtu", "'jumbo'"]),
        (["a"], {"pair": f"mtu = 'jumbo'\n{STRICT}"}, ["a: setting mtu", "'jumbo'"]),
        ([], {}, ["names no host"]),
        (["a", ""], {"all": STRICT}, ["names ''; a host is expected"]),
        (["a", 5], {"all": STRICT}, ["names 5; a host is expected"]),
        ([("a", "b")], {"all": STRICT}, ["names ('a', 'b'); a host is expected"]),
        (["a", ("a", {})], {"all": STRICT}, ["a stands twice in the inventory"]),
        (["a" * 254], {"all": STRICT}, [f"names a host '{'a' * 20}'...; a name of 1 to 253 characters"]),
        (["a\x1b[2Jb"], {"all": STRICT}, ["names a host 'a\\x1b[2Jb'; a name of 1 to 253 characters on one line"]),
        (["a"], {"all": ""}, ["a: ssh_strict_host_key_checking is not set", '"yes" is expected']),
        (["a"], {}, ["group_data/all.py is missing, which has the default of every setting", "sparkrig init"]),
        (["a"], {"all": "ssh_strict_host_key_checking = 'no'\n"}, ["a: ssh_strict_host_key_checking is 'no'"]),
        (["a"], {"all": f"{STRICT}ssh_password = 'hunter2'\n"}, ["a: ssh_password is a password", "ssh-copy-id"]),
    ],
)
def test_checked_stops_pyinfra_with_one_sentence(
    tmp_path: Path, hosts: list[Any], data: dict[str, str], words: list[str]
) -> None:
    file = write(tmp_path, "", data)
    with pytest.raises(InventoryError) as caught:
        checked(hosts, str(file))
    for word in words:
        assert word in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert caught.value.__suppress_context__


_LIST = "from sparkrig.inventory import checked\nsparks = checked(['a'], __file__)\n"


@pytest.mark.parametrize(
    "line", ["login_passwords = False", "firewall_allow = ('8000', 'ssh')", "ssh_user: str = 'me'"]
)
def test_a_setting_beside_the_list_of_hosts_is_refused(tmp_path: Path, line: str) -> None:
    """Python takes it, no host gets it, and of a list pyinfra makes hosts that it connects to."""
    file = write(tmp_path, f"{_LIST}\n{line}\n", {"all": STRICT})
    with pytest.raises(SettingsError, match=r"line 4 sets \w+ for no host: .* Edit .*pair\.py"):
        load(file)


@pytest.mark.parametrize(
    "line",
    ["cluster = ['b', ('c', {})]", "fabric = {}\n_data = fabric", "mine = 5", "_all = []\ncluster = list(_all)"],
)
def test_a_group_and_a_value_that_is_read_may_have_any_name(tmp_path: Path, line: str) -> None:
    assert "a" in load(write(tmp_path, f"{_LIST}{line}\n", {"all": STRICT}))


@pytest.mark.parametrize("slip", ["mut = 1500", "mtu = 'jumbo'"])
def test_a_slip_in_group_data_names_its_own_file(tmp_path: Path, slip: str) -> None:
    with pytest.raises(SettingsError, match=r"Edit \S*group_data/all\.py "):
        load(write(tmp_path, _LIST, {"all": f"{STRICT}{slip}\n"}))


INVENTORIES = Path(__file__).resolve().parent.parent.parent / "inventories"


@pytest.mark.parametrize(("name", "hosts"), [("solo", ["spark-a"]), ("pair", ["spark-a", "spark-b"])])
def test_the_inventories_that_are_shipped(name: str, hosts: list[str]) -> None:
    found = load(INVENTORIES / f"{name}.py")
    assert list(found) == hosts
    for data in found.values():
        assert data["_sudo"] is True
        assert data["ssh_strict_host_key_checking"] == "yes"
        assert set(DEFAULTS) <= set(data)


def fake(name: str) -> tuple[str, dict[str, Any]]:
    row = "/etc/nccl.conf 644 root:root aGVsbG8K"
    return f"@fake/{name}", {"fake_responses": {"base64": [row]}, "fake_delay": 0, "fake_delay_jitter": 0}


@pytest.mark.parametrize(
    ("together", "flags", "goes_on"),
    [
        (True, (), False),
        (True, ("--fail-percent", "100"), True),
        (True, ("--fail-percent", "49"), False),
        (False, (), True),
    ],
)
def test_stop_together_against_fail_percent(
    tmp_path: Path, together: bool, flags: tuple[str, ...], goes_on: bool
) -> None:
    """stop_together() counts where no --fail-percent was given; which wins where one was."""
    gone = ("gone", {"ssh_hostname": "127.0.0.1", "ssh_port": 9, "ssh_user": "nobody"})
    head = "from sparkrig.inventory import stop_together as _together\n_together()\n" if together else ""
    file = tmp_path / "my sparks.py"  # a name with a space
    file.write_text(f"{head}sparks = {[fake('a'), gone]!r}\n")
    words = ("--json", *flags, str(file), "fact", "sparkrig.facts.files.Files")
    # the spinner can deadlock [@pyinfra-1526]
    done = warm.run("pyinfra", *words, cwd=INVENTORIES.parent, env={"PYINFRA_PROGRESS": "off"})
    if goes_on:
        assert list(json.loads(done.stdout)["sparkrig.facts.files.Files"]) == ["@fake/a"]
    else:
        assert done.returncode == 1
        last = done.stderr.strip().splitlines()[-1]
        assert "hosts failed" not in last and last.startswith("--> Error: no host is left to go on with")


def test_this_machine_has_its_own_name_in_all_that_is_read(tmp_path: Path) -> None:
    """The same as from another machine: in settings, records and files, and in the commands that are advised."""
    fabric = "'fabric': {'enp1s0f0np0': '192.168.100.%d/24'}"
    file = tmp_path / "sparks.py"
    file.write_text(
        "sparks = [\n"
        f"    ('@here/spark-a', {{'pair': 'sparks', {fabric % 11}}}),\n"
        f"    ('spark-b', {{'pair': 'sparks', {fabric % 12}}}),\n"
        "]\nalone = ['@here/spark-a']\n"
    )
    (tmp_path / "group_data").mkdir()
    (tmp_path / "group_data" / "alone.py").write_text("mtu = 4200\n")
    (tmp_path / "group_data" / "all.py").write_text("mtu = 4200\n")
    found, data = fleet(file)
    assert list(found) == list(data) == ["spark-a", "spark-b"]
    assert found.peers("spark-b") == ("spark-a",) and found["spark-a"].mtu == 4200
    assert data["spark-a"][login.HERE] and login.HERE not in data["spark-b"]
    assert str(cure.over_ssh("spark-a", "sudo dmesg")) == "sudo dmesg"
    assert str(cure.over_ssh("spark-b", "sudo dmesg")) == "ssh spark-b sudo dmesg"
    file.write_text("sparks = ['spark-a']\n")
    fleet(file)
    assert str(cure.over_ssh("spark-a", "sudo dmesg")) == "ssh spark-a sudo dmesg", "another inventory counts"
    file.write_text("sparks = [('spark-a', {'ssh_hostname': '10.0.0.7', 'ssh_user': 'ann', 'ssh_port': 2201})]\n")
    fleet(file)
    assert str(cure.over_ssh("spark-a", "sudo dmesg", "-t")) == "ssh -t -p 2201 ann@10.0.0.7 sudo dmesg"
    file.write_text("sparks = [('spark-a', {'ssh_hostname': '-oProxyCommand=x'})]\n")
    fleet(file)
    assert str(cure.over_ssh("spark-a", "true")) == "ssh -- -oProxyCommand=x true", "it is no option"
    for name in ("@here", "@here/"):
        file.write_text(f"sparks = [{name!r}]\n")
        with pytest.raises(SettingsError, match='NAME" is expected'):
            load(file)
