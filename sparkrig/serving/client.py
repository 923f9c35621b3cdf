"""How a client reaches a server: its address, where the key lies, and a line to paste for each kind of client.

The key itself stands in none of these lines: each reads it where it lies.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from sparkrig.cure import quoted, quoted_path
from sparkrig.serving import smoke


@dataclass(frozen=True)
class Client:
    """What a client needs.

    base: of the API, http://ADDRESS:PORT/v1; model: as it is asked for; key: the source of VLLM_API_KEY on this
    machine, as the setting secrets has it, empty where the API asks for none.
    """

    base: str
    model: str
    key: str = ""

    @property
    def _kind(self) -> str:
        return self.key.partition(":")[0]

    @property
    def _where(self) -> str:
        return self.key.partition(":")[2]

    @property
    def curl(self) -> str:
        """The key comes by a pipe: every user of a machine sees the arguments of its processes."""
        piped = f"{self._header} | curl -H @-" if self.key else "curl"
        return f"{piped} {quoted(f'{self.base}/models')}"

    @property
    def _header(self) -> str:
        """The command that prints the header with the key."""
        header = "sed 's/^/Authorization: Bearer /'"
        if self._kind == "env":
            return f"printenv {self._where} | {header}"
        home = self._where.startswith("~/")
        return f"{header} {f'~/{quoted(self._where[2:])}' if home else quoted_path(self._where)}"

    def python(self, path: str) -> str:
        """With the client of OpenAI (package openai). path: one of smoke.PATHS."""
        asked = f'OpenAI(base_url="{self.base}", api_key={self._in_python})'
        if path == smoke.EMBED:
            return f'{asked}.embeddings.create(model={json.dumps(self.model)}, input="Hello")'
        said = '[{"role": "user", "content": "Hello"}]'
        return f"{asked}.chat.completions.create(model={json.dumps(self.model)}, messages={said})"

    @property
    def _in_python(self) -> str:
        if not self.key:
            return '"none"'
        if self._kind == "env":
            return f'os.environ["{self._where}"]'
        return f"open(os.path.expanduser({self._where!r})).read().strip()"

    @property
    def editor(self) -> str:
        """For Continue, Zed, VS Code and others, which call this kind of provider OpenAI-compatible."""
        key = f"the API key from {self.lies}" if self.key else "any API key"
        return f"an OpenAI-compatible provider with base URL {self.base}, model {self.model} and {key}"

    @property
    def lies(self) -> str:
        """Where the key lies, in words."""
        return f"the variable {self._where}" if self._kind == "env" else self._where
