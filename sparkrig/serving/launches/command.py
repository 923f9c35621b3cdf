"""What one command launches: a server, a node of Ray, or a script that some shell is given."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

from sparkrig.serving import container, engines
from sparkrig.serving.container import Described
from sparkrig.serving.launch import SERVER, Launch
from sparkrig.serving.launches.variables import parted

CONTAINER_ENGINES = frozenset({"docker", "podman", "nerdctl"})
_MODULES = frozenset({"vllm.entrypoints.openai.api_server", "vllm.entrypoints.api_server"})
_CLI = "vllm.entrypoints.cli.main"
# `vllm`, or a program that mends something and then is it: aeon_vllm_wrapper.py of [@gb10-services]
_COMMAND = re.compile(r"vllm|(?=\w*vllm)\w+\.py")
SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ash"})
ASSIGNED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
# flags of vLLM's server that none of the other engines has: an image that is given them runs vLLM by itself
_OWN = frozenset({"--gpu-memory-utilization", "--max-model-len", "--max-num-batched-tokens"})
# what names a server and starts none
_SAYS = frozenset({"echo", "printf", "grep", "egrep", "pgrep", "pkill", "killall", "which", "command", "type"})
# the variable by which eugr/spark-vllm-docker takes options for docker [@forum-365083-thread]
_MORE_OPTIONS = "VLLM_SPARK_EXTRA_DOCKER_ARGS"
# vLLM's example, which starts a node of Ray in a container: examples/online_serving/run_cluster.sh at 0c37e239
RUN_CLUSTER = "run_cluster.sh"


def base(path: str) -> str:
    """The last part of a path."""
    return path.rsplit("/", 1)[-1]


def served(words: Sequence[str]) -> engines.Served | None:
    """The server of any engine in the words of a command."""
    if words and base(words[0]) in _SAYS:
        return None
    for place, word in enumerate(words):
        if (_COMMAND.fullmatch(base(word)) or word == _CLI) and words[place + 1 : place + 2] == ["serve"]:
            return engines.Served(engines.VLLM, words[:place], words[place + 2 :])
        if word in _MODULES:
            return engines.Served(engines.VLLM, words[:place], words[place + 1 :])
    return engines.served(words)


def launch(words: Sequence[str], source: str, environment: Mapping[str, str | None], engine: str) -> Launch:
    """The launch of a server with these arguments."""
    read = engines.read(engine, words)
    model = read.model or engines.model_of(engine, environment)
    return Launch(source, model, read.flags, environment, extra=read.extra, broken=read.broken, engine=engine)


def bare(words: Sequence[str], environment: Mapping[str, str | None], source: str) -> Iterator[Launch]:
    """A command that shows nothing of the container it runs in, if any."""
    found = served(words)
    if found is None:
        return
    more = container.options(parted(environment.get(_MORE_OPTIONS) or ""))[0]
    wrapper = next((base(word) for word in found.before if word.endswith(".sh")), "")
    solo = "--solo" in found.before  # of eugr/spark-vllm-docker: no Ray and no second node is added
    made = launch(found.rest, source, environment, found.engine)
    yield replace(made, mounts=container.mounts(more), wrapper=wrapper, solo=solo)


def contained(described: Described, source: str) -> Iterator[Launch]:
    """What a container runs that is given no script. An image of an engine takes the words as its arguments."""
    words, image = [*described.words], described.container.image
    environment = described.environment
    other = engines.of_image(image) or engines.of_environment(environment)
    if (found := served(words)) is not None:
        yield launch(found.rest, source, environment, found.engine)
    elif starts_ray(words):
        yield Launch(source, environment=environment, ray=True)
    elif not described.replaced and _takes_arguments(image, words):
        yield launch(words, source, environment, engines.VLLM)
    elif other and not described.replaced and _given_to(other, words):
        yield launch(words, source, environment, other)
    elif not (other or described.replaced) and _OWN & {word.partition("=")[0] for word in words}:
        # the entrypoint of some images is `vllm` alone [@jdaln-stack]
        rest = words[1:] if words[:1] == ["serve"] else words
        yield launch(rest, source, environment, engines.VLLM)


def within(each: Launch, described: Described) -> Launch:
    """A launch with the container that it runs in."""
    whole = described.whole and described.container.whole
    # an image may be given its own entrypoint again, as /opt/nvidia/nvidia_entrypoint.sh
    kept = not described.replaced or any("entrypoint" in word for word in described.words[:2])
    mounts = described.container.mounts
    return replace(
        each,
        container=described.container,
        mounts=mounts,
        whole=whole,
        replaced=not kept,
        shells=twice_a_shell(described.words),
        serves_twice=not described.replaced and serves_twice(described),
    )


def _takes_arguments(image: str, words: Sequence[str]) -> bool:
    """Whether the image is one of vLLM whose own entrypoint is given these words."""
    held = "vllm" in image and not engines.of_image(image)
    named = held and re.match(r"-|\$|[\w.-]+/|/(?!bin|usr|opt)", (words or ["-"])[0]) is not None
    return named or SERVER.match(image) is not None


def _given_to(engine: str, words: Sequence[str]) -> bool:
    """Whether the image of another engine runs its server with these words."""
    return engines.OTHERS[engine].entrypoint and (not words or words[0].startswith("-") or words[0] == "serve")


def starts_ray(words: Sequence[str]) -> bool:
    """Whether a command makes a node of Ray."""
    return any(
        base(word) == "ray" and [*words[place + 1 : place + 2]] == ["start"] for place, word in enumerate(words)
    )


def installs(words: Sequence[str]) -> set[str]:
    """Which of ray and vllm a command installs, Ray be it by a line that sed writes into a script."""
    if "install" in words:
        ray = any(re.match(r"ray\b", word) for word in words)
        vllm = any(re.match(r"(?:git\+\S*/)?vllm(?:\b|$)|\S*/vllm-\d", word) for word in words)
        return {name for name, there in (("ray", ray), ("vllm", vllm)) if there}
    written = words[:1] == ["sed"] and any(re.search(r"(?m)^(?>.*?install\b).*\bray\b", word) for word in words)
    return {"ray"} if written else set()


def enters(words: Sequence[str]) -> bool:
    """Whether a command is `docker exec` or its like, in a container that something else started."""
    return "exec" in words and any(base(word) in (*CONTAINER_ENGINES, "kubectl") for word in words)


def serves_twice(described: Described) -> bool:
    """Whether vLLM's own image, which is `vllm serve` by its entrypoint, is given that again [@vllm-site-305]."""
    return SERVER.match(described.container.image) is not None and described.words[:2] == ("vllm", "serve")


