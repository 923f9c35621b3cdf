"""What a Spark tells of an update, by the programs themselves, with stand-ins for dpkg and for a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkrig.host.update_record import FOLDER
from sparkrig.operations import update_changed
from tests.unit.resources.world import PLACES, World

# what vLLM answers on both paths; the second of three answers is the quickest. It notes how it is asked
CURL = r"""config=$(cat)
for last; do :; done
case $last in
*:8000/v1/models) printf '{"data": [{"id": "m 1", "root": "x"}, {"id": "other"}]}' ;;
*:8000/v1/completions)
  printf '%s\n' "$config $*" >>/run/asked
  case $(wc -l </run/asked) in 2) took=1.0 ;; *) took=2.0 ;; esac
  printf '{"usage": {"prompt_tokens": 4, "completion_tokens": 64}}\n"took": %s\n' $took ;;
*) exit 7 ;;
esac"""


@pytest.fixture
def spark(tmp_path: Path) -> World:
    world = World(tmp_path)
    for place in PLACES:
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
    world.tool("curl", CURL)
    world.tool("sync", "")
    world.file(f"{FOLDER}/plan").write_text("served -\nserved embed\nend\n")
    world.file("/etc/sparkrig/serve/serve.json").write_text('{\n "model": "m",\n "port": 8000,\n "key": true\n}\n')
    alternatives = Path("/etc/alternatives/awk")  # which /usr/bin/awk leads to
    if alternatives.is_symlink():
        world.file(str(alternatives)).symlink_to(alternatives.readlink())
    return world


def test_the_quickest_of_three_answers_counts_and_a_silent_server_has_none(spark: World) -> None:
    spark.file("/etc/sparkrig/secrets.env").write_text("VLLM_API_KEY=geheim\n")
    spark.look(update_changed.RATE)
    assert spark.at(f"{FOLDER}/rates").read_text() == "rate-was - 64 1000\n"
    asked = spark.at("/run/asked").read_text().splitlines()
    assert len(asked) == 3 and all(row.startswith('header = "Authorization: Bearer geheim" -K -') for row in asked)
    assert all('"model": "m 1"' in row for row in asked) and "geheim" not in asked[0].partition(" -K ")[2]


def test_what_is_installed_and_measured_now_is_told_beside_what_was(spark: World) -> None:
    spark.tool("dpkg-query", "printf 'installed a 2\\ninstalled same 1\\nconfig-files gone 1\\n'")
    spark.file(f"{FOLDER}/packages").write_text("a 1\nsame 1\ngone 1\n")
    spark.file(f"{FOLDER}/bandwidth.json").write_text("before")
    spark.file("/var/lib/sparkrig/bandwidth.json").write_text("after")
    spark.file(f"{FOLDER}/rates").write_text("rate-was - 64 900\n")
    rows, _ = spark.look(update_changed.CHANGED)
    assert rows == [
        "was a 1",
        "was gone 1",
        "now a 2",
        "rails-was YmVmb3Jl",
        "rails-now YWZ0ZXI=",
        "rate-was - 64 900",
        "rate-now - 64 1000",
    ]
