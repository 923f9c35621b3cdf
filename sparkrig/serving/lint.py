"""Judgement on a launch of vLLM: which rules it breaks, what was seen, and what to set instead.

What cannot be seen is not judged: a bare command says nothing of its container, and of an environment that is read
in part nothing is missing. The model is looked up by the function that is passed in; of one that it does not know,
the name tells what it can.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from sparkrig.parsing import hub
from sparkrig.serving.container import Container
from sparkrig.serving.launch import SERVER, Launch
from sparkrig.serving.rules import RULES, Rule, Severity, Version, version
from sparkrig.text import listed

MEMORY_GIB = 121.7  # what vLLM sees of a Spark's 128 GB [@docai-122b]
HIGHEST, SAFE = 0.90, 0.80
_BF16_GIB = 100e9 / 2**30  # BF16 fits where the weights are below about 100 GB [@conselara-models]
_BATCH, _GRAPHS, _LONG = 8192, 2048, 100_000  # [@docai-122b, @conselara-hardware]
_FILES = 65536  # more than the usual 1024: our own reasoning
# NGC's images by the vLLM in them: [@conselara-benchmarks, @vllm-30163]
_NGC = {(25, 11): (0, 11, 0), (26, 4): (0, 19, 0)}
_NO_RAY = ((26, 5),)  # [@nvidia-playbook]
_NO_FASTSAFETENSORS = ((26, 3), (26, 4))  # [@conselara-hardware]
_FIRST_ARM = (0, 10, 1)  # published for arm64 after it [@vllm-22206, @vllm-23210]

# What a checkpoint's name says of its format, the more telling word first.
_FORMATS = (
    ("nvfp4", r"nvfp4|\bfp4\b"),
    ("bf16", r"\bbf16\b"),
    ("mxfp4", r"mxfp4|gpt-?oss"),
    ("int4-gptq", r"gptq"),
    ("int4-awq", r"awq"),
    ("gguf", r"gguf|\bq\d_k"),
    ("int4", r"int4|w4a16|auto-?round|4bit"),
    ("fp8", r"fp8|w8a8|deepseek-(?:v3|r1)|minimax-m\d|kimi-k2"),
)
_MIXTURE = re.compile(
    r"(?<![a-z\d])a\d+(?:\.\d+)?b(?![a-z])|\d+x\d+b|mixtral|moe|gpt-?oss|deepseek-(?:v[234]|r1)|glm-?(?:4\.[5-9]|5)"
    r"|minimax-m\d|kimi-k\d|qwen3-next|llama-?4"
)
_PARAMETERS = re.compile(r"(?<![a-z\d.])(?:(\d+)x)?(\d+(?:\.\d+)?)b(?![a-z\d])")
_SHARED = 0.8  # of experts x size: Mixtral's share their attention, 46.7 B of 8x7B and 141 B of 8x22B
# Gated DeltaNet: Qwen3-Next, and by vLLM's log [@docai-122b] what is built on Qwen3.5
_HYBRID = re.compile(r"qwen-?3\.?[56](?!\d)|qwen3-next|kimi-linear")
# what --quantization may be called for a format
_METHODS = {
    "bf16": {"fp8", "bitsandbytes", "experts_int8", "int8", "torchao", "mxfp4", "mxfp8", "modelopt"},
    "fp8": {"fp8", "compressed-tensors", "modelopt", "fbgemm_fp8", "modelopt_fp8"},
    "nvfp4": {"compressed-tensors", "modelopt", "modelopt_fp4", "modelopt_mixed", "nvfp4"},
    "mxfp4": {"mxfp4", "gpt_oss_mxfp4"},
    "int4-gptq": {"gptq", "gptq_marlin", "moe_wna16", "auto-round", "inc"},
    "int4-awq": {"awq", "awq_marlin", "moe_wna16", "compressed-tensors"},
    "gguf": {"gguf"},
}
_PREFERRED = ("int4-gptq", "fp8", "bf16")  # the decision tree of [@conselara-models], after gpt-oss


class Checkpoint(Protocol):
    """Of the catalogue: one set of weights.

    nodes: how many Sparks it was run on; draft: None where it is not known whether MTP weights are in it.
    """

    @property
    def id(self) -> str: ...
    @property
    def format(self) -> str: ...
    @property
    def weights_gib(self) -> float | None: ...
    @property
    def nodes(self) -> int: ...
    @property
    def draft(self) -> bool | None: ...
    @property
    def bad(self) -> str: ...


class Model(Protocol):
    """Of the catalogue.

    architecture: `dense`, `moe`, `dense hybrid` or `moe hybrid`; standing: `avoid` where it is advised against.
    """

    @property
    def name(self) -> str: ...
    @property
    def architecture(self) -> str: ...
    @property
    def parameters_b(self) -> float: ...
    @property
    def standing(self) -> str: ...
    @property
    def why(self) -> str: ...
    @property
    def checkpoints(self) -> Sequence[Checkpoint]: ...


Find = Callable[[str], Model | None]


@dataclass(frozen=True)
class Finding:
    """A rule that a launch breaks. found: what was seen, without a full stop; better: what to set."""

    rule: Rule
    found: str
    better: str

    @property
    def severity(self) -> Severity:
        return self.rule.severity


@dataclass(frozen=True)
class Hit:
    """What a judge saw; better: what to set, where it knows more than the rule."""

    found: str
    better: str = ""


def judge(case: Case) -> list[Finding]:
    """What a launch breaks, the worst first."""
    ray = case.launch.ray
    asked = [rule for rule in RULES if rule.concerns(case.version) and (not ray or rule.topic in _OF_RAY)]
    found = [
        Finding(rule, hit.found, hit.better or (rule.composed if case.launch.composed else "") or rule.better)
        for rule in asked
        for hit in _JUDGES[rule.id](case)
    ]
    weight = ("error", "warning", "note")
    return sorted(found, key=lambda each: weight.index(each.severity))


_OF_RAY = ("container", "environment")  # what a node of Ray, which serves nothing itself, can be asked


@dataclass(frozen=True)
class Case:
    """A launch, and what follows from it.

    find: the catalogue; sparks: how many there are, None for up to two; vllm: the version, None where the image is
    to tell it.
    """

    launch: Launch
    find: Find
    sparks: int | None = None
    vllm: Version | None = None

    @cached_property
    def model(self) -> Model | None:
        return next((found for name in self.launch.names if (found := self.find(name))), None)

    @cached_property
    def checkpoint(self) -> Checkpoint | None:
        """The one that is served, where that can be told.

        Several owners use one name [@docai-122b], so OWNER/NAME is taken as it stands. What a model is served as
        tells no format where it is the model's own name.
        """
        if self.model is None:
            return None
        ids = {each.id.lower(): each for each in self.model.checkpoints}
        owned = [name.lower() for name in self.launch.places if hub.ID.fullmatch(name)]
        if owned:
            return next((ids[name] for name in owned if name in ids), None)
        folders = {name: each for each in reversed(self.model.checkpoints) for name in hub.folders(each.id)}
        names = [
            each for each in self.launch.names if each in self.launch.places or each.lower() != self.model.name
        ]
        told = [ids.get(hub.whole(name)) or folders.get(name.lower().rpartition("/")[2]) for name in names]
        return next((each for each in told if each), None)

    @cached_property
    def name(self) -> str:
        """All that the model is called, in small letters."""
        return " ".join(self.launch.names).lower()

    @cached_property
    def format(self) -> str:
        """Of the weights: the catalogue's word, else what the name says, else bf16 for a plain name on the hub."""
        if self.checkpoint:
            return self.checkpoint.format
        said = next((kind for kind, word in _FORMATS if re.search(word, self.name.replace("_", "-"))), "")
        plain = hub.ID.fullmatch(self.launch.model) is not None
        return said or ("bf16" if plain else "")

    @property
    def called(self) -> str:
        """The model as a person would call it: a name rather than a path inside a container."""
        names = [each for each in self.launch.names if not each.startswith("/")]
        path = next((each for each in reversed(self.launch.names) if each.startswith("/")), "the model")
        return self.launch.model if self.launch.model in names else path.rpartition("/")[2]

    @property
    def said(self) -> str:
        """The model and its format, and how that is known."""
        known = "in the catalogue" if self.checkpoint else "by its name"
        return f"{self.called} is {self.format} {known}"

    @cached_property
    def mixture(self) -> bool:
        known = self.model.architecture if self.model else ""
        return known.startswith("moe") if known else bool(_MIXTURE.search(self.name))

    @cached_property
    def hybrid(self) -> bool:
        return bool(_HYBRID.search(self.name)) or bool(self.model and "hybrid" in self.model.architecture)

    @property
    def gpt_oss(self) -> bool:
        return re.search(r"gpt-?oss", self.name) is not None and self.format == "mxfp4"

    @property
    def quantization(self) -> str:
        return self.launch.text("quantization").lower()

    @property
    def weights_gib(self) -> float | None:
        """What all nodes load together; half of it where BF16 becomes FP8."""
        if self.checkpoint is None or self.checkpoint.weights_gib is None:
            return None
        halved = self.format == "bf16" and self.quantization == "fp8"
        return self.checkpoint.weights_gib / (2 if halved else 1)

    @property
    def parameters_b(self) -> float:
        """In billions: the catalogue's word, else what the name says, else none."""
        said = _PARAMETERS.search(self.name)
        if self.model or said is None:
            return self.model.parameters_b if self.model else 0
        return float(said[2]) * (int(said[1]) * _SHARED if said[1] else 1)

    @cached_property
    def world(self) -> int | None:
        """GPUs that one copy of the model is spread over."""
        return self._product("tensor-parallel-size", "pipeline-parallel-size", "prefill-context-parallel-size")

    @cached_property
    def gpus(self) -> int | None:
        """GPUs that all copies want; None where a number cannot be read."""
        copies = self._product("data-parallel-size")
        return None if self.world is None or copies is None else self.world * copies

    def _product(self, *flags: str) -> int | None:
        made = 1
        for flag in flags:
            count = self.launch.whole_number(flag, 1)
            if count is None or count < 1:
                return None
            made *= count
        return made

    @property
    def nnodes(self) -> int:
        return self.launch.whole_number("nnodes", 1) or 1

    @property
    def ray(self) -> bool:
        return self.launch.ray or self.launch.text("distributed-executor-backend") == "ray"

    @property
    def paired(self) -> bool:
        """Whether more than one Spark serves."""
        return self.ray or self.nnodes > 1 or (self.gpus or 1) > 1

    @property
    def container(self) -> Container:
        return self.launch.container or Container()

    @property
    def contained_pair(self) -> bool:
        return self.paired and self.launch.container is not None

    @property
    def image(self) -> str:
        return self.container.image.lower()

    @cached_property
    def ngc(self) -> tuple[int, int] | None:
        """Year and month of NVIDIA's image."""
        found = re.search(r"nvcr\.io/nvidia/vllm:(\d\d)\.(\d\d)", self.image)
        return (int(found[1]), int(found[2])) if found else None

    @property
    def stock(self) -> bool:
        """Whether the image is vLLM's own."""
        return SERVER.match(self.image) is not None

    @cached_property
    def version(self) -> Version | None:
        if self.vllm:
            return self.vllm
        if self.ngc:
            return _NGC.get(self.ngc)
        tag = re.search(r":v?(\d+\.\d+\.\d+)", self.image)
        return version(tag[1]) if self.stock and tag else None

    @property
    def attention(self) -> tuple[str, str]:
        """What sets the attention backend, and the backend in capitals."""
        flag, table = self.launch.text("attention-backend"), self.launch.table("attention-config")
        variable = self.launch.variable("VLLM_ATTENTION_BACKEND")
        if flag:
            return f"--attention-backend {flag}", flag.upper()
        if "backend" in table:
            return f"--attention-config.backend {table['backend']}", str(table["backend"]).upper()
        return (f"VLLM_ATTENTION_BACKEND={variable}", variable.upper()) if variable else ("", "")

    def missing(self, *names: str) -> list[str]:
        """Variables that are not set, where that can be told."""
        return [name for name in names if name not in self.launch.environment] if self.launch.whole else []


