"""A webhook of this machine, which takes notices and counts them."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Webhook:
    """notices: what was posted; answer: the status of each answer."""

    port: int = 0
    notices: list[dict[str, Any]] = field(default_factory=list)
    answer: int = 200

    def taken(self) -> list[str]:
        """Title and text of each notice since the last call."""
        found = [f"{each['title']}\n{each['message']}" for each in self.notices]
        self.notices.clear()
        return found

    def addresses(self, file: Path, *more: str, secret: str = "s3cret-t0ken") -> Path:
        """A file with this webhook's address, which holds a secret."""
        return private(file, "# of a test", f"json://127.0.0.1:{self.port}/{secret}", *more)


def private(file: Path, *lines: str) -> Path:
    file.touch(mode=0o600)
    file.write_text("\n".join([*lines, ""]))
    return file


@contextmanager
def webhook() -> Iterator[Webhook]:
    hook = Webhook()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if hook.answer == 200:
                hook.notices.append(json.loads(body))
            self.send_response(hook.answer)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        hook.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield hook
        finally:
            server.shutdown()
            thread.join()
