"""What `docker inspect` printed of containers, and of their images."""

from __future__ import annotations

import json

from sparkrig.parsing import bounds
from sparkrig.serving import container
from sparkrig.serving.launch import Launch, Unreadable
from sparkrig.serving.launches.shell import Shell


def read(text: str) -> list[Launch]:
    """The launches of all containers in it."""
    try:
        document = bounds.loads(text)
    except ValueError as error:
        why = f"line {error.lineno}" if isinstance(error, json.JSONDecodeError) else str(error)
        raise Unreadable(f"it begins like JSON and is none ({why}); docker inspect NAME prints some") from None
    objects = [each for each in (document if isinstance(document, list) else [document]) if isinstance(each, dict)]
    images = {str(each.get("Id")): str(each["Architecture"]) for each in objects if "Architecture" in each}
    containers = [each for each in objects if "HostConfig" in each]
    if not containers:
        raise Unreadable("it is JSON, but no container of docker inspect")
    launches: list[Launch] = []
    for each in containers:
        name = str(each.get("Name", "")).strip("/") or "without a name"
        launches += Shell(f"container {name}").contained(container.inspected(each, images))
    if not launches:
        program = container.inspected(containers[0], {}).words[0]  # its arguments may hold a secret
        raise Unreadable(f"the container runs `{program}`, which is no vLLM; give the command typed inside it")
    return launches