Judge = Callable[[Case], Iterable[Hit]]


def _utilization(case: Case) -> float | None:
    return case.launch.number("gpu-memory-utilization")


# --- memory


def _above(case: Case) -> Iterator[Hit]:
    share = _utilization(case)
    if share is not None and share > HIGHEST:
        yield Hit(f"--gpu-memory-utilization {share:g} leaves {_left(share)} for all else")


def _high(case: Case) -> Iterator[Hit]:
    share = _utilization(case)
    if share is not None and SAFE < share <= HIGHEST:
        yield Hit(f"--gpu-memory-utilization {share:g} leaves {_left(share)} for all else")


def _left(share: float) -> str:
    return f"{MEMORY_GIB * (1 - share):.1f} GiB" if share < 1 else "nothing"


def _unset(case: Case) -> Iterator[Hit]:
    flags = case.launch.flags
    if not {"gpu-memory-utilization", "kv-cache-memory-bytes", "config"} & {*flags}:
        yield Hit("no --gpu-memory-utilization")


def _too_large(case: Case) -> Iterator[Hit]:
    share = min(_utilization(case) or HIGHEST, 1.0)
    if case.weights_gib is None or not case.gpus or not case.world:
        return
    each, room = case.weights_gib / case.world, MEMORY_GIB * share
    if each > room:
        yield Hit(
            f"{each:.0f} GiB of weights on each Spark, and {room:.0f} GiB for vLLM at {share:g}", _smaller(case)
        )


