"""Objects of Kubernetes: each container of each pod, wherever its kind keeps the pod's spec.

Deployment, StatefulSet, Job and Pod have one place each, LeaderWorkerSet and RayCluster one for each role; all
have a mapping with `containers`, which is what is looked for. Scripts and variables in a ConfigMap beside them are
read; `valueFrom` a secret or a field is a variable whose value is not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sparkrig.serving.container import Container, Described, Mount
from sparkrig.serving.launch import Launch, Unreadable
from sparkrig.serving.launches.documents import rows, table
from sparkrig.serving.launches.shell import Shell
from sparkrig.serving.launches.started import World

_REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_][\w.-]*)\)")
_ROLES = {
    "leaderTemplate": "leader",
    "workerTemplate": "worker",
    "headGroupSpec": "head",
    "workerGroupSpecs": "worker",
}


@dataclass(frozen=True)
class _Pod:
    """source: the object and the role, in words; ray: whether it is a node of Ray by its kind."""

    source: str
    spec: Mapping[str, Any]
    ray: bool


def is_one(document: Mapping[str, Any]) -> bool:
    """Whether this is an object of Kubernetes."""
    return "apiVersion" in document and "kind" in document


def read(documents: Sequence[Mapping[str, Any]]) -> list[Launch]:
    """The launches of all pods. Raises Unreadable where there is none."""
    objects = [each for document in documents for each in _listed(document)]
    maps = {_name(each): table(each.get("data")) for each in objects if each.get("kind") == "ConfigMap"}
    found: list[Launch] = []
    for pod in (pod for each in objects for pod in _pods(each)):
        found += [
            launch for each in rows(pod.spec.get("containers")) for launch in _launches(pod, table(each), maps)
        ]
    if not found:
        kinds = ", ".join(dict.fromkeys(str(each.get("kind")) for each in objects))
        raise Unreadable(f"no container of the Kubernetes objects runs vLLM ({kinds})")
    return found


def _listed(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [table(each) for each in rows(document.get("items"))] if document.get("kind") == "List" else [document]


def _name(each: Mapping[str, Any]) -> str:
    return str(table(each.get("metadata")).get("name", "without a name"))


def _pods(document: Mapping[str, Any]) -> Iterator[_Pod]:
    kind = str(document.get("kind", ""))
    for spec, role in _specs(document, ""):
        yield _Pod(f"{kind} {_name(document)}{' ' * bool(role)}{role}", spec, kind.startswith("Ray"))


def _specs(value: Any, role: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Each mapping with containers, and the role that its place gives it."""
    if isinstance(value, Mapping):
        if isinstance(value.get("containers"), list):
            yield value, role
            return
        for name, each in value.items():
            yield from _specs(each, _ROLES.get(name, role))
    for each in rows(value):
        yield from _specs(each, role)


def _launches(pod: _Pod, given: Mapping[str, Any], maps: Mapping[str, Mapping[str, Any]]) -> list[Launch]:
    environment, whole = _environment(given, maps)
    described = Described(
        _container(pod.spec, given),
        (*_words(given.get("command"), environment), *_words(given.get("args"), environment)),
        environment,
        whole,
        replaced=bool(given.get("command")),
    )
    shell = Shell(pod.source, environment, World(files=_files(pod.spec, given, maps)))
    found = shell.contained(described)
    if found or not pod.ray:
        return found
    ray = Launch(pod.source, environment=environment, ray=True, container=described.container)
    return [replace(ray, mounts=described.container.mounts, whole=whole)]


def _words(given: Any, environment: Mapping[str, str | None]) -> tuple[str, ...]:
    """The words with `$(NAME)` filled in where the value is seen."""

    def value(found: re.Match[str]) -> str:
        return "$" if found[0] == "$$" else environment.get(found[1]) or found[0]

    return tuple(_REFERENCE.sub(value, _said(each)) for each in rows(given))


def _said(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _environment(
    given: Mapping[str, Any], maps: Mapping[str, Mapping[str, Any]]
) -> tuple[dict[str, str | None], bool]:
    """The variables, and whether they are all named."""
    found: dict[str, str | None] = {}
    whole = True
    for each in map(table, rows(given.get("envFrom"))):
        data = maps.get(str(table(each.get("configMapRef")).get("name")))
        whole = whole and data is not None
        found |= {f"{each.get('prefix', '')}{name}": _said(value) for name, value in (data or {}).items()}
    for each in map(table, rows(given.get("env"))):
        key = table(table(each.get("valueFrom")).get("configMapKeyRef"))
        referred = maps.get(str(key.get("name")), {}).get(str(key.get("key")))
        value = each.get("value", referred)
        hidden = value is None and "valueFrom" in each
        found[str(each.get("name"))] = None if hidden else _said(value if value is not None else "")
    return found, whole


def _container(spec: Mapping[str, Any], given: Mapping[str, Any]) -> Container:
    security = table(given.get("securityContext"))
    resources = table(given.get("resources"))
    limits = table(resources.get("limits"))
    asked = [*limits, *table(resources.get("requests"))]
    gpus = any(name.startswith("nvidia.com/") for name in asked) or spec.get("runtimeClassName") == "nvidia"
    added = rows(table(security.get("capabilities")).get("add"))
    return Container(
        image=str(given.get("image", "")),
        gpus=gpus or bool(spec.get("resourceClaims")),
        privileged=security.get("privileged") is True,
        network="host" if spec.get("hostNetwork") is True else "",
        ipc="host" if spec.get("hostIPC") is True else "",
        # a plugin such as Mellanox/k8s-rdma-shared-dev-plugin hands it to who asks for its resource
        devices=("/dev/infiniband",) * any(name.startswith("rdma/") for name in asked),
        capabilities=tuple(str(each).upper().removeprefix("CAP_") for each in added),
        memory=str(limits.get("memory", "")),
        mounts=tuple(_mount(spec, table(each)) for each in rows(given.get("volumeMounts"))),
    )


def _volume(spec: Mapping[str, Any], mount: Mapping[str, Any]) -> Mapping[str, Any]:
    found = (table(each) for each in rows(spec.get("volumes")))
    return next((each for each in found if each.get("name") == mount.get("name")), {})


def _mount(spec: Mapping[str, Any], mount: Mapping[str, Any]) -> Mount:
    volume = _volume(spec, mount)
    path = table(volume.get("hostPath")).get("path")
    claim = table(volume.get("persistentVolumeClaim")).get("claimName")
    source = str(path or claim or "")
    return Mount(
        f"{source.rstrip('/')}/{mount['subPath']}" if source and mount.get("subPath") else source, _path(mount)
    )


def _path(mount: Mapping[str, Any]) -> str:
    return str(mount.get("mountPath", ""))


def _files(
    spec: Mapping[str, Any], given: Mapping[str, Any], maps: Mapping[str, Mapping[str, Any]]
) -> dict[str, str]:
    """Files of ConfigMaps by the path at which the container sees them."""
    found: dict[str, str] = {}
    for mount in map(table, rows(given.get("volumeMounts"))):
        volume = table(_volume(spec, mount).get("configMap"))
        renamed = {str(each.get("key")): str(each.get("path")) for each in map(table, rows(volume.get("items")))}
        for key, text in maps.get(str(volume.get("name")), {}).items():
            name = renamed.get(key, key)
            alone = mount.get("subPath") == name
            if alone or not mount.get("subPath"):
                found[_path(mount) if alone else f"{_path(mount).rstrip('/')}/{name}"] = str(text)
    return found
