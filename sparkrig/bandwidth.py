"""Measuring one rail with perftest: the commands, what their output means, and what was measured last.

perftest exits 0 for a link that carried nothing, prints MiB/s unless told otherwise, and negotiates a
smaller path MTU without a word: so the unit is taken from the header, the path MTU from the report, and a
result row is required. Sources: spark-domain.md section 6; reliability-notes.md section 0, findings 6 and 7;
perftest's own src/perftest_parameters.{c,h}.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

RECORD_PATH = "/var/lib/sparkrig/bandwidth.json"
FIRST_PORT, LAST_PORT = 18515, 18614
QUEUE_PAIRS = 4
MESSAGE_SIZE = 65536  # larger RC writes were reported to fail on GB10 (perftest issue 394)

# perftest's "MB" is 2^20 bytes under either name.
_GBPS = {"Gb/sec": 1.0, "MB/sec": 2**20 * 8 / 1e9, "MiB/sec": 2**20 * 8 / 1e9}
_HEADER = re.compile(r"BW average\[([^\]]+)\]")


@dataclass(frozen=True)
class End:
    """One end of a rail: RDMA device, GID index, netdev, IPv4 address."""

    device: str
    gid_index: int
    netdev: str
    address: str


@dataclass(frozen=True)
class Measurement:
    """What perftest reported: Gb/s, path MTU and message size in bytes, and how many messages."""

    gbps: float
    path_mtu: int
    message_size: int
    iterations: int


@dataclass(frozen=True)
class Record:
    """The last measurement of a rail, as kept on both hosts.

    netdev, address, peer, mtu: the rail it was taken on; measured_at: UTC, ISO 8601.
    """

    netdev: str
    address: str
    peer: str
    mtu: int
    gbps: float
    path_mtu: int
    measured_at: str


# $1 seconds to live, $2 seconds to wait, $3 first port, $4 last port, then the command
SERVER = r"""
life=$1 wait=$2 port=$3 last=$4; shift 4
busy() { ss -Hltn "sport = :$port" | grep -q .; }
while busy; do
  port=$((port + 1))
  if [ "$port" -gt "$last" ]; then echo "every port up to $last is taken" >&2; exit 1; fi
done
unit=sparkrig-bandwidth-$port
systemd-run --quiet --collect --unit="$unit" --property=RuntimeMaxSec="$life" "$@" -p "$port" || exit 1
end=$(($(date +%s) + wait))
until busy; do
  if ! systemctl is-active -q "$unit" || [ "$(date +%s)" -ge "$end" ]; then
    journalctl -u "$unit" -n 5 -o cat >&2; systemctl stop "$unit"; exit 1
  fi
  sleep 0.1
done
echo "port $port"
"""

# $1 netdev, $2 the peer's address, $3 seconds for a ping, $4 seconds in all, then the command
CLIENT = r"""
netdev=$1 peer=$2 ping=$3 limit=$4; shift 4
ping -q -c 1 -W "$ping" -I "$netdev" "$peer" >/dev/null || { echo "no answer to a ping over $netdev" >&2; exit 1; }
report=$(mktemp) && trap 'rm -f "$report"' EXIT
timeout -k 5 "$limit" "$@" --out_json --out_json_file="$report" "$peer"; status=$?
printf '\nreport %s\n' "$(base64 -w0 "$report")"
exit $status
"""

# $1 port
STOP = r"""
systemctl stop "sparkrig-bandwidth-$1.service" 2>/dev/null || true
"""


def server_words(here: End, seconds: int, patience: float) -> list[str]:
    """The words of SERVER: a transient unit on a free port, which is printed once it listens.

    systemd ends the unit when its time is over, whatever becomes of the connection that started it.
    """
    life, wait = int((seconds + 30) * patience), int(15 * patience)
    return [str(life), str(wait), str(FIRST_PORT), str(LAST_PORT), *_perftest(here, seconds)]


def client_words(here: End, there: End, port: int, seconds: int, patience: float) -> list[str]:
    """The words of CLIENT: a ping first, because the first RoCE packet to an unknown neighbour fails
    (IBV_WC_RETRY_EXC_ERR), then the test, then perftest's JSON report.
    """
    ping, limit = int(5 * patience), int((seconds + 15) * patience)
    return [here.netdev, there.address, str(ping), str(limit), *_perftest(here, seconds), "-p", str(port)]


def _perftest(end: End, seconds: int) -> list[str]:
    return [
        *("ib_write_bw", "-d", end.device, "-x", str(end.gid_index), "-D", str(seconds)),
        *("-q", str(QUEUE_PAIRS), "-s", str(MESSAGE_SIZE), "-F", "--report_gbits"),
    ]


def word(output: str, key: str) -> str:
    """The value of the last `KEY VALUE` line that a script printed; empty where there is none."""
    return next((line[len(key) + 1 :] for line in reversed(output.splitlines()) if line.startswith(f"{key} ")), "")


def parse(table: str, report: str | None) -> Measurement:
    """Read perftest's table and JSON report. Raises ValueError, in words, where they prove nothing."""
    header = _HEADER.search(table)
    if header is None:
        raise ValueError("perftest printed no result header")
    unit = header.group(1)
    if unit not in _GBPS:
        raise ValueError(f"perftest printed an unknown unit, {unit}")
    row = next((fields for line in table[header.end() :].splitlines() if (fields := _row(line))), None)
    if row is None:
        raise ValueError("perftest printed a header and no result row (a wrong GID index does that)")
    size, iterations, average = int(row[0]), int(row[1]), float(row[3])
    document = _report(report) if report else {}
    info = document.get("test_info")
    mtu = (info.get("Mtu") if isinstance(info, dict) else None) or _mtu(table)
    return Measurement(average * _GBPS[unit], int(mtu), size, iterations)


def _row(line: str) -> list[str] | None:
    fields = line.split()
    numbers = re.fullmatch(r"\s*\d+\s+\d+\s+[\d.]+\s+[\d.]+\s+[\d.]+\s*", line)
    return fields if numbers else None


def _report(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _mtu(table: str) -> int:
    found = re.search(r"Mtu\s*:\s*(\d+)", table)
    return int(found.group(1)) if found else 0


def complaint(measured: Measurement | Record, floor: float, path_mtu: int) -> str | None:
    """Why a measurement is not good enough, in words, or None."""
    if measured.path_mtu < path_mtu:
        return f"path MTU {measured.path_mtu}, {path_mtu} expected (the MTU of one end is too small)"
    if measured.gbps < floor:
        return f"{measured.gbps:.2f} Gb/s, at least {floor:g} expected"
    return None


def load_records(text: str | None) -> dict[str, Record]:
    """The records of a host by netdev; none where the file is absent or not ours to understand."""
    try:
        document = json.loads(text) if text else {}
        return {row["netdev"]: Record(**row) for row in document.get("rails", [])}
    except (ValueError, TypeError, KeyError, AttributeError):
        return {}


def dump_records(records: Mapping[str, Record]) -> str:
    return json.dumps({"rails": [asdict(record) for record in records.values()]}, indent=2) + "\n"


def stands(record: Record | None, address: str, peer: str, mtu: int, *, floor: float, path_mtu: int) -> bool:
    """Whether a record is of this very rail and good enough, so that nothing need be measured."""
    if record is None or (record.address, record.peer, record.mtu) != (address, peer, mtu):
        return False
    return complaint(record, floor, path_mtu) is None
