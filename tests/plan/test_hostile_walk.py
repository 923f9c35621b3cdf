"""Each verb, and the deploy, with a host that is out to harm whoever looks at it.

Host B of a pair answers with noise, codes of a terminal, markup, forged markers, deep JSON and megabytes, or has
such a thing in each of its texts: names of hosts, packages, holds, profiles and files, owners of locks and runs,
what its commands complain of. No verb ends in a traceback, no code reaches a screen or a file, and host A is told
in full.
"""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sparkrig import inventory
from sparkrig.cli import files, main
from sparkrig.cli.main import _VERBS
from sparkrig.deploys import drifted
from sparkrig.drift.io import drift_files
from sparkrig.drift.render import drift as drift_picture
from sparkrig.drift.render import drift_html, drift_junit, drift_prom
from sparkrig.facts.examination import Examination
from sparkrig.facts.firmware import Firmware
from sparkrig.facts.repositories import Repositories
from sparkrig.facts.spark import Spark
from sparkrig.onboarding.candidates import Candidate
from sparkrig.onboarding.io import discovery, newcomer
from sparkrig.operations.subject import subject
from sparkrig.runs.journal import Journal
from sparkrig.serving.io import catalogue_files
from sparkrig.status.figures import figures
from sparkrig.status.render import status as status_picture
from sparkrig.terminal import terminal
from sparkrig.terminal.screen import Screen
from tests import warm
from tests.attacks.looks import poisoned, worst
from tests.attacks.texts import BOMB, CODES, DEEP, MARKUP, WORST
from tests.plan import fleet
from tests.plan.clean import CLEAN
from tests.plan.conftest import BEGIN, JOURNAL, A, B, Deploy, Host, converged, joined, pair, recorded, sections
from tests.plan.desk import Desk, Done, write
from tests.plan.examined import examined
from tests.plan.walk import IN_FULL, LOOK, VERBS, halves, harmless, told, updating
from tests.tables import each_row
from tests.unit.newcomers import SCRIPT

NOISY = [f"{code}noise {mark}" for code in CODES if code.isascii() or code < "\ud800" for mark in MARKUP]
MARKERS = [f"#sparkrig:end {noun} 0" for noun in (*Examination.nouns, "nics")]

# what B answers to whatever it is asked
NOISE: dict[str, Any] = {
    "a failure with codes": {"success": False, "stdout": NOISY, "stderr": [*NOISY, *NOISY[:2]]},
    "codes": NOISY,
    "forged markers": [*NOISY, *MARKERS, "#sparkrig:look 0", *MARKERS, "now 1", "lock free", "end"],
    "deep JSON": [f"{kind} {DEEP}" for kind in ("addr", "info", "lock alive", "run x", "links")],
    "megabytes": ["\x9b2J" + "n" * 999] * 4000,
    "one long row": ["n" * 3_000_000],
    "nothing": [],
}
# they ask no host of an inventory; walked below, each in its own way
OTHERS = {"accept", "completion", "docs", "explain", "init", "lab", "lint", "models", "onboard"} | {
    *("mcp", "schedule"),  # processes of other verbs; what they make of such texts is in tests of their own
    "serve",  # which prints no JSON; such an answer of a model is in its own test
}


def test_each_verb_is_walked() -> None:
    assert {*VERBS, *OTHERS} == {*_VERBS}


