"""T1: `sparkrig serve` on fake hosts: the choice, the plan, the run of pyinfra, the first answer, and the end."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sparkrig.serving import steps
from sparkrig.serving.io import recipe_file
from sparkrig.serving.wish import Sizing
from tests.attacks.texts import WORST
from tests.plan.clean import CLEAN
from tests.plan.conftest import BEGIN, JOURNAL, A, B, Host, well
from tests.plan.desk import Desk, Done, commands, noted
from tests.plan.locks import HELD
from tests.plan.serving import BOTH, SOLO, Spark, answering, files, hosts, ready, serving
from tests.plan.walk import harmless
from tests.schemas import complaints
from tests.tables import each_row

GPT = "gpt-oss-120b"
START = "systemctl start sparkrig-serve.service"
OWNER = json.dumps({"by": {"run": "1", "who": "ann"}, "since": 4102444799, "boot": "b"})
KEY = Path(".config", "sparkrig", "keys", "spark-a")


@pytest.fixture
def home(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of who types it."""
    monkeypatch.setenv("HOME", str(desk.folder))
    return desk.folder


def solo(spark: Spark, **changes: Any) -> list[Host]:
    """A Spark on its own, which answers once it is started."""
    (host, _) = answering(hosts(spark, Spark(), **changes), GPT)
    data = {key: value for key, value in host.data.items() if key not in ("pair", "fabric", "node_ssh")}
    return [Host(host.name, host.seen, data=data, responses=host.responses)]


def said(done: Done) -> str:
    return re.sub(r"\s+", " ", done.out)


def test_a_model_is_served_asked_and_announced_with_one_command(desk: Desk, home: Path) -> None:
    done = well(noted(desk, solo(ready())).typed("serve", GPT, "-y"))
    for words in (
        "image vllm-standin:1, already there",
        "weights openai/gpt-oss-120b is there",
        "memory 97.4 of 121.7 GiB, for sequences of 131072 tokens",
        "speed 57 to 60 tokens a second measured for one request (conselara-benchmarks, 2026-05-09)",
        "answers 127.0.0.1:8000; asks for no key",
        "answer The capital of France is Paris.",
        "tunnel it answers its own host alone; from here: ssh -fN -L 8000:127.0.0.1:8000 spark-a",
        "curl curl http://127.0.0.1:8000/v1/models",
        'OpenAI(base_url="http://127.0.0.1:8000/v1", api_key="none")',
        f"stop sparkrig serve {desk.inventory} --stop",
    ):
        assert words in said(done), (words, done.out)
    assert any(START in each for each in commands(desk))
    assert not (home / KEY).exists()


def test_what_is_served_already_is_asked_and_not_deployed_again(desk: Desk, home: Path) -> None:
    noted(desk, solo(serving(SOLO)))
    done = well(desk.typed("serve", GPT, "-y"))
    assert "It is so already" in done.out and "The capital of France is Paris." in done.out
    done = desk.typed("serve", "-y", "--json")
    assert done.code == 0 and complaints("serve", done.report) == [], done
    assert done.report["outcome"] == "It is so already; nothing is to be done."
    assert done.report["answers"] == {"spark-a": "The capital of France is Paris."}
    assert not any(START in each for each in commands(desk))
    assert not home.joinpath(KEY).exists()


def test_dry_shows_the_plan_and_asks_each_host_once(desk: Desk, home: Path) -> None:
    before = noted(desk, solo(ready())).inventory.read_text()
    done = desk.typed("serve", GPT, "--lan", "--dry")
    assert done.code == 0 and "key in ~/.config/sparkrig/keys/spark-a; it is made" in said(done)
    assert len(commands(desk)) == 1
    assert desk.inventory.read_text() == before and not home.joinpath(KEY).exists()


def test_the_lan_is_answered_with_a_key_that_only_its_owner_can_read(desk: Desk, home: Path) -> None:
    done = well(noted(desk, solo(ready())).typed("serve", GPT, "--lan", "-y"))
    file = home / KEY
    key = file.read_text().strip()
    assert (file.stat().st_mode & 0o777, len(key)) == (0o600, 64)
    assert '"secrets": {"VLLM_API_KEY": "file:~/.config/sparkrig/keys/spark-a"}' in desk.inventory.read_text()
    assert "answers 10.0.2.11:8000, 127.0.0.1:8000; asks for VLLM_API_KEY" in said(done)
    piped = "sed 's/^/Authorization: Bearer /' ~/.config/sparkrig/keys/spark-a | curl -H @- http://10.0.2.11"
    assert piped in done.out
    sent = "\n".join(commands(desk))
    assert key not in done.out + done.said + sent + desk.inventory.read_text()
    steps = re.findall("✓ (Secrets|Serve): ", done.said)
    assert steps == ["Secrets", "Serve"], done.said
    again = desk.typed("serve", GPT, "--lan", "--dry", "--json")
    assert "it is made" not in again.said and key not in again.out + again.said and file.read_text().strip() == key
    assert complaints("serve", again.report) == []
    client = {"base": "http://10.0.2.11:8000/v1", "model": GPT, "key": "file:~/.config/sparkrig/keys/spark-a"}
    assert again.report["servers"][0]["client"] == client


