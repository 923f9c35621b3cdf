"""`sparkrig init DIR --from ADDRESS` on a loopback: a project that declares a host as it is found, or nothing."""

from __future__ import annotations

import pytest

from tests import warm
from tests.plan.examined import changed, examined
from tests.unit.desks import Desk
from tests.unit.shells import well
from tests.unit.states import A


def test_the_verb_writes_a_project_that_declares_a_host(with_a: Desk) -> None:
    with_a.sparks[A].becomes(examined("a"))
    port = with_a.sparks[A].port
    words = ("init", "sparks", "--from", f"nvidia@127.0.0.1:{port}")
    done = well(warm.run("sparkrig", *words, cwd=with_a.folder, env=with_a.environ()))
    text = (with_a.folder / "sparks" / "inventories" / "sparks.py").read_text()
    assert f'"ssh_port": {port}' in text and '"enp1s0f0np0": "192.168.100.11/24"' in text
    assert "sparkrig plan inventories/sparks.py" in done.stdout


def test_what_is_no_spark_is_said(with_a: Desk) -> None:
    other = changed("a", "identity", ("^gpu=.*$", "gpu=NVIDIA T4"))
    with_a.sparks[A].becomes(examined("a", identity=other))
    words = ("init", "sparks", "--from", f"nvidia@127.0.0.1:{with_a.sparks[A].port}")
    done = warm.run("sparkrig", *words, cwd=with_a.folder, env=with_a.environ())
    assert "is no DGX Spark: its GPU is NVIDIA T4, not a GB10. Try: check the address" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--from", "nvidia@no.invalid"), "could not be read"),
        (("--from", "nvidia@no.invalid", "me@no.invalid"), "no.invalid is given twice"),
        (("nvidia@no.invalid",), "Got unexpected extra argument (nvidia@no.invalid)"),
        (("--from", "here", "--here", "spark"), "--here and --from are both given"),
        (("--from", "A"), "NCCL needs each twin in its own. Try: sparkrig doctor nvidia@127.0.0.1"),
    ],
)
def test_nothing_is_written_where_a_host_is_not_read(with_a: Desk, words: tuple[str, ...], said: str) -> None:
    network = changed("a", "network", ("192.168.101.11", "192.168.100.21"))  # both twins in one subnet
    with_a.sparks[A].becomes(examined("a", network=network))
    words = tuple(word.replace("A", f"nvidia@127.0.0.1:{with_a.sparks[A].port}") for word in words)
    done = warm.run("sparkrig", "init", "sparks", *words, cwd=with_a.folder, env=with_a.environ())
    assert done.returncode == 1 and said in " ".join(done.stderr.split()), done.stderr
    assert "Edit" not in done.stderr and not (with_a.folder / "sparks").exists()