def _pair_needed(case: Case) -> Iterator[Hit]:
    if case.checkpoint and case.checkpoint.nodes > (case.gpus or 1) and not [*_too_large(case)]:
        yield Hit(f"{case.checkpoint.id} was only run on {case.checkpoint.nodes} Sparks, and this is for one")


def _smaller(case: Case) -> str:
    """A checkpoint of the model that fits, with half of what is left for the KV cache."""
    for each in case.model.checkpoints if case.model else ():
        if each.weights_gib and not each.bad and each.weights_gib < MEMORY_GIB * SAFE:
            return f"{each.id} ({each.format}, {each.weights_gib:.0f} GiB)"
    return ""


def _bf16(case: Case) -> Iterator[Hit]:
    if case.format != "bf16" or case.quantization or not case.world:
        return
    known = case.weights_gib is not None
    each = (case.weights_gib or 2e9 * case.parameters_b / 2**30) / case.world
    if each > _BF16_GIB and not [*_too_large(case)]:
        size = f"{each * 2**30 / 1e9:.0f} GB of BF16 weights on each Spark"
        yield Hit(size if known else f"{size}, by the parameters in its name", _smaller(case))


def _limited(case: Case) -> Iterator[Hit]:
    if case.container.memory:
        yield Hit(f"a memory limit of {case.container.memory}")


