"""What stands in the way of an update of driver and kernel: above all, a Spark that comes up without its GPU."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from sparkrig import text
from sparkrig.cure import on_host, quoted
from sparkrig.host import driver, release_upgrade, update_facts
from sparkrig.host.apt import install_past_the_hold
from sparkrig.refusal import Refusal
from sparkrig.update.repositories import Repositories, Source

if TYPE_CHECKING:
    from sparkrig.host.upgrade import Upgrade
    from sparkrig.update.update import Plan

NO_LISTS = "apt has no package lists"  # as facts/upgrade.sh has it

_NAMED = 5  # packages that a sentence names

_UBUNTU = re.compile(r"ubuntu(\d\d)(\d\d)")  # a folder of NVIDIA's for CUDA
_BASE_OS = re.compile(r"/baseos/(\d+)(?:/|$)")  # NVIDIA's own, by the major number of DGX OS
_OWN = re.compile(r"https?://(?:[a-z0-9-]+\.)*(?:nvidia|ubuntu)\.com/")

# What a person misses if it goes, by the names of Ubuntu, Docker and NVIDIA; our own reasoning. A library that
# another one replaces is none of it.
_MISSED = {
    "the host is reached or set up by it": r"openssh-server|network-manager|netplan\.io|sudo|python3|systemd-sysv",
    "a part of the desktop": r"(?:.+-)?desktop(?:-minimal)?|gnome-shell|gdm3|ubuntu-session|xserver-xorg-core",
    "a part of docker": r"docker\.io|docker-(?:ce|compose|buildx).*|containerd(?:\.io)?|nvidia-container-.+",
    "a package of NVIDIA's": r"(?:nvidia|dgx|mlnx|doca|cuda)-.+",
}
MENU = (
    "grep GRUB_DEFAULT /etc/default/grub /etc/default/grub.d/*; sudo grub-editenv list",
    ": make the default 0, or the full id of an entry, clear next_entry, and run sudo update-grub",
)


def sources(known: Repositories, dgx_os: str) -> Iterator[Refusal]:
    """Why apt's sources are not those of this Spark, each reason once. dgx_os: such as 7.5.0, or empty."""
    apart: dict[tuple[str, str], list[Source]] = {}
    for source in known.sources:
        if differs := _of_another_release(source, known.codename, dgx_os):
            apart.setdefault(differs, []).append(source)
        elif not source.fetched and _OWN.match(source.uri):
            cure = on_host("sudo apt-get update", ": it says why")
            yield Refusal(f"apt has nothing of {source.uri} {source.suite}", cure)
    for (other, own), found in apart.items():
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        what = f"apt's source {found[0].uri} {found[0].suite}{more} is of {other}, and this Spark {own}"
        look = on_host(f"grep -rn {quoted(found[0].uri.partition('://')[2])} /etc/apt/sources.list*")
        cure = look.then(": remove that source, then sudo apt-get update")
        yield release_upgrade.refusal(what, cure) if release_upgrade.is_meant(other) else Refusal(what, cure)


def _of_another_release(source: Source, codename: str, dgx_os: str) -> tuple[str, str] | None:
    """Of which other release of Ubuntu or DGX OS it is, and of which this Spark; None where it is of no other."""
    known, base = update_facts.ubuntu(), _BASE_OS.search(source.uri)
    if base and dgx_os and base[1] != dgx_os.partition(".")[0]:
        return f"DGX OS {base[1]}", f"has {dgx_os}"
    if codename not in known:
        return None
    for word in (source.suite.partition("-")[0], *source.uri.split("/")):
        if word in known and word != codename:
            return word, f"is of {codename}"
        number = f"{named[1]}.{named[2]}" if (named := _UBUNTU.fullmatch(word)) else ""
        if number and number != known[codename]:
            return f"Ubuntu {number}", f"is of {known[codename]}"
    return None


def missed(upgrade: Upgrade) -> dict[str, str]:
    """What of a forecast's removals would be missed, with what it is, by name."""
    what = {name: _missed(name, name in upgrade.manual) for name in sorted(upgrade.removes)}
    return {name: why for name, why in what.items() if why}


def _missed(name: str, manual: bool) -> str:
    for what, names in _MISSED.items():
        if re.fullmatch(names, name):
            return what
    return "installed by hand" if manual else ""


