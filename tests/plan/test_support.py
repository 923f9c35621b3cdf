"""`sparkrig support` on fake hosts: what they print goes in, canaries and all, and comes out without them."""

from __future__ import annotations

import gzip
import json
import re
import stat
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sparkrig.cli import support as command
from sparkrig.facts.evidence import IDENTIFIERS as IDENTIFIERS_SCRIPT
from sparkrig.facts.evidence import JOURNALS, TOOLS, Evidence
from sparkrig.facts.examination import Examination
from sparkrig.fleet import Fleet
from sparkrig.network import profiles
from sparkrig.operations import support
from sparkrig.support import archive
from tests import warm
from tests.attacks import canaries
from tests.faults.record import Seen
from tests.plan import fleet
from tests.plan.archives import IDENTIFIERS, Changes, asked, parts
from tests.plan.conftest import JOURNAL, PING, together
from tests.plan.desk import write
from tests.plan.examined import CROSSES, entries, examined, hosts
from tests.tables import each_row

# vLLM prints its arguments; the host knows the rest: of sparkrig's own file, and of a container's words
VLLM = """\
2026-11-28T10:00:00+0000 spark-a vllm[7]: (APIServer pid=1) INFO 11-28 10:00:00 [utils.py:253] non-default args: \
{'model_tag': 'm', 'api_key': ['vllmkeyone', 'vllmkeytwo'], 'max_num_batched_tokens': 8192}
2026-11-28T10:00:01+0000 spark-a vllm[7]: args: Namespace(api_key=['vllmkeythree'], hf_token='vllmkeyfour', p=1)
2026-11-28T10:00:02+0000 spark-a vllm[7]: 401 for host knows this one, and for knownbyits-words
2026-11-28T10:00:03+0000 spark-a vllm[7]: vllmkeyfive1 was sent as X-Api-Key: vllmkeyfive1
"""
SECRETS = [
    *IDENTIFIERS,
    "secret host knows this one",
    "given PATH=/usr/bin",
    'given ["vllm","serve","m","--api-key","knownbyits-words"]',
]
NAMES = r"(?<!nvidia-)spark-[ab]"  # nvidia-spark-avahi-conf is a package


def pair(a: Changes | None = None, b: Changes | None = None) -> list[tuple[str, dict[str, Any]]]:
    """A healthy pair; what each host answers beside."""
    given = (asked() if a is None else a, asked() if b is None else b)
    halves = hosts(examined("a"), examined("b"))
    return entries([replace(half, first={**more, **half.first}) for half, more in zip(halves, given, strict=True)])


@dataclass
class Done:
    code: int
    stdout: str
    stderr: str
    file: Path

    @property
    def files(self) -> dict[str, str]:
        return archive.unpack(self.file.read_bytes(), "it")

    @property
    def everything(self) -> str:
        return "\n".join([*self.files, *self.files.values()])

    @property
    def manifest(self) -> dict[str, Any]:
        return archive.manifest(self.files, "it")


def typed(folder: Path, entries: list[tuple[str, dict[str, Any]]], *words: str, stdin: str = "") -> Done:
    inventory, file = write(folder, entries), folder / "sent.tar.gz"
    state = {"NO_COLOR": "1", "XDG_STATE_HOME": str(folder / "state")}
    done = warm.run("sparkrig", "support", str(inventory), "-o", str(file), *words, env=state, stdin=stdin)
    assert "Traceback" not in done.stderr, done.stderr
    return Done(done.returncode, done.stdout, done.stderr, file)


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """One archive of a healthy pair that has canaries wherever one can be."""
    logs = {f"journals__{name}": VLLM for name in ("docker", "sparkrig")}
    return typed(tmp_path_factory.mktemp("sent"), pair(asked(SECRETS, **logs), asked(SECRETS, **logs)), "--yes")


def test_no_canary_is_in_an_archive(sent: Done) -> None:
    assert sent.code == 0, sent.stdout + sent.stderr
    text = sent.everything
    assert canaries.shown(text) == {}
    assert not re.search(NAMES, text + sent.stdout), "the names of the inventory"


