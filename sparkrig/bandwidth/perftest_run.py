"""One trial: the scripts that run a case on two hosts, the words they are given, and what they print.

The receiver runs perftest's servers as transient systemd units with a time limit, the sender its clients under
`timeout`, so that a controller that dies leaves nothing behind for long. Nothing is written to a disk. What
perftest itself prints is read by sparkrig.bandwidth.perftest. Sources: [@capetron] for detached servers; what
exit 0 does not prove was seen on virtual machines with perftest 25.01.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sparkrig import programs
from sparkrig.bandwidth import bands, perftest, perftest_errors
from sparkrig.bandwidth.bands import Expected, Figure
from sparkrig.bandwidth.measurement import Case, End, Measurement
from sparkrig.cure import DEPLOYS, FILE, Cure, advice, on_host, over_ssh, verb
from sparkrig.verdict import Verdict

FIRST_PORT, LAST_PORT = 18515, 18614
MESSAGE_SIZE = 65536  # larger RC writes were reported to fail on GB10 [@perftest-394]
LATENCY_ROUNDS = 1000
# 4.096 us x 2^18 = 1.07 s until a queue pair repeats what was not acknowledged; perftest's 14 is 67 ms. An
# emulated processor is later than that, and soft-RoCE that repeats may end in completion status 9.
VIRTUAL_ACK_TIMEOUT = 18

_OUT_OF_TIME = (124, 137)  # of timeout(1)
_KILLED = re.compile(r"code=(?:killed|dumped), status=\S+")


SERVER = programs.text("bandwidth/perftest_run_server.sh")

CLIENT = programs.text("bandwidth/perftest_run_client.sh")

STOP = programs.text("bandwidth/perftest_run_stop.sh")


@dataclass(frozen=True)
class Servers:
    """What SERVER printed, by rail number.

    ports: where each server listens; flaps: carrier losses of its netdev so far, None where the netdev is gone;
    failed: why there is none.
    """

    ports: Mapping[int, int]
    flaps: Mapping[int, int | None]
    failed: Mapping[int, str]


@dataclass(frozen=True)
class Client:
    """What CLIENT printed of one rail.

    reached: whether the peer answered a ping; table, report: perftest's own words and its JSON; status: its
    exit code, None where it never ran; flaps: carrier losses during the trial, on this end; short: the MTU, in
    bytes, where frames of that size did not cross, else None.
    """

    reached: bool = False
    table: str = ""
    report: str = ""
    status: int | None = None
    flaps: int = 0
    short: int | None = None


@dataclass(frozen=True)
class Stopped:
    """What STOP printed, by rail number: carrier losses so far (see Servers), and the servers' last words."""

    flaps: Mapping[int, int | None]
    said: Mapping[int, str]


@dataclass(frozen=True)
class Pace:
    """How fast and how long.

    seconds: of one measurement; patience: factor on every deadline; virtual: soft-RoCE between emulated
    processors. The properties are deadlines in seconds.
    """

    seconds: int
    patience: float
    virtual: bool = False

    @property
    def life(self) -> int:
        """Of a server, from its start."""
        return int((self.seconds + 30) * self.patience)

    @property
    def wait(self) -> int:
        """Until a server listens, and until its client comes."""
        return int(15 * self.patience)

    @property
    def ping(self) -> int:
        return int(5 * self.patience)

    @property
    def client(self) -> int:
        return int((self.seconds + 15) * self.patience)

    @property
    def script(self) -> int:
        """Of a whole script; longer than all that it waits for."""
        return self.life + self.wait


def command(case: Case, pace: Pace) -> str:
    """perftest's words, without those that differ by rail.

    Of the seconds of -D a quarter at each end is left out (`margin` in perftest's src/perftest_parameters.c), in
    whole seconds: of 5 the 3 in the middle count, and of 3 all, with the start of the test.
    """
    late = f" -u {VIRTUAL_ACK_TIMEOUT}" if pace.virtual else ""
    if case.test == "ib_write_lat":
        return f"ib_write_lat -n {LATENCY_ROUNDS}{late} -F"
    return f"ib_write_bw -D {pace.seconds} -q {case.queue_pairs} -s {MESSAGE_SIZE}{late} -F --report_gbits"


def server_words(case: Case, run: str, ends: Mapping[int, End], pace: Pace) -> list[str]:
    """The words of SERVER. ends: the receiver's end of each rail."""
    common = [str(pace.life), str(pace.wait), str(FIRST_PORT), str(LAST_PORT), run, command(case, pace)]
    return common + [
        word for number, end in ends.items() for word in (str(number), end.netdev, end.device, str(end.gid_index))
    ]


