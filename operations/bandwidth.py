"""Measuring the rails of a pair, from the one host that leads it."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from ipaddress import IPv4Interface

from pyinfra import host, inventory
from pyinfra import state as run
from pyinfra.api import FunctionCommand, Host, State, operation

from facts.rdma import Rdma
from operations.files import write
from operations.refusal import Commands, say
from operations.shell import script
from sparkrig import bandwidth, gid, rdma
from sparkrig.bandwidth import End, Record
from sparkrig.files import File
from sparkrig.refusal import Refusal
from sparkrig.settings import Rail, Settings

_LOGIN = ("_sudo", "_sudo_user", "_use_sudo_login", "_use_sudo_password", "_sudo_password")


@operation(is_idempotent=False)
def measure(due: Callable[[], list[Rail]], leads: bool, peer: str, settings: Settings) -> Commands:
    """Measure each rail that is due, one after the other, and keep the result on both hosts.

    + due: asked when it is needed, for what a run changes decides it
    + leads: whether this host measures; the other half of the pair only shows in the plan that it is due
    + peer: name of the host at the other end
    + settings: duration, floor, least path MTU and patience
    """
    rails = due()
    if not rails:
        host.noop("every rail was measured as it is now")
    elif leads:
        yield FunctionCommand(_measure, (rails, inventory.get_host(peer), settings), {})
    elif not run.is_executing:
        yield f"# measured by {peer}"


def _measure(
    state: State,
    host: Host,
    rails: list[Rail],
    peer: Host,
    settings: Settings,
) -> bool:
    here, there = host.get_fact(Rdma, **_login(host)), peer.get_fact(Rdma, **_login(peer))
    own: dict[str, Record] = {}
    mirrored: dict[str, Record] = {}
    healthy = True
    for rail in rails:
        try:
            near = _end(host, here, rail.netdev, rail.address)
            far = _end(peer, there, rail.peer_netdev, rail.peer_address)
            measured = _run_perftest(host, peer, near, far, settings)
        except Refusal as refusal:
            say(host, f"rail {rail.number} ({rail.netdev}): {refusal}")
            healthy = False
            continue
        now = datetime.now(UTC).isoformat(timespec="seconds")
        own[rail.netdev] = _record(near, far, settings.mtu, measured, now)
        mirrored[rail.peer_netdev] = _record(far, near, settings.mtu, measured, now)
        healthy &= _report(host, rail, measured, settings)
    return _keep(state, host, own) and _keep(state, peer, mirrored) and healthy


def _end(at: Host, found: rdma.Rdma, netdev: str, address: IPv4Interface) -> End:
    device, slot = found.on(netdev), gid.find(found.gids, netdev, address.ip)
    if device is None or slot is None:
        raise Refusal(f"{at.name} has no RoCE v2 GID for {address.ip} on {netdev}", "show_gids, on that host")
    return End(device.name, slot.index, netdev, str(address.ip))


def _run_perftest(host: Host, peer: Host, near: End, far: End, settings: Settings) -> bandwidth.Measurement:
    """One measurement: server on the peer, client here; whatever happens, the server is stopped."""
    seconds, patience = settings.bandwidth_seconds, settings.patience
    started = _shell(peer, patience, bandwidth.SERVER, *bandwidth.server_words(far, seconds, patience))
    port = int(bandwidth.word(started, "port"))
    try:
        printed = _shell(
            host, patience, bandwidth.CLIENT, *bandwidth.client_words(near, far, port, seconds, patience)
        )
    finally:
        _shell(peer, patience, bandwidth.STOP, str(port))
    report = base64.b64decode(bandwidth.word(printed, "report")).decode()
    try:
        return bandwidth.parse(printed, report)
    except ValueError as error:
        raise Refusal(str(error), "the same with -vvv, which shows all that ib_write_bw printed") from None


def _record(here: End, there: End, mtu: int, measured: bandwidth.Measurement, now: str) -> Record:
    return Record(here.netdev, here.address, there.address, mtu, round(measured.gbps, 2), measured.path_mtu, now)


def _report(host: Host, rail: Rail, measured: bandwidth.Measurement, settings: Settings) -> bool:
    complaint = bandwidth.complaint(measured, settings.bandwidth_floor, settings.bandwidth_path_mtu)
    figure = f"rail {rail.number} ({rail.netdev}): {measured.gbps:.2f} Gb/s, path MTU {measured.path_mtu}"
    if complaint:
        say(host, f"{figure}; {complaint}. Try: pyinfra -vvv INVENTORY deploys/bandwidth.py")
    else:
        host.log(figure)
    return complaint is None


def _keep(state: State, at: Host, records: Mapping[str, Record]) -> bool:
    file = File(bandwidth.RECORD_PATH, bandwidth.dump_records(records))
    ok, _ = write(file).execute(state, at, _login(at))  # type: ignore[arg-type]
    return bool(ok)


def _shell(at: Host, patience: float, text: str, *words: str) -> str:
    """Standard output of a script on a host. Raises Refusal with what it said where it fails."""
    ok, output = at.run_shell_command(script(text, *words, seconds=int(120 * patience)), **_how(at))
    if not ok:
        said = " ".join(output.stderr_lines[-2:] or output.stdout_lines[-2:]) or "no word of why"
        raise Refusal(f"the bandwidth test failed on {at.name}: {said}", "ping the peer over this rail first")
    return str(output.stdout)


def _how(at: Host) -> dict[str, object]:
    """As root, and shown with -vv and -vvv like every other command."""
    return {"print_input": run.print_input, "print_output": run.print_output, **_login(at)}


def _login(at: Host) -> dict[str, object]:
    """How commands become root on a host: pyinfra merges these itself only for the host of an operation."""
    return {key: at.data.get(key) for key in _LOGIN if at.data.get(key) is not None}
