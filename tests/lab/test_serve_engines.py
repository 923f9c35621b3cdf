"""T3: SGLang and llama.cpp on a lone guest, with real docker and systemd and stand-ins for both engines.

What no test on @fake shows: that an image without Python starts, answers and is asked by start.sh with curl, that
docker mounts a folder with a GGUF file, and that one server gives its memory and its port to the next one.
Written, and not run yet.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.standin_image import NAMES, build, gguf, weights
from sparkrig.serving import served
from tests.lab.commands import CLUSTER, SOLO, run
from tests.lab.guests import Guest
from tests.lab.serving import IDS, ONE, models, planned, serve, unit, until_it_answers, wrong

pytestmark = pytest.mark.exhaustive  # images are made and started under emulation

FILE = "ggml-org/gpt-oss-120b-GGUF/gpt-oss-120b-mxfp4.gguf"
DATA = {
    "sglang": ("--data", "serve_engine=sglang", "--data", f"serve_image={NAMES['sglang']}"),
    "llama.cpp": (
        *("--data", "serve_engine=llama.cpp", "--data", f"serve_image={NAMES['llama.cpp']}"),
        *("--data", f"serve_gguf={FILE}"),
    ),
}
MEMORY = ("--data", "memory_gib=121.7")


def test_each_engine_serves_a_lone_spark_and_a_bad_one_is_rolled_back(solo: Guest, tmp_path: Path) -> None:
    done = run("pyinfra", "-y", SOLO, CLUSTER)
    assert done.code == 0, done.stderr[-3000:]
    weights(solo.node, f"/srv/models/{IDS[ONE]}")
    gguf(solo.node, f"/srv/models/{FILE}")
    for engine, words in DATA.items():
        build(solo.node, engine=engine)
        done = serve(SOLO, ONE, *words, *MEMORY)
        assert done.code == 0, done.stderr[-3000:]
        assert models(solo) == [ONE] and unit(solo) == "active"
        said = solo.output(f"sudo journalctl -b -o cat -u {served.UNIT}")
        assert f"stand-in for {'SGLang' if engine == 'sglang' else engine}" in said
        assert "sparkrig: phase ready" in said and "sparkrig: phase answered" in said
        assert planned(SOLO, ONE, *words, *MEMORY) == {} == planned(SOLO, "", *MEMORY)
        _, rows = wrong(SOLO)
        assert not [row for row in rows if row[1].startswith("serve.")], rows
    # llama.cpp serves now; SGLang that answers garbage does not take its place
    build(solo.node, "--garbage", name="bad:1", engine="sglang")
    bad = ("--data", "serve_engine=sglang", "--data", "serve_image=bad:1")
    done = serve(SOLO, ONE, *bad, *MEMORY)
    assert done.code == 1 and "Changed and rolled back" in done.stderr and "garbage" in done.stderr
    until_it_answers(solo)
    assert "llama-server" in solo.output(f"systemctl cat {served.UNIT}")
    solo.output("sudo docker kill sparkrig-serve")
    until_it_answers(solo)
    assert run("sparkrig", "undo", SOLO, "--yes").code == 0
