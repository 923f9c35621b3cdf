"""Hosts that are to be alike and are not: what else each of them has, and what brings them together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from sparkrig.cure import quoted, verb
from sparkrig.host.driver import branch, newer
from sparkrig.resources import containers
from sparkrig.resources.check import Check, Subject
from sparkrig.resources.kind import DIFFER, to_read
from sparkrig.resources.state import State

PAGE = to_read(DIFFER)


def notes(id: str, found: State) -> tuple[str, ...]:
    """What is worth knowing of a host beside the value that differs; sentences without a full stop."""
    if id == "identity.kernel":
        return (_boots(found), *_installed(found, "linux-image-"))
    if id == "driver.version":
        loaded = found.gpu.driver or found.health.driver
        return (f"loaded: {loaded or 'not told'}", *_installed(found, "nvidia-driver-", "nvidia-kernel-common-"))
    return ()


def _boots(state: State) -> str:
    health = state.health
    if health.next:
        return f"the next boot takes {health.next.release}"
    return "GRUB's menu does not tell what the next boot takes" if health.grub else "no kernel is installed"


def _installed(found: State, *beginnings: str) -> list[str]:
    rows = [row for row in found.driver.installed if row.name.startswith(beginnings)]
    return [f"installed: {row.name} {row.version}{', held' if row.held else ''}" for row in rows]


def cure(check: Check, name: str, hosts: Mapping[str, Subject], values: Mapping[str, str]) -> str:
    """What brings a host that differs, or where it is the example, the first that does, to what the others have.

    values: what each host has. Most of them decide; where there is no majority, the newest does.
    """
    target = _target(values)
    behind = name if values[name] != target else next(each for each, value in values.items() if value != target)
    example = next(each for each, value in values.items() if value == target)
    return _way(check.id, target, hosts[behind], hosts[example])


def _target(values: Mapping[str, str]) -> str:
    (usual, count), *rest = Counter(values.values()).most_common()
    tied = [usual, *(value for value, other in rest if other == count)]
    return max(tied, key=newer)


def _way(id: str, target: str, behind: Subject, example: Subject) -> str:
    name = behind.name
    if id == "identity.kernel":
        return _to_kernel(target, behind, example)
    if id == "driver.version" and branch(behind.found.driver) != branch(example.found.driver):
        return verb("update")
    if id == "driver.version":
        return behind.install(*_driver(example, target)).then(f", reboot {name}, and run the deploy again")
    if id == "containers.toolkit":
        return behind.run(f"apt-get install -y {quoted(*containers.to_install(target))}")
    return f"update {name} to {target} ({PAGE})"


def _to_kernel(target: str, behind: Subject, example: Subject) -> str:
    """A kernel that is installed already only wants a boot."""
    name, health = behind.name, behind.found.health
    if health.next and health.next.release == target:
        return f"reboot {name}; it boots {target} then"
    if any(kernel.release == target for kernel in health.kernels):
        return f"choose {target} in the boot menu of {name}, or update the others ({PAGE})"
    packages = [row.name for row in example.found.driver.installed if row.name.endswith(target)]
    return behind.install(*packages or [f"linux-image-{target}"]).then(f", and reboot {name}")


def _driver(example: Subject, version: str) -> list[str]:
    """The driver of a host, part by part: apt takes no other version of a part than the newest by itself."""
    return [f"{row.name}={version}" for row in example.found.driver.installed if row.version == version]
