"""Text that a person pastes: made plain, rid of what is private, and taken apart by the tool that printed it.

A paste comes from a terminal, a log or a forum: with prompts, colours, quote marks, prose, and several tools in a
row. Sources: what the tools print (perftest, mlnx-tools, ethtool, pciutils, nvidia-smi, NCCL, nccl-tests), as it
stands in public issues and forums.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

PERFTEST, SHOW_GIDS, IBDEV2NETDEV, LSPCI, NCCL = "perftest", "show_gids", "ibdev2netdev", "lspci", "NCCL"
ETHTOOL, ETHTOOL_DRIVER, ETHTOOL_MODULE = "ethtool", "ethtool -i", "ethtool -m"
PACKAGES = "package list"
SMI, SMI_QUERY, SMI_LIST, SMI_CSV = "nvidia-smi", "nvidia-smi -q", "nvidia-smi -L", "nvidia-smi --query-gpu"


@dataclass
class Piece:
    """What one tool printed in one run. command: the line that started it, where the paste has it."""

    tool: str
    command: str = ""
    lines: list[str] = field(default_factory=list)
    signs: list[str] = field(default_factory=list)
    prompted: bool = False

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


# --- made plain

_TERMINAL = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[()][0-9A-B]|\x1b[=>78cDEHM]"
    r"|[^\n]\x08|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b-\u200d\u2060\ufeff]"
)
# What others put before each line: a quote mark, journald, mpirun --tag-output.
_IN_FRONT = re.compile(
    r"^(?:[ \t]*>(?=[ \t>]|$)[ \t]?)+|^\w{3} [ \d]\d [\d:]{8} \S+ [^\s\[]+\[\d+\]: |"
    r"^\[\d+,\d+\]<std(?:out|err)>: ?",
    re.M,
)
# Lines of a forum and of a shell's jobs.
_IN_BETWEEN = re.compile(
    r"^[ \t]*(?:(?:```|~~~)\w*|\[\d+\](?:[+-]?[ \t]+(?:Done|Running)\b.*|[ \t]+\d+))[ \t]*$", re.M
)
_MARKS = str.maketrans({"\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'", "\u00a0": " "})

_UUID = re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.I)
_LABELLED = re.compile(
    r"((?:serial number|(?:serial(?:_number| no)?|\bvendor sn|\bsn|uuid|guid|\bpdi|board id)\]?\"?[ \t]*[:=])"
    r"[ \t:=]*)[^\s,)}:=][^\n,)}]*",
    re.I,
)


def without_control(text: str) -> str:
    """The text with lines that end in LF, and without what steers a terminal or cannot be seen."""
    return _TERMINAL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def plain(text: str) -> str:
    """The text with lines that end in LF, and without colours, quote marks, serial numbers and UUIDs."""
    bare = html.unescape(without_control(text)).translate(_MARKS)
    bare = _IN_BETWEEN.sub("", _IN_FRONT.sub("", bare))
    return _LABELLED.sub(r"\1(not shown)", _UUID.sub("(not shown)", bare))


# --- taken apart

_TEST = r"(?:ib_(?:write|read|send|atomic)_(?:bw|lat)|raw_ethernet_\w+)"
_COMMANDS = tuple(
    (tool, re.compile(words))
    for tool, words in (
        (PACKAGES, r"\bdpkg\s+(?:-l|--list)\b|\bdpkg-query\s+\S|\bapt\s+list\b"),
        (PERFTEST, rf"(?:^|[\s/;&'\"]){_TEST}(?=\s|$|;)"),
        (SHOW_GIDS, r"\bshow_gids\b"),
        (IBDEV2NETDEV, r"\bibdev2netdev\b"),
        (ETHTOOL_DRIVER, r"\bethtool\s+(?:-i|--driver)\b"),
        (ETHTOOL_MODULE, r"\bethtool\s+(?:-m|--dump-module-eeprom|--module-info)\b"),
        (ETHTOOL, r"\bethtool\s+[^-\s]"),
        (LSPCI, r"\blspci\b"),
        (SMI_CSV, r"\bnvidia-smi\b.{0,300}--query-gpu"),
        (SMI_QUERY, r"\bnvidia-smi(?=\s).{0,300}\s(?:-q|--query)(?=\s|$)"),
        (SMI_LIST, r"\bnvidia-smi\s+(?:-L|--list-gpus)\b"),
        (SMI, r"\bnvidia-smi\s*(?:$|[|;>&'\"]|-i\s+\d+\s*$)"),
        (NCCL, r"\b(?:all_(?:gather|reduce)|alltoall|broadcast|reduce|reduce_scatter|sendrecv)_perf\b"),
        (NCCL, r"\bNCCL_DEBUG="),
    )
)
_PROMPT = re.compile(
    r"^\s*(?:\([\w. -]+\)\s*)?"
    r"(?:(?:\[?[\w.-]+@[\w.-]+(?:[ :~/][^#$%\n]*?)?\]?\s?[#$%]|(?:ba|z)?sh-[\d.]+[#$])(?:\s+(.*))?|"
    r"(?:[$\u276f\u279c]|\++)\s+(.*))$"
)
_COMMENT = re.compile(r"^\s*#\s+(.*)$")  # root's prompt, or a comment that names the command
_BARE = re.compile(
    rf"^\s*(?:sudo\s+)?(?:[\w./-]*/)?"
    rf"(?:{_TEST}|show_gids|ibdev2netdev|ethtool|lspci|nvidia-smi|\w+_perf|dpkg(?:-query)?|apt\s+list)"
    r"(?:\s+-[^\n]*|\s+[\w.:-]+)?\s*(?:\d?[|>&;].*)?$"
)

_FIGURES = "figures"  # perftest's rows, which begin nothing where another tool is speaking
_COMPLAINT = (
    r"(?:\w+: )?Couldn't (?:connect to \S+:\d|listen to port|read remote|read reports|allocate MR)|"
    r"Unable to (?:init the socket|open file descriptor for socket|find the Infiniband/RoCE|read to socket)|"
    r"Completion with error at|Failed status[ -]|Failed to modify QP|Failed to exchange data between server|"
    r"IB device \S+ not found|No IB devices found|Did not detect devices|Found Incompatibility issue with|"
    r"Gid index should be|Port number \d+ state is|Did not get Message for|failed to create mr|"
    rf"(?:\S+: )?\S*{_TEST}: "
)
_FIELD = r"[a-z_0-9]+(?:\.[a-z_.]+)?(?: \[[^\]]*\])?"
_KNOWN_FIELD = r"(?:name|driver_version|pstate|uuid|(?:temperature|utilization|memory|power|clocks|pci)\.\w)"
_GPU_TROUBLE = (
    r"NVIDIA-SMI has failed|Failed to initialize NVML|No devices were found$|"
    r"Unable to determine the device handle for GPU"
)
_TORCH = (
    r"\btorch\.(?:distributed\.)?(?:OutOfMemory|Dist\w*|Accelerator)Error|No CUDA GPUs are available|"
    r"\bnccl(?:System|Internal|Remote|UnhandledCuda)Error"
)
_AGAIN, _SAME = True, False
_PACKAGE, _ARCHITECTURE = r"[a-z0-9][a-z0-9+.-]++(?::[a-z0-9]++)?", r"(?:arm64|amd64|armhf|i386|all)\b"
_REVISED = rf"{_PACKAGE}(?:\t|, ?)\d[\w.+:~]*-[\w.+~]+[ \t]*$"  # a plain number behind a name is other people's
_KERNEL_OR_DRIVER = (
    r"(?:linux-(?:image|modules|headers)|(?:lib)?nvidia|cuda)-[a-z0-9+.-]++(?::[a-z0-9]++)?"
    r"(?:\t|, ?| +)\d[\w:]*\.[\w.+:~-]+[ \t]*(?:[\t,][^\n]*)?$"
)
# Lines that only one tool prints: tool, name, whether a second one in a piece begins another run, and the words.
_SIGNS = tuple(
    (tool, name, again, re.compile(rf"^(?:{words})", re.M))
    for tool, name, again, words in (
        (PACKAGES, "header", _AGAIN, r"Desired=Unknown/Install/|Listing\.\.\."),
        (PACKAGES, "row", _SAME, rf"[ \t]*[uihrp][ncHUFWti]R?[ \t]+{_PACKAGE}[ \t]+\d\S*[ \t]+{_ARCHITECTURE}"),
        (PACKAGES, "row", _SAME, rf"[ \t]*[uihrp][nc][ \t]+{_PACKAGE}[ \t]+<none>[ \t]"),
        (PACKAGES, "row", _SAME, rf"[ \t]*{_PACKAGE}/[\w,.-]+ \d\S* {_ARCHITECTURE}"),
        (PACKAGES, "row", _SAME, rf"[ \t]*(?:{_REVISED}|{_KERNEL_OR_DRIVER})"),
        (
            PERFTEST,
            "title",
            _AGAIN,
            r"[ \t]*(?:RDMA_|Send|Atomic|Raw)[\w ]{0,60}\b(?:BW|Latency)\b"
            r"[\w ]{0,60}Test\b",
        ),
        (PERFTEST, "title", _AGAIN, r"[ \t]*WARNING: BW peak won't be measured|\* Waiting for client to connect"),
        (PERFTEST, "header", _SAME, r"[^\n]*#bytes[ \t]+#(?:iterations|sl)\b"),
        (PERFTEST, "report", _AGAIN, r"[ \t]*\{\s*\"(?:test_info|results)\"\s*:"),
        (PERFTEST, _FIGURES, _SAME, r"[^\w\n]*\d+[ \t]+\d+(?:[ \t]+\d[\d,]*\.\d+){2,}"),
        (PERFTEST, "complaint", _SAME, rf"[ \t]*(?:{_COMPLAINT})"),
        (SHOW_GIDS, "header", _AGAIN, r"[ \t]*DEV\s+PORT\s+INDEX\b"),
        (SHOW_GIDS, "row", _SAME, r"[ \t]*[\w.-]+[ \t]+\d+[ \t]+\d+[ \t]+[0-9a-f]{4}(?::[0-9a-f]{4}){7}\b"),
        (
            IBDEV2NETDEV,
            "row",
            _SAME,
            r"[ \t]*(?:[0-9a-f:.]+[ \t]+)?[\w.-]+[ \t]+(?:\([^\n]{0,200})?port[ \t]+\S[^\n]{0,200}==>",
        ),
        (ETHTOOL, "link", _SAME, r"Settings for \S+:|[ \t]*Speed:[ \t]*(?:\d+ ?[MG]b/s|Unknown)"),
        (ETHTOOL_DRIVER, "driver", _AGAIN, r"driver: *\S+\n(?:version|firmware-version):"),
        (ETHTOOL_MODULE, "module", _AGAIN, r"[ \t]*Identifier[ \t]*: 0x[0-9a-f]{2} \("),
        (
            LSPCI,
            "device",
            _SAME,
            r"[ \t]*(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7][ \t]+[A-Z0-9][^(=\n]*?: ?\S",
        ),
        (LSPCI, "link", _SAME, r"(?>[^\n]*?\bLnk(?:Cap|Sta):)[^\n]*\bWidth x\d"),
        (SMI, "table", _AGAIN, r"[^\n]*\| NVIDIA-SMI \S+"),
        (SMI, "complaint", _SAME, rf"[ \t]*(?:{_GPU_TROUBLE})"),
        (SMI_QUERY, "log", _AGAIN, r"[ \t]*=+NVSMI LOG=+"),
        (SMI_LIST, "gpu", _SAME, r"[ \t]*GPU \d+: \S[^\n]*\(UUID"),
        (SMI_CSV, "header", _AGAIN, rf"[ \t]*+(?=[^\n]*\b{_KNOWN_FIELD}){_FIELD}(?:, *{_FIELD})+[ \t]*$"),
        (NCCL, "version", _AGAIN, r"[ \t]*(?:# *)?nccl-tests version "),
        (NCCL, "collective", _SAME, r"[ \t]*(?:# *)?Collective test starting: "),
        (NCCL, "tests", _AGAIN, r"[ \t]*(?:# *)?nThread \d+ nGpus \d+"),
        (NCCL, "header", _SAME, r"(?:[ \t]*+#)?[ \t]++size[ \t]+count[ \t]+type\b[^\n]*\bbusbw\b"),
        (NCCL, "log", _SAME, r"[^\n]*\bNCCL (?:INFO|WARN|version)\b|sparkrig-nccl \S"),
        (NCCL, "trouble", _SAME, rf"[^\n]*(?:{_TORCH})"),
        (NCCL, "average", _SAME, r"[ \t]*(?:# *)?Avg bus bandwidth"),
    )
)


def pieces(text: str) -> list[Piece]:
    """What each tool printed, in order; what no tool printed is left out. text: made by plain()."""
    return [
        piece for piece in _pieces(text) if piece.tool and (piece.signs or piece.prompted) and any(piece.lines)
    ]


def _pieces(text: str) -> Iterator[Piece]:
    signs, current = _signs(text), Piece("")
    for number, line in enumerate(text.split("\n")):
        listed = any(tool == PACKAGES for tool, _, _ in signs.get(number, ()))  # ethtool is a package, too
        started = None if listed else _command(line)
        if started:
            yield current
            current = started
            continue
        for tool, name, again in signs.get(number, ()):
            if current.tool and name == _FIGURES and tool != current.tool:
                continue
            if tool != current.tool or (again and _over(current, name)):
                yield current
                current = Piece(tool)
            current.signs.append(name)
        if line.strip() or current.lines:
            current.lines.append(line)
    yield current


def _signs(text: str) -> dict[int, list[tuple[str, str, bool]]]:
    """The signs by line number, one of a tool at most."""
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    signs: dict[int, list[tuple[str, str, bool]]] = {}
    for tool, name, again, words in _SIGNS:
        for found in words.finditer(text):
            here = signs.setdefault(bisect_right(starts, found.start()) - 1, [])
            if not here:
                here.append((tool, name, again))
    return signs


def _over(piece: Piece, name: str) -> bool:
    """Whether another run begins. perftest prints its first complaints before its title."""
    if piece.tool == PERFTEST and name == "title":
        return _FIGURES in piece.signs or {"title", "header", "complaint"} <= {*piece.signs}
    return name in piece.signs


def _command(line: str) -> Piece | None:
    """The piece that a command line begins, of no tool where it is another program's; None for any other line."""
    prompt = _PROMPT.match(line)
    typed = prompt or _COMMENT.match(line)
    words = next(filter(None, typed.groups()), "") if typed else line
    if not typed and not _BARE.match(line):
        return None
    tool = next((tool for tool, sign in _COMMANDS if sign.search(words)), "")
    if not prompt and (not tool or (typed and not _BARE.match(words))):
        return None
    return Piece(tool, words.strip(), prompted=bool(prompt and tool))
