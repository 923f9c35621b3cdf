"""Whether a server that came up answers anything that makes sense: one question, and a look at its answer.

Wrong kernels on SM121 give garbage without any error [@conselara-models, @conselara-hardware], often one
character over and over. A model that embeds or ranks has no chat and no completions: it is asked for the vectors
of two texts, or which of them answers the question (vLLM 0.33, docs/models/pooling_models [@vllm-source]).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sparkrig.parsing import bounds

QUESTION = "What is the capital of France? Answer in one short sentence."
# of these the second answers the question, so that their own order is not the right one
TEXTS = ("Bread is baked from flour, water and salt.", "Paris is the capital of France.")
CHAT, PLAIN, EMBED, RERANK = "/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/rerank"
# in the order in which they are tried: what embeds can rank, too, and what ranks cannot embed
PATHS = (CHAT, PLAIN, EMBED, RERANK)
_TOKENS = 24
_LEAST = 3  # different characters in an answer of some length


def request(model: str, path: str) -> str:
    """The body of the question. path: CHAT, PLAIN for a model without a chat template, EMBED or RERANK."""
    if path == EMBED:
        return json.dumps({"model": model, "input": TEXTS})
    if path == RERANK:
        return json.dumps({"model": model, "query": QUESTION, "documents": TEXTS})
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
        wrong = _wrong(found)
    except (ValueError, LookupError, TypeError, AttributeError):
        return f"its answer has another form than vLLM's ({_plain(body)})"
    if found.get("model") not in models:
        return f"it answers as {str(found.get('model'))[:60]}, and {models[0]} was asked"
    return wrong


def _wrong(found: Mapping[str, Any]) -> str | None:
    """Of vectors, of a ranking or of words, in words. Raises ValueError and its like for NaN, or another form."""
    if "data" in found:
        return _wrong_vectors([[bounds.finite(str(each)) for each in row["embedding"]] for row in found["data"]])
    if "results" in found:
        return _wrong_ranking(
            [(row["index"], bounds.finite(str(row["relevance_score"]))) for row in found["results"]]
        )
    return _wrong_words(_text(found["choices"][0]).strip())


def _wrong_words(text: str) -> str | None:
    if not text:
        return "its answer is empty"
    if len(text) >= 8 and len(set(text)) < _LEAST:
        return f"its answer is garbage ({text[:24]!r})"
    return None


def _wrong_vectors(vectors: Sequence[Sequence[float]]) -> str | None:
    """Wrong kernels give one number for all of a vector, or one vector for all texts."""
    if len(vectors) != len(TEXTS):
        return f"it was given {len(TEXTS)} texts, and answered with {len(vectors)} vectors"
    sizes = sorted({len(vector) for vector in vectors})
    if sizes[0] == 0:
        return "its answer is empty"
    if len(sizes) > 1:
        return f"its vectors have {sizes[0]} and {sizes[1]} numbers"
    if any(len(set(vector)) == 1 for vector in vectors):
        return "its answer is garbage (a vector whose numbers are all the same)"
    return "its answer is garbage (the same vector for two texts)" if vectors[0] == vectors[1] else None


def _wrong_ranking(ranked: Sequence[tuple[int, float]]) -> str | None:
    """ranked: of each text its number and its score, the best first."""
    if sorted(number for number, _ in ranked) != [*range(len(TEXTS))]:
        return f"it was given {len(TEXTS)} texts to rank, and its answer is for {len(ranked)}"
    (first, best), (_, least) = ranked
    if best <= least or first != len(TEXTS) - 1:
        scores = " and ".join(f"{score:.3g}" for _, score in sorted(ranked))
        return f"its ranking is wrong: {scores} for {TEXTS[0]!r} and {TEXTS[1]!r}, of which the second answers"
    return None


def status(printed: str) -> int:
    """The HTTP status in the last line; 0 where there is none."""
    code = printed.rstrip().rpartition("\n")[2]
    return int(code) if code.isdigit() else 0


def answer(printed: str) -> str:
    """What was answered, in words. printed: what `amiss` has nothing against."""
    found = bounds.loads(printed.rstrip().rpartition("\n")[0])
    if "data" in found:
        return f"a vector of {len(found['data'][0]['embedding'])} numbers for each of two texts"
    if "results" in found:
        return "of two texts the one that answers, first"
    return " ".join(_text(found["choices"][0]).split())


def _text(choice: Any) -> str:
    """The text of an answer; a model that thinks may write only its thoughts in so few tokens."""
    message = choice.get("message")
    if message is None:
        return str(choice["text"])
    said = (message.get(name) for name in ("content", "reasoning_content", "reasoning"))
    return "".join(str(each) for each in said if each)


def _plain(body: str) -> str:
    return " ".join(body.split())[:120] or "nothing was said"
