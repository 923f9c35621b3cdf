"""The evidence as scripts print it, and the archive as it is packed, unpacked, and turned into fixtures."""

from __future__ import annotations

import base64
import gzip
import io
import json
import shutil
import tarfile
from ipaddress import IPv4Network
from pathlib import Path
from urllib.parse import quote

import pytest

from sparkrig import programs
from sparkrig.facts import evidence
from sparkrig.redaction import addresses, sheet
from sparkrig.redaction.book import Known
from sparkrig.redaction.redactor import Count, Redactor
from sparkrig.refusal import Refusal
from sparkrig.support import archive
from sparkrig.terminal.atomic_write import create
from tests import from_support
from tests.tables import each_row
from tests.unit.shells import sh, tool

RUN = programs.text("evidence/run.sh")

# --- what a host prints


def test_a_part_comes_as_it_is_with_its_status_and_to_its_limit() -> None:
    script = evidence._command(
        {
            "odd": r"printf '\377\000 \033[1m two\r\nlines\n'; echo gone >&2; exit 3",
            "long": f"head -c {archive.PART_BYTES - 6} /dev/zero | tr '\\0' x; printf '\\nlast line that is cut'",
            "none": f"{RUN}run no-such-program --all",
            "quiet": ":",
        }
    )
    found = archive.parts(sh(script).stdout.splitlines())
    assert found["odd"] == archive.Part("\ufffd\0 \033[1m two\r\nlines\ngone\n", 3)
    assert found["long"].cut and found["long"].text == "x" * (archive.PART_BYTES - 6) + "\n"
    assert found["none"].text == "$ no-such-program --all\nno-such-program: command not found\n"
    assert found["quiet"] == archive.Part("")


def test_a_part_that_a_host_was_not_asked_for_is_none() -> None:
    printed = ["part conftest.py YQ== 0", "part ../x YQ== 0", "part ip YQ== 0", "part journals/docker YQ== 0"]
    assert set(evidence.Evidence.parse(printed)) == {"ip", "journals/docker"}


def test_of_a_part_that_is_torn_nothing_is_taken() -> None:
    def holds(row: str) -> None:
        assert archive.parts(["part whole YQ== 0", row]) == {"whole": archive.Part("a")}

    each_row(
        ["part torn YQ", "part torn YQ==", "part torn Y 0", "part torn YQ== x", "Welcome to DGX OS", ""], holds
    )


def test_a_journal_keeps_its_newest_lines() -> None:
    row = "seq -f 'line %06g of a journal' 1 20000"
    text = archive.parts(sh(evidence._command({"log": f"{RUN}{row} | newest"})).stdout.splitlines())["log"]
    assert text.text.endswith("line 020000 of a journal\n") and not text.cut
    assert archive.PART_BYTES - 50 < len(text.text) <= archive.PART_BYTES


SMI = """cat <<'E'
    Serial Number                         : 1981924007312
    GPU UUID                              : GPU-c0ffee11-2233-4455-6677-8899aabbccdd
E"""
NMCLI = r"""case "$*" in
*TYPE,NAME*) printf '802-11-wireless:Attic\\: 5G\n802-3-ethernet:Wired connection 1\nvpn:office\n' ;;
*UUID,TYPE*) printf '7e57ab1e-0000-4bad-8ace-ba5eba11fade:802-11-wireless\n' ;;
*7e57ab1e*) printf 'Attic 5G hidden\n' ;;
esac"""
LSPCI = "printf '\\t\\t\\t[SN] Serial number: MT2513VS04417\\n'"
PASSWD = "printf 'root:x:0:0:root:/root:/bin/sh\\nmallory:x:1000:1000:Mallory Quince,,,:/home/mq:/bin/bash\\n'"


