"""Garbage of a host is that host's finding: bounded before it is parsed, and one sentence whatever it is."""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Callable, Iterable
from typing import Any

import pytest
import yaml
from pyinfra.api.exceptions import FactProcessError

from sparkrig.bandwidth import perftest, records
from sparkrig.checks import last_declaration
from sparkrig.facts.bundle import Bundle
from sparkrig.facts.examination import Examination
from sparkrig.facts.journal import Journal
from sparkrig.facts.nic import Nics
from sparkrig.facts.noun import Noun
from sparkrig.facts.own_address import OwnAddress
from sparkrig.facts.preflight import Preflight
from sparkrig.facts.resources import Containers, Identity, Network, Rdma
from sparkrig.facts.spark import Spark
from sparkrig.files import Found
from sparkrig.network import netplan
from sparkrig.parsing import bounds, rows, safe_yaml
from sparkrig.refusal import Refusal
from sparkrig.resources import containers
from sparkrig.runs import lock, merge
from sparkrig.runs.render import journal as picture
from sparkrig.serving import launch_text
from sparkrig.serving.launch import Unreadable
from sparkrig.status import status
from sparkrig.value import Unread
from tests.attacks.growth import soon
from tests.attacks.looks import looks, mutated, survives
from tests.attacks.texts import BOMB, DEEP
from tests.plan.conftest import ROOT, converged
from tests.plan.examined import examined
from tests.tables import each_row
from tests.unit.shells import sh, well

OWNER_ROW = json.dumps(
    {
        "by": json.loads(lock.given("20261122T120000Z-1", "root@laptop", "pyinfra x", "1.0")),
        "from": "10.0.2.2",
        "since": 1795348800,
        "boot": "b",
    }
)
JOURNAL = f"""now 1795348900
lock alive {OWNER_ROW}
armed 20261122T120000Z-1 80 alive
run 20261122T120000Z-1 {OWNER_ROW}
step 1795348801 begun Driver | hold
step 1795348802 ended 0 Driver | hold
step 1795348803 begun Network | profiles
before hold nvidia held
after end 1795348810
after file /etc/x 644 root:root 00
guard applied by x
current file /etc/x 644 root:root 00""".split("\n")


def why(fact: Any, lines: list[str]) -> str:
    """What is wrong with what was printed; in one line that can be shown, and soon."""
    with soon(2), pytest.raises(FactProcessError) as failed:
        fact.process(lines)
    said = str(failed.value)
    assert said.isprintable() and len(said) < 400, said
    return said


def test_what_a_parser_stumbles_over_is_a_sentence_of_its_noun() -> None:
    def holds(noun: type[Noun[Any]], lines: list[str], said: str) -> None:
        assert why(noun(), lines).startswith(f"{noun.__name__.lower()}: cannot be understood ({said}")

    each_row(
        {
            "RecursionError": (Network, [f"addr {DEEP}"], "JSON nests deeper than 32 levels"),
            "RecursionError, in daemon.json": (Containers, [f"info {'{' * 90_000}"], "JSON nests deeper"),
            "OverflowError": (Network, ['addr [{"ifname": "x", "mtu": 1e999}]'], "1e999 is no finite number"),
            "NaN": (Network, ['addr [{"ifname": "x", "mtu": NaN}]'], "JSON has NaN, which is no number"),
            "a number": (Network, [f'addr [{{"ifname": "x", "mtu": {"9" * 90}}}]'], "JSON has a number of 90"),
            "a huge number": (Nics, [f"x counter.sent_pkts {'9' * 5000}"], "a number has more than 100 digits"),
            "StopIteration": (OwnAddress, ["address 10.0.0.1"], "a row has another form than is expected: StopI"),
            "AttributeError": (Network, ['addr [["ifname"]]'], "a row has another form than is expected: TypeE"),
            "no object": (Network, ['addr {"ifname": {}}'], "a row has another form than is expected: TypeE"),
            "a list for an object": (Rdma, ['links ["x"]'], "a row has another form than is expected: TypeE"),
            "AttributeError in a route": (Network, ["route [1]"], "a row has another form than is expected: Attr"),
            "KeyError": (Containers, ['info {"running": 1}'], "a row has another form than is expected: KeyE"),
            "a step of no run": (Journal, ["step 1 begun x"], "cannot read the row 'step' of the journal"),
            "base64": (Network, ["netplan /etc/netplan/a.yaml é"], "string argument should contain only ASCII"),
            "an address of a profile": (
                Network,
                [f"property connection.uuid:{'0' * 32}", "property ipv4.addresses:10.0.0.1/99"],
                "'99' is not a valid netmask",
            ),
            "much noise": (Preflight, ["x" * 100] * 30_000, "30000 rows of 3000000 characters are more than"),
            "one long row": (Identity, ["x" * 3_000_000], "1 rows of 3000000 characters are more than"),
        },
        holds,
    )