def twice_a_shell(words: Sequence[str]) -> str:
    """The two words where a shell is given a shell's program as its script; empty where it is not so.

    `/bin/bash bash -c TEXT` reads the binary /usr/bin/bash as a script, and ends [@aeon-qwen36-12].
    """
    shells = [base(word) in SHELLS for word in words[:2]]
    return " ".join(words[:2]) if shells == [True, True] else ""


def shell_script(words: Sequence[str]) -> str | None:
    """What `bash -lc` is given."""
    for place, word in enumerate(words):
        if base(word) in SHELLS:
            flags = [*takewhile(lambda each: each.startswith("-"), words[place + 1 :])]
            rest = words[place + 1 + len(flags) :]
            if rest and any(re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", flag) for flag in flags):
                return rest[0]
    return None


def script_file(words: Sequence[str]) -> str | None:
    """The file that a shell is given, or that is run itself."""
    for place, word in enumerate(words[:3]):
        if base(word) in SHELLS or word in ("source", "."):
            rest = [each for each in words[place + 1 :] if not each.startswith(("-", "+"))]
            return rest[0] if rest else None
    return words[0] if words and "/" in words[0] else None


def assigned(words: Sequence[str]) -> dict[str, str | None]:
    """Variables that stand before a command."""
    command = next(
        (
            place
            for place, word in enumerate(words)
            if not ASSIGNED.fullmatch(word) and word not in ("env", "sudo", "$")
        ),
        0,
    )
    found = (ASSIGNED.fullmatch(word) for word in words[:command])
    return {each[1]: each[2] for each in found if each}


def cluster(words: Sequence[str]) -> Described | None:
    """The container that `run_cluster.sh IMAGE ADDRESS --head|--worker CACHE [options of docker]` starts."""
    place = next((place for place, word in enumerate(words) if base(word) == RUN_CLUSTER), None)
    if place is None or len(words) < place + 5:
        return None
    image, address, node, cache, *more = words[place + 1 :]
    if node not in ("--head", "--worker"):
        return None
    options = ["--entrypoint", "/bin/bash", "--network", "host", "--gpus", "all"]
    options += ["--volume", f"{cache}:/root/.cache/huggingface", *more]
    role = ["--head", f"--node-ip-address={address}"] if node == "--head" else [f"--address={address}:6379"]
    return replace(container.typed([*options, image]), words=("ray", "start", "--block", *role), replaced=True)
