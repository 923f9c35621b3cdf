"""A rule on launching vLLM as a file of models/lint/ has it: what is known, who says so, and when it is broken."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Discriminator, Field, StringConstraints, Tag, model_validator

from sparkrig.serving.flags import Version, version
from sparkrig.serving.lint import families
from sparkrig.serving.lint.case import Severity
from sparkrig.serving.lint.claims import Claim, Sentence
from sparkrig.serving.lint.families import Minor, Words

Topic = Literal[
    "memory", "quantization", "kernels", "weights", "nodes", "container", "environment", "serving", "input"
]
TOPICS: tuple[Topic, ...] = get_args(Topic)
_Own = Literal[
    "contained",
    "fork",
    "installs-ray",
    "official",
    "paired",
    "patched",
    "ray",
    "released",
    "replaced",
    "serves-twice",
    "shells",
    "stock",
    "wrapper",
]
Traits = Annotated[tuple[_Own | families.Trait, ...], Field(strict=False)]
_CONTAINER = r"^(architecture|capabilities|devices|gpus|image|ipc|memory|network|privileged|limits\.[a-z]+)$"
_Field = Annotated[str, StringConstraints(pattern=_CONTAINER)]
Claims = Annotated[tuple[Claim, ...], Field(strict=False)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, populate_by_name=True)


class Range(_Strict):
    """Of a value that is given: its bounds as a number, and words that it is none of; `*` stands for anything.

    A list, which may be empty, has none of the words of `other`.
    """

    least: Annotated[float | None, Field(alias="from", strict=False)] = None
    most: Annotated[float | None, Field(alias="to", strict=False)] = None
    above: Annotated[float | None, Field(strict=False)] = None
    below: Annotated[float | None, Field(strict=False)] = None
    other: Words = ()


def _kind(asked: object) -> str | None:
    kinds = {bool: "switch", str: "presence", Range: "range", dict: "range", list: "words", tuple: "words"}
    return kinds.get(type(asked))


# a switch that is on or off; whether it is given at all; one of these words; a range
Asked = Annotated[
    Annotated[bool, Tag("switch")]
    | Annotated[Literal["given", "absent"], Tag("presence")]
    | Annotated[Words, Tag("words")]
    | Annotated[Range, Tag("range")],
    Discriminator(
        _kind,
        custom_error_type="asked",
        custom_error_message="true, false, given, absent, a list of words or a range expected",
    ),
]


class Condition(_Strict):
    """What a launch has, all of it.

    severity: a milder one than the rule's; model: a part of its name, from one dash to another; is: what follows
    from the launch, as Case has it; not: what must not; format: of the weights as vLLM computes with them, stored:
    as they lie in the checkpoint; weights: GiB of them on each Spark, 0 where that is not known; image: a part of
    its name; nvidia: the year and month of NVIDIA's image, 26.05; gpus: that one copy takes; drafting: how tokens
    are drafted; flags, variables: by name, a field of a JSON object as FLAG.FIELD; container: what docker gives
    it, as Container has it; mounts: SOURCE:TARGET each. One of several names is enough: `mmap|mlock`.
    """

    severity: Severity | None = None
    model: Words = ()
    traits: Annotated[Traits, Field(alias="is")] = ()
    lacks: Annotated[Traits, Field(alias="not")] = ()
    format: Words = ()
    stored: Words = ()
    weights: Range | None = None
    image: Words = ()
    nvidia: Range | None = None
    gpus: int | None = None
    drafting: Words = ()
    flags: Mapping[str, Asked] = {}
    variables: Mapping[str, Asked] = {}
    container: Mapping[_Field, Asked] = {}
    mounts: Words | Range = ()

    @model_validator(mode="after")
    def _asks(self) -> Condition:
        if not self.model_fields_set:
            raise ValueError("it asks for nothing")
        return self


class Rule(_Strict):
    """One thing that a launch should be.

    id: stable; meaning: what holds where the rule is kept; reasons: who asks for it and why; against: claims of
    the opposite; better: a setting to try; composed: the same in a compose file, where it differs; holds: versions
    in words; since, before: the same of vLLM, the second no longer among them; undated: the severity where the
    version is not known, None for the same, or for no question where the rule has ended; elsewhere: the severity
    for a fork of vLLM, None for the same; engines: whose launches it is asked of, empty for all; when: any of
    these breaks it, the first that holds, unless one of the others does; found: what was seen, in words, empty for
    what `when` asks. What code computes has no `when`.
    """

    id: str
    topic: Topic
    severity: Severity
    meaning: Sentence
    reasons: Annotated[Claims, Field(min_length=1)]
    against: Claims = ()
    better: Sentence
    composed: str = ""
    holds: Sentence = "any version"
    since: Minor = ""
    before: Minor = ""
    undated: Severity | None = None
    elsewhere: Severity | None = None
    engines: Words = ("vllm",)
    when: Annotated[tuple[Condition, ...], Field(strict=False)] = ()
    unless: Annotated[tuple[Condition, ...], Field(strict=False)] = ()
    found: str = ""

    @model_validator(mode="before")
    @classmethod
    def _alone(cls, row: Any) -> Any:
        """One condition stands without a list."""
        if not isinstance(row, Mapping):
            return row
        ones = {key: [row[key]] for key in ("when", "unless") if isinstance(row.get(key), Mapping)}
        return {**row, **ones}

    @model_validator(mode="after")
    def _stands(self) -> Rule:
        if self.severity == "error" and self.against:
            raise ValueError("what somebody contests is a warning at most")
        if self.since and self.before and self.first >= self.end:
            raise ValueError(f"it begins with {self.since}, which is not before {self.before}")
        return self

    @property
    def first(self) -> Version:
        return version(self.since) or ()

    @property
    def end(self) -> Version:
        return version(self.before) or ()

    def concerns(self, found: Version | None) -> bool:
        """Whether the rule holds for a version of vLLM; None: not known, so only what has not ended may."""
        if found is None:
            return not self.end or self.undated is not None
        return found >= self.first and (not self.end or found < self.end)

    @property
    def contested(self) -> bool:
        """Whether a source found the opposite: then a launch that breaks the rule can be right."""
        return self.severity == "warning" and bool(self.against)

    @property
    def newest(self) -> str:
        """The day of its newest source."""
        return max(claim.date for claim in (*self.reasons, *self.against))

    def old(self, today: date) -> bool:
        """Whether no source of the last year speaks of it."""
        last_year = f"{today.replace(year=today.year - 1, day=min(today.day, 28))}"
        return self.newest < last_year[: len(self.newest)]  # a date may be a month