@pytest.mark.fault(49)
def test_no_key_of_a_server_is_in_an_archive(sent: Done, seen: Seen) -> None:
    assert not canaries.left(sent.everything, ["vllmkey", "knows this one", "knownbyits"])
    log = sent.files["machine-1/journals/docker.txt"]
    assert (
        "non-default args: {'model_tag': 'm', 'api_key': ['token-" in log
        and "'max_num_batched_tokens': 8192" in log
    )
    seen("vLLM's own log of its arguments in an archive: the key is a pseudonym, and the figures beside it stand")


def test_the_same_value_has_the_same_pseudonym_on_both_hosts_and_in_each_document(sent: Done) -> None:
    files = sent.files
    one, other = (files[f"machine-{number}/tools/system.txt"] for number in (1, 2))
    assert one == other  # both printed the same canaries
    names = [host["name"] for host in json.loads(files["doctor.json"])["hosts"]]
    assert names == [host["name"] for host in json.loads(files["drift.json"])["hosts"]]
    assert names == ["@fake/machine-1", "@fake/machine-2"]
    assert list(json.loads(files["settings.json"])) == ["machine-1", "machine-2"] == sent.manifest["hosts"]
    nics = [files[f"machine-{number}/looks/examination.txt"] for number in (1, 2)]
    heard = re.findall(r"^heard enp1s0f0np0 (\S+)", files["machine-1/looks/neighbours.txt"], re.M)
    assert heard and f'"address":"{heard[0]}"' in nics[1], "what one hears is not the MAC of the other"


def test_what_our_own_parsers_read_is_read_from_an_archive_too(sent: Done) -> None:
    """Verdicts of texts with pseudonyms are those of the texts themselves."""
    for number in (1, 2):
        text = sent.files[f"machine-{number}/looks/examination.txt"]
        found = Examination().process(text.splitlines())
        assert found.trust.host_keys and found.network.links
        assert profiles.uuid("enp1s0f0np0") in found.network.profiles, "our own UUID, the same everywhere"
    verdict = json.loads(sent.files["doctor.json"])
    assert verdict["exit"] == 0, [
        row for host in verdict["hosts"] for row in host["rows"] if row["status"] != "ok"
    ]
    assert json.loads(sent.files["drift.json"])["exit"] == 0


def test_the_list_of_what_is_in_it_is_shown(sent: Done) -> None:
    for name, text in sent.files.items():
        if name not in (archive.MANIFEST, archive.CONTENTS):
            assert re.search(rf"^  {re.escape(name)} +{len(text.encode()):,} bytes$", sent.stdout, re.M), name
    assert re.search(r"^  serial numbers: \d+ times, \d+ different, such as serial-1$", sent.stdout, re.M)
    assert "serial by lspci: not installed" in sent.stdout and "Missing" not in sent.stdout
    assert sent.stdout.startswith(sent.files[archive.CONTENTS])


def test_the_file_is_private_and_its_headers_name_nobody(sent: Done) -> None:
    assert stat.S_IMODE(sent.file.stat().st_mode) == 0o600
    content = sent.file.read_bytes()
    assert content[3] & 0x08 == 0 and content[4:8] == bytes(4), "gzip has the file's name or its time"
    with tarfile.open(sent.file) as tar:
        about = {(each.uname, each.gname, each.uid, each.gid, each.mtime) for each in tar}
    assert about == {("", "", 0, 0, 0)}
    assert [each.name for each in sent.file.parent.glob(".*")] == []


def test_a_file_that_is_there_is_not_overwritten(sent: Done) -> None:
    before = sent.file.read_bytes()
    done = typed(sent.file.parent, pair(), "--yes")
    assert (done.code, done.stdout) == (1, "")
    assert "is there already" in done.stderr and sent.file.read_bytes() == before