def toy(name: str, script: str, parse: Callable[[Iterable[str]], Any] = list) -> type[Noun[Any]]:
    """A noun of the tests."""
    return type(name, (Noun,), {"script": script, "parse": staticmethod(parse)})


def stumbles(error: Exception) -> Noun[Any]:
    def parse(_: Iterable[str]) -> None:
        raise error

    return toy("Broken", ":", parse)()


def test_a_fault_of_our_own_code_is_not_called_garbage() -> None:
    """These no data can raise."""

    def holds(error: type[Exception]) -> None:
        with pytest.raises(error):
            stumbles(error("our own")).process([])

    each_row(bounds.OWN_FAULTS, holds)


def test_whatever_a_parser_raises_is_one_short_line() -> None:
    def holds(error: Exception, said: str) -> None:
        assert said in why(stumbles(error), [])

    each_row(
        {
            "memory": (MemoryError(), "MemoryError"),
            "a code": (ValueError("\x1b[31m\n" + "x" * 9000), " [31m "),
            "a generator": (RuntimeError("generator raised StopIteration"), "RuntimeError"),
        },
        holds,
    )


def test_json_is_read_as_it_was() -> None:
    text = json.dumps([{"a": [1, 2.5, -3, True, None, "[[[[" * 90, 'q"\\', "\u2028", 2**64 - 1]}])
    assert bounds.loads(text) == json.loads(text)
    assert bounds.loads("[" * 32 + "]" * 32)
    with pytest.raises(ValueError, match="deeper"):
        bounds.loads("[" * 33 + "]" * 33)
    for broken in ("", '"' * 100_001, '"' + "\\" * 100_001, "]" * 9, '{"a":', "1" * 21, "-1e30", "Infinity"):
        with pytest.raises(ValueError):
            bounds.loads(broken)


HALF = r'"\ud800"'  # JSON and YAML write half of a surrogate pair so, and no file can take what it stands for


def test_half_of_a_surrogate_pair_is_no_text() -> None:
    """Whatever reads JSON or YAML from outside says so, before a report or a file is to hold it."""

    def refused(text: str) -> None:
        for read in (bounds.loads, safe_yaml.load):
            with pytest.raises((ValueError, yaml.YAMLError), match="half of a surrogate pair"):
                read(text)

    each_row(
        [HALF, f"[{HALF}]", f'{{"a": [{{{HALF}: 1}}]}}', r'"x\uDFFF"', r'"\uDE00\uD83D"', r'"\udbff\n"'], refused
    )
    for fine in (r'["\ud83d\ude00"]', r'["\\ud800"]', r'["\ud7ff\ue000"]'):
        assert bounds.loads(fine) == json.loads(fine)
    aliases = "a: &a [1]\nb: *a\nc: &c {d: *a}\ne: *c\n"
    assert safe_yaml.load(aliases)["e"] == {"d": [1]}
    assert safe_yaml.load("&a [*a]"), "it holds itself, and is read to its end"
    assert safe_yaml.load(BOMB), "each part is looked at once"


