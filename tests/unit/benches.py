"""`sparkrig bench` on hosts that are only made up: its scripts run here, and `docker exec` with them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

import sparkrig.ssh
from sparkrig.cli.bench import bench as verb
from sparkrig.files import Found
from sparkrig.serving.bench.server import Look
from sparkrig.serving.last_deploy import Record
from sparkrig.serving.served import Own, Serving
from sparkrig.ssh import remote
from sparkrig.ssh.remote import Failed, Lost
from tests.unit.shells import sh, tool

FIXTURES = Path(__file__).parents[1] / "fixtures" / "bench"
RECORDED = {"vllm": "vllm.json", "sglang": "sglang.jsonl"}
STARTED = {
    "vllm": "/sparkrig/start.sh vllm serve /models/x --served-model-name gpt-oss-120b --max-model-len 8192",
    "sglang": "/sparkrig/start.sh python3 -m sglang.launch_server --model-path /models/x --context-length 8192",
}
KEY = "sk-canary"


def figures(engine: str, **changed: Any) -> str:
    """What the tool saved in a public run, with other figures in their places."""
    found = json.loads((FIXTURES / RECORDED[engine]).read_text())
    return json.dumps({**found, **changed})


def record(engine: str = "vllm", service: str = "", rank: int = 0, model: str = "gpt-oss-120b") -> Record:
    return Record(
        model=model,
        checkpoint="openai/gpt-oss-120b",
        image="sha256:1",
        name="vllm:1",
        form="solo",
        nodes=1,
        rank=rank,
        port=8000,
        trial_port=8001,
        weights="/srv/models",
        engine=engine,
        service=service,
    )


def look(*records: Record, active: str = "active", health: int | None = 200) -> Look:
    """A host with such servers. health: of each."""
    own = {each.service: Own(unit={"ActiveState": active}, health=health) for each in records}
    first = own.pop("", Own())
    files = {file.path: Found(file.content, file.mode, "root:root") for file in (each.file() for each in records)}
    return Look(Serving(looked=True, unit=first.unit, health=first.health, named=own), files)


def host(folder: Path, saved: str, engine: str = "vllm", status: int = 0) -> Path:
    """Programs of a host whose container has a tool, which keeps its words, and its environment, in files."""
    programs = folder / "bin"
    words = json.dumps(STARTED[engine].split())
    (folder / "saved").write_text(saved)
    tool(
        programs,
        "docker",
        f"""case "$1" in
container) echo '{words}' ;;
exec) shift 2; export VLLM_API_KEY={KEY} SPARKRIG_PORT=8001; exec "$@" ;;
esac""",
    )
    save = f"""printf '%s\\n' "$@" >{folder}/words; env >{folder}/environment
for word; do
  case "$before" in --result-dir) to=$word/result.json ;; --output-file) to=$word ;; esac; before=$word
done
echo 'ValueError: Initial test run failed'
cat {folder}/saved >"$to"; exit {status}"""
    tool(programs, "vllm", save)
    tool(programs, "python3", save)
    return programs


def typed(
    patch: pytest.MonkeyPatch,
    folder: Path,
    looks: Mapping[str, Look | Lost],
    *words: str,
    programs: Path | None = None,
    shell: Callable[..., str] | None = None,
) -> Result:
    """What it prints. programs: of the hosts; shell: in place of what runs there."""
    file = folder / "sparks.py"
    file.write_text(f"sparks = {[(name, {'x_': 0}) for name in looks]!r}\n")

    def ask(hosts: Mapping[str, Any], *_: Any) -> dict[str, Look | Lost]:
        return {name: looks[name] for name in hosts}

    def local(_: Any, text: str, *given: str, seconds: int) -> str:
        done = sh(text, *given, path=programs)
        if done.returncode:
            raise Failed(" ".join(done.stderr.splitlines()[-2:]))
        return done.stdout

    hosts = {name: each if isinstance(each, Lost) else SimpleNamespace(name=name) for name, each in looks.items()}
    # the real one patches the standard library of the whole process
    session = SimpleNamespace(connected=lambda _: nullcontext(hosts), ask=ask)
    patch.setattr(sparkrig.ssh, "session", session, raising=False)
    patch.setattr(remote, "shell", shell or local)
    return CliRunner().invoke(verb, [str(file), *words])