@dataclass
class Place:
    """A desk at which verbs are typed, with a folder for what they write."""

    desk: Desk

    def has(self, b: Host | None = None, answer: Any = None) -> Place:
        """Host A in order, beside this host B, or beside one that answers so whatever it is asked."""
        one, other = halves()
        entries = [one.entry(), (b or other).entry()]
        if b is None:
            entries[1][1]["fake_responses"] = {"": answer}
        self.desk.inventory.write_text(
            f"from sparkrig.inventory import checked as _checked\nsparks = _checked({entries!r}, __file__)\n"
        )
        return self

    def typed(self, verb: str, *more: str) -> Done:
        """With all that it prints and writes found harmless, and with an end that is one of ours."""
        out = self.desk.folder / "out"
        out.mkdir(exist_ok=True)
        for file in out.iterdir():
            file.unlink()
        done = self.desk.typed(verb, *(word.replace("OUT", str(out)) for word in (*VERBS[verb], *more)))
        assert done.code in (0, 2, 3) and "Error: " not in done.said, done
        harmless("what is shown", done.out)
        harmless("what is said", done.said)
        for file in out.iterdir():
            if file.suffix == ".gz":
                told(file)
            else:
                harmless(file.name, file.read_text())
        return done


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(Desk(tmp_path))


def walked(place: Place, noises: Sequence[str], *ways: Sequence[str]) -> None:
    def holds(noise: str, verb: str, way: Sequence[str]) -> None:
        done = place.has(answer=NOISE[noise]).typed(verb, *way)
        assert done.code == 3, done
        if way:
            assert IN_FULL[verb](json.loads(done.out)), done.out

    each_row(
        {f"{noise}: {verb} {way}": (noise, verb, way) for noise in noises for verb in VERBS for way in ways}, holds
    )


@pytest.mark.slow  # many verbs
def test_each_verb_with_a_host_that_fails_in_codes(place: Place) -> None:
    walked(place, ["a failure with codes"], ["--json"])


@pytest.mark.slow  # each verb twice
@pytest.mark.parametrize("noise", NOISE)
def test_each_verb_with_a_host_that_answers_noise(place: Place, noise: str) -> None:
    walked(place, [noise], [], ["--json"])


# --- what can be understood, and has the worst in its texts


def owned(run: str, text: str) -> str:
    by = {"run": run, "who": f"ann{text}@laptop", "why": f"pyinfra{text}", "version": text, "undoes": ""}
    return json.dumps({"by": by, "from": f"10.0.2.2{text}", "since": 1795348800, "boot": f"b{text}"})


def kept(text: str) -> list[str]:
    """A journal with that text in all that it names: who, why, a step, a file, a hold, a package, the guard."""
    run = "20261122T120000Z-1"
    return [
        CLEAN,
        f"lock dead {owned(run, text)}",
        f"run {run} {owned(run, text)}",
        f"step 1795348801 begun Driver{text} | hold",
        f"step 1795348802 ended 0 Driver{text} | hold",
        f"before file /etc/x{text} 644 root:root 00{text}",
        f"after end {1795348810}",
        f"after file /etc/x{text} 644 root:root 01",
        f"after hold nvidia{text} held",
        f"after package tool{text} 1{text}",
        f"guard committed{text}",
        f"current file /etc/x{text} 644 root:root 01",
        f"current hold nvidia{text} held",
        f"current package tool{text} 1{text}",
    ]


def test_journals_with_the_worst_in_each_name_are_shown_planned_and_unlocked(place: Place) -> None:
    """A hold named [/x] ended undo in a MarkupError, and an owner could clear the screen."""

    def holds(text: str, verb: str) -> None:
        _, other = halves()
        other.first = {**other.first, JOURNAL: kept(text), 'release "$1"': ["free"]}
        done = place.has(other).typed(verb)
        assert done.code in (0, 3) and (B in done.out or A in done.out), done
        shown = " ".join((done.out + done.said).split())
        assert "ann" in shown or "nothing is undone" in shown
        assert "[/x]" in shown, "what is no code is shown as it is"

    verbs = ("status", "unlock")
    each_row({f"{text!r}: {verb}": (text, verb) for text in ("[/x]", WORST) for verb in verbs}, holds)
    for journal in (kept("[/x]"), kept(WORST)):  # on both hosts, so that there is something to plan
        one, other = halves()
        one.first = other.first = {**one.first, JOURNAL: journal}
        place.desk.has([one, other])
        done = place.desk.typed("undo", "--dry")
        harmless("the plan", done.out + done.said)
        assert done.code == 0 and "[/x]" in done.out and "nvidia" in done.out, done