# --- quantization


def _mxfp4(case: Case) -> Iterator[Hit]:
    if case.quantization == "mxfp4" and case.format == "bf16":
        yield Hit(f"--quantization mxfp4, and {case.said}")


def _mxfp4_other(case: Case) -> Iterator[Hit]:
    if case.quantization == "mxfp4" and case.format != "bf16" and not re.search(r"gpt-?oss", case.name):
        yield Hit(f"--quantization mxfp4, and {case.called} is no gpt-oss by its name")


def _gpt_oss(case: Case) -> Iterator[Hit]:
    if case.gpt_oss and not case.quantization:
        yield Hit("gpt-oss without --quantization")


def _gptq(case: Case) -> Iterator[Hit]:
    if case.format == "int4-gptq" and case.quantization in ("", "gptq"):
        asked = f"--quantization {case.quantization}" if case.quantization else "no --quantization"
        yield Hit(f"{asked}, and {case.said}")


def _differs(case: Case) -> Iterator[Hit]:
    methods = _METHODS.get(case.format)
    if case.quantization and methods and case.quantization not in methods and case.quantization != "mxfp4":
        yield Hit(f"--quantization {case.quantization}, and {case.said}")


def _on_the_fly(case: Case) -> Iterator[Hit]:
    if case.quantization == "fp8" and case.format == "bf16":
        other = _of_format(case, "fp8")
        yield Hit(f"--quantization fp8, and {case.said}", f"{other}, without --quantization" if other else "")


def _of_format(case: Case, kind: str) -> str:
    known = case.model.checkpoints if case.model else ()
    return next((each.id for each in known if each.format == kind and not each.bad), "")


def _better(case: Case) -> Iterator[Hit]:
    if case.format not in _PREFERRED or case.quantization:
        return
    for kind in _PREFERRED[: _PREFERRED.index(case.format)]:
        if other := _of_format(case, kind):
            yield Hit(f"{case.said}, and there is one in {kind}", other)
            return


# --- kernels


def _eager(case: Case) -> Iterator[Hit]:
    if case.launch.on("enforce-eager"):
        yield Hit("--enforce-eager switches CUDA graphs off")


def _fp4(case: Case) -> bool:
    return case.format in ("nvfp4", "mxfp4")


def _moe(case: Case) -> Iterator[Hit]:
    backend = case.launch.text("moe-backend")
    if case.mixture and backend.lower() != "marlin" and not [*_cutlass(case)]:
        asked = f"--moe-backend {backend}" if backend else "no --moe-backend"
        asked = ", ".join((asked, *_flashinfer(case)))
        yield Hit(f"{asked}, and {case.called} is a mixture of experts")


def _flashinfer(case: Case) -> Iterator[str]:
    """Variables that ask for FlashInfer's mixture of experts; that of FP4 has rules of its own."""
    for name in ("VLLM_USE_FLASHINFER_MOE_FP8", "VLLM_USE_FLASHINFER_MOE_FP16", "VLLM_FLASHINFER_MOE_BACKEND"):
        value = case.launch.variable(name)
        if value not in ("", "0"):
            yield f"{name}={value}"


def _cutlass(case: Case) -> Iterator[Hit]:
    asked = {f"--{flag}": case.launch.text(flag) for flag in ("moe-backend", "mxfp4-backend")}
    asked["VLLM_NVFP4_GEMM_BACKEND"] = case.launch.variable("VLLM_NVFP4_GEMM_BACKEND")
    for name, value in asked.items():
        if "cutlass" in value.lower() and (_fp4(case) or "4" in name):
            yield Hit(f"{name} {value}")
    if case.launch.variable("VLLM_USE_FLASHINFER_MOE_FP4") == "1":
        yield Hit("VLLM_USE_FLASHINFER_MOE_FP4=1")