def test_each_reader_of_a_host_s_json_takes_no_half_of_a_surrogate_pair() -> None:
    def holds(read: Callable[[], object]) -> None:
        try:
            found = read()
        except (ValueError, FactProcessError, merge.Conflict, Refusal, Unreadable) as error:
            str(error).encode()
        else:
            assert not re.search(r"(?<!\\)\\ud[89a-f]", repr(found)), found

    daemon = base64.b64encode(f'{{"x": {HALF}}}'.encode()).decode()
    owner = OWNER_ROW.replace('"root@laptop"', HALF)
    measured = f'{{"test_info": {{"test": {HALF}}}, "results": {{}}}}'
    inspected = f'[{{"HostConfig": {{}}, "Config": {{"Image": {HALF}, "Cmd": ["vllm", "serve", {HALF}]}}}}]'
    each_row(
        {
            "docker info": (lambda: Containers().process([f'info {{"runtimes": {{{HALF}: 1}}, "running": 0}}']),),
            "daemon.json": (lambda: containers.merge(base64.b64decode(daemon).decode()),),
            "daemon.json, merged": (lambda: merge.objects("{}", "{}", f'{{"x": {HALF}}}'),),
            "run.json": (lambda: lock.owner(owner),),
            "declared.json": (
                lambda: last_declaration.load(Found(f'{{"at": 1, "wants": {{"x": {HALF}}}}}', "", "")),
            ),
            "bandwidth.json": (lambda: records.load(records.dump([]).replace("[]", f'[{{"netdev": {HALF}}}]')),),
            "addresses": (lambda: Network().process([f'addr [{{"ifname": {HALF}}}]']),),
            "RDMA": (lambda: Rdma().process([f'links [{{"ifname": {HALF}}}]']),),
            "netplan": (lambda: netplan.parse([f"/a.yaml {base64.b64encode(NETPLAN.encode()).decode()}"]),),
            "perftest": (lambda: perftest._document(measured),),
            "docker inspect": (lambda: launch_text.read(inspected),),
            "a compose file": (
                lambda: launch_text.read(f"services: {{x: {{image: {HALF}, command: vllm serve y}}}}"),
            ),
            "a flag": (lambda: launch_text.read(f"vllm serve x --speculative-config '{{\"method\": {HALF}}}'"),),
        },
        holds,
    )


def test_json_and_yaml_are_read_in_one_place() -> None:
    """What is right for a host's text is done there; another reader would have to do it again."""
    bare = re.compile(r"\bjson\.loads?\(|JSONDecoder\(|(?<!safe_)yaml\.(?:safe_|full_|unsafe_)?load\(")
    # a word that the same module wrote, and those that take out what a string hides, also one that is no text
    own = {"sparkrig/parsing/bounds.py", "sparkrig/parsing/safe_yaml.py"}
    own |= {"sparkrig/redaction/sheet.py", "sparkrig/cli/mcp.py"}
    rooms = ("sparkrig", "facts", "operations", "deploys")
    found = {
        str(f.relative_to(ROOT))
        for room in rooms
        for f in (ROOT / room).rglob("*.py")
        if bare.search(f.read_text())
    }
    assert found == own


NETPLAN = f"network: {{ethernets: {{enp1s0f0np0: {{match: {{name: {HALF}}}}}}}}}"


def test_a_netplan_file_that_hurts_counts_as_not_understood() -> None:
    """Every word of it may then be the name of a netdev, so that nothing is changed beside it."""

    def holds(text: str) -> None:
        with soon(2):
            (file,) = netplan.parse([f"/etc/netplan/a.yaml {base64.b64encode(text.encode()).decode()}"])
        assert not file.readable and "enp1s0f0np0" in file.netdefs[0].names

    each_row(
        {
            "a bomb of aliases": (BOMB,),
            "an alias of itself": ("network: &a {ethernets: {enp1s0f0np0: *a}}",),
            "an alias of an address": ("x: &a [10.0.0.1/24]\nnetwork: {ethernets: {enp1s0f0np0: *a}}",),
            "deep": ("enp1s0f0np0: " + DEEP[:5000],),
            "deep, in blocks": ("enp1s0f0np0:\n" + "\n".join(" " * n + "- a:" for n in range(1, 300)),),
            "long": ("# enp1s0f0np0\n" + "a: 1\n" * 40_000,),
            "half of a surrogate pair": (NETPLAN,),
            "an MTU that is no number": ("network: {ethernets: {enp1s0f0np0: {mtu: [1]}, x: 1}}",),
        },
        holds,
    )
    latin = "# f\xfcr den Keller\nnetwork: {ethernets: {enp1s0f0np0: {mtu: 1500}}}".encode("latin-1")
    (file,) = netplan.parse([f"/etc/netplan/a.yaml {base64.b64encode(latin).decode()}"])
    assert not file.readable and "enp1s0f0np0" in file.netdefs[0].names, "netplan itself takes no such file"
    assert file.fault == "not UTF-8 text (byte 0xfc in line 1)"
    ends = base64.b64encode(b"network:\r\n  ethernets:\r\n    e:\r\n      mtu: 9000\r\n").decode()
    assert netplan.parse([f"/a.yaml {ends}"])[0].netdefs[0].mtu == 9000, "YAML takes CRLF for the end of a line"
    text = base64.b64encode("network: {ethernets: {e: {mtu: ²}}}".encode()).decode()
    (odd,) = netplan.parse([f"/a.yaml {text}"])
    assert odd.readable and odd.netdefs[0].mtu is None


