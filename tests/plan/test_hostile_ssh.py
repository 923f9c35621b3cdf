"""The hostile-host walk over ssh: host B is a server on loopback that answers every command with noise.

tests/plan/test_hostile_walk.py walks with pyinfra's @fake, which hands over lines of text. Here the noise comes as
bytes, on both streams, behind a banner, from commands that fail, never end, or lose the connection.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests import warm
from tests.plan import hostile_host
from tests.plan.conftest import ROOT, A, B, pair, recorded
from tests.plan.desk import write
from tests.plan.hostile_host import NOISE, Machine
from tests.plan.walk import IN_FULL, VERBS, halves, harmless, told
from tests.tables import each_row

BOUND_S = 60  # for a verb, on a machine whose cores are lent to others
COLOURS = re.compile(r"\x1b\[(?:0|1|3[1-7]|9[1-7])m")  # what pyinfra gives its own lines

# each command is given up after a second, in place of its own limit and twenty
HASTY = """
from sparkrig.onboarding.io import first_login as door; from sparkrig.ssh import remote
class _Second(int):
    def __radd__(self, _):
        return 1
door._GRACE_S = remote._GRACE_S = _Second()
"""


@cache
def hasty() -> warm.Server:
    return warm.Server(HASTY)


def plain(name: str) -> str:
    return name.removeprefix("@fake/")


@dataclass
class Pair:
    """Host A in order, and host B, as hosts that are reached over ssh, with a folder for what verbs write."""

    folder: Path
    a: Machine
    b: Machine

    @property
    def inventory(self) -> Path:
        return self.folder / "sparks.py"

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def __post_init__(self) -> None:
        self.out.mkdir()
        entries = []
        for host, machine in zip(halves(), (self.a, self.b), strict=True):
            name, data = host.entry()
            own = {key: value for key, value in data.items() if not key.startswith("fake_")}
            entries.append((plain(name), {**own, **machine.login, "ssh_connect_retries": 0}))
            machine.answers(data["fake_responses"])
        head = "from sparkrig.inventory import checked as _checked, stop_together as _stop_together\n"
        write(self.folder, entries, f"{head}_stop_together()\n")

    def typed(self, *words: str, limit_s: float = BOUND_S, server: warm.Server | None = None) -> Done:
        """With all that it prints and writes found harmless, and its end within a bound."""
        for file in self.out.iterdir():
            file.unlink()
        env = {
            "XDG_STATE_HOME": str(self.folder / "state"),
            "HOME": str(self.folder),
            "NO_COLOR": "1",
            "COLUMNS": "80",
            "SPARKRIG_WAIT_S": "0",
            "PYINFRA_PROGRESS": "off",
            "SSH_AUTH_SOCK": None,
        }
        program, *rest = (word.replace("OUT", str(self.out)) for word in words)
        done = warm.run(program, *rest, env=env, timeout=limit_s, server=server)
        assert "Traceback" not in done.stdout + done.stderr, done.stderr[-3000:]
        for text in (done.stdout, done.stderr):
            harmless("what is shown", COLOURS.sub("", text) if program == "pyinfra" else text)
        for file in self.out.iterdir():
            if file.suffix == ".gz":
                told(file)
            else:
                harmless(file.name, file.read_text())
        return Done(done.returncode, done.stdout, done.stderr)


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    said: str


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Machine]]:
    with hostile_host.listening(tmp_path_factory.mktemp("hosts") / "ssh", 2) as found:
        yield found


@pytest.fixture
def ends(machines: list[Machine], tmp_path: Path) -> Pair:
    return Pair(tmp_path, *machines)


def walked(ends: Pair, kinds: Sequence[str], *ways: Sequence[str], verbs: Sequence[str] = (*VERBS,)) -> None:
    """That each verb ends with 3 where host B answers with these kinds of noise, and shows host A in full."""

    def holds(kind: str, verb: str, way: Sequence[str]) -> None:
        ends.b.answers({}, kind)
        server = hasty() if NOISE[kind].ends == "drip" else None
        done = ends.typed("sparkrig", verb, str(ends.inventory), *VERBS[verb], *way, server=server)
        assert done.code == 3, done
        if way:  # the names are those of @fake there
            assert IN_FULL[verb](json.loads(done.out.replace("spark-", "@fake/spark-"))), done.out
        else:
            # an archive has pseudonyms, and what is not measured has only the reason
            own = verb in ("bandwidth", "bench", "support")
            assert own or all(plain(name) in done.out + done.said for name in (A, B)), done

    each_row(
        {f"{kind}: {verb} {way}": (kind, verb, way) for kind in kinds for verb in verbs for way in ways}, holds
    )


BRIEF = [kind for kind, reply in NOISE.items() if reply.ends not in ("drip", "flood")]


@pytest.mark.slow  # each verb
def test_each_verb_over_ssh_with_a_host_that_answers_codes(ends: Pair) -> None:
    """A single byte that is no UTF-8 ended each of them with a traceback."""
    walked(ends, ["codes"], ["--json"])


@pytest.mark.slow  # each verb with each other kind of noise
@pytest.mark.parametrize("kind", BRIEF[1:])
def test_each_verb_over_ssh_with_a_host_that_answers_noise(ends: Pair, kind: str) -> None:
    walked(ends, [kind], ["--json"])


@pytest.mark.slow  # what never ends takes a second of each verb
def test_what_has_no_end_is_given_up(ends: Pair) -> None:
    walked(ends, ["a drip", "a flood"], ["--json"], verbs=["drift", "status"])


@pytest.mark.exhaustive
@pytest.mark.slow  # the same of all verbs, and on their screens
@pytest.mark.parametrize("kind", NOISE)
def test_the_screen_of_each_verb_over_ssh_with_a_host_that_answers_noise(ends: Pair, kind: str) -> None:
    walked(ends, [kind], [], ["--json"])


# --- a login that is none

GREETINGS = {
    "no UTF-8": b"\xff\xfe\x9b2J\r\n",
    "too many lines": b"\x1b[2Jnoise\r\n" * 200,
    "a long line": b"\x1b]52;c;eA==\x07" * 20_000 + b"\r\n",
    "another version": b"SSH-1.0-\x1b[2J\x1b]0;x\x07\r\n",
    "a version that is no UTF-8": b"SSH-2.0-\xff\x9b\r\n",
}


@pytest.mark.slow  # a deploy and two verbs of each
def test_a_server_that_greets_with_codes_is_a_host_that_cannot_be_read(ends: Pair) -> None:
    def holds(greeting: bytes) -> None:
        ends.b.answers({}, "codes", greeting)
        done = ends.typed("sparkrig", "drift", str(ends.inventory), "--json")
        assert done.code == 3 and IN_FULL["drift"](json.loads(done.out)), done
        assert ends.typed("pyinfra", "-y", str(ends.inventory), CLUSTER).code == 1
        assert onboarded(ends).code in (1, 3)

    each_row({name: (greeting,) for name, greeting in GREETINGS.items()}, holds)


@pytest.mark.slow  # a process of its own: in that of the other tests every module of ours is loaded before
def test_pyinfra_by_itself_says_it_without_a_traceback(ends: Pair) -> None:
    ends.b.answers({}, "codes", GREETINGS["a version that is no UTF-8"])
    done = subprocess.run(
        [Path(sys.executable).with_name("pyinfra"), "-y", ends.inventory, CLUSTER],
        cwd=ROOT,
        env={**os.environ, "HOME": str(ends.folder), "SPARKRIG_WAIT_S": "0", "PYINFRA_PROGRESS": "off"},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=BOUND_S,
    )
    assert done.returncode == 1 and "Error reading SSH protocol banner" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr, done.stderr


# --- the deploy, by plain pyinfra and by apply, and the way into a new host

CLUSTER = "deploys/cluster.py"


def deployed(ends: Pair, kinds: Sequence[str], words: Sequence[str], *, looks: bool) -> None:
    """That a run with host B, which is hostile from the start or only after its look, ends in words.

    looks: whether it answers the look.
    """
    a, b = (host.entry()[1]["fake_responses"] for host in pair(recorded("fresh-a"), recorded("fresh-b")))
    look = "#sparkrig:end identity"
    ends.a.answers(a)

    def holds(kind: str) -> None:
        ends.b.answers({look: b[look]} if looks else {}, kind)
        done = ends.typed(*words)
        assert done.code in (1, 3), done
        shown = " ".join((done.out + done.said).split())
        assert "spark-a" in shown and re.search(r"\[spark-b\] Refused: |✗ .*spark-b|spark-b: not read", shown), (
            shown
        )

    each_row(kinds, holds)


def by_pyinfra(ends: Pair, *more: str) -> list[str]:
    return ["pyinfra", "-y", *more, str(ends.inventory), CLUSTER]


def by_apply(ends: Pair) -> list[str]:
    return ["sparkrig", "apply", "--yes", str(ends.inventory)]


def test_a_deploy_over_ssh_with_a_hostile_half_ends_in_words(ends: Pair) -> None:
    deployed(ends, ["codes"], by_pyinfra(ends, "-vvv"), looks=False)
    deployed(ends, ["codes"], by_pyinfra(ends), looks=True)


@pytest.mark.slow  # with each kind of noise, and pyinfra in a process of its own
def test_a_deploy_over_ssh_ends_in_words_whatever_the_noise(ends: Pair) -> None:
    deployed(ends, BRIEF, by_pyinfra(ends, "-vvv"), looks=False)
    deployed(ends, BRIEF, by_pyinfra(ends), looks=True)
    deployed(ends, ["codes", "no UTF-8"], by_apply(ends), looks=True)


@pytest.mark.exhaustive
@pytest.mark.slow  # a process each
def test_apply_over_ssh_ends_in_words_whatever_the_noise(ends: Pair) -> None:
    deployed(ends, [*BRIEF, "a flood"], by_apply(ends), looks=True)


def onboarded(ends: Pair, kind: str = "") -> Done:
    """What comes of onboarding host B, whose key is known and which lets the operator in."""
    home = ends.folder / ".ssh"
    if not home.exists():
        home.mkdir(mode=0o700)
        for end in ("", ".pub"):
            shutil.copy(ends.b.folder / f"user{end}", home / f"id_ed25519{end}")
    address = f"{ends.b.login['ssh_user']}@127.0.0.1:{ends.b.port}"
    words = ["--inventory", str(ends.folder / "mine.py"), "--fingerprint", ends.b.fingerprint, "--yes"]
    server = hasty() if kind and NOISE[kind].ends == "drip" else None
    done = ends.typed("sparkrig", "onboard", address, *words, server=server)
    assert not (ends.folder / "mine.py").exists(), "what cannot be read is in no inventory"
    return done


def newcomers(ends: Pair, kinds: Sequence[str]) -> None:
    def holds(kind: str) -> None:
        ends.b.answers({}, kind)
        done = onboarded(ends, kind)
        assert done.code in (1, 3) and "\nError: " in f"\n{done.said}", done

    each_row(kinds, holds)


def test_a_new_host_that_answers_codes_is_refused_in_words(ends: Pair) -> None:
    newcomers(ends, ["codes", "codes, and a failure"])


@pytest.mark.slow  # with each kind of noise; what has no end takes seconds
def test_a_new_host_that_answers_noise_is_refused_in_words(ends: Pair) -> None:
    """What it dripped was read for ever."""
    newcomers(ends, [*NOISE])
