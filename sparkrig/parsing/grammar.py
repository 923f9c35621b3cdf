"""What names and versions that a host reports may be made of, each by the page that defines it.

Such a text becomes a word of a command that an operator pastes. One that breaks its grammar comes from no healthy
tool: it is refused where it is read, and whatever is shown as a command is quoted besides (sparkrig.cure). Letters
and digits are those of ASCII: a digit of another script is none, whatever Python's `\\d` takes it for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SHOWN = 60


@dataclass(frozen=True)
class Grammar:
    """What a text may be made of. what: its name in a sentence."""

    what: str
    pattern: str

    def fits(self, text: str) -> bool:
        return re.fullmatch(self.pattern, text, re.ASCII) is not None and text.isprintable()

    def held(self, text: str) -> str:
        """The text itself. Raises ValueError where it breaks the grammar."""
        if not self.fits(text):
            raise ValueError(f"{text[:_SHOWN]!r} is no {self.what}")
        return text


# Debian Policy 5.6.1; apt's and dpkg's names have no capitals
PACKAGE = Grammar("name of a Debian package", r"[a-z0-9][a-z0-9+.-]+")
# deb-version(7), Debian Policy 5.6.12; dpkg only warns of one that begins with a letter
VERSION = Grammar("version of a Debian package", r"[A-Za-z0-9][A-Za-z0-9.+:~-]*")
# uname(2) of 64 bytes; what sparkrig.facts.health takes for the folder of a kernel
KERNEL = Grammar("release of a kernel", r"[A-Za-z0-9][A-Za-z0-9._+~-]{0,63}")
# numbers with dots between them, as in the names of its own packages (nvidia-firmware-580-580.95.05)
DRIVER = Grammar("version of NVIDIA's driver", r"[0-9]+(?:\.[0-9]+)+")
# dev_valid_name in net/core/dev.c: the kernel takes any other byte, so this alone lets `;` and `$` pass
NETDEV = Grammar("name of a netdev", r"(?!\.{1,2}$)[^\s/:]{1,15}")
# NMSettingConnection:uuid: hexadecimal digits and dashes; older versions took digests of 40 for one, too
UUID = Grammar("UUID of a profile", r"[0-9A-Fa-f][0-9A-Fa-f-]{31,39}")
PCI = Grammar("address on the PCI bus", r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")  # lspci(8), -D
RUN = Grammar("id of a run", r"[A-Za-z0-9][A-Za-z0-9.-]*")  # what sparkrig.runs.journal_look.LOOK lets pass
# RFC 1123's host names, and addresses
SERVER = Grammar("name or address of a time server", r"[A-Za-z0-9:][A-Za-z0-9.:-]{0,252}")
# useradd(8) of Debian and Ubuntu
USER = Grammar("name of a user", r"[a-z_][a-z0-9_-]{0,31}")