def spoilt(letter: str, only: Sequence[str]) -> str:
    """A doctor's look with the worst in as many texts of these nouns as are taken."""
    changed = {}
    for noun, text in sections(examined(letter)).items():
        rows = [row for row in text.split("\n") if row]
        changed[noun] = "\n".join(worst(Examination.nouns[noun](), rows)) if noun in only else text
    return "".join(f"{text.rstrip()}\n\n#sparkrig:end {noun} 0\n" for noun, text in changed.items())


CHEAP = ("identity", "driver", "health", "nics", "trust", "rdma", "preflight", "own_address")


@pytest.mark.slow
def test_looks_with_the_worst_in_their_texts_are_judged_and_shown(place: Place) -> None:
    looked = spoilt("b", CHEAP).split("\n")
    _, other = halves()
    other.first = {**other.first, "#sparkrig:end identity": looked, "#sparkrig:end nics": looked}

    def holds(verb: str) -> None:
        done = place.has(other).typed(verb)
        # status shows what is, and topology what the links are, which is as it was
        assert done.code in ((2, 3) if verb in ("doctor", "drift") else (0, 2, 3)), done
        assert A.removeprefix("@fake/") in done.out, done
        assert verb == "topology" or "script" in done.out + done.said, "it is shown, as text"

    each_row(["doctor", "drift", "status", "topology"], holds)


def test_an_update_of_a_host_with_the_worst_in_its_texts_is_shown(place: Place) -> None:
    nouns = {"firmware": Firmware(), "repositories": Repositories()}
    _, other = halves()
    look = other.first[LOOK]

    def holds(noun: str) -> None:
        made = {**updating(), noun: "\n".join(worst(nouns[noun], updating()[noun].split("\n")))}
        other.first = {**other.first, LOOK: [*look, *joined(made).splitlines()]}
        done = place.has(other).typed("update")
        assert done.code in (0, 2, 3) and "8 behind OTA2607" in " ".join(done.out.split()), done

    each_row([*nouns], holds)


def drawn(folder: Path, group: Any, data: Any, states: Mapping[str, Any]) -> None:
    """All that drift and status make of it."""
    report = drifted.judged(str(folder / "sparks.py"), group, data, states, {}, datetime.now(UTC), 0.0)
    file = io.StringIO()
    drift_picture.show(Screen(file=file, width=80), report, everything=True)
    for name in states:
        made = figures(subject(name, group, states))
        Screen(file=file, width=80).print(status_picture.host(name, made, Journal(0), 5, ascii_only=False))
    harmless("a screen", file.getvalue())
    harmless("x.html", drift_html.html(report))
    harmless("x.xml", drift_junit.xml(report))
    harmless("x.prom", drift_prom.metrics(report))


@pytest.mark.slow  # hundreds of looks, each judged and drawn
def test_each_text_of_a_look_alone_is_judged_and_drawn(tmp_path: Path) -> None:
    entries = fleet.faked(2)
    a, b = entries
    group, data = inventory.fleet(write(tmp_path, list(entries.values())))
    (one, other), whole = data, converged("a", a, 0)
    in_order, count = Spark().process(converged("b", b, 0).split("\n")), 0
    for noun, text in sections(whole).items():
        rows = [row for row in text.split("\n") if row]
        for at, row in [*poisoned(Spark.nouns[noun](), rows)][:60]:
            made = "\n".join([*rows[:at], row, *rows[at + 1 :]])
            found = Spark().process(whole.replace(text, f"{made}\n\n").split("\n"))
            drawn(tmp_path, group, data, {one: found, other: in_order})
            count += 1
    assert count > 100


# --- the deploy


