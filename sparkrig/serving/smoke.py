"""Whether a server that came up answers anything that makes sense: one question, and a look at its answer.

Wrong kernels on SM121 give garbage without any error [@conselara-models, @conselara-hardware], often one
character over and over. A model that embeds has no chat and no completions, and is asked for a vector.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sparkrig.parsing import bounds

QUESTION = "What is the capital of France? Answer in one short sentence."
CHAT, PLAIN, EMBED = "/v1/chat/completions", "/v1/completions", "/v1/embeddings"
PATHS = (CHAT, PLAIN, EMBED)  # in the order in which they are tried
_TOKENS = 24
_LEAST = 3  # different characters in an answer of some length


def request(model: str, path: str) -> str:
    """The body of the question. path: CHAT, PLAIN for a model without a chat template, EMBED for vectors."""
    if path == EMBED:
        return json.dumps({"model": model, "input": QUESTION})
    asked: dict[str, Any] = {"model": model, "max_tokens": _TOKENS, "temperature": 0}
    if path == CHAT:
        asked["messages"] = [{"role": "user", "content": QUESTION}]
    else:
        asked["prompt"] = QUESTION
    return json.dumps(asked)


def other_way(status: int) -> bool:
    """Whether the server has no such way for this model, so that the next one is to be asked."""
    return status in (400, 404, 501)


def amiss(printed: str, models: Sequence[str]) -> str | None:
    """What is wrong with an answer, in words; None where it makes sense.

    printed: the body, and in its last line the HTTP status; models: names that the server should know itself by.
    """
    body, _, code = printed.rstrip().rpartition("\n")
    if code != "200":
        return f"it answered a question with HTTP status {code or '000'} ({_plain(body)})"
    try:
        found = bounds.loads(body)
        text = _vector(found["data"][0]) if "data" in found else _text(found["choices"][0])
    except (ValueError, LookupError, TypeError, AttributeError):
        return f"its answer has another form than vLLM's ({_plain(body)})"
    if found.get("model") not in models:
        return f"it answers as {str(found.get('model'))[:60]}, and {models[0]} was asked"
    if not text.strip():
        return "its answer is empty"
    if len(text.strip()) >= 8 and len(set(text.strip())) < _LEAST:
        return f"its answer is garbage ({text.strip()[:24]!r})"
    return None


def _vector(row: Any) -> str:
    """The numbers of a vector, in place of words; wrong kernels give the same one for all of it, or NaN."""
    return " ".join(f"{bounds.finite(str(number)):.6g}" for number in row["embedding"])


def status(printed: str) -> int:
    """The HTTP status in the last line; 0 where there is none."""
    code = printed.rstrip().rpartition("\n")[2]
    return int(code) if code.isdigit() else 0


def _text(choice: Any) -> str:
    """The text of an answer; a model that thinks may write only its thoughts in so few tokens."""
    message = choice.get("message")
    if message is None:
        return str(choice["text"])
    said = (message.get(name) for name in ("content", "reasoning_content", "reasoning"))
    return "".join(str(each) for each in said if each)


def _plain(body: str) -> str:
    return " ".join(body.split())[:120] or "nothing was said"