def _workaround(case: Case) -> Iterator[Hit]:
    if case.launch.variable("VLLM_USE_FLASHINFER_MOE_FP4") == "0":
        yield Hit("VLLM_USE_FLASHINFER_MOE_FP4=0")


def _attention(case: Case) -> Iterator[Hit]:
    setting, backend = case.attention
    if "FLASHINFER" in backend:
        fp8 = [case.said] if case.format == "fp8" else []
        fp8 += ["the KV cache is FP8"] if case.launch.text("kv-cache-dtype").startswith("fp8") else []
        yield Hit(", and ".join([setting, *fp8]))


def _fp8(case: Case) -> Iterator[Hit]:
    if "fp8" in (case.format, case.quantization) and case.launch.variable("VLLM_TEST_FORCE_FP8_MARLIN") != "1":
        where = (
            "VLLM_TEST_FORCE_FP8_MARLIN is not set"
            if case.launch.whole
            else "VLLM_TEST_FORCE_FP8_MARLIN is not seen"
        )
        yield Hit(f"FP8 weights, and {where}")


def _gdn(case: Case) -> Iterator[Hit]:
    if case.hybrid and case.ngc:
        yield Hit(f"{case.called} has GatedDeltaNet layers, and the image is NVIDIA's {_month(case.ngc)}")


def _stock(case: Case) -> Iterator[Hit]:
    if case.stock and case.format in ("fp8", "nvfp4"):
        yield Hit(f"{case.container.image} with {case.format} weights")


def _graphs(case: Case) -> Iterator[Hit]:
    size = case.launch.whole_number("max-cudagraph-capture-size", 0)
    sized = {"cudagraph-capture-sizes", "cuda-graph-sizes", "compilation-config"} & {*case.launch.flags}
    if size is not None and size < _GRAPHS and not sized and not case.launch.on("enforce-eager"):
        yield Hit(f"--max-cudagraph-capture-size {size}" if size else "no --max-cudagraph-capture-size")


def _kv_cache(case: Case) -> Iterator[Hit]:
    kind = case.launch.text("kv-cache-dtype")
    if kind in ("", "auto", "bfloat16", "float16"):
        yield Hit(f"--kv-cache-dtype {kind}" if kind else "no --kv-cache-dtype")


def _arch(case: Case) -> Iterator[Hit]:
    for name in ("TORCH_CUDA_ARCH_LIST", "FLASHINFER_CUDA_ARCH_LIST"):
        value = case.launch.variable(name)
        if value and "12.1" not in value:
            yield Hit(f"{name}={value}", f"{name}=12.1a")


# --- weights


def _bad(case: Case) -> Iterator[Hit]:
    if case.checkpoint and case.checkpoint.bad:
        yield Hit(f"{case.checkpoint.id}: {case.checkpoint.bad}", _instead(case))


def _instead(case: Case) -> str:
    """The first checkpoint of the model that nothing speaks against."""
    known = case.model.checkpoints if case.model else ()
    return next((each.id for each in known if not each.bad), "")


def _avoided(case: Case) -> Iterator[Hit]:
    if case.model and case.model.standing == "avoid":
        yield Hit(f"{case.model.name}: {case.model.why}")


def _mtp(case: Case) -> Iterator[Hit]:
    method = str(case.launch.table("speculative-config").get("method", ""))
    if case.checkpoint and case.checkpoint.draft is False and "mtp" in method:
        yield Hit(f"speculative decoding by MTP, and {case.checkpoint.id} has no weights for it")


def _loader(case: Case) -> Iterator[Hit]:
    known = case.ngc not in _NO_FASTSAFETENSORS if case.ngc else case.launch.container or case.launch.wrapper
    if case.launch.text("load-format") == "fastsafetensors" and not known:
        where = f"NVIDIA's {_month(case.ngc)}" if case.ngc else "an image that is not seen"
        yield Hit(f"--load-format fastsafetensors in {where}")


def _snapshot(case: Case) -> Iterator[Hit]:
    for each in case.launch.mounts:
        if re.search(r"/snapshots(/|$)", each.source):
            yield Hit(f"-v {each.source}:{each.target}")