def test_what_cannot_be_served_is_refused_before_any_connection(desk: Desk, home: Path) -> None:
    noted(desk, solo(ready()))
    inventory = str(desk.inventory)

    def holds(words: tuple[str, ...], sentence: str) -> None:
        done = desk.typed("serve", *words)
        assert (done.code, done.out, done.said.count("\n")) == (1, "", 1), done
        assert sentence in done.said, done.said
        assert commands(desk) == []

    each_row(
        [
            (
                ("gpt-os-120b", "-y"),
                f"has no model gpt-os-120b. Try: sparkrig serve {inventory} {GPT}, or gpt-oss-20b",
            ),
            (("zzz", "-y"), "has no model zzz. Try: sparkrig models"),
            (("owner/name", "-y"), "sparkrig models show owner/name --save"),
            (("qwen3-235b-a22b", "-y"), "is for 2 Sparks, and this one is on its own"),
            ((GPT,), f"sparkrig serve {inventory} {GPT} --dry, which shows the plan"),
            (("absent.yaml", "-y"), "absent.yaml"),
            ((GPT, "--for", "chat", "-y"), "--for proposes a model, and one is named"),
            (("--stop", "--lan", "-y"), "--stop goes with --name alone"),
        ],
        holds,
    )


def at_work(desk: Desk, where: str, act: str) -> None:
    """Let an act happen as a command of the hosts begins that has these words in it."""
    acting = f"            if {where!r} in str(command):\n                {act}\n            file.write(repr"
    desk.inventory.write_text(desk.inventory.read_text().replace("            file.write(repr", acting))


def test_ctrl_c_is_one_sentence_that_says_what_stands(desk: Desk, home: Path) -> None:
    def holds(host: Host, where: str, sentence: str) -> None:
        noted(desk, [host])
        both = "[*([os.getppid()] if 'pyinfra' in sys.argv[0] else []), os.getpid()]"
        at_work(desk, where, f"import os, sys; [os.kill(each, 2) for each in {both}]")
        done = desk.typed("serve", GPT, "-y")
        assert (done.code, "answer  " in done.out) == (1, False), done
        wanted = sentence.format(f"sparkrig serve {desk.inventory} {GPT}")
        assert wanted.replace(" ", "") in re.sub(r"\s+", "", done.said + done.out), wanted  # a long path is parted
        assert not any("commit" in each for each in commands(desk))

    (new,), (old,) = solo(ready()), solo(serving(SOLO))
    each_row(
        [
            (new, "#sparkrig:end identity", "Interrupted; nothing was changed."),
            (new, START, "Interrupted at Serve: server; what was done before stays. It goes on with: {}"),
            (new, "VLLM_API_KEY", "Interrupted at Serve: server; what was done before stays. It goes on with: {}"),
            (old, "VLLM_API_KEY", "Interrupted; nothing was changed."),
        ],
        holds,
    )


def test_two_people_at_one_inventory_or_one_host_do_not_undo_each_other(desk: Desk, home: Path) -> None:
    noted(desk, solo(ready()))
    at_work(desk, "#sparkrig:end identity", f"open({str(desk.inventory)!r}, 'a').write('# ann\\n')")
    before = desk.inventory.read_text()
    done = desk.typed("serve", GPT, "--lan", "-y")
    assert done.code == 1 and "was changed meanwhile, and nothing was done. Try: sparkrig serve" in done.said, done
    assert desk.inventory.read_text() == f"{before}# ann\n" and not home.joinpath(KEY).exists()
    (host,) = solo(ready())
    busy = Host(
        host.name, host.seen, data=host.data, responses=host.responses, first={BEGIN: [f"lock held {HELD}"]}
    )
    done = noted(desk, [busy]).typed("serve", GPT, "-y")
    assert done.code == 1 and "ann@laptop" in done.out, done
    assert not any(START in each for each in commands(desk))


def test_an_inventory_that_cannot_take_the_key_is_refused_before_any_connection(desk: Desk, home: Path) -> None:
    text = noted(desk, solo(ready())).inventory.read_text()
    made = text.replace("_checked([", "_checked(list([").replace("], __file__)", "]), __file__)")
    desk.inventory.write_text(made)
    done = desk.typed("serve", GPT, "--lan", "-y")
    assert done.code == 1 and "cannot be edited" in done.said, done
    assert commands(desk) == [] and desk.inventory.read_text() == made and not home.joinpath(KEY).exists()


def test_without_a_model_it_proposes_what_fits_now(desk: Desk, home: Path) -> None:
    done = well(noted(desk, solo(ready())).typed("serve", "--for", "coding", "--dry"))
    rows = re.findall(r"^  \d  (\S+):", done.out, re.MULTILINE)
    assert len(rows) == 3 and "GiB to be downloaded" in said(done)
    busy = noted(desk, solo(ready(memory=(121.7, 9.0)))).typed("serve", "--for", "coding", "--dry")
    assert busy.code == 1 and "no model of the catalogue for coding fits as the hosts are now" in busy.said
    mute = noted(desk, solo(ready())).typed("serve", "-y")
    assert mute.code == 1 and "no terminal to ask at what it is for. Try: sparkrig serve" in mute.said


