"""What stands in the way of an update besides apt's plan, and what is worth a word: the host as it is now."""

from __future__ import annotations

from collections.abc import Iterator

from sparkrig.cure import on_host, verb
from sparkrig.host import apt, firmware_table, health, preflight, release_upgrade, update_facts
from sparkrig.host.apt import install_past_the_hold
from sparkrig.host.identity import must_be_root
from sparkrig.refusal import Refusal
from sparkrig.text import listed
from sparkrig.update import firmware
from sparkrig.update.look import Seen
from sparkrig.update.repositories import Repositories
from sparkrig.update.update import Plan

# A kernel takes 21 MB and its initrd 83 [@noble-on-spark], which may be made anew for two of them.
_BOOT_MB = 300
_UNPACKED = 4  # times what is downloaded: the archives, and what they become; our own reasoning
_LASTS_S = 7200  # our own: a download, two boots, and 25 minutes of firmware


def unfit(seen: Seen, plan: Plan | None, waits: str) -> list[Refusal]:
    """Why the host is not fit to be changed, or not now; the lack of root alone, to whom all looks read-only.

    waits: why a reboot is due already, or empty.
    """
    try:
        must_be_root(seen.identity)
    except Refusal as refusal:
        return [refusal]
    if release_upgrade.is_meant(has := seen.identity.dgx_os or ""):
        return [
            release_upgrade.refusal(f"this Spark is on DGX OS {has} already", verb("doctor", ": it only looks"))
        ]
    more = plan.bytes * _UNPACKED // 1_000_000 if plan else 0
    works = release_upgrade.at_work(seen.repositories.others, seen.preflight.apt)
    fit = preflight.judge(
        seen.preflight, fabric=False, running=True, installs=True, more_mb=more, within_s=_LASTS_S
    )
    reboots = _before_a_reboot(seen) if plan and (plan.reboots or waits) else []
    return [*(works or apt.at_work(seen.preflight.apt)), *fit, *reboots]


def _before_a_reboot(seen: Seen) -> list[Refusal]:
    """What a reboot would set going besides, which nothing takes back, or which reboots once more."""
    refusals = []
    upgrade, boot_mb = seen.preflight.upgrade, seen.preflight.room_mb.get("/boot")
    if upgrade.later:
        refusals.append(Refusal(upgrade.later, upgrade.cure))
    if staged := firmware.staged(seen.firmware):
        refusals.append(
            Refusal(
                f"firmware is handed over ({listed(staged)}), and any reboot writes it",
                "--only firmware first, which reboots for it",
            )
        )
    if boot_mb is not None and boot_mb < _BOOT_MB:
        refusals.append(
            Refusal(
                f"/boot has {boot_mb} MB of room, and {_BOOT_MB} MB are expected for two kernels",
                on_host("ls -l /boot; sudo apt-get autoremove"),
            )
        )
    return refusals


def warnings(seen: Seen, plan: Plan | None) -> tuple[str, ...]:
    """What keeps no update from beginning, and is worth a sentence each."""
    known = seen.repositories
    recipes = (name for recipe in seen.releases.recipes for name in (recipe.name, recipe.title))
    said = [*_kho(plan, known)] if plan else []
    said += release_upgrade.offers(known.others, recipes)
    verdict = firmware_table.verdict(seen.firmware.table)
    if not verdict.healthy:
        said.append(f"{verdict.evidence}; try: {verb('update', '--only', 'firmware')}")
    later = preflight.warnings(seen.preflight, None, within_s=_LASTS_S)
    refused = {each.what for each in _before_a_reboot(seen)} if plan and plan.reboots else set()
    return (*said, *(each for each in later if not any(each.startswith(what) for what in refused)))


def _kho(plan: Plan, known: Repositories) -> Iterator[str]:
    """What comes that changes how every kernel boots, and a kernel that would keep memory for a kexec handover."""
    for name, does in update_facts.boot_packages().items():
        if name in plan.new:
            yield f"{name} comes: it {does}"
        elif health.keeps_by_default(plan.kernel.after) and not health.is_off(known.kho):
            cure = on_host(install_past_the_hold(name), f": it {does}")
            yield f"kernel {plan.kernel.after} boots without kho=off, and may keep 9.3 GiB; try: {cure}"