def _caches(case: Case) -> Iterator[Hit]:
    if case.launch.container is None:
        return
    targets = " ".join(f"{each.target.rstrip('/')}/" for each in case.launch.mounts)
    whole = re.search(r"/\.cache/ ", f"{targets} ") is not None
    wanted = ("/.cache/vllm/", "/.cache/flashinfer/", "/.triton/")
    lost = [name for name in wanted if name not in targets and not (whole and "cache" in name)]
    if lost:
        are = "are" if len(lost) > 1 else "is"
        yield Hit(f"{listed(f'~{name[:-1]}' for name in lost)} of the container {are} not mounted")


# --- nodes


def _most(case: Case) -> int:
    """How many Sparks there can be."""
    return case.sparks or max(2, case.nnodes)


def _beyond(case: Case) -> Iterator[Hit]:
    if case.gpus and case.gpus > _most(case):
        have = f"{_most(case)} Sparks have one each" if _most(case) > 1 else "one Spark has one"
        yield Hit(f"{_sizes(case)} wants {case.gpus} GPUs, and {have}")


def _sizes(case: Case) -> str:
    flags = (
        "tensor-parallel-size",
        "pipeline-parallel-size",
        "prefill-context-parallel-size",
        "data-parallel-size",
    )
    return " ".join(f"--{flag} {case.launch.text(flag)}" for flag in flags if case.launch.text(flag))


def _alone(case: Case) -> Iterator[Hit]:
    added = case.launch.wrapper and not case.launch.solo
    told = case.ray or case.nnodes > 1 or added or "config" in case.launch.flags
    outside = case.launch.text("distributed-executor-backend") == "external_launcher"
    if not case.world or not case.gpus or case.gpus > _most(case) or told or outside:
        return
    if case.world > 1:
        yield Hit(f"{_sizes(case)}, and neither --nnodes nor Ray")
    elif case.gpus > 1 and not _COPIES & {*case.launch.flags}:
        yield Hit(f"{_sizes(case)}, and nothing says where the other copy runs", "--data-parallel-size-local 1")


# what says where the copies of data parallelism run
_COPIES = frozenset(
    {"data-parallel-size-local", "data-parallel-rank", "data-parallel-start-rank", "data-parallel-backend"}
)


def _both(case: Case) -> Iterator[Hit]:
    if case.nnodes > 1 and case.ray:
        yield Hit(f"--nnodes {case.nnodes} and --distributed-executor-backend ray")


def _uneven(case: Case) -> Iterator[Hit]:
    if case.nnodes > 1 and case.world and case.world != case.nnodes and case.gpus == case.world:
        yield Hit(f"--nnodes {case.nnodes}, and one copy of the model on {case.world} GPU{'s' * (case.world > 1)}")


def _rank(case: Case) -> Iterator[Hit]:
    rank = case.launch.whole_number("node-rank", 0)
    if rank is not None and not 0 <= rank < case.nnodes:
        yield Hit(f"--node-rank {rank} of {case.nnodes} node{'s' * (case.nnodes > 1)}")


def _master(case: Case) -> Iterator[Hit]:
    address = case.launch.text("master-addr")
    if case.nnodes > 1 and (not address or re.match(r"127\.|localhost|::1|0\.0\.0\.0", address)):
        yield Hit(f"--master-addr {address}" if address else "--nnodes without --master-addr")


def _headless(case: Case) -> Iterator[Hit]:
    rank = case.launch.whole_number("node-rank", 0)
    if case.nnodes > 1 and rank and not case.launch.on("headless"):
        yield Hit(f"--node-rank {rank} without --headless")


def _no_ray(case: Case) -> Iterator[Hit]:
    if case.ray and case.ngc in _NO_RAY and not case.launch.installs_ray:
        yield Hit(f"Ray in {case.container.image}")


def _dropped(case: Case) -> Iterator[Hit]:
    later = case.ngc is not None and case.ngc > max(_NO_RAY)
    if case.ray and (case.stock or later) and not case.launch.installs_ray:
        yield Hit(f"Ray in {case.container.image}")


def _or_not(case: Case) -> Iterator[Hit]:
    if case.ray and case.nnodes == 1:
        yield Hit("--distributed-executor-backend ray")


# --- container


def _infiniband(case: Case) -> Iterator[Hit]:
    inside = any(each.startswith("/dev/infiniband") or each == "/dev" for each in case.container.devices)
    if case.contained_pair and not case.container.privileged and not inside:
        yield Hit("more than one Spark, and the container has no /dev/infiniband")


def _architecture(case: Case) -> Iterator[Hit]:
    said = re.search(r"(?:amd64|x86[-_]?64)", case.image)
    old = case.stock and case.version is not None and case.version < _FIRST_ARM
    if case.container.architecture not in ("", "arm64"):
        yield Hit(f"{case.container.image or 'the image'} for {case.container.architecture}")
    elif said or old:
        yield Hit(f"{case.container.image} is for amd64")