def refusals(plan: Plan, known: Repositories, branch: int, may_go: Collection[str] = frozenset()) -> list[Refusal]:
    """Every reason not to carry a plan out, the most severe first. may_go: packages that may be removed."""
    made = []
    if plan.later:
        made.append(_later(plan, branch))
    if plan.driver.before and not plan.driver.after:
        made.append(
            Refusal(
                f"the upgrade would remove driver {plan.driver.before} ({some(plan.removed)})",
                on_host("sudo apt-get -s dist-upgrade"),
            )
        )
    elif lost := {name: what for name, what in plan.missed.items() if name not in may_go}:
        made.append(_removal(lost))
    if plan.unknown and plan.core:
        made.append(Refusal(f"which kernel boots after the update is unknown: {plan.unknown}", on_host(*MENU)))
    if plan.unbuilt:
        made.append(_unbuilt(plan, known))
    if plan.amiss:
        made.append(_torn(plan, known, branch))
    return made


def _later(found: Plan, branch: int) -> Refusal:
    look = on_host("apt-cache policy nvidia-driver-open")
    if found.driver.before and not found.driver.moves:
        there = f"a driver later than {branch} is installed ({some(found.later)})"
        return Refusal(there, look.then("; a deploy refuses it, and says what leads back"))
    what = f"the upgrade would bring a driver later than {branch} ({some(found.later)})"
    return Refusal(what, look.then("; a deploy pins later branches away"))


def _removal(lost: Mapping[str, str]) -> Refusal:
    names = " ".join(f"--allow-removal {name}" for name in lost)
    return Refusal(
        f"the upgrade would remove {some(f'{name} ({what})' for name, what in lost.items())}",
        on_host("sudo apt-get -s dist-upgrade", f": it shows why; {names} lets it go"),
    )


def _unbuilt(plan: Plan, known: Repositories) -> Refusal:
    release = plan.kernel.after
    what = f"kernel {release} would boot without {text.listed(known.dkms)}, which DKMS builds"
    if plan.unbuilt == "headers":
        headers = f"linux-headers-{release}"
        return Refusal(f"{what}: {headers} does not come with it", on_host(install_past_the_hold(headers)))
    return Refusal(
        f"{what}: Secure Boot is on, and does not know their key",
        on_host(
            "sudo mokutil --import /var/lib/shim-signed/mok/MOK.der", "; at the next boot its screen asks for it"
        ),
    )


def _torn(found: Plan, known: Repositories, branch: int) -> Refusal:
    """Why the kernel that boots next would come up without its GPU, or not at all."""
    release = found.boot.kernel
    kept = f"; apt keeps back {some(found.kept)}" if found.kept else ""
    if found.kernel.moves:
        what = f"the upgrade would bring kernel {release} without {found.amiss}{kept}"
    elif found.core:
        what = f"after the upgrade kernel {release} would boot without {found.amiss}{kept}"
    else:
        what = f"kernel {release} boots next without {found.amiss}, and the update does not bring it"
    return Refusal(what, _mend(found, known, branch))


def _mend(plan: Plan, known: Repositories, branch: int) -> str:
    release = plan.boot.kernel
    if "initrd" in plan.amiss:
        return on_host(f"sudo update-initramfs -c -k {quoted(release)}")
    module = driver.modules_package(release, branch)
    if not plan.core:
        return driver.modules_cure(release, branch)
    look = on_host(f"apt-cache policy {quoted(module)}")
    if module in known.versions or module in known.builds:
        return look
    return look.then(": the package comes later than its kernel, so try again in a day")


def no_way(trouble: str, known: Repositories, ours: Collection[str]) -> Refusal:
    """apt finds no way; holds that are not ours are the usual reason. ours: the names that a deploy holds."""
    others = sorted({*known.held} - {*ours})
    cure = on_host("sudo apt-get -s dist-upgrade")
    if trouble == NO_LISTS:
        cure = on_host("sudo apt-get update")
    elif others:
        cure = on_host(f"sudo apt-mark unhold {quoted(*others)}", ", which no deploy holds; then again")
    return Refusal(f"apt cannot plan the upgrade ({trouble})", cure)


def some(names: Iterable[str]) -> str:
    """The first of many packages, as a sentence names them."""
    return text.some(names, _NAMED)
