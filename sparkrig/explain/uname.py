"""uname: the kernel that runs, and whether it is one of NVIDIA's."""

from __future__ import annotations

import re

from sparkrig.explain.explanation import Around, Explained, Piece, Reader, sign
from sparkrig.verdict import Finding, Verdict

_RELEASE = r"\d{1,2}\.\d{1,3}\.\d{1,3}-\d{1,5}-[a-z][a-z0-9-]{1,20}"
_KHO = "a kernel 7.0 may keep memory for a kexec handover, which RDMA cannot register: cat /proc/meminfo shows it"


def explained(piece: Piece, _: Around) -> Explained:
    row = re.search(rf"(?<![\w.-]){_RELEASE}(?![\w.-])", piece.text)
    if row is None:
        raise ValueError("uname names no kernel of Ubuntu's: uname -r prints it alone")
    release = row[0]
    if re.search(r"-nvidia(?:-64k)?$", release):
        verdict = Verdict("healthy", evidence=f"{release} is of NVIDIA's flavour")
    else:
        why = f"{release} is not of NVIDIA's flavour, whose packages bring the nvidia.ko of a Spark"
        verdict = Verdict("unknown", "kernel-flavour", why, "dpkg -l | sparkrig explain tells what boots next")
    notes = (_KHO,) if release.startswith("7.0.") else ()
    return Explained(piece.tool, f"kernel {release}", (Finding("the kernel", verdict),), notes)


READERS = (
    Reader(
        "uname",
        explained,
        "uname -r, uname -a",
        "uname",
        re.compile(r"\buname\b"),
        (sign("release", rf"[ \t]*(?:Linux \S{{1,64}} {_RELEASE} #\d|{_RELEASE}[ \t]*$)"),),
    ),
)