def _cuda(case: Case) -> Iterator[Hit]:
    found = re.search(r"cu(12\d|11\d)|cuda-?(1[12]\.\d)", case.image)
    if found:
        yield Hit(f"{case.container.image} is for CUDA {found[2] or f'{found[1][:2]}.{found[1][2:]}'}")


def _other_model(case: Case) -> Iterator[Hit]:
    if "hellohal2064/" in case.image and "qwen3-next" not in case.name:
        yield Hit(case.container.image)


def _digest(case: Case) -> Iterator[Hit]:
    if case.contained_pair and case.image and "sha256:" not in case.image:
        yield Hit(f"{case.container.image} is a tag, which two nodes may have resolved differently")


def _gpu(case: Case) -> Iterator[Hit]:
    if case.launch.container and not case.container.gpus:
        yield Hit("neither --gpus nor the nvidia runtime")


def _network(case: Case) -> Iterator[Hit]:
    if case.contained_pair and case.container.network != "host":
        yield Hit(f"the network is {case.container.network or 'a bridge'}")


def _ipc(case: Case) -> Iterator[Hit]:
    if case.contained_pair and case.container.ipc != "host":
        yield Hit(f"ipc is {case.container.ipc or 'private'}")


def _memlock(case: Case) -> Iterator[Hit]:
    may = (
        case.container.privileged
        or "IPC_LOCK" in case.container.capabilities
        or "ALL" in case.container.capabilities
    )
    if case.contained_pair and case.container.limits.get("memlock") != -1 and not may:
        yield Hit("memlock is docker's own limit, and IPC_LOCK is not given")


def _nofile(case: Case) -> Iterator[Hit]:
    files = case.container.limits.get("nofile", 0)
    if case.contained_pair and files != -1 and files < _FILES:
        yield Hit(f"nofile is {files}" if files else "nofile is docker's own limit")


# --- environment


def _addresses(case: Case) -> Iterator[Hit]:
    missing = case.missing("VLLM_HOST_IP", "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME") if case.paired else []
    if missing:
        yield Hit(f"{listed(missing)} not set")


def _monitor(case: Case) -> Iterator[Hit]:
    name = "RAY_memory_monitor_refresh_ms"
    value = case.launch.environment.get(name)
    if case.ray and (case.missing(name) or value not in (None, "0")):
        yield Hit(f"{name}={value}" if value else f"{name} is not set")


def _affinity(case: Case) -> Iterator[Hit]:
    if case.paired and case.missing("NCCL_IGNORE_CPU_AFFINITY"):
        yield Hit("NCCL_IGNORE_CPU_AFFINITY is not set")


def _index(case: Case) -> Iterator[Hit]:
    if value := case.launch.variable("NCCL_IB_GID_INDEX"):
        yield Hit(f"NCCL_IB_GID_INDEX={value}")


def _conf(case: Case) -> Iterator[Hit]:
    mounted = any(each.target in ("/etc/nccl.conf", "/etc") for each in case.launch.mounts)
    if case.contained_pair and not mounted and case.missing("NCCL_IB_HCA"):
        yield Hit("no NCCL_IB_HCA, and /etc/nccl.conf is not mounted")


# --- serving


def _batch(case: Case) -> Iterator[Hit]:
    tokens = case.launch.whole_number("max-num-batched-tokens", 0)
    if "speculative-config" in case.launch.flags and tokens is not None and tokens < _BATCH:
        asked = f"--max-num-batched-tokens {tokens}" if tokens else "no --max-num-batched-tokens"
        yield Hit(f"speculative decoding, and {asked}")


def _prefix(case: Case) -> Iterator[Hit]:
    if case.hybrid and case.launch.on("enable-prefix-caching"):
        yield Hit(f"--enable-prefix-caching, and {case.called} has Mamba layers")


def _no_prefix(case: Case) -> Iterator[Hit]:
    off = case.launch.flags.get("enable-prefix-caching") is False
    if off or (case.hybrid and "enable-prefix-caching" not in case.launch.flags):
        yield Hit(
            "--no-enable-prefix-caching"
            if off
            else "no --enable-prefix-caching, which hybrid models do not have by default"
        )


def _context(case: Case) -> Iterator[Hit]:
    if not {"max-model-len", "config"} & {*case.launch.flags}:
        yield Hit("no --max-model-len: vLLM takes all that the model can")


def _contexts(case: Case) -> Iterator[Hit]:
    length, at_once = case.launch.whole_number("max-model-len", 0), case.launch.whole_number("max-num-seqs", 0)
    if length and at_once and length > _LONG and at_once > 2 and not case.paired:
        yield Hit(f"{at_once} requests of up to {length} tokens at once")


