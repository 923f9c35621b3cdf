"""The same state by stock pyinfra: its own operations, as its documentation writes them, and nothing tuned.

pyinfra -y benchmarks/stock_hosts.py benchmarks/stock.py
"""

from __future__ import annotations

import json
import re
from io import StringIO

from pyinfra import host, inventory
from pyinfra.facts.deb import DebPackages
from pyinfra.facts.files import File, FileContents
from pyinfra.facts.server import Command
from pyinfra.operations import apt, files, python, server, systemd

KEPT = re.compile(
    r"(lib|xserver-xorg-video-)?nvidia-.*(580|59\d|[6-9]\d\d).*|nvidia-(driver.*|modprobe|settings)|cuda-drivers.*"
    r"|linux-(image|headers|modules|nvidia)-.*"
)
GIDS = r"""
for port in /sys/class/infiniband/*/ports/1; do
  grep -H '^0000:0000:0000:0000:0000:ffff:' $port/gids/* 2>/dev/null | while IFS=: read -r slot gid; do
    index=${slot##*/}; device=${port%/ports/1}
    grep -qs v2 $port/gid_attrs/types/$index || continue
    echo "$(cat $port/gid_attrs/ndevs/$index) $index ${device##*/}"
  done
done
"""
MEASURED = "/var/lib/sparkrig/bandwidth.json"
FABRIC = host.data.fabric


def put(path: str, content: str, mode: str = "0644"):
    return files.put(name=path, src=StringIO(content), dest=path, mode=mode)


def driver() -> None:
    listed = host.get_fact(Command, r"dpkg-query -W -f='${db:Status-Want} ${Package}\n'") or ""
    unheld = [
        name for want, name in map(str.split, listed.splitlines()) if want == "install" and KEPT.fullmatch(name)
    ]
    if unheld:
        server.shell(name="hold", commands=["apt-mark hold " + " ".join(unheld)])
    for file in host.data.files:
        put(file["path"], file["content"], file["mode"])
    said = host.get_fact(Command, "apt-get -s -o Debug::NoLocking=1 dist-upgrade") or ""
    moved = re.search(r"(?m)^(Inst|Remv) (lib)?(nvidia|linux-|cuda-drivers)", said)
    if moved and not unheld:
        raise ValueError(f"an upgrade would touch the driver: {moved[0]}")


def network() -> None:
    folder = "/etc/NetworkManager/system-connections"
    done = [
        put(f"{folder}/sparkrig-{name}.nmconnection", rail["profile"], "0600") for name, rail in FABRIC.items()
    ]
    up = [f"nmcli connection up sparkrig-{name}" for name in FABRIC]
    server.shell(
        name="rails up",
        commands=["nmcli connection reload", *up],
        _if=lambda: any(each.did_change() for each in done),
    )


def gids() -> dict[str, list[str]]:
    said = host.get_fact(Command, GIDS) or ""
    rows = {row[0]: row[1:] for row in map(str.split, said.splitlines())}
    return {name: rows[name] for name in FABRIC if name in rows}


def with_index() -> None:
    rows = gids()
    devices, index = ",".join(device for _, device in rows.values()), next((row[0] for row in rows.values()), "")
    for file in host.data.files_with_index:
        text = file["content"].replace("@DEVICES@", devices).replace("@INDEX@", index)
        put(file["path"], text, file["mode"])


def toolkit() -> None:
    if "nvidia-container-toolkit" not in host.get_fact(DebPackages):
        files.download(
            src=host.data.toolkit_key_url,
            dest="/etc/apt/keyrings/nvidia-container-toolkit.asc",
            sha256sum=host.data.toolkit_key_sha256,
            mode="0644",
        )
        put(
            "/etc/apt/sources.list.d/nvidia-container-toolkit.sources",
            f"Types: deb\nURIs: {host.data.toolkit_url}\nSuites: /\n"
            "Signed-By: /etc/apt/keyrings/nvidia-container-toolkit.asc\n",
        )
        apt.packages(packages=["nvidia-container-toolkit"], update=True)
    document = json.loads("\n".join(host.get_fact(FileContents, path="/etc/docker/daemon.json") or ["{}"]))
    document.setdefault("runtimes", {})["nvidia"] = {"path": "nvidia-container-runtime", "args": []}
    merged = put("/etc/docker/daemon.json", json.dumps(document, indent=4, sort_keys=True) + "\n")
    systemd.service(service="docker", restarted=True, _if=merged.did_change)


def measure() -> None:
    """Both rails, one after the other."""
    rows = []
    for number, (name, rail) in enumerate(FABRIC.items()):
        words = f"{gids()[name][1]} -q 4 -D {host.data.seconds} -m 4096 -u 18 -p {18515 + number}"
        one = f"ib_write_bw --report_gbits -d {words} {rail['peer']}"
        done, out = host.run_shell_command(f"for i in $(seq 20); do {one} && exit; sleep 1; done; exit 1")
        assert done, out.output
        figure = next(row.split()[-2] for row in out.stdout_lines if re.match(r" *65536 ", row))
        rows.append({"netdev": name, "gbps": float(figure), "path_mtu": 4096, "mtu": 9000})
    keep(rows)


def copy() -> None:
    """The leader's figures are for both hosts."""
    leader = inventory.get_host(host.data.leading)
    keep(json.loads("\n".join(leader.get_fact(FileContents, path=MEASURED)))["rails"])


def keep(rows: list) -> None:
    boot = host.get_fact(Command, "cat /proc/sys/kernel/random/boot_id")
    own = [
        {**row, "address": rail["address"], "peer": rail["peer"], "boot_id": boot}
        for row, rail in zip(rows, FABRIC.values(), strict=True)
    ]
    put(MEASURED, json.dumps({"rails": own}, indent=1) + "\n")


def serve() -> None:
    words = [f"-d {device} -q 4 -D {host.data.seconds} -m 4096 -u 18" for _, device in gids().values()]
    lines = [
        f"(timeout 120 ib_write_bw {each} -p {18515 + number} >/dev/null 2>&1 </dev/null &)"
        for number, each in enumerate(words)
    ]
    server.shell(commands=["; ".join(lines)])


driver()
network()
if len(gids()) == len(FABRIC):
    with_index()
else:  # the rails come up in the middle of this run
    python.call(name="files that carry the index", function=with_index)
toolkit()
if FABRIC and not host.get_fact(File, path=MEASURED):
    # hosts come in any order, operations in that of their lines
    if not host.data.leads:
        python.call(name="servers", function=serve)
    if host.data.leads:
        python.call(name="bandwidth", function=measure)
    if not host.data.leads:
        python.call(name="bandwidth, as the leader has it", function=copy)
