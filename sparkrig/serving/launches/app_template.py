"""Values of bjw-s's chart app-template, alone or in Flux's HelmRelease: a pod for each of `controllers`.

Home clusters deploy all sorts of programs with it, and its words are those of a pod, but for what has a name in
place of a list: containers, variables, and the mounts, which stand under `persistence` [@rwlove-home-ops].
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sparkrig.serving.launches.documents import rows, table


def is_one(values: Mapping[str, Any]) -> bool:
    """Whether these are such values."""
    return any(table(table(each).get("containers")) for each in table(values.get("controllers")).values())


def pods(values: Mapping[str, Any], name: str = "") -> list[dict[str, Any]]:
    """What the chart makes of such values: a pod of each controller. name: of the release."""
    controllers = table(values["controllers"])
    return [_pod(values, each, table(one), name) for each, one in controllers.items()]


def _pod(values: Mapping[str, Any], controller: str, given: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A pod: options of all pods, then those of its own."""
    spec = {**table(values.get("defaultPodOptions")), **table(given.get("pod"))}
    containers = table(given.get("containers"))
    spec["containers"] = [_container(values, controller, each, table(one)) for each, one in containers.items()]
    spec["volumes"] = [_volume(each, table(one)) for each, one in table(values.get("persistence")).items()]
    called = " ".join(dict.fromkeys(each for each in (name, controller) if each))
    kind = "HelmRelease" if name else "Helm values"
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": called}, "spec": spec}


def _container(values: Mapping[str, Any], controller: str, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    image = table(given.get("image"))
    told = (image.get("repository", ""), image.get("tag", ""), image.get("digest", ""))
    text = "".join(f"{sign}{each}" for sign, each in zip(("", ":", "@"), told, strict=True) if each)
    return {
        **given,
        "image": text or str(given.get("image") or ""),
        "command": _listed(given.get("command")),
        "args": _listed(given.get("args")),
        "env": [*_variables(given.get("env"))],
        "volumeMounts": [*_mounts(table(values.get("persistence")), controller, name)],
    }


def _listed(given: Any) -> list[Any]:
    return rows(given) if isinstance(given, list) or given is None else [given]


def _variables(given: Any) -> Iterator[Mapping[str, Any]]:
    """A list as a pod has it, or names with their values, each a text or what a pod has beside its name."""
    yield from map(table, rows(given))
    for name, value in table(given).items():
        yield {"name": name, **value} if isinstance(value, Mapping) else {"name": name, "value": value}


def _mounts(persistence: Mapping[str, Any], controller: str, name: str) -> Iterator[dict[str, Any]]:
    """Where a container sees what is kept: at a path of its own, of all containers, or at `/NAME`."""
    for volume, given in ((each, table(one)) for each, one in persistence.items()):
        own = table(table(given.get("advancedMounts")).get(controller)).get(name)
        apart = "advancedMounts" in given or "globalMounts" in given
        for mount in map(table, [*rows(own), *rows(given.get("globalMounts"))] if apart else [{}]):
            path = {"mountPath": mount.get("path", f"/{volume}")}
            yield {"name": volume, **path, **({"subPath": mount["subPath"]} if mount.get("subPath") else {})}


def _volume(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {"name": name}
    if given.get("hostPath"):
        kept["hostPath"] = {"path": given["hostPath"]}
    if given.get("existingClaim"):
        kept["persistentVolumeClaim"] = {"claimName": given["existingClaim"]}
    return kept
