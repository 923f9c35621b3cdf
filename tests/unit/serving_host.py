"""A host in a folder, where the scripts of a server run, with stand-ins for systemctl, docker and ss."""

from __future__ import annotations

from pathlib import Path

from sparkrig.facts.serving import Serving as ServingFact
from sparkrig.serving import served
from tests.unit.simulated import SimulatedHost

DID = (
    "2026-11-24T12:03:00Z stuck restarted the engine stood still for 300 s: requests running: 2, the GPU drew 14 W"
)
ID = f"sha256:{'a1' * 32}"
SYSTEMCTL = """echo "$@" >>{log}
case "$*" in
*-p\\ ActiveState,SubState*|*-p\\ LoadState*) cat {unit} ;;
*-p\\ ActiveState,NRestarts*) cat {unit} ;;
*--value*) echo inactive ;;
*-p\\ Id,*) printf 'Id=docker\\nLoadState=loaded\\nActiveState=%s\\n' none active active ;;
esac
case $1 in is-active|-q) exit 0 ;; esac"""
DOCKER = """case "$1 $2" in
"container inspect") echo 'container {id} 2026-11-21T14:00:00Z' ;;
"container ls") printf 'sparkrig-serve\ncomfyui\n' ;;
"image ls") case " $* " in *" -a "*) echo {id} ;; esac ;;
"image inspect") printf 'image %s arm64 vllm:1 vllm@sha256:77\nsize %s 5\n' {id} {id} ;;
"info --format") echo "/ [[driver-type $(cat {log}.driver 2>/dev/null)]] {{}}" ;;
*) echo docker "$@" >>{log} ;;
esac"""


class Spark(SimulatedHost):
    """A host in a folder."""

    own = "/etc/sparkrig|/etc/systemd|/var/lib/sparkrig|/usr/local/lib/sparkrig"

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.log, self.unit = root / "did", root / "unit"
        self.log.write_text("")
        self.unit.write_text("LoadState=not-found\nActiveState=inactive\nNRestarts=0\nInvocationID=77\n")
        self.tool("systemctl", SYSTEMCTL.format(log=self.log, unit=self.unit))
        self.tool("docker", DOCKER.format(log=self.log, id=ID))
        self.tool("journalctl", "echo 'sparkrig: phase ready 2026-11-21T14:00:00Z'; echo noise")
        self.tool("ss", "echo 'LISTEN 0 128 0.0.0.0:22 0.0.0.0:*'; echo 'LISTEN 0 9 [::]:8000 [::]:*'")
        (root / "etc/systemd/system").mkdir(parents=True)

    def look(self, weights: str = "") -> served.Serving:
        return ServingFact().process(self.prints(ServingFact().command(weights)).splitlines())

    def holds(self) -> dict[str, str]:
        return {path: self.at(path).read_text() for path in served.PATHS if self.at(path).exists()}

    @property
    def enabled(self) -> bool:
        return self.at(served.ENABLED).is_symlink()