@pytest.mark.slow
def test_a_deploy_with_a_hostile_half_ends_in_words(deploy: Deploy) -> None:
    fresh = pair(recorded("fresh-a"), recorded("fresh-b"))
    failing = {"success": False, "stdout": NOISY, "stderr": NOISY}
    changed = {
        "a look that fails in codes": {"#sparkrig:end identity": failing},
        "a look that is noise": {"#sparkrig:end identity": NOISY},
        "a lock's owner": {BEGIN: [f"step 1795230000 begun Network{WORST}", f"lock held {owned('R', WORST)}"]},
        "a step that fails in codes": {"apt-mark hold": failing},
    }

    def holds(first: Mapping[str, Any]) -> None:
        run = deploy([fresh[0], replace(fresh[1], first=first)], "-y")
        assert run.code != 0 and "Traceback" not in run.stderr
        harmless("what pyinfra says", run.stdout + run.stderr)

    each_row({name: (first,) for name, first in changed.items()}, holds)


# --- the verbs that ask no host of an inventory


def test_names_on_the_network_are_shown_and_steer_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No login is needed to announce one."""
    heard = [Candidate(f"spark-{n}{text}.local", (f"10.0.0.{n}",)) for n, text in enumerate([*CODES, *MARKUP])]
    monkeypatch.setattr(discovery, "look", lambda: iter(heard))
    file = tmp_path / "mine.py"

    def holds(*words: str) -> None:
        done = CliRunner().invoke(main.sparkrig, ["onboard", "--inventory", str(file), *words], input="99\n")
        assert done.exit_code == 1 and (done.exception is None or isinstance(done.exception, SystemExit)), done
        harmless("what is said", done.stdout + done.stderr)

    each_row([("--yes",), ("--json",)], holds)
    said: list[str] = []
    monkeypatch.setattr("click.echo", lambda text="", **_: said.append(str(text)))
    monkeypatch.setattr("click.prompt", lambda text, **_: 1)
    assert newcomer.found(replace(SCRIPT, yes=False)) and len(said) == 1 + len(heard)
    harmless("the list", "\n".join(said))
    assert "[/x]" in "".join(said)


@pytest.mark.slow  # many verbs
def test_pastes_and_launches_with_the_worst_in_them_are_explained(tmp_path: Path) -> None:
    tools = (
        "DEV PORT INDEX GID IPv4 VER DEV\nmlx5_0" + WORST + " 1 0 fe80:0000:0000:0000:0000:0000:0000:0001 v1 x\n"
    )
    for verb, text in (
        ("explain", tools),
        ("explain", "\n".join(NOISY)),
        ("lint", f"vllm serve org/x{WORST} -tp 4"),
        ("lint", f"services:\n  a: {DEEP}"),
        ("lint", "services:\n  a: {image: x, since: 2026-99-99}"),
    ):
        done = warm.run("sparkrig", verb, *(["-"] if verb == "lint" else []), stdin=text, env={"NO_COLOR": "1"})
        assert done.returncode in (0, 1, 2, 3) and "Traceback" not in done.stderr, done
        harmless(verb, done.stdout + done.stderr)


# --- the verbs that ask nobody: what they read is files, words, and the environment

DEEP_YAML = "- " * 5000 + "x"
# what stands in a file beside an inventory, where acceptances are expected
ACCEPTED = {
    "deep JSON": DEEP,
    "deep YAML": DEEP_YAML,
    "a bomb": BOMB,
    "codes": "".join(CODES),
    "codes in each field": json.dumps(
        [{"id": WORST, "until": "2099-01-01", "why": WORST, "by": WORST, "host": WORST}]
    ),
    "codes as a field": json.dumps([{WORST: 1}]),
    "a day that is none": "- {id: x, until: 2026-99-99, why: x, by: y}",
    "a huge number": f"- {{id: x, until: {'9' * 5000}}}",
    "itself": "- &a [*a]",
    "an object of Python's": "!!python/object/apply:os.system [x]",
    "no UTF-8": "\udcff",
}


def said(done: Any, *exits: int) -> None:
    """That a command ended in words, and with one of these exit codes."""
    assert done.returncode in exits and "Traceback" not in done.stderr, done
    harmless("what is shown", done.stdout + done.stderr)


def at_a_desk(desk: Desk, *words: str, **env: str) -> Any:
    own = {
        "XDG_STATE_HOME": str(desk.folder / "state"),
        "HOME": str(desk.folder),
        "NO_COLOR": "1",
        "COLUMNS": "80",
    }
    return warm.run("sparkrig", *words, env={**own, **env})


def accepting(desk: Desk, id: str = "identity.kernel", why: str = "x") -> list[str]:
    return ["accept", str(desk.inventory), id, "--until", "2099-01-31", "--why", why]


def completed(desk: Desk, shell: str, typed: str) -> Any:
    env = {"_SPARKRIG_COMPLETE": f"{shell}_complete", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    return at_a_desk(desk, **env)


# what stands in a file of the catalogue; of the repository's own, so that none nests deeper than libyaml's stack
GARBAGE = {
    **{kind: text for kind, text in ACCEPTED.items() if not kind.startswith("deep")},
    "codes in a name": f"name: {json.dumps(WORST)}",
    "fields": json.dumps({WORST: {WORST: WORST}}),
}


def test_a_catalogue_that_is_garbage_is_refused_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A day that is none ended models with a traceback."""

    def holds(name: str, text: str) -> None:
        for file in ("sources", "mine"):
            (tmp_path / f"{file}.yaml").write_text("{}")
        how = "surrogateescape" if text == "\udcff" else "surrogatepass"
        (tmp_path / f"{name}.yaml").write_bytes(text.encode("utf-8", how))
        monkeypatch.setattr(files, "catalogue", catalogue)
        done = CliRunner().invoke(main.sparkrig, ["models"])
        assert done.exit_code == 1 and isinstance(done.exception, SystemExit), (done.exception, done.output)
        harmless("what is said", done.stdout + done.stderr)

    def catalogue() -> Any:
        with files.refusals():
            return catalogue_files.catalogue(tmp_path)

    monkeypatch.setattr("click.ClickException.show", terminal._show)
    each_row(
        {f"{name}: {kind}": (name, text) for kind, text in GARBAGE.items() for name in ("sources", "mine")}, holds
    )


