"""The shell texts that run on a host: they parse, and the delicate ones really run. `make lint` has shellcheck."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparkrig import programs
from sparkrig.facts.files import Files
from sparkrig.facts.resources import Identity
from sparkrig.host import identity
from sparkrig.operations.containers import FETCH_KEY
from sparkrig.operations.files import WRITE
from sparkrig.runs.managed_files import OWNED
from sparkrig.ssh.shell import in_turn, script
from tests.tables import each_row
from tests.unit.shells import sh, tool, well

PROGRAMS = [str(file.relative_to(programs.FOLDER)) for file in programs.FOLDER.rglob("*.sh")]
DISPATCHER = programs.file("90-sparkrig-gid")
# each by the shell that it names, and all in one process
LOOK = """for file; do
  shell=$(sed -n '1s/^#!//p' "$file")
  "$shell" -n "$file" || echo "$file"
done"""


@pytest.mark.slow
def test_parses(tmp_path: Path) -> None:
    files = [tmp_path / name.replace("/", "-") for name in PROGRAMS]
    for file, name in zip(files, PROGRAMS, strict=True):
        shell = (programs.FOLDER / name).read_text(encoding="utf-8").partition("\n")[0]
        file.write_text(f"{shell}\n{programs.text(name)}", encoding="utf-8")
    done = sh(LOOK, *map(str, files))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len({*files}) == len(PROGRAMS) > 100


# --- WRITE


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """chown needs root; here it notes what it was asked for."""
    tool(tmp_path / "bin", "chown", f'echo "$1" >>{tmp_path}/owners')
    return tmp_path / "bin"


def write(
    tools: Path, folder: Path, content: str, mode: str = "0644", check: str = ""
) -> subprocess.CompletedProcess[str]:
    row = f"{folder} nccl.conf {mode} {base64.b64encode(content.encode()).decode()}\n"
    return sh(WRITE, check, path=tools, stdin=row)


CONTENT = "# sparkrig\nA='1' $HOME `id` \\n %s\n\n-ümlaut\n"


@pytest.mark.parametrize("mode", ["0644", "0755", "0600"])
def test_write_makes_folder_and_file(tools: Path, tmp_path: Path, mode: str) -> None:
    done = write(tools, tmp_path / "etc" / "sub", CONTENT, mode)
    file = tmp_path / "etc" / "sub" / "nccl.conf"
    assert done.returncode == 0, done.stderr
    assert file.read_text() == CONTENT and oct(file.stat().st_mode & 0o7777) == oct(int(mode, 8))
    assert [entry.name for entry in file.parent.iterdir()] == ["nccl.conf"]
    assert (tmp_path / "owners").read_text() == "root:root\n"


def test_write_keeps_what_was_not_ours_once(tools: Path, tmp_path: Path) -> None:
    file, backup = tmp_path / "etc" / "nccl.conf", tmp_path / "etc" / "nccl.conf.before-sparkrig"
    file.parent.mkdir()
    file.write_text("theirs\n")
    file.chmod(0o664)
    inode = file.stat().st_ino
    assert write(tools, file.parent, "first\n").returncode == 0
    assert backup.read_text() == "theirs\n" and backup.stat().st_mode & 0o777 == 0o664
    assert file.read_text() == "first\n" and file.stat().st_ino != inode  # replaced, not written into
    assert write(tools, file.parent, "second\n").returncode == 0
    assert backup.read_text() == "theirs\n" and file.read_text() == "second\n"


def test_write_keeps_the_mode_of_a_file_that_is_not_ours(tools: Path, tmp_path: Path) -> None:
    file = tmp_path / "etc" / "nccl.conf"
    assert write(tools, file.parent, "first\n", "keep").returncode == 0
    assert file.stat().st_mode & 0o777 == 0o644
    file.chmod(0o600)
    assert write(tools, file.parent, "second\n", "keep").returncode == 0
    assert file.stat().st_mode & 0o777 == 0o600


def test_write_keeps_no_copy_of_what_was_ours(tools: Path, tmp_path: Path) -> None:
    for content in ("# Written by sparkrig\n1\n", "# Written by sparkrig\n2\n"):
        assert write(tools, tmp_path / "etc", content).returncode == 0
    assert [entry.name for entry in (tmp_path / "etc").iterdir()] == ["nccl.conf"]


@pytest.mark.parametrize("check", ["grep -q good", "sparkrig-no-such-program"])
def test_write_leaves_the_old_file_where_the_check_fails(tools: Path, tmp_path: Path, check: str) -> None:
    file = tmp_path / "etc" / "nccl.conf"
    file.parent.mkdir()
    file.write_text("theirs\n")
    assert write(tools, file.parent, "bad\n", check=check).returncode != 0
    assert file.read_text() == "theirs\n"
    assert [entry.name for entry in file.parent.iterdir()] == ["nccl.conf"]  # no half of it stays behind


def test_write_checks_the_new_file_not_the_old(tools: Path, tmp_path: Path) -> None:
    assert write(tools, tmp_path / "etc", "good\n", check="grep -q good").returncode == 0


def test_a_failing_chown_leaves_the_old_file(tools: Path, tmp_path: Path) -> None:
    tool(tools, "chown", "exit 1")
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "nccl.conf").write_text("theirs\n")
    assert write(tools, tmp_path / "etc", "new\n").returncode != 0
    assert (tmp_path / "etc" / "nccl.conf").read_text() == "theirs\n"


# --- the identity fact


def look(path: Path) -> identity.Identity:
    done = sh(Identity.script, path=path)
    return identity.parse(done.stdout.splitlines())


def test_a_device_that_is_gone_is_not_the_one_before_it(tmp_path: Path) -> None:
    """The kernel takes devices off the PCI bus at any time; what cannot be read has no maker."""
    for name, rows in {"a": {"vendor": "0x10de", "class": "0x030000", "device": "0x2e12"}, "b": {}}.items():
        (tmp_path / name).mkdir()
        for row, value in {**rows, "class": "0x030000", "device": "0x2e12"}.items():
            (tmp_path / name / row).write_text(f"{value}\n")
    shown = sh(Identity.script.replace("/sys/bus/pci/devices", str(tmp_path))).stdout
    assert shown.count("pci=10de:0x2e12\n") == 1


def test_identity_of_this_machine(tmp_path: Path) -> None:
    tool(tmp_path / "bin", "nvidia-smi", "echo 'NVIDIA GB10'")
    found = look(tmp_path / "bin")
    assert found.hostname == os.uname().nodename and found.uid == os.getuid() and found.memory_kib > 0
    assert found.gpu == ("NVIDIA GB10",)


@pytest.mark.parametrize(
    "text",
    [
        'echo "NVIDIA-SMI has failed because it couldn\'t communicate with the NVIDIA driver."; exit 9',
        "echo 'No devices were found'; exit 6",
        "echo 'No devices were found'; exit 0",
    ],
)
def test_what_nvidia_smi_says_of_a_failure_is_no_gpu(tmp_path: Path, text: str) -> None:
    tool(tmp_path / "bin", "nvidia-smi", text)
    assert look(tmp_path / "bin").gpu == ()


def test_the_serial_number_never_leaves_the_host(tmp_path: Path) -> None:
    release = tmp_path / "dgx-release"
    release.write_text('DGX_NAME="DGX Spark"\nDGX_SERIAL_NUMBER="1234567890123"\nOEM_SERIAL=77\n')
    shown = sh(Identity.script.replace("/etc/dgx-release", str(release))).stdout
    assert 'release DGX_NAME="DGX Spark"' in shown
    assert "SERIAL" not in shown and "1234567890123" not in shown


# --- the files fact


def test_files_of_a_bare_host_are_none() -> None:
    script = Files.script.replace(" /etc/", " /nonexistent/").replace(" /usr/", " /nonexistent/")
    done = sh(script.replace(" /var/", " /nonexistent/"))
    assert (done.returncode, done.stdout) == (0, "")


def test_every_file_of_ours_is_looked_at() -> None:
    assert Files.script.splitlines()[0].split() == ["set", "--", *OWNED]
    assert len(set(OWNED)) == len(OWNED)


# --- the dispatcher


def test_dispatcher(tmp_path: Path) -> None:
    tool(tmp_path / "bin", "timeout", f'echo "$@" >{tmp_path}/ran')
    rails, ran = tmp_path / "rails.json", tmp_path / "ran"
    rails.write_text('{\n  "enp1s0f0np0": "192.168.100.11/24"\n}\n')
    text = DISPATCHER.replace("/etc/sparkrig/rails.json", str(rails))

    def holds(netdev: str, action: str, runs: bool) -> None:
        ran.unlink(missing_ok=True)
        assert sh(text, netdev, action, path=tmp_path / "bin").returncode == 0
        assert ran.exists() is runs
        if runs:
            assert ran.read_text().endswith(f"refresh_gid.py {netdev}\n")

    each_row(
        [
            ("enp1s0f0np0", "up", True),
            ("enp1s0f0np0", "reapply", True),
            ("enp1s0f0np0", "down", False),
            ("enp1s0f0np0", "pre-up", False),
            ("enP7s7", "up", False),  # no rail
            ("enp1s0f0np", "up", False),  # only the beginning of one
            ("", "hostname", False),
        ],
        holds,
    )


def test_dispatcher_on_a_host_without_rails_says_nothing(tmp_path: Path) -> None:
    text = DISPATCHER.replace("/etc/sparkrig/rails.json", "/nonexistent")
    done = sh(text, "enp1s0f0np0", "up")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_folder_where_a_file_should_be_is_said(tools: Path, tmp_path: Path) -> None:
    (tmp_path / "etc" / "nccl.conf").mkdir(parents=True)
    done = write(tools, tmp_path / "etc", "first\n")
    assert done.returncode == 1
    assert "nccl.conf is a directory, a file is expected; try: sudo rmdir" in done.stderr
    assert [entry.name for entry in (tmp_path / "etc").iterdir()] == ["nccl.conf"]


# --- FETCH_KEY

# a key that becomes a subkey keeps its fingerprint only with the time of its making
CREATED = ["--faked-system-time", "20260101T000000!"]


@pytest.fixture(scope="module")
def gpg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """gpg with a keyring that has a good key and an evil one; its agent ends with the tests."""
    home = tmp_path_factory.mktemp("gpg")
    home.chmod(0o700)
    made = ["gpg", "-q", "--batch", "--homedir", str(home)]
    for name in ("good", "evil"):
        words = [*made, "--passphrase", "", *CREATED, "--quick-gen-key", name, "ed25519", "sign"]
        subprocess.run(words, check=True, capture_output=True)
    yield made
    ended(home)


def ended(home: Path) -> None:
    """gpg leaves an agent behind, which ends when it is told to."""
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=True, capture_output=True)


ADOPTS = "addkey\n13\n{keygrip}\nE\nQ\n0\nsave\n"  # gpg --edit-key: a subkey from a key that is there


def listing(gpg: list[str], *words: str) -> list[list[str]]:
    done = subprocess.run([*gpg, "--with-colons", *words], capture_output=True, text=True, check=True)
    return [line.split(":") for line in done.stdout.splitlines()]


def of_first(rows: list[list[str]], kind: str) -> str:
    """The fingerprint (fpr) or keygrip (grp) of the first key that is listed."""
    return next(row[9] for row in rows if row[0] == kind)


def fetch(tmp_path: Path, pinned: str) -> subprocess.CompletedProcess[str]:
    """FETCH_KEY on the file `key`, with a stand-in of apt-helper that copies; what it keeps is `ring`."""
    helper = tmp_path / "apt-helper"
    helper.write_text('#!/bin/sh\ncp "${2#file://}" "$3"\n')
    helper.chmod(0o755)
    text = FETCH_KEY.replace("/usr/lib/apt/apt-helper", str(helper))
    tool(tmp_path / "bin", "install", 'cp "$8" "$9"')
    return sh(text, f"file://{tmp_path}/key", pinned, str(tmp_path / "ring"), path=tmp_path / "bin")


@pytest.mark.parametrize("others", [["evil"], ["evil", "good"]], ids=["alone", "beside the pinned one"])
def test_a_key_that_adopted_the_pinned_one_as_its_subkey_is_refused(
    gpg: list[str], tmp_path: Path, others: list[str]
) -> None:
    """gpg --export FINGERPRINT would give out the hostile primary key, and apt would take what that one signs."""
    home = tmp_path / "gpg"
    shutil.copytree(gpg[gpg.index("--homedir") + 1], home, ignore=shutil.ignore_patterns("S.*"))
    own = ["gpg", "-q", "--batch", "--homedir", str(home), "--no-tty"]
    rows = listing(own, "--with-keygrip", "--list-keys", "good")
    good, evil = of_first(rows, "fpr"), of_first(listing(own, "--list-keys", "evil"), "fpr")
    unasked = ["--expert", "--pinentry-mode", "loopback", "--passphrase", ""]
    subprocess.run(
        [*own, *unasked, *CREATED, "--command-fd", "0", "--edit-key", evil],
        input=ADOPTS.format(keygrip=of_first(rows, "grp")),
        text=True,
        check=True,
        capture_output=True,
    )
    exported = subprocess.run([*own, "--export", *others], capture_output=True, check=True).stdout
    (tmp_path / "key").write_bytes(exported)
    fingerprints = [row[9] for row in listing(own, "--show-keys", str(tmp_path / "key")) if row[0] == "fpr"]
    assert good in fingerprints and evil in fingerprints, "the attack is not one"
    ended(home)
    refused = fetch(tmp_path, good)
    assert refused.returncode == 1
    assert evil in refused.stderr and f"{good} was pinned; nothing was installed" in refused.stderr
    assert not (tmp_path / "ring").exists()


@pytest.mark.parametrize("armour", [["--armor"], []])
def test_only_the_pinned_key_of_a_fetched_file_is_trusted(
    gpg: list[str], tmp_path: Path, armour: list[str]
) -> None:
    good = of_first(listing(gpg, "--list-keys", "good"), "fpr")
    (tmp_path / "key").write_bytes(
        subprocess.run([*gpg, *armour, "--export"], capture_output=True, check=True).stdout
    )
    well(fetch(tmp_path, good))
    kept = listing(gpg, "--show-keys", str(tmp_path / "ring"))
    assert [row[0] for row in kept].count("pub") == 1 and of_first(kept, "fpr") == good


def test_another_key_than_the_pinned_one_is_refused(gpg: list[str], tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(subprocess.run([*gpg, "--export"], capture_output=True, check=True).stdout)
    refused = fetch(tmp_path, "0" * 40)
    assert refused.returncode == 1
    assert f"{'0' * 40} was pinned; nothing was installed" in refused.stderr
    assert not (tmp_path / "ring").exists()


# --- several commands as one


def test_commands_in_turn_are_one_that_ends_with_the_first_that_fails(tmp_path: Path) -> None:
    """What is on standard input is for the one command that has any, wherever it stands."""
    kept = tmp_path / "kept"
    text = 'read -r line || line=nothing; echo "$1 $line"; exit "$2"'

    def ends(first: str, last: str, code: int, said: str) -> None:
        kept.unlink(missing_ok=True)
        middle = script('cat >"$1"', str(kept), _stdin="secret\n")
        whole = in_turn(script(text, "a b", first), middle, script(text, "c", last))
        assert whole.connector_arguments == {"_stdin": "secret\n"} and "secret" not in whole.get_raw_value()
        done = sh(f"goes_on() {{ :; }}\n{whole.get_raw_value()}", stdin="secret\n")
        assert (done.returncode, done.stdout) == (code, said)
        assert [*tmp_path.glob("kept")] == ([kept] if first == "0" else [])
        assert first != "0" or kept.read_text() == "secret\n"

    each_row(
        {
            "all end well": ("0", "0", 0, "a b nothing\nc nothing\n"),
            "the first fails": ("4", "0", 4, "a b nothing\n"),
            "the last fails": ("0", "7", 7, "a b nothing\nc nothing\n"),
        },
        ends,
    )
    assert in_turn(script(text, "a", "0")).connector_arguments == {}
