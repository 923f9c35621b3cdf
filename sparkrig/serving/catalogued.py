"""The launches that the catalogue has of a model, as they would be if they were typed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace

from sparkrig.serving import launch_text
from sparkrig.serving.launch import Launch
from sparkrig.serving.model import Model


def launches(model: Model) -> Iterator[tuple[Launch, int]]:
    """Each launch of the model, and the number of Sparks that it is for.

    The container of a launch without options for docker is unknown. A launch that was not plainly typed may have
    been given more than is written down.
    """
    for each in model.launches:
        served = ["vllm", "serve", each.checkpoint or model.best().id, *each.arguments()]
        variables = [f"{name}={value}" for name, value in each.environment.items()]
        words = [*variables, *served]
        if each.container:
            given = [word for pair in variables for word in ("-e", pair)]
            words = ["docker", "run", *shlex.split(each.container), *given, each.image, *served]
        (launch,) = launch_text.typed(words)
        solo = "--solo" in each.typed.split()
        yield replace(launch, source=f"{model.name}, {each.title}", wrapper=each.typed, solo=solo), each.nodes