def test_a_host_that_was_not_set_up_is_told_how(desk: Desk, home: Path) -> None:
    (host,) = solo(ready())
    bare = host.seen.replace('"nvidia":{"path"', '"other":{"path"')
    done = noted(desk, [Host(host.name, bare, data=host.data, responses=host.responses)]).typed("serve", GPT, "-y")
    assert done.code == 1 and len(commands(desk)) == 1
    assert "the nvidia runtime of docker is missing" in said(done) and "deploys/cluster.py" in said(done)


def test_one_that_answers_nonsense_is_rolled_back(desk: Desk, home: Path) -> None:
    (host,) = solo(ready())
    answers = {**host.responses, "VLLM_API_KEY": ["no", "500"]}
    run = "20991231T235959Z-1"  # which the host notes meanwhile
    journal = [CLEAN, f"run {run} {OWNER}", "step 1 begun Serve | server", "trial it answered nonsense"]
    rows = {JOURNAL: journal}
    bad = Host(host.name, host.seen, data=host.data, responses=answers, first=rows)
    done = noted(desk, [bad]).typed("serve", GPT, "-y")
    assert done.code == 4, done.out + done.said
    assert "Changed and rolled back; what served before serves" in said(done) and "curl" not in done.out
    assert "Changed and rolled back" in done.said


def test_an_answer_that_would_steer_a_terminal_is_shown_and_steers_nothing(desk: Desk, home: Path) -> None:
    (host,) = solo(serving(SOLO))
    body = json.dumps({"model": GPT, "choices": [{"message": {"content": f"Paris {WORST} [/x]"}}]})
    answers = {**host.responses, "VLLM_API_KEY": [body, "200"]}
    done = noted(desk, [Host(host.name, host.seen, data=host.data, responses=answers)]).typed("serve", GPT, "-y")
    assert done.code == 0 and "Paris" in done.out and "[/x]" in said(done)
    harmless("what is shown", done.out + done.said)


def test_stop_takes_it_away_and_says_what_is_still_declared(desk: Desk, home: Path) -> None:
    nothing = noted(desk, solo(ready())).typed("serve", "--stop", "-y")
    assert (nothing.code, nothing.out) == (0, "Nothing is served; nothing was done.\n")
    done = noted(desk, solo(serving(SOLO), model=GPT)).typed("serve", "--stop", "-y")
    assert done.code == 0 and "Nothing is served any more on spark-a." in done.out
    assert f"still declares {GPT}" in said(done)
    assert any("sparkrig-serve-port" in each and "rm -f" in each for each in commands(desk))


def test_a_named_server_gets_ports_of_its_own(desk: Desk, home: Path) -> None:
    small = serving(SOLO, files=files(SOLO, 0, 1, sized=Sizing(0.5, 32768)), listening=(22, 8000, 8001, 18000))
    words = ("--name", "embed", "--context", "8192", "qwen3-embedding-8b", "--dry")
    done = well(noted(desk, solo(small, serve_image=None)).typed("serve", *words))
    assert "answers 127.0.0.1:8002" in said(done) and "sequences of 8192 tokens" in said(done)


def test_a_pair_is_served_as_one(desk: Desk, home: Path) -> None:
    pair = answering(hosts(ready(BOTH), ready(BOTH)), "qwen3-235b-a22b")
    done = noted(desk, pair).typed("serve", "qwen3-235b-a22b", "--dry")
    assert done.code == 0 and "on spark-a and spark-b" in said(done)
    assert {host for host in (A, B) for each in commands(desk) if host in each} == {A, B}


def test_the_programs_of_a_recipe_run_once_their_digest_is_typed(desk: Desk, home: Path) -> None:
    file = home / "recipe.yaml"
    file.write_text(
        "recipe_version: '2'\nmodel: openai/gpt-oss-120b\ncontainer: vllm-standin:1\npre_exec: [touch /tmp/x]\n"
    )
    refused = noted(desk, solo(ready())).typed("serve", str(file), "-y")
    assert refused.code == 1 and f"then sparkrig serve {desk.inventory} {file} --data serve_mods=sha256:" in (
        re.sub(r"\s+", " ", refused.out + refused.said)
    )
    assert not any(START in each for each in commands(desk))
    agreed = steps.digest(recipe_file.read(str(file)).steps)
    well(noted(desk, solo(ready())).typed("serve", str(file), "--data", f"serve_mods={agreed}", "-y"))
    assert any(START in each for each in commands(desk))


def test_an_address_is_told_how_to_be_declared(desk: Desk) -> None:
    desk.inventory = Path("nvidia@10.0.2.11")
    done = desk.typed("serve", GPT, "-y")
    assert (done.code, done.said.count("\n")) == (1, 1)
    assert "Try: sparkrig init sparks --from nvidia@10.0.2.11" in done.said