# --- input


def _json(case: Case) -> Iterator[Hit]:
    for flag in case.launch.broken:
        yield Hit(f"the value of --{flag} is no JSON")


_WHOLE = (
    "tensor-parallel-size",
    "pipeline-parallel-size",
    "data-parallel-size",
    "nnodes",
    "node-rank",
    "max-model-len",
    "max-num-seqs",
    "max-num-batched-tokens",
    "max-cudagraph-capture-size",
)


def _numbers(case: Case) -> Iterator[Hit]:
    launch = case.launch
    wrong = [
        flag for flag in _WHOLE if launch.whole_number(flag, 0) is None and launch.text(flag) not in ("auto", "-1")
    ]
    share = "gpu-memory-utilization"
    wrong += [share] if share in launch.flags and launch.number(share) is None else []
    for flag in wrong:
        if "$" not in launch.text(flag):
            yield Hit(f"--{flag} {launch.text(flag)}".rstrip())


def _extra(case: Case) -> Iterator[Hit]:
    words = [word for word in case.launch.extra if "$" not in word]
    if words:
        yield Hit(f"{listed(f'`{word}`' for word in words)} beside the model {case.called}")


def _no_model(case: Case) -> Iterator[Hit]:
    if not case.launch.model and "config" not in case.launch.flags:
        yield Hit("no model")


def _unseen(case: Case) -> Iterator[Hit]:
    if "config" in case.launch.flags:
        yield Hit(f"--config {case.launch.text('config')} sets flags of its own")
    if case.launch.container and not case.launch.whole:
        yield Hit("an env file sets variables of its own")
    given = [*case.launch.flags.values(), *case.launch.extra, case.launch.model]
    variables = [value for value in given if isinstance(value, str) and "$" in value]
    if variables:
        yield Hit(f"the value of {listed(variables)} is not known")


def _month(ngc: tuple[int, int]) -> str:
    return f"{ngc[0]}.{ngc[1]:02}"


_JUDGES: dict[str, Judge] = {
    "utilization-above-0.90": _above,
    "utilization-high": _high,
    "utilization-unset": _unset,
    "weights-too-large": _too_large,
    "pair-needed": _pair_needed,
    "bf16-large": _bf16,
    "memory-limit": _limited,
    "mxfp4-on-bf16": _mxfp4,
    "mxfp4-not-gpt-oss": _mxfp4_other,
    "gpt-oss-mxfp4": _gpt_oss,
    "gptq-marlin": _gptq,
    "quantization-differs": _differs,
    "quantized-on-the-fly": _on_the_fly,
    "better-format": _better,
    "enforce-eager": _eager,
    "moe-backend": _moe,
    "cutlass-fp4": _cutlass,
    "fp4-workaround": _workaround,
    "flashinfer-attention": _attention,
    "fp8-marlin": _fp8,
    "gdn-stock-image": _gdn,
    "stock-kernels": _stock,
    "cudagraph-size": _graphs,
    "kv-cache-fp8": _kv_cache,
    "arch-list": _arch,
    "checkpoint-bad": _bad,
    "model-avoided": _avoided,
    "mtp-weights": _mtp,
    "fastsafetensors": _loader,
    "cache-snapshot": _snapshot,
    "compile-caches": _caches,
    "gpus-beyond-sparks": _beyond,
    "second-node": _alone,
    "ray-with-nnodes": _both,
    "nnodes-not-gpus": _uneven,
    "node-rank": _rank,
    "master-address": _master,
    "headless": _headless,
    "ray-not-in-image": _no_ray,
    "ray-dropped": _dropped,
    "ray-or-not": _or_not,
    "infiniband": _infiniband,
    "image-architecture": _architecture,
    "image-cuda": _cuda,
    "image-other-model": _other_model,
    "image-digest": _digest,
    "no-gpu": _gpu,
    "host-network": _network,
    "host-ipc": _ipc,
    "memlock": _memlock,
    "nofile": _nofile,
    "pair-addresses": _addresses,
    "ray-memory-monitor": _monitor,
    "cpu-affinity": _affinity,
    "gid-index": _index,
    "nccl-conf": _conf,
    "mtp-batch": _batch,
    "hybrid-prefix-cache": _prefix,
    "prefix-cache": _no_prefix,
    "context-unset": _context,
    "long-contexts": _contexts,
    "not-json": _json,
    "not-a-number": _numbers,
    "extra-words": _extra,
    "no-model": _no_model,
    "unseen": _unseen,
}


def exit_code(found: Iterable[Finding]) -> int:
    """0 where there are notes at most, else 2."""
    return 2 if any(each.severity != "note" for each in found) else 0