def test_without_a_terminal_it_is_not_written_unless_asked_for(tmp_path: Path) -> None:
    done = typed(tmp_path, pair(), stdin="y\n")
    assert (done.code, done.stdout) == (1, "")
    assert done.stderr == "Error: there is no terminal to ask at. Try: the same with --yes\n"
    assert not done.file.exists()


def test_nothing_is_written_where_the_answer_is_no(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("sparkrig.cli.files.agreed", lambda question: asked.append(question))
    made, file = archive.Archive("0", "now", (), (), {}), tmp_path / "sent.tar.gz"
    with pytest.raises(SystemExit) as end:
        command._write(made, file, opened=False, yes=False, as_json=False)
    assert end.value.code == 1 and not file.exists() and str(file) in asked[0]


GONE = "the cable of its management network is out"


@pytest.mark.slow
def test_a_host_that_cannot_be_reached_hides_nothing_of_the_other(tmp_path: Path) -> None:
    gone = {"part identifiers ": {"success": False, "stderr": f"spark-b: {GONE}"}}
    done = typed(tmp_path, pair(b=gone), "--yes", "--json")
    assert done.code == 3
    told = json.loads(done.stdout)
    assert [each for each in told["missing"] if GONE in each] and told == {
        "schema": "sparkrig.support/1",
        "archive": str(done.file),
        **{key: value for key, value in done.manifest.items() if key != "schema"},
    }
    files = done.files
    assert "machine-1/looks/examination.txt" in files and not [
        name for name in files if name.startswith("machine-2")
    ]
    verdicts = {host["name"]: host for host in json.loads(files["doctor.json"])["hosts"]}
    assert GONE in json.dumps(verdicts["@fake/machine-2"]) and not re.search(NAMES, done.everything)


UNSURE: Mapping[str, list[str]] = {
    "no end": [*IDENTIFIERS, "mac 02"],
    "no name": [each for each in IDENTIFIERS if not each.startswith("machine")] + ["end"],
    "no MAC addresses": [each for each in IDENTIFIERS if not each.startswith("mac")] + ["end"],
    "no machine-id": [each for each in IDENTIFIERS if not each.startswith("id")] + ["end"],
    "no users": [each for each in IDENTIFIERS if not each.startswith("user")] + ["end"],
}


@pytest.mark.slow  # an archive for each of them, 4 s
def test_of_a_host_whose_identifiers_are_not_known_nothing_is_in_it(tmp_path: Path) -> None:
    def holds(rows: list[str]) -> None:
        with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
            unsure = {**asked(), "part identifiers ": parts(identifiers="\n".join([*rows, ""]))}
            done = typed(Path(folder), pair(a=unsure), "--yes")
            assert (
                done.code == 3 and "@fake/machine-1, all of it: identifiers: cannot be understood" in done.stdout
            )
            assert not [name for name in done.files if name.startswith("machine-1")]
            assert "machine-2/looks/examination.txt" in done.files

    each_row(UNSURE, holds)


@pytest.mark.slow  # a megabyte of odd lines, 3 s
def test_odd_bytes_long_lines_and_what_was_cut(tmp_path: Path) -> None:
    odd: dict[str, str | bytes] = {
        "journals__kernel": b"\xff\xfe\x00 \x1b[31mhf_" + b"Q" * 20 + b"\x1b[0m\r\n" + b"x" * 200_000,
        "ip": f"{'a line ' * 8}\n" * 5000 + "password=cut-in-the-mid",
    }
    done = typed(tmp_path, pair(asked(IDENTIFIERS, **odd)), "--yes")
    files = done.files
    assert done.code == 0, done.stdout + done.stderr
    kernel, ip = files["machine-1/journals/kernel.txt"], files["machine-1/tools/ip.txt"]
    assert "token-" in kernel and "QQQQ" not in kernel and not re.search("[\x00\x1b\r]", kernel)
    assert len(ip) <= archive.PART_BYTES and ip.endswith("a line \n") and "cut-in" not in ip
    assert {"name": "machine-1/tools/ip.txt", "bytes": len(ip), "cut": True} in done.manifest["files"]


def test_a_verdict_that_fails_is_evidence_and_takes_nothing_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> str:
        raise KeyError("a netdev that no Spark had until today")

    monkeypatch.setattr("sparkrig.doctor.examination.judged", lambda *_: SimpleNamespace(dumps=lambda: "{}"))
    found = support._Found({}, {}, {})
    support._judge(support.Asked(Path("sparks.py"), Fleet({}), {}), found, broken)
    assert "a netdev that no Spark had" in found.verdicts["drift.error.txt"] and "doctor.json" in found.verdicts
    assert found.missing == ["the verdict of drift: it failed, drift.error.txt says how"]


def test_it_is_opened_as_it_is(sent: Done) -> None:
    done = warm.run("sparkrig", "support", "--open", str(sent.file))
    assert (done.returncode, done.stderr) == (0, "")
    for name, text in sent.files.items():
        if name != archive.MANIFEST:
            assert f"--- {name} -" in done.stdout and text.splitlines()[0].strip() in done.stdout
    told = warm.run("sparkrig", "support", "--open", "--json", str(sent.file))
    assert json.loads(told.stdout)["files"] == sent.manifest["files"]


def test_an_archive_of_a_stranger_does_not_steer_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "theirs.tar.gz"
    text = "a\x1b]0;title\x07b \x1b[2J\x9b31m\u202e\r\n"
    made = archive.Archive(
        "\x1b[2J", "now", (), (archive.File("machine-1/tools/ip.txt", text),), {}, ("\x1b[31m",)
    )
    file.write_bytes(archive.pack(made))
    done = warm.run("sparkrig", "support", "--open", str(file))
    assert done.returncode == 0 and "ab " in done.stdout
    assert not re.search("[^\n -~]", done.stdout)


def test_what_is_no_archive_is_not_opened(tmp_path: Path) -> None:
    file = tmp_path / "other.tar.gz"
    file.write_bytes(gzip.compress(b"no tar"))
    done = warm.run("sparkrig", "support", "--open", str(file))
    assert done.returncode == 1 and done.stderr.startswith(f"Error: {file} is no archive of sparkrig support: ")


@pytest.mark.slow  # real logins, 5 s
def test_a_host_is_asked_so_often_and_no_more(tmp_path: Path) -> None:
    """Four looks for the archive, two for the verdicts, of which the last one is of a pair alone."""
    halves = next(iter(together({PING: CROSSES, JOURNAL: ["now 1795230000"], "SPARKRIG_PROBE": ["end"]}).values()))
    with fleet.served(tmp_path / "hosts", 2) as entries:
        for letter, (_, data) in zip("ab", entries, strict=True):
            rows = [*parts(identifiers="\n".join([*IDENTIFIERS, "end", ""])), *parts(system="x")]
            file = tmp_path / "hosts" / str(data["ssh_port"])
            file.write_text(examined(letter) + "\n".join([*halves, *rows, ""]))
        done = typed(tmp_path, entries, "--yes")
        assert "machine-2/looks/pings.txt" in done.files, done.stdout + done.stderr
        assert fleet.asked(tmp_path / "hosts") == [6, 6]


def test_every_part_has_an_end_and_changes_nothing() -> None:
    """The lab shows that nothing changes; here no command is named that could."""
    changes = (
        r"\b(rm|mv|cp|tee|touch|mkdir|kill|install|systemctl (start|stop|restart)|nmcli con\w* (up|mod|add))\b"
    )
    texts = {**TOOLS, **JOURNALS, "identifiers": IDENTIFIERS_SCRIPT}
    for name, text in texts.items():
        assert not re.search(changes, text), name
        assert not re.search(r"(?<![2&])>(?!&|/dev/null)\s*\S", text.replace("<value>", "")), name
    command = Evidence().command()
    assert command.count('timeout -k 2 "$3" sh -c') == 1 and command.count(" 60 262145\n") == len(
        {**TOOLS, **JOURNALS}
    )
