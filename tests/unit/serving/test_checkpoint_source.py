"""Files of a checkpoint from a folder, and from a hub on loopback."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from sparkrig.refusal import Refusal
from sparkrig.serving.io import checkpoint_source
from tests.attacks.servers import drip, server
from tests.tables import each_row

FOLDER = Path(__file__).parents[2] / "fixtures" / "checkpoints"
ID = "openai/gpt-oss-120b"
COMMIT = "b5c939de8f754692c1647ca79fbf85e8c1e70f8a"
TOKEN = "hf_of_nobody"


@dataclass
class Hub:
    """What it answers by path: status, body and headers; asked: each path with its token."""

    answers: dict[str, tuple[int, bytes, dict[str, str]]] = field(default_factory=dict)
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    address: str = ""

    def has(self, path: str, body: bytes | str, status: int = 200, **headers: str) -> None:
        content = body.encode() if isinstance(body, str) else body
        self.answers[path] = status, content, {each.replace("_", "-"): value for each, value in headers.items()}

    def checkpoint(self) -> None:
        for name in (checkpoint_source.CONFIG, checkpoint_source.INDEX):
            content = (FOLDER / "openai--gpt-oss-120b" / name).read_bytes()
            at = "main" if name == checkpoint_source.CONFIG else COMMIT
            self.has(f"/{ID}/resolve/{at}/{name}", content, X_Repo_Commit=COMMIT)
        sizes = [
            {"type": "file", "path": f"model-{number:05}-of-00014.safetensors", "size": 7} for number in range(14)
        ]
        self.has(f"/api/models/{ID}/tree/{COMMIT}", json.dumps([*sizes, {"path": "README.md", "size": 9}]))


def served(hub: Hub) -> ThreadingHTTPServer:
    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hub.asked.append((self.path, self.headers.get("Authorization")))
            status, body, headers = hub.answers.get(self.path, (404, b"", {}))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    hub.address = f"http://127.0.0.1:{server.server_port}"
    return server


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    made = Hub()
    server = served(made)
    monkeypatch.setenv("HF_ENDPOINT", made.address)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    yield made
    server.shutdown()
    server.server_close()


def test_a_checkpoint_of_the_hub(hub: Hub) -> None:
    hub.checkpoint()
    found = checkpoint_source.from_hub(ID)
    assert json.loads(found.files.config)["model_type"] == "gpt_oss"
    assert json.loads(found.files.index)["metadata"]["total_size"] == 65248815744
    assert found.files.quantization == ""  # there is none
    assert sum(found.files.sizes.values()) == 14 * 7 + 9 and found.revision == COMMIT
    assert [path for path, _ in hub.asked] == [
        f"/{ID}/resolve/main/config.json",
        f"/{ID}/resolve/{COMMIT}/model.safetensors.index.json",
        f"/{ID}/resolve/{COMMIT}/hf_quant_config.json",
        f"/api/models/{ID}/tree/{COMMIT}",
    ]
    assert {token for _, token in hub.asked} == {None}


def test_the_token_goes_to_the_hub_and_nowhere_else(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    other = Hub()
    server = served(other)
    config = f"/{ID}/resolve/main/config.json"
    hub.has(config, "", 307, Location="/api/resolve-cache/config.json")
    hub.has("/api/resolve-cache/config.json", "", 302, Location=f"{other.address}/blob")
    other.has("/blob", '{"model_type": "x"}')
    assert checkpoint_source.from_hub(ID).files.config == '{"model_type": "x"}'
    server.shutdown()
    server.server_close()
    assert other.asked == [("/blob", None)]
    assert {token for _, token in hub.asked} == {f"Bearer {TOKEN}"}


def test_a_token_that_is_none_is_not_sent(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.checkpoint()
    monkeypatch.setenv("HF_TOKEN", "two\nlines")
    checkpoint_source.from_hub(ID)
    assert {token for _, token in hub.asked} == {None}


def test_a_lora_adapter_of_the_hub_is_told_by_its_files(hub: Hub) -> None:
    names = ("adapter_config.json", "adapter_model.safetensors")
    hub.has(f"/api/models/{ID}/tree/main", json.dumps([{"path": name, "size": 7} for name in names]))
    hub.has(f"/{ID}/resolve/main/adapter_config.json", '{"base_model_name_or_path": "org/Base"}')
    found = checkpoint_source.from_hub(ID).files
    assert (found.config, found.adapter) == ("", '{"base_model_name_or_path": "org/Base"}')
    assert tuple(found.sizes) == names


def refused(hub: Hub, prepare: Callable[[Hub], None]) -> Refusal:
    hub.answers.clear()
    prepare(hub)
    with pytest.raises(Refusal) as error:
        checkpoint_source.from_hub(ID)
    assert TOKEN not in str(error.value) and len(str(error.value).splitlines()) == 1
    return error.value


def test_what_the_hub_refuses_is_one_sentence(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    config = f"/{ID}/resolve/main/config.json"
    monkeypatch.setattr(checkpoint_source, "CHARS", 100)

    def holds(prepare: Callable[[Hub], None], said: str, cure: str) -> None:
        refusal = refused(hub, prepare)
        assert said in refusal.what and cure in refusal.cure

    rows: dict[str, tuple[Callable[[Hub], None], str, str]] = {
        "not there": (
            lambda made: None,
            "the hub has no config.json for openai/gpt-oss-120b",
            f"look at {hub.address}",
        ),
        "not public": (lambda made: made.has(config, "", 401), "answers 401", "export HF_TOKEN first"),
        "gated": (lambda made: made.has(config, "", 403), "answers 403", "export HF_TOKEN first"),
        "broken": (lambda made: made.has(config, "", 503), "answers 503", "hf download openai/gpt-oss-120b"),
        "too long": (
            lambda made: made.has(config, b"x" * 500),
            "more for openai/gpt-oss-120b than",
            "hf download",
        ),
        "no text": (lambda made: made.has(config, b"\xff\xfe"), "is no text in UTF-8", "another checkpoint"),
        "in a circle": (lambda made: made.has(config, "", 302, Location=config), "answers 302", "hf download"),
        "to a file": (
            lambda made: made.has(config, "", 302, Location="file:///etc/passwd"),
            "answers 302",
            "hf download",
        ),
    }
    each_row(rows, holds)


def test_without_a_network_it_says_how_to_bring_a_folder(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    refusal = refused(hub, lambda made: None)
    assert "the hub could not be asked for openai/gpt-oss-120b: connection refused" in refusal.what
    assert "hf download openai/gpt-oss-120b --include '*.json' --local-dir gpt-oss-120b" in refusal.cure
    assert "sparkrig models show ./gpt-oss-120b --id openai/gpt-oss-120b" in refusal.cure


def test_an_endpoint_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for endpoint in (
        "http://example.com",
        "ftp://127.0.0.1",
        "https://",
        "https://me:word@example.com",
        "file:///etc",
    ):
        monkeypatch.setenv("HF_ENDPOINT", endpoint)
        with pytest.raises(Refusal, match="HF_ENDPOINT is no https address"):
            checkpoint_source.from_hub(ID)
    for id in ("gpt-oss", "../etc", "etc/..", "../etc/passwd", "a/b/c", "a/b?x=y"):
        with pytest.raises(Refusal, match="is no OWNER/NAME"):
            checkpoint_source.from_hub(id)


def test_a_hub_that_drips_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A socket's own time-out begins anew with each byte, of the head and of the body."""

    def slow_body(client: socket.socket) -> None:
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        drip(client)

    monkeypatch.setattr(checkpoint_source, "_WHOLE_S", 0.3)
    for answer in (drip, slow_body):
        with server(answer) as (port, _), pytest.raises(Refusal, match="timed out"):
            monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{port}")
            checkpoint_source.from_hub(ID)