def test_a_host_says_what_identifies_it(tmp_path: Path) -> None:
    """Run for real on this machine, with stand-ins for the programs that not each machine has."""
    told = {"nvidia-smi": SMI, "nmcli": NMCLI, "lspci": LSPCI, "getent": PASSWD, "uname": "echo spark-7f3c"}
    for name, text in told.items():
        tool(tmp_path / "bin", name, text)
    tool(
        tmp_path / "bin",
        "cat",
        'case "$*" in *machine-id*) echo 5f0e9c3a7b1d4e2f8a6c0b9d8e7f6a5b ;; esac; /bin/cat "$@"',
    )
    done = sh(evidence.Identifiers().command(), path=tmp_path / "bin")
    found = archive.identifiers(done.stdout.splitlines())
    assert "spark-7f3c" in found.of("machine")
    assert found.of("user")[:2] == ("mallory", "mq") and found.of("person") == ("Mallory Quince",)
    assert {"1981924007312", "MT2513VS04417"} <= {*found.of("serial")}
    assert "c0ffee11-2233-4455-6677-8899aabbccdd" in found.of("id")
    assert found.of("ssid") == ("Attic: 5G", "office", "Attic 5G hidden")
    assert found.of("mac") and "root" not in found.of("user")
    assert "1981924007312" not in repr(found), "it could be shown in an error"


HOSTS = """127.0.0.1 localhost
127.0.1.1 spark-7f3c
ff02::1 ip6-allnodes
192.168.1.9\tquokkabox quokka.hoard.example # of mallory
"""
MOUNTS = """overlay / overlay rw 0 0
wombatnas:/volume1/x /mnt/x nfs4 rw 0 0
//numbatbox/home /mnt/home cifs rw 0 0
mallory@bilbyhost:/data /mnt/data fuse.sshfs rw 0 0
"""


def test_a_host_names_its_neighbours_and_they_are_found_in_any_text(tmp_path: Path) -> None:
    """Of /etc/hosts and of mounts: a short name in a sentence has no form that tells of it."""
    (tmp_path / "hosts").write_text(HOSTS)
    (tmp_path / "mounts").write_text(MOUNTS)
    script = evidence.IDENTIFIERS.replace("/etc/hosts", str(tmp_path / "hosts"))
    script = script.replace("/proc/mounts /etc/fstab", str(tmp_path / "mounts"))
    part = archive.parts(sh(evidence._command({"identifiers": script})).stdout.splitlines())["identifiers"]
    rows = [each.removeprefix("neighbour ") for each in part.text.splitlines() if each.startswith("neighbour ")]
    assert rows == ["quokkabox", "quokka.hoard.example", "wombatnas", "numbatbox", "bilbyhost"]
    found = archive.Identifiers(tuple(("neighbour", each) for each in rows))
    redactor = Redactor(archive.known({"zebra": found}, {"zebra": ("zebra",)}, ()))
    shown = redactor.redact("slow since quokkabox moved; wombatnas, NUMBATBOX and bilbyhost too")
    assert not any(each in shown.lower() for each in ("quokka", "wombat", "numbat", "bilby")), shown


def test_what_could_not_be_asked_is_said(tmp_path: Path) -> None:
    tool(tmp_path / "bin", "nvidia-smi", "exit 9")
    for name in ("sed", "tr", "grep", "cat", "timeout"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or "")
    text = f"PATH={tmp_path}/bin\n{evidence.IDENTIFIERS}"
    bare = archive.parts(sh(evidence._command({"identifiers": text})).stdout.splitlines())["identifiers"].text
    said = {line.removeprefix("unread ") for line in bare.splitlines() if line.startswith("unread ")}
    absent = {f"{word} by {name}: not installed" for word, name in (("user", "getent"), ("ssid", "nmcli"))}
    assert said > absent | {"serial by nvidia-smi: exit 9", "serial by ethtool: not installed"}


def test_a_name_with_what_cannot_be_seen_is_known_whole_and_as_texts_have_it() -> None:
    """A Wi-Fi may have any bytes for its name: a family in one emoji is three, with U+200D between."""
    needed = "machine zebra\nmac 9c:00:01:02:03:04\nid 5f0e9c3a7b1d4e2f8a6c0b9d8e7f6a5b\nuser mallory\n"

    def holds(mark: str) -> None:
        name = f"Attic{mark}Den 5G"
        word = base64.b64encode(f"{needed}ssid {name}\nend\n".encode()).decode()
        found = archive.identifiers([f"part identifiers {word} 0"])
        assert found.of("ssid") == (name,)
        redactor = Redactor(archive.known({"zebra": found}, {"zebra": ("zebra",)}, ()))
        shown = redactor.redact(f"joined {name}, {json.dumps(name)}, {quote(name)}")
        assert shown == 'joined ssid-1, "ssid-1", ssid-1'

    each_row(["\u200d", "\u2028", "\x85", "\x1c", "\x1b[1m"], holds)
    assert Redactor(Known(ssids=("\u200d\u200d\u200d",))).redact("a -- b") == "a -- b"