def client_words(
    case: Case, ends: Mapping[int, tuple[End, End]], ports: Mapping[int, int], pace: Pace
) -> list[str]:
    """The words of CLIENT. ends: (the sender's, the receiver's) of each rail that has a server.

    The ping comes first because the first RoCE packet to an unknown neighbour fails (IBV_WC_RETRY_EXC_ERR).
    """
    words = [str(pace.ping), str(pace.client), command(case, pace)]
    for number, (here, there) in ends.items():
        if number in ports:
            rail = (number, here.netdev, here.device, here.gid_index, there.address, ports[number])
            words += map(str, rail)
    return words


def stop_words(run: str, ends: Mapping[int, End], ports: Mapping[int, int], *, why: bool) -> list[str]:
    """The words of STOP. why: ask for the servers' last words."""
    served = {number: end for number, end in ends.items() if number in ports}
    rails = [word for number, end in served.items() for word in (str(number), end.netdev, str(ports[number]))]
    return [run, "why" if why else "", *rails]


def parse_server(text: str) -> Servers:
    return Servers(
        ports={number: int(rest) for number, rest in _by_rail(text, "server")},
        flaps=_flaps(text),
        failed={number: rest.strip() for number, rest in _by_rail(text, "failed")},
    )


def parse_stop(text: str) -> Stopped:
    said: dict[int, list[str]] = {}
    for number, words in _by_rail(text, "said"):
        said.setdefault(number, []).append(words)
    return Stopped(_flaps(text), {number: "\n".join(lines) for number, lines in said.items()})


