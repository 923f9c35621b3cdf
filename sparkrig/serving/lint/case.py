"""A launch, and what follows from it: what the rules judge."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from sparkrig.parsing import hub
from sparkrig.serving.budget import BITS
from sparkrig.serving.container import Container
from sparkrig.serving.flags import Knowledge, Version, version
from sparkrig.serving.launch import SERVER, Launch
from sparkrig.serving.lint.families import Family, named
from sparkrig.serving.model import Checkpoint, Model

# 30B-A3B, 8x7B
_MIXTURE = re.compile(r"(?<![a-z\d])a\d+(?:\.\d+)?b(?![a-z])|(?<!\d)\d+x\d+b")
_PARAMETERS = re.compile(r"(?<![a-z\d.])(?:(\d+)x)?(\d+(?:\.\d+)?)b(?![a-z\d])")
_SHARED = 0.8  # of experts x size: Mixtral's share their attention, 46.7 B of 8x7B and 141 B of 8x22B
# a file of vLLM's own where a container sees it
_VLLM_FILE = re.compile(r"/(?:dist|site)-packages/vllm/")
# speculative decoding by what its own model is called, where the method is not named
_DRAFTS = ("dspark", "dflash", "eagle3", "mtp")
# scales and layers of 16 bits beside the 4 bits of the name: 75 GiB of Nemotron-3-Super, of which it shows 63
_BESIDE = 1.19


Find = Callable[[str], Model | None]
Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Hit:
    """What a judge saw.

    better: what to set, where it knows more than the rule; severity: where it is milder than the rule's.
    """

    found: str
    better: str = ""
    severity: Severity | None = None


@dataclass(frozen=True)
class Case:
    """A launch, and what follows from it.

    find: the catalogue; sparks: how many there are, None for up to two; vllm: the version, None where the image is
    to show it; tables: what each version takes, None where no word is to be asked.
    """

    launch: Launch
    find: Find
    sparks: int | None = None
    vllm: Version | None = None
    tables: Knowledge | None = None

    @cached_property
    def model(self) -> Model | None:
        return next((found for name in self.launch.names if (found := self.find(name))), None)

    @cached_property
    def checkpoint(self) -> Checkpoint | None:
        """The one that is served, None where that is unknown.

        Several owners use one name [@docai-122b], so OWNER/NAME is taken as it stands. The name that a
        model is served as shows no format where it is the model's own name.
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
        """Of the weights: the catalogue's word, else what the name has, else bf16 for a plain name on the hub."""
        if self.checkpoint:
            return self.checkpoint.format
        plain = hub.ID.fullmatch(self.launch.model) is not None
        return self.told_format or ("bf16" if plain else "")

    @cached_property
    def told_format(self) -> str:
        """The same, empty for a plain name of a maker that also publishes quantized weights under one."""
        if self.checkpoint:
            return self.checkpoint.format
        return next((family.format for family in self.families if family.format and self._told(family)), "")

    def _told(self, family: Family) -> bool:
        """Whether a family's format is that of the weights: BF16 only of what is served by that very name."""
        return family.format != "bf16" or named(family.model, self.launch.model)

    @cached_property
    def families(self) -> tuple[Family, ...]:
        known = self.tables.families if self.tables else ()
        return tuple(each for each in known if named(each.model, self.name))

    def has(self, trait: str) -> bool:
        """Whether a trait of models/lint/ holds: of the launch, or else of the family that the name tells."""
        name = trait.replace("-", "_")
        own = getattr(self, name) if hasattr(Case, name) else getattr(self.launch, name, None)
        return self._family(trait) if own is None else bool(own)

    def _family(self, trait: str) -> bool:
        return any(trait in family.traits for family in self.families)

    @property
    def served_format(self) -> str:
        """What vLLM computes with: FP8 where --quantization fp8 makes it of BF16."""
        return "fp8" if self.quantization == "fp8" and self.format in ("bf16", "") else self.format

    @property
    def computed_format(self) -> str:
        """The format as far as it is told, or what vLLM is to make of plain weights."""
        return self.quantization if self.quantization and self.told_format in ("bf16", "") else self.told_format

    @property
    def called(self) -> str:
        """The model as a person would call it: a name rather than a path inside a container."""
        names = [name for name in self.launch.names if not name.startswith("/")]
        if self.launch.model in names:
            return self.launch.model
        cached = next((place for place in self.launch.places if hub.ID.fullmatch(place)), "")
        path = next((name for name in reversed(self.launch.names) if name.startswith("/")), "the model")
        last = path.rpartition("/")[2]
        # a `/` inside ${NAME#*/} parts nothing
        return cached or (last if last.count("{") == last.count("}") else path)

    @cached_property
    def mixture(self) -> bool:
        known = self.model.architecture if self.model else ""
        return known.startswith("moe") if known else bool(_MIXTURE.search(self.name)) or self._family("mixture")

    @cached_property
    def hybrid(self) -> bool:
        """Whether it has layers with a state, be they GatedDeltaNet's or Mamba's."""
        return self._family("hybrid") or bool(self.model and "hybrid" in self.model.architecture)

    @cached_property
    def pooling(self) -> bool:
        """Whether it embeds or ranks, and generates nothing."""
        asked = {self.launch.text("runner"), self.launch.text("convert"), self.launch.text("task")}
        return bool(asked & {"pooling", "embed", "classify", "reward", "score"}) or self._family("pooling")

    @cached_property
    def speculative(self) -> Mapping[str, Any]:
        return self.launch.table("speculative-config")

    @cached_property
    def drafting(self) -> str:
        """How tokens are drafted: the method, or what the drafting model is called; empty where none are."""
        method = str(self.speculative.get("method") or "").lower()
        named = str(self.speculative.get("model") or "").lower()
        called = next((word for word in _DRAFTS if word in named), "")
        return "mtp" if "mtp" in method else method or called

    @property
    def drafted(self) -> int:
        """Tokens a step that are drafted."""
        found = str(self.speculative.get("num_speculative_tokens", ""))
        return int(found) if found.isdigit() else 0

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
    def loaded_gib(self) -> float | None:
        """What all nodes load together, else the least by parameters and format; None where neither is known."""
        bits = BITS.get(self.served_format)
        if self.weights_gib is not None or not bits or not self.parameters_b:
            return self.weights_gib
        return self.parameters_b * 1e9 * bits / 8 / 2**30

    @property
    def each_gib(self) -> float:
        """What each node loads, 0 where that is not known."""
        told = self.weights_gib is None and self.served_format not in ("bf16", "fp8")
        return (self.loaded_gib or 0) * (_BESIDE if told else 1) / (self.world or 1)

    @property
    def parameters_b(self) -> float:
        """In billions: the catalogue's word, else what the name has, else none."""
        said, known = _PARAMETERS.search(self.name), self.model.parameters_b if self.model else None
        if known or said is None:
            return known or 0
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
        """Whether more than one Spark serves: Ray with one GPU is no pair [@jdaln-stack]."""
        unread = self.gpus is None and self.ray
        return self.launch.ray or unread or self.nnodes > 1 or (self.gpus or 1) > 1

    @property
    def container(self) -> Container:
        return self.launch.container or Container(self.launch.image)

    @property
    def contained(self) -> bool:
        """Whether all options of its container are seen."""
        return self.launch.container is not None and not self.launch.wrapper and self.container.whole

    @property
    def bare(self) -> bool:
        """Whether it is a plain command: no container and no script that may bring a fork of vLLM."""
        launch = self.launch
        return launch.container is None and not (launch.image or launch.wrapper or launch.unseen)

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
    def patched(self) -> bool:
        """Whether files of vLLM are mounted over the image's own or changed, or another vLLM is installed."""
        changed = self.launch.installs_vllm or self.launch.mods
        return changed or any(_VLLM_FILE.search(mount.target) for mount in self.launch.mounts)

    @cached_property
    def version(self) -> Version | None:
        if self.vllm:
            return self.vllm
        if self.launch.installs_vllm:
            return None
        if self.ngc:
            return self.tables.images.get("{:02}.{:02}".format(*self.ngc)) if self.tables else None
        # a digest alone has no version; a tag of someone else's image is no version of vLLM
        tag = re.search(r":v?(\d+\.\d+\.\d+)", self.image)
        return version(tag[1]) if self.stock and tag else None

    @property
    def official(self) -> bool:
        """Whether the image is vLLM's own or NVIDIA's, unchanged, and so takes what that release takes."""
        return (self.stock or self.ngc is not None) and not self.patched

    @property
    def released(self) -> bool:
        """Whether it is served by that very release: an official image, or a plain command."""
        return self.official or self.bare

    @property
    def fork(self) -> bool:
        """Whether what serves may know more than that release."""
        return not self.released

    def missing(self, *names: str) -> list[str]:
        """Variables that are not set; empty where the environment is not all known."""
        return [name for name in names if name not in self.launch.environment] if self.launch.whole else []


Check = Callable[[Case], Iterable[Hit]]