def test_a_list_that_is_none_has_no_sizes(hub: Hub) -> None:
    hub.checkpoint()

    def holds(text: str) -> None:
        hub.has(f"/api/models/{ID}/tree/{COMMIT}", text)
        assert checkpoint_source.from_hub(ID).files.sizes == {}

    each_row(
        ("{", "{}", "[1]", '[{"path": "a.safetensors", "size": "7"}]', '[{"path": "a.safetensors", "size": -1}]'),
        holds,
    )


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match=r"has no config\.json"):
        checkpoint_source.folder(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "x"}')
    (tmp_path / "model-00001-of-00001.safetensors").write_bytes(b"1234")
    found = checkpoint_source.folder(tmp_path)
    assert found.files.sizes == {"model-00001-of-00001.safetensors": 4, "config.json": 19}
    assert found.revision == ""
    (tmp_path / "config.json").unlink()
    (tmp_path / "x.gguf").touch()
    assert checkpoint_source.folder(tmp_path).files.config == ""
    (tmp_path / "config.json").write_bytes(b"\xff")
    with pytest.raises(Refusal, match="is no text in UTF-8"):
        checkpoint_source.folder(tmp_path)
    (tmp_path / "config.json").unlink()
    (tmp_path / "config.json").mkdir()
    with pytest.raises(Refusal, match="cannot be read: it is no file"):
        checkpoint_source.folder(tmp_path)


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.json")
    with pytest.raises(Refusal, match="it is no file"):
        checkpoint_source.folder(tmp_path)
