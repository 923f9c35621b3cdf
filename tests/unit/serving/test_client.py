"""What is pasted into a client: a shell and Python find the key where it lies, and it stands in no line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from sparkrig.serving import smoke
from sparkrig.serving.client import Client
from tests.tables import each_row

BASE, KEY = "http://10.0.2.11:8000/v1", "0123abcd"
OPENAI = """
import os, sys
class OpenAI:
    def __init__(self, base_url, api_key):
        print(base_url, api_key)
        self.chat = self.completions = self.embeddings = self
    def create(self, **asked):
        print(sorted(asked))
"""


def test_each_source_of_a_key_is_read_by_shell_and_python(tmp_path: Path) -> None:
    (tmp_path / "it's a key").write_text(f"{KEY}\n")
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "VLLM_API_KEY": KEY}
    (tmp_path / "curl").write_text('#!/bin/sh\necho "$@"; [ "$1" != -H ] || cat\n')
    (tmp_path / "curl").chmod(0o755)

    def holds(source: str, path: str, asked: str) -> None:
        client = Client(BASE, "a-model", source)
        assert KEY not in client.curl + client.python(path) + client.editor + client.lies
        shell = f"PATH={tmp_path}:$PATH; {client.curl}"
        said = subprocess.run(["sh", "-c", shell], env=env, capture_output=True, text=True, check=True).stdout
        given = [f"-H @- {BASE}/models", f"Authorization: Bearer {KEY}"] if source else [f"{BASE}/models"]
        assert said.splitlines() == given  # the key is no argument of curl
        words = [sys.executable, "-c", OPENAI + client.python(path)]
        said = subprocess.run(words, env=env, capture_output=True, text=True, check=True).stdout
        assert said.splitlines() == [f"{BASE} {KEY if source else 'none'}", f"['{asked}', 'model']"]

    each_row(
        [
            ("", smoke.CHAT, "messages"),
            ("env:VLLM_API_KEY", smoke.CHAT, "messages"),
            ("file:~/it's a key", smoke.CHAT, "messages"),
            (f"file:{tmp_path}/it's a key", smoke.EMBED, "input"),
        ],
        holds,
    )