def parse_client(text: str) -> dict[int, Client]:
    """Each rail's part of what CLIENT printed; a rail that is not there broke off."""
    sections: dict[int, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("rail "):
            lines = sections.setdefault(int(line.split()[1]), [])
        lines.append(line)
    return {number: _client(lines[1:]) for number, lines in sections.items()}


def _client(lines: Sequence[str]) -> Client:
    reading = _Reading()
    for line in lines:
        word, _, rest = line.partition(" ")
        if line == "unreachable":
            reading.reached = False
        elif word == "short":
            reading.short = _count(rest)
        elif word == "flaps":
            reading.flaps.append(_count(rest))
        elif word == "table":
            reading.table.append(rest)
        elif line.strip():
            reading.report.append(line)
    status = next((int(row.split()[1]) for row in reversed(reading.table) if row.startswith("exit ")), None)
    return Client(
        reached=reading.reached,
        table="\n".join(row for row in reading.table if not row.startswith("exit ")),
        report="\n".join(reading.report),
        status=status,
        flaps=_losses(reading.flaps[0], reading.flaps[-1]) if reading.flaps else 0,
        short=reading.short,
    )


@dataclass
class _Reading:
    reached: bool = True
    short: int | None = None
    table: list[str] = field(default_factory=list)
    report: list[str] = field(default_factory=list)
    flaps: list[int | None] = field(default_factory=list)


@dataclass(frozen=True)
class Trial:
    """All that a case left: each script's output as read, and a sentence where a host was lost on the way."""

    case: Case
    servers: Servers = Servers({}, {}, {})
    clients: Mapping[int, Client] = field(default_factory=dict)
    stopped: Stopped = Stopped({}, {})
    lost: str = ""

    def flaps(self, rail: int) -> int:
        """How often the rail's link went down during the trial, seen from the end that saw more."""
        there = 0
        if rail in self.stopped.flaps:
            there = _losses(self.servers.flaps.get(rail), self.stopped.flaps[rail])
        return max(there, self.clients.get(rail, Client()).flaps)


def judge(trial: Trial, rail: int, expected: Expected, suspects: Sequence[Verdict] = ()) -> Measurement:
    """What one rail's share of a trial came to."""
    case, verdict = trial.case, _broken(trial, rail)
    figures: dict[str, Any] = {}
    if verdict is None:
        try:
            verdict, figures = _figures(case, trial.clients[rail], expected, suspects)
        except ValueError as error:
            verdict = Verdict("unknown", "no-result", str(error), _again())
    if trial.flaps(rail):
        verdict = _flapped(trial, rail, verdict)
    return Measurement(
        case.test, rail, case.sender, case.receiver, case.queue_pairs, case.together, verdict, **figures
    )


def _figures(
    case: Case, client: Client, expected: Expected, suspects: Sequence[Verdict]
) -> tuple[Verdict, dict[str, Any]]:
    """The verdict on a trial that ran, and its figures as Measurement has them. Raises ValueError without any."""
    if case.test == "ib_write_lat":
        latency = perftest.parse_latency(client.table, client.report)
        typical = latency.average_us if latency.typical_us is None else latency.typical_us
        return bands.judge_latency(typical, expected), {"latency_us": typical}
    read = perftest.parse_bandwidth(client.table, client.report)
    figure = Figure(read.gbps, read.path_mtu, case.queue_pairs, case.together)
    return bands.judge(figure, expected, suspects), {"gbps": read.gbps, "path_mtu": read.path_mtu}


def _broken(trial: Trial, rail: int) -> Verdict | None:
    """Why a rail's share of a trial has no figure, as far as that is known; None where it may have one."""
    case, client = trial.case, trial.clients.get(rail)
    refused = trial.servers.failed.get(rail)
    if refused:
        return _no_server(case, refused)
    if trial.lost:
        return Verdict(
            "unknown",
            "host-lost",
            trial.lost,
            over_ssh(case.receiver, "true").then(f", and {case.sender}; then again"),
        )
    if client is None:
        return Verdict("unknown", "no-result", f"{case.sender} printed nothing for this rail", _again())
    if not client.reached or client.short:
        return _cut_off(case, client.short if client.reached else None)
    return None if client.status == 0 else _failed(case, client, trial.stopped.said.get(rail, ""))


def _cut_off(case: Case, short: int | None) -> Verdict:
    """A peer that frames do not reach. short: the MTU whose frames do not, where small ones do."""
    if not short:
        return Verdict(
            "fault",
            "unreachable",
            f"{case.receiver} does not answer a ping over this rail",
            verb("topology").then(" shows which cage the cable reaches"),
        )
    return Verdict(
        "fault",
        "short-frames",
        f"small frames reach {case.receiver} over this rail, those of MTU {short} do not, "
        "although both ends have it",
        "join the Sparks by a cable, or set MTU 9216 on every port of the switch between them",
    )


def _failed(case: Case, client: Client, said: str) -> Verdict:
    """Why a client ended with an error. said: what the journal has of the server."""
    if killed := _KILLED.search(said):
        return Verdict(
            "fault",
            "peer-died",
            f"the server on {case.receiver} was ended in mid-test ({killed[0]})",
            on_host("journalctl -b", f" on {case.receiver} says who ended it; then measure again"),
        )
    known = perftest_errors.failure(client.table) or perftest_errors.failure(said)
    if known:
        return known
    if client.status in _OUT_OF_TIME:
        return Verdict("fault", "timed-out", "the test did not end within its time limit", _again())
    last = next((row for row in reversed(client.table.splitlines()) if row.strip(" -")), "nothing")
    return Verdict(
        "unknown", "no-result", f"{case.test} ended with {client.status}, and said: {last.strip()}", _again()
    )


def _no_server(case: Case, refused: str) -> Verdict:
    if "is taken" in refused:
        return Verdict(
            "unknown",
            "port-busy",
            f"no port for a server on {case.receiver}: {refused}",
            f"ss -ltnp on {case.receiver} shows who has them",
        )
    known = perftest_errors.failure(refused)
    return known or Verdict("unknown", "no-server", f"no server came up on {case.receiver}: {refused}", _again())


def _flapped(trial: Trial, rail: int, verdict: Verdict) -> Verdict:
    """A link that went down in mid-test explains every other failure, and makes a good figure doubtful too."""
    times = trial.flaps(rail)
    return Verdict(
        "fault" if verdict.level in ("fault", "unknown") else "degraded",
        "link-flap",
        f"the link lost its carrier {times} time{'s' if times > 1 else ''} during the test ({verdict.evidence})",
        "seat the plugs of this cable anew on both Sparks, or try another cable",
    )


def rest_of(text: str, word: str) -> Iterable[str]:
    return (line[len(word) + 1 :] for line in text.splitlines() if line.startswith(f"{word} "))


def _by_rail(text: str, word: str) -> Iterable[tuple[int, str]]:
    for rest in rest_of(text, word):
        number, _, value = rest.partition(" ")
        yield int(number), value


def _flaps(text: str) -> dict[int, int | None]:
    return {number: _count(rest) for number, rest in _by_rail(text, "flaps")}


def _count(text: str) -> int | None:
    """carrier_down_count; None where it could not be read, since the netdev is gone."""
    return int(text) if text.strip().isdecimal() else None


def _losses(before: int | None, after: int | None) -> int:
    """How often a carrier went between two looks.

    A ConnectX-7 that loses its cable leaves the PCI bus, and counts anew when it is back
    (dgx-spark-mlnx-hotplug, a package of DGX OS).
    """
    if before is None:
        return 0
    if after is None:
        return 1
    return after - before if after >= before else max(after, 1)


def _again() -> Cure:
    return advice(f"measure again; with -vvv, pyinfra {FILE} {DEPLOYS}/bandwidth.py shows all that was printed")