@pytest.fixture
def reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Desk, Path]:
    """A desk, and the last report of its inventory."""
    desk = Desk(tmp_path).has(halves())
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    desk.drift()
    return desk, drift_files.last(desk.inventory)


@pytest.mark.slow
def test_a_report_with_the_worst_in_it_is_no_reason_to_accept(reported: tuple[Desk, Path]) -> None:
    desk, file = reported
    report = json.loads(file.read_text())
    for row in report["hosts"][0]["rows"]:
        row.update(id=row["id"] + WORST, status="drift")
    texts = {"codes": json.dumps(report), "deep JSON": DEEP, "no UTF-8": "\udcff", "nothing": ""}

    def holds(text: str) -> None:
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
        said(at_a_desk(desk, *accepting(desk, "identity.kernal")), 1)
        for shell in ("bash", "zsh", "fish"):
            said(completed(desk, shell, f"sparkrig accept {desk.inventory} "), 0)

    each_row({name: (text,) for name, text in texts.items()}, holds)


@pytest.mark.slow  # many verbs
def test_acceptances_that_are_garbage_are_refused_in_words(reported: tuple[Desk, Path]) -> None:
    """Too deep, and a day that is none, ended drift and accept with a traceback."""
    desk, _ = reported

    def holds(text: str) -> None:
        file = drift_files.accepted_file(desk.inventory)
        file.write_bytes(text.encode("utf-8", "surrogateescape" if text == "\udcff" else "surrogatepass"))
        said(at_a_desk(desk, *accepting(desk)), 0, 1)
        if text in (DEEP_YAML, ACCEPTED["codes in each field"]):  # drift reads it by the same function
            said(at_a_desk(desk, "drift", str(desk.inventory)), 2, 1)  # both are behind releases that they know of

    each_row({name: (text,) for name, text in ACCEPTED.items()}, holds)