# --- the archive


def made(*files: archive.File) -> archive.Archive:
    counts = {"mac": Count(3, 2)}
    return archive.Archive("0.1.0", "2026-11-22T10:00Z", ("machine-1",), files, counts, ("x",), ("y",))


def test_what_is_packed_is_unpacked() -> None:
    given = made(archive.File("doctor.json", "{}\n"), archive.File("machine-1/tools/ip.txt", "ä\n", cut=True))
    found = archive.unpack(archive.pack(given), "it")
    assert found["machine-1/tools/ip.txt"] == "ä\n" and archive.manifest(found, "it")["missing"] == ["x"]
    assert "machine-1/tools/ip.txt          3 bytes, cut" in found[archive.CONTENTS]
    assert archive.pack(given) == archive.pack(given), "a time is in it"


def tar(*members: tuple[str, bytes, bytes]) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as out:
        for name, kind, text in members:
            about = tarfile.TarInfo(name)
            about.type, about.size, about.linkname = kind, len(text), "/etc/passwd"
            out.addfile(about, io.BytesIO(text))
    return gzip.compress(raw.getvalue())


FILE, LINK, HARD, FOLDER, FIFO = (
    tarfile.REGTYPE,
    tarfile.SYMTYPE,
    tarfile.LNKTYPE,
    tarfile.DIRTYPE,
    tarfile.FIFOTYPE,
)
IP = "machine-1/tools/ip.txt"
MANIFEST = ("manifest.json", FILE, b'{"schema": "sparkrig.support/1"}')
FOREIGN = {
    "above": tar(MANIFEST, ("../../etc/cron.d/x", FILE, b"x")),
    "above, behind a folder": tar(MANIFEST, ("a/../../x", FILE, b"x")),
    "absolute": tar(MANIFEST, ("/etc/x", FILE, b"x")),
    "above, in ours": tar(MANIFEST, ("sparkrig-support/../x", FILE, b"x")),
    "hidden": tar(MANIFEST, (".bashrc", FILE, b"x")),
    "a control character": tar(MANIFEST, ("a\x1b[2J", FILE, b"x")),
    "what pytest runs": tar(MANIFEST, ("conftest.py", FILE, b"x")),
    "what pytest collects": tar(MANIFEST, ("machine-1/tools/test_x.py", FILE, b"x")),
    "what pytest is set up by": tar(MANIFEST, ("machine-1/pytest.ini", FILE, b"x")),
    "what Python imports": tar(MANIFEST, ("machine-1/looks/sitecustomize.pth", FILE, b"x")),
    "a deeper folder": tar(MANIFEST, ("machine-1/tools/x/ip.txt", FILE, b"x")),
    "a link": tar(MANIFEST, (IP, LINK, b"")),
    "a hard link": tar(MANIFEST, (IP, HARD, b"")),
    "a folder": tar(MANIFEST, (IP, FOLDER, b"")),
    "a pipe": tar(MANIFEST, (IP, FIFO, b"")),
    "one name twice": tar(MANIFEST, (IP, FILE, b"x"), (f"sparkrig-support/{IP}", FILE, b"y")),
    "a large file": tar(MANIFEST, (IP, FILE, bytes(archive.FILE_BYTES + 1))),
    "no text": tar(MANIFEST, (IP, FILE, b"\xff")),
    "no manifest": tar((IP, FILE, b"x")),
    "a manifest of others": tar(("manifest.json", FILE, b'{"schema": "other/1"}')),
    "a manifest that is no JSON": tar(("manifest.json", FILE, b"{")),
    "no tar": gzip.compress(b"x" * 2000),
    "no gzip": b"PK\x03\x04",
    "cut off": tar(MANIFEST)[:-9],
    "nothing": b"",
}


