"""T3: a server that took its host down twice while it loaded is held, until a person starts it.

With real units, docker and power cuts on a lone guest. The engine is a stand-in, which is told to load for ever.
"""

from __future__ import annotations

import pytest

from lab import pair as lab
from lab.standin_image import NAME, build, weights
from sparkrig.serving import served
from tests.faults.record import Seen
from tests.lab.commands import SOLO, run
from tests.lab.frozen import until
from tests.lab.guests import Guest
from tests.lab.serving import IDS, ONE, models, serve, unit, until_it_answers, wrong

pytestmark = pytest.mark.exhaustive  # seven boots under emulation

TOLD = "STANDIN=--stuck weights"
START = f"sudo systemctl start {served.UNIT}"


def loads_for_ever(guest: Guest) -> None:
    guest.output(f"echo '{TOLD}' | sudo tee -a {served.ENVIRONMENT}; sudo systemctl restart {served.UNIT}; sync")
    until_it_loads(guest)


def loads_again(guest: Guest) -> None:
    guest.output(f"sudo sed -i '/^STANDIN=/d' {served.ENVIRONMENT}; sync")


def until_it_loads(guest: Guest) -> None:
    boot = guest.output("cat /proc/sys/kernel/random/boot_id")
    until(guest, lambda: lost(guest)[-1:] == [boot])


def lost(guest: Guest) -> list[str]:
    """The boots in which it began to load, and was not seen to end."""
    return guest.run(f"sudo cat {served.LOADS}").stdout.split()


def reboot(guest: Guest) -> None:
    before = guest.output("cat /proc/sys/kernel/random/boot_id")
    guest.run("sudo systemctl reboot")
    until(guest, lambda: guest.run("cat /proc/sys/kernel/random/boot_id").stdout.strip() not in ("", before))


@pytest.mark.fault(53)
@pytest.mark.promise(9, 10)
def test_a_server_that_takes_its_host_down_twice_is_held(alone: Guest, seen: Seen) -> None:
    build(alone.node)
    weights(alone.node, f"/srv/models/{IDS[ONE]}")
    done = serve(SOLO, ONE, "--data", f"serve_image={NAME}", "--data", "memory_gib=121.7")
    assert done.code == 0, done.stderr[-3000:]
    until(alone, lambda: lost(alone) == [])
    lab.cut_power(alone.node)  # while it answers
    until_it_answers(alone)
    until(alone, lambda: lost(alone) == [])

    loads_for_ever(alone)
    lab.cut_power(alone.node)
    until_it_loads(alone)
    assert len(lost(alone)) == 2
    reboot(alone)  # in order: it does not count
    until_it_loads(alone)
    assert len(lost(alone)) == 2
    for _ in range(2):  # the third cut is of a boot in which it was held
        lab.cut_power(alone.node)
        until(alone, lambda: "boots held" in alone.run(f"sudo cat {served.EVENTS}").stdout)
        assert unit(alone) == "inactive" and len(lost(alone)) == 2
        assert unit(alone, served.WATCH_UNIT) == unit(alone, f"{served.PORT_UNIT}.socket") == "inactive"

    code, rows = wrong(SOLO)
    assert code == 2 and ("spark-s", "serve.boots") in rows, rows
    for verb in ("doctor", "drift", "status", "startup"):
        said = " ".join(run("sparkrig", verb, SOLO).stdout.split())
        assert "2 boots ended while it loaded" in said and START in said, said
    seen(f"held after two power cuts while it loaded, and in the boot after the third; {START} starts it")

    alone.output(START)  # it is held no more, although it would load for ever
    until_it_loads(alone)
    assert unit(alone) == "active" and len(lost(alone)) == 3
    loads_again(alone)
    alone.output(f"sudo systemctl restart {served.UNIT}")
    until_it_answers(alone)
    until(alone, lambda: lost(alone) == [])
    assert not [row for row in wrong(SOLO)[1] if row[1] == "serve.boots"]
    reboot(alone)
    until_it_answers(alone)
    assert ONE in models(alone)
