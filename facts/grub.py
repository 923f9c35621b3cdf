"""Which kernel GRUB boots next."""

from __future__ import annotations

from sparkrig import programs
from sparkrig.facts.noun import Noun
from sparkrig.host import grub


class NextBoot(Noun[grub.Boot | None]):
    """What GRUB boots next, by its menu and its variables; None on a host without GRUB's menu."""

    parse = staticmethod(grub.read)
    script = programs.text("facts/grub.sh")
