"""What onboarding waits for on a new Spark before it looks: NVIDIA's own upgrade, and the reboot that ends it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from time import monotonic, sleep
from typing import TYPE_CHECKING

from sparkrig.refusal import Refusal

if TYPE_CHECKING:
    from sparkrig.host.first_upgrade import FirstUpgrade
    from sparkrig.onboarding.hostkey import HostKey
    from sparkrig.onboarding.io.first_login import Target
    from sparkrig.onboarding.io.newcomer import Entrance, Password
    from sparkrig.terminal.progress import Told

WAIT_S = 3600  # times patience; the unit has no end of its own, and may fetch gigabytes over a slow line
BACK_S = 900  # times patience; a reboot that also writes firmware takes minutes
POLL_S = 10
_ASK_S = 30

Again = Callable[[], "Entrance | None"]


def past_first_upgrade(
    stack: ExitStack,
    at: Target,
    key: HostKey,
    entrance: Entrance,
    password: Password,
    patience: float,
    label: str,
) -> Entrance:
    """Wait until NVIDIA's first-boot upgrade is over, and get in again after its reboot.

    patience: factor on the deadlines; label: what the Spark is called. Raises Refusal, Failed or Lost.
    """
    from sparkrig.facts.first_upgrade import FirstUpgrade
    from sparkrig.terminal import progress

    first_upgrade = entrance.door.read(FirstUpgrade(), seconds=_ASK_S)
    if not first_upgrade.under_way:
        return entrance
    with progress.hosts([label], "Waiting for the new Spark") as told:
        entrance = waited(
            label, entrance, first_upgrade, lambda: again(stack, at, key, entrance, password), told, patience
        )
        told.done(label)
    return entrance


def waited(
    name: str, entrance: Entrance, found: FirstUpgrade, again: Again, told: Told, patience: float
) -> Entrance:
    """The way in that is there once the upgrade is over. Raises Refusal at the deadline, or Lost.

    found: as it was seen first; again: gets in once more after a lost connection, None or Lost where that is not
    possible yet.
    """
    end = monotonic() + WAIT_S * patience
    told.say(f"{name}: {found.doing}. Waiting for up to {WAIT_S * patience / 60:.0f} min")
    while found.under_way:
        if monotonic() >= end:
            raise _over(name, found, patience)
        told(name, f"waiting: {found.stage}", until=end)
        sleep(POLL_S)
        entrance, seen = _seen(name, entrance, again, told, patience)
        if seen and seen.boot != found.boot:
            told.say(f"{name}: was rebooted")
        found = seen or found
    told.say(f"{name}: NVIDIA's first-boot upgrade is over ({found.stage})")
    return entrance


def _over(name: str, found: FirstUpgrade, patience: float) -> Refusal:
    return Refusal(
        f"{found.doing}; {WAIT_S * patience / 60:.0f} min were not enough for it",
        f"on {name}: {found.cure}",
    )


def _seen(
    name: str, entrance: Entrance, again: Again, told: Told, patience: float
) -> tuple[Entrance, FirstUpgrade | None]:
    """What the unit is at now; None where the host gives no answer, or the connection was lost and made anew."""
    from sparkrig.facts.first_upgrade import FirstUpgrade
    from sparkrig.ssh.remote import Failed, Lost

    try:
        return entrance, entrance.door.read(FirstUpgrade(), seconds=_ASK_S)
    except Failed:  # a command that is cut short as the host goes down
        return entrance, None
    except Lost:
        return _back(name, again, told, patience), None


def _back(name: str, again: Again, told: Told, patience: float) -> Entrance:
    """In once more. Raises Lost where that takes too long."""
    from sparkrig.ssh.remote import Lost

    end = monotonic() + BACK_S * patience
    why = "it takes no logins"
    while True:
        told(name, "waiting for its reboot", until=end)
        try:
            if entrance := again():
                return entrance
        except Lost as lost:
            why = str(lost)
        if monotonic() >= end:
            raise Lost(f"{name} is not back {BACK_S * patience / 60:.0f} min after it went to reboot: {why}")
        sleep(POLL_S)


def again(stack: ExitStack, at: Target, key: HostKey, entrance: Entrance, password: Password) -> Entrance | None:
    """The same way in once more: the same host key, the same login, root; None where it is not let in yet.

    Nothing is asked: a password that was typed is still known. Raises Refusal for another host key, or Lost.
    """
    from sparkrig.onboarding.io import first_login
    from sparkrig.ssh.remote import Failed

    shown = first_login.scan(at, [key.kind])
    if shown != key:
        raise Refusal(
            f"the host key of {at.entry} is another one after its reboot ({shown.fingerprint} is shown); another "
            "machine may be answering",
            f"on the Spark's own screen: {shown.console}",
        )
    for secret in dict.fromkeys((None, password.kept)):
        with ExitStack() as tried:
            entered = tried.enter_context(first_login.door(at, key, secret))
            if entered is None:
                continue
            try:
                if not entered.is_root() and password.kept:
                    entered.become_root(password.kept)
            except Failed:
                return None
            stack.enter_context(tried.pop_all())
            return replace(entrance, door=entered)
    return None