@pytest.mark.slow  # many verbs
def test_words_and_widths_steer_nothing(reported: tuple[Desk, Path]) -> None:
    desk, _ = reported
    typed: dict[str, list[str]] = {
        "accept": accepting(desk, WORST),
        "accept, why": accepting(desk, why=f"[/x] {WORST}"),
        "completion": ["completion", WORST],
        "docs": ["docs", WORST],
        "docs, a section": ["docs", f"safety#{WORST}"],
        "init": ["init", str(desk.inventory.parent / WORST.replace("\x00", ""))],
        "init, in the place of a file": ["init", str(desk.inventory)],
        "models": ["models", WORST],
        "models, options": ["models", "show", "gpt-oss-120b", "--context", WORST],
        "lab": ["lab", WORST],
        "lab, a node": ["lab", "ssh", WORST],
        "lab, a cage": ["lab", "cable", "spark-a", WORST, "plug"],
        "lab, a state": ["lab", "save", WORST],
    }
    each_row({name: (words,) for name, words in typed.items()}, lambda words: said(at_a_desk(desk, *words), 0, 1))
    shown = (["models"], ["models", "show", "gpt-oss-120b"], ["lab", "--help"], ["completion", "zsh"])
    widths = ("1", "0", "-5", "9" * 30, WORST.replace("\x00", ""))
    rows = {f"{words} {width!r}": (words, width) for words in shown for width in widths}
    each_row(rows, lambda words, width: said(at_a_desk(desk, *words, COLUMNS=width), 0))


@pytest.mark.slow  # many verbs
def test_the_lab_is_not_steered_by_its_environment(tmp_path: Path) -> None:
    """No guest runs there, and none is started."""
    desk = Desk(tmp_path)
    verbs = (["status"], ["status", "--json"], ["ssh", "spark-a", "true"], ["cable", "spark-a", "p0", "unplug"])

    def holds(words: Sequence[str], env: Mapping[str, str]) -> None:
        said(at_a_desk(desk, "lab", *words, **{"SPARKRIG_LAB_DIR": str(folder), **env}), 0, 1)

    with tempfile.TemporaryDirectory() as short:  # a socket's name has room for some 80 bytes
        folder = Path(short) / "\x1b[2J\x9b\u202e"
        for content in ("1", f"{WORST}\n", DEEP, f'{{"{WORST}": 1}}'):
            for name in ("spark-a", "spark-b"):
                (folder / name).mkdir(parents=True, exist_ok=True)
                for file in ("pid", "ready.json"):
                    (folder / name / file).write_text(content)
            each_row([(words, {}) for words in verbs], holds)
        each_row([(words, {"SPARKRIG_LAB_PORT": WORST}) for words in verbs], holds)
        each_row([(words, {"SPARKRIG_LAB_DIR": f"{short}/{WORST}"}) for words in verbs], holds)


def test_a_shell_that_completes_is_answered_in_words(reported: tuple[Desk, Path]) -> None:
    """Files of the working folder are offered, and may have any name."""
    desk, _ = reported
    folder = desk.folder / "inventories"
    folder.mkdir()
    for code in (text for text in CODES if "/" not in text and "\x00" not in text and text < "\ud800"):
        (folder / f"x{code}.py").write_text("")
    (folder / "plain.py").write_text("")
    own = {"HOME": str(desk.folder), "_SPARKRIG_COMPLETE": "bash_complete", "COMP_CWORD": "2"}
    done = warm.run("sparkrig", cwd=desk.folder, env={**own, "COMP_WORDS": "sparkrig drift "})
    said(done, 0)
    assert "plain.py" in done.stdout
    for env in ({"COMP_CWORD": WORST}, {"COMP_CWORD": ""}, {"COMP_WORDS": f"sparkrig models show '{WORST}"}):
        said(at_a_desk(desk, **{**own, "COMP_WORDS": "sparkrig ", **env}), 0, 1)