def test_what_is_no_archive_of_ours_is_refused_and_nothing_of_it_is_written(tmp_path: Path) -> None:
    def holds(content: bytes) -> None:
        file = tmp_path / "it.tar.gz"
        file.write_bytes(content)
        with pytest.raises(Refusal, match=r"is no archive of sparkrig support: "):
            from_support.unpacked(file, tmp_path / "out" / "made")
        assert [each.name for each in tmp_path.iterdir()] == ["it.tar.gz"]

    each_row(FOREIGN, holds)


def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "WHOLE_BYTES", 100_000)
    with pytest.raises(Refusal, match="larger than an archive can be"):
        archive.unpack(gzip.compress(bytes(200_000)), "it")
    monkeypatch.setattr(archive, "_MEMBERS", 3)
    with pytest.raises(Refusal, match="too many"):
        archive.unpack(tar(*((f"machine-{number}/tools/ip.txt", FILE, b"") for number in range(9))), "it")


def test_an_archive_becomes_fixtures(tmp_path: Path) -> None:
    file, folder = tmp_path / "it.tar.gz", tmp_path / "fixtures" / "one"
    file.write_bytes(archive.pack(made(archive.File("machine-1/tools/ip.txt", "$ ip\r\nä\n"))))
    assert folder / "machine-1/tools/ip.txt" in from_support.unpacked(file, folder)
    assert (folder / "machine-1/tools/ip.txt").read_bytes() == "$ ip\r\nä\n".encode()
    assert "sparkrig 0.1.0, 2026-11-22T10:00Z" in (folder / "SOURCE.txt").read_text()
    with pytest.raises(Refusal, match="is there already"):
        from_support.unpacked(file, folder)


# --- the file


def test_a_file_is_made_whole_private_and_once(tmp_path: Path) -> None:
    file = tmp_path / "new"
    create(file, b"one")
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"one", 0o600)
    with pytest.raises(Refusal, match="is there already, and is not overwritten"):
        create(file, b"two")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere")  # somebody else may have laid it there
    with pytest.raises(Refusal, match="is there already"):
        create(link, b"two")
    with pytest.raises(Refusal, match="cannot be written: no such file"):
        create(tmp_path / "no" / "folder", b"x")
    assert file.read_bytes() == b"one" and sorted(each.name for each in tmp_path.iterdir()) == ["link", "new"]


def test_a_file_that_a_known_identifier_is_left_in_is_left_out() -> None:
    blind = Redactor(Known(serials=("MT2513VS04417",)), kinds=[])
    given = [archive.File("one.txt", "MT2513-VS04417\n"), archive.File("other.txt", "well\n")]
    found = archive.archive(given, blind, archive.Archive("0", "now", (), (), {}))
    assert [each.name for each in found.files] == ["other.txt"]
    assert found.missing == ("one.txt is left out: something of the kind serial is still in it",)


def test_a_file_of_more_identifiers_than_pseudonyms_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheet, "_LAST", sheet._FIRST + 9)
    monkeypatch.setattr(addresses, "_MEASURING", IPv4Network("198.18.0.0/29"))

    def holds(text: str) -> None:
        given = [archive.File("one.txt", text), archive.File("other.txt", "well\n")]
        found = archive.archive(given, Redactor(), archive.Archive("0", "now", (), (), {}))
        assert [each.name for each in found.files] == ["other.txt"]
        assert found.missing == ("one.txt is left out: it has more identifiers than can be told apart",)

    each_row(["/home/trent " * 11, " ".join(f"84.17.22.{last}" for last in range(8))], holds)


def test_the_names_of_files_and_all_sentences_are_redacted_too() -> None:
    about = archive.Archive("0", "now", (), (), {}, missing=("zebra: gone",), notes=("zebra: so",))
    given = [archive.File("zebra/looks/zebra.txt", "x\n")]
    found = archive.archive(given, Redactor(Known(machines=(("zebra",),))), about)
    assert [each.name for each in found.files] == ["machine-1/looks/machine-1.txt"]
    assert (found.missing, found.notes) == (("machine-1: gone",), ("machine-1: so",))
    given = [archive.File("doctor.json", "{}\n"), archive.File("machine-1/tools/docker.txt", "x\n")]
    found = archive.archive(given, Redactor(Known(machines=(("doctor",), ("docker",)))), about)
    assert found.files == tuple(given), "an archive of ours could not be opened"