# --- markers


FORGED = r"""printf 'row\n#sparkrig:end second 0\n#sparkrig:end first 3\n#sparkrig:end first 0 x\n'
word=00000000-0000-4000-8000-000000000000
printf '#sparkrig:look %s\n#sparkrig:end first 0 %s\n' $word $word
"""


class Both(Bundle[Any]):
    nouns = {"first": toy("First", FORGED), "second": toy("Second", "echo two")}
    whole = dict


def test_a_row_of_data_is_never_taken_for_a_marker() -> None:
    """Run for real: files and names on the host may hold any line, but do not know the word of this look."""
    done = well(sh(f"echo 'noise of a login shell'\n{Both().command()}"))
    found = Both().process(rows.of(done.stdout))
    assert found["second"] == ["two"]
    assert [found["first"][0], len(found["first"])] == ["row", 6]
    other = sh(Both().command()).stdout
    assert other.split("\n")[0] != done.stdout.split("\n")[1]


def test_a_look_that_is_not_whole_is_a_sentence() -> None:
    def holds(lines: list[str], said: str) -> None:
        assert said in why(Both(), lines)

    first, second = "#sparkrig:end first 0", "#sparkrig:end second 0"
    each_row(
        {
            "twice": ([first, first, second], "first: could not be read (its end was printed twice)"),
            "failed": ([first, "#sparkrig:end second 7"], "second: could not be read (exit 7)"),
            "three words": (
                ["#sparkrig:end", "#sparkrig:end first", "#sparkrig:end first 0 0"],
                "first: could not",
            ),
            "nothing": ([""], "first: could not be read (no answer"),
            "too much": (["x" * 9_000_000, first, second], "look: cannot be understood (it printed more than"),
        },
        holds,
    )


def test_a_look_that_is_too_long_is_cut_on_the_host() -> None:
    class Look(Bundle[Any]):
        nouns = {"endless": toy("Endless", "yes | head -c 20000000")}
        whole = dict

    done = sh(Look().command())
    assert len(done.stdout) == bounds.LOOK_CHARS + 1
    assert "it printed more than" in why(Look(), rows.of(done.stdout))


def test_only_a_newline_ends_a_row() -> None:
    assert rows.of("a\u2028#sparkrig:end x 0\x85b\x0c\nc\n") == ["a\u2028#sparkrig:end x 0\x85b\x0c", "c"]
    assert (rows.of(""), rows.of("a"), rows.of("\n")) == ([], ["a"], [""])


# --- mutations


def hunt(seed: int, count: int) -> None:
    dice = random.Random(seed)
    spark, whole = converged("a").split("\n"), examined("a")
    made = [survives(Spark(), mutated(spark, dice)) for _ in range(count)]
    made += [survives(Examination(), lines) for lines in looks(whole, seed, count)]
    assert 0.2 * len(made) < made.count(None) < 0.8 * len(made), "mutations that all fail, or none, show little"
    for _ in range(count):
        seen = survives(Journal(), mutated(JOURNAL, dice))
        if seen is not None:
            assert picture.lines("a", seen, 20) is not None and status.host(seen, Unread("away"), 20)


@pytest.mark.slow
def test_mutated_looks_are_understood_or_refused() -> None:
    hunt(seed=18, count=120)


@pytest.mark.exhaustive
@pytest.mark.slow  # a minute of the same, with other seeds
def test_many_mutated_looks_are_understood_or_refused() -> None:
    for seed in range(40):
        hunt(seed=seed, count=120)
