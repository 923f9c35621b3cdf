"""What is asked of another engine than vLLM: whether the settings fit it, and its flags."""

from __future__ import annotations

from collections.abc import Iterator

from sparkrig.cure import on_host, quoted, quoted_path, with_setting
from sparkrig.refusal import Refusal
from sparkrig.serving import gguf, runtimes
from sparkrig.serving.model import Launch, Nodes, Scalar
from sparkrig.serving.runtimes.runtime import Flags, Runtime
from sparkrig.serving.served import Serving
from sparkrig.serving.wish import Wish
from sparkrig.settings import Settings


def fits(engine: Runtime, settings: Settings) -> None:
    """Raise Refusal for a setting that this engine has nothing to do with, or lacks."""
    if engine.file and not settings.serve_gguf:
        raise Refusal(
            f"{engine.name} serves a GGUF file, and serve_gguf names none",
            with_setting("serve_gguf", "OWNER/NAME/FILE.gguf", ", a file below the folder of weights"),
        )
    if settings.serve_gguf and not engine.file:
        raise Refusal(f"serve_gguf is for llama.cpp, and {engine.name} is to serve", "leave one of both out")
    shares(engine, settings.serve_nodes or 1)
    if engine is not runtimes.VLLM and settings.serve_draft not in (None, "none"):
        raise Refusal(
            f"serve_draft is for vLLM, and {engine.name} is to serve",
            f"the same without it; serve_flags has the flags of {engine.name}",
        )
    if engine is not runtimes.VLLM and settings.serve_form == "ray":
        raise Refusal(
            f"serve_form is ray, and {engine.name} has its own way for two Sparks", "leave serve_form out"
        )


def shares(engine: Runtime, nodes: int) -> None:
    """Raise Refusal where so many Sparks cannot share a model by that engine here."""
    if nodes > engine.most_nodes:
        why = (
            "on one Spark here: its RPC between hosts is not set up by this deploy"
            if engine.most_nodes == 1
            else f"on {engine.most_nodes} Sparks at most here, and {nodes} are asked for: vLLM serves on more"
        )
        raise Refusal(f"{engine.name} serves {why}", with_setting("serve_nodes", engine.most_nodes))


def own(engine: Runtime, settings: Settings) -> dict[str, Scalar | dict[str, Scalar]]:
    """The user's flags by their own names. Raises Refusal for one that another setting decides on."""
    given = engine.whole(settings.serve_flags)
    if taken := sorted(engine.ours & given.keys()):
        raise Refusal(f"--{taken[0]} is not for serve_flags: other settings decide on it", "sparkrig docs serving")
    return given


def flags(engine: Runtime, settings: Settings, nodes: Nodes, base: Launch | None) -> Flags:
    """What it is given. base: the launch of a recipe. Raises Refusal."""
    shares(engine, nodes)
    given = {**engine.defaults, **engine.whole(base.flags if base else {})}
    for name in (engine.names, *(engine.ours - engine.defaults.keys())):
        given.pop(name, None)
    if str(given.get("tensor-parallel-size", 1)) != str(nodes):
        given["tensor-parallel-size"] = nodes
    return given | own(engine, settings)


def notes(engine: Runtime) -> Iterator[str]:
    """What a person should know of it."""
    yield f"the flags of {engine.name} are handed on, and not judged"
    if engine.unwatched:
        yield f"{engine.unwatched}: the watch judges the memory of the host alone"


def there(asked: Wish, serving: Serving, mine: Settings) -> None:
    """Raise Refusal where a GGUF file is not there: an image of llama.cpp has nothing to download it with."""
    if serving.gguf(asked.gguf) is None:
        folder, file = gguf.folder(asked.gguf), asked.gguf.rpartition("/")[2]
        raise Refusal(
            f"{mine.weights}/{asked.gguf} is not there with all its parts; an image of llama.cpp downloads none",
            on_host(
                f"sudo hf download {quoted(folder, file)} --local-dir {quoted_path(f'{mine.weights}/{folder}')}"
            ),
        )
