"""The launches of tests/fixtures/launches/index.yaml, each built from its facts and judged."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from sparkrig.serving import container
from sparkrig.serving.container import Container
from sparkrig.serving.flags import Version, version
from sparkrig.serving.io import catalogue_files, lint_rules, vllm_flags
from sparkrig.serving.launch import Launch
from sparkrig.serving.lint import judgement
from sparkrig.serving.lint.case import Case
from sparkrig.serving.lint.judgement import Finding
from tests.tables import data

INDEX = Path(__file__).resolve().parents[3] / "fixtures/launches/index.yaml"
LAUNCHES: Mapping[str, Mapping[str, Any]] = {
    name: each for name, each in data(INDEX).items() if each["engine"] == "vllm"
}
KEPT_BACK: Mapping[str, Mapping[str, Any]] = yaml.safe_load(
    INDEX.with_name("kept_back.yaml").read_text(encoding="utf-8")
)
FRESH: Mapping[str, Mapping[str, Any]] = yaml.safe_load(INDEX.with_name("fresh.yaml").read_text(encoding="utf-8"))
KNOWN, TABLES = catalogue_files.catalogue(), vllm_flags.knowledge()


def built(facts: Mapping[str, Any]) -> Launch:
    """A launch as its facts have it. What a script adds to a container, or to a recipe, is not seen."""
    scripted = re.search("recipe|launch-cluster", facts["kind"]) is not None
    seen = container.typed([*shlex.split(facts["container"]), facts["image"]]) if "container" in facts else None
    inside = seen.container if seen else Container(facts["image"]) if scripted and facts.get("image") else None
    node = facts["model"].startswith("none")
    return Launch(
        source=facts["source"],
        model="" if node else facts["model"].split(" (")[0],
        flags={} if node else facts["flags"],
        environment=facts.get("environment", {}),
        container=inside,
        mounts=inside.mounts if inside else (),
        wrapper="recipe" if scripted else "",
        replaced=facts.get("replaced", False),
        ray=node,
        installs_ray=node,
        serves_twice=facts.get("twice", False),
        whole=facts.get("whole", False),
        engine=facts["engine"],
    )


def told_version(facts: Mapping[str, Any]) -> Version | None:
    """What `--vllm` would be given: of an image that the launch itself does not show, or of a build by hand."""
    image = re.search(r"vllm/vllm-openai:v(\S+)", facts.get("image", "")) if "container" not in facts else None
    found = version(image[1] if image else facts["version"])
    return found if found and found >= (0, 11) else None  # 0.1.dev20073 is a build of no release


def judged(facts: Mapping[str, Any]) -> list[Finding]:
    launch = built(facts)
    return judgement.judge(
        Case(launch, KNOWN.find, max(2, facts["hosts"]), told_version(facts), TABLES), lint_rules.rules()
    )
