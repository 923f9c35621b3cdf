"""What is kept of a Spark beside the inventory, and by what it is served again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparkrig.host.driver import Package
from sparkrig.host.releases import Recipe, Releases
from sparkrig.onboarding import kept
from sparkrig.onboarding.io import kept_files
from sparkrig.onboarding.kept import Kept, Served
from sparkrig.refusal import Refusal
from sparkrig.serving.served import Own, Serving, Weights
from sparkrig.serving.wish import Wish
from sparkrig.settings import Settings
from tests.unit.candidates import seen

COMMIT = "0123456789" * 4
SOLO = Served("", "Qwen/Qwen3-8B", COMMIT, settings={"model": "qwen3-8b", "serve_port": 9000})
FACTS = {"maker": "a maker", "DGX OS": "7.5.0", "kernel": "6.17.0-1", "driver": "580.1"}
KEPT = Kept("spark-a", "2026-11-29T10:00Z", FACTS, {"a": "1"}, {"driver.hold": "held", "x": "1"}, (SOLO,))


def test_what_is_kept_of_a_host_is_what_it_was_seen_as() -> None:
    state = seen("a")
    made = kept.of("spark-a", "now", state, Settings())
    assert made.facts["kernel"] == state.identity.kernel and made.facts["driver"].startswith("580.")
    assert "nvidia-driver-580-open" in made.held
    assert kept.load(kept.dump(made)) == made


def test_the_held_set_is_that_of_the_branch_which_holds_it_and_not_of_the_declared_one() -> None:
    """Of a Spark on 590 whose settings name 580 again, and which has the release of each."""
    rows = (Package("nvidia-driver-open", "hold", "installed", "590.48.01-1"),)
    known = Releases((Recipe("made-up", "", "2026-12-01", "", "590.48.01"),))
    state = seen("a")
    state = replace(state, driver=replace(state.driver, rows=rows), releases=known)
    assert kept.of("spark-a", "now", state, Settings(driver_branch=580)).held == {
        "nvidia-driver-open": "590.48.01-1"
    }


def test_a_server_is_kept_with_its_commit_and_the_digest_of_its_image(wish: Wish) -> None:
    mine = Settings(model="gpt-oss-120b", serve_name="embed")
    found = Serving(weights={wish.checkpoint.id: Weights("whole", 7, revision=COMMIT)})
    found = replace(found, named={"embed": Own(image="sha256:ab")})
    made = kept.served("embed", wish, mine, found)
    assert (made.revision, made.image_id, made.settings) == (COMMIT, "sha256:ab", {"model": "gpt-oss-120b"})
    assert str(made) == f"{wish.checkpoint.id} at {COMMIT[:12]}, as service embed"


@pytest.fixture
def wish() -> Wish:
    from sparkrig.serving import plan
    from sparkrig.serving.io.catalogue_files import catalogue

    return plan.wish(catalogue().find, Settings(model="gpt-oss-120b"), 1, None)


AGAIN: dict[str, tuple[Served, dict[str, Any], dict[str, Any]]] = {
    "as it was typed": (SOLO, {}, {"serve_revision": COMMIT, "model": "qwen3-8b", "serve_port": 9000}),
    "what the inventory declares": (SOLO, {"model": "qwen3-8b"}, {"serve_revision": COMMIT}),
    "another model by now": (SOLO, {"model": "gpt-oss-120b"}, {}),
    "a port that is declared": (SOLO, {"serve_port": 9001}, {"serve_revision": COMMIT, "model": "qwen3-8b"}),
    "a service": (
        replace(SOLO, service="embed", revision=""),
        {"model": "gpt-oss-120b"},
        {"serve_name": "embed", "model": "qwen3-8b", "serve_port": 9000},
    ),
    "a service beside a recipe": (
        replace(SOLO, service="embed"),
        {"recipe": "x.yaml"},
        {"serve_revision": COMMIT, "serve_name": "embed", "model": "qwen3-8b", "serve_port": 9000},
    ),
    "its commit stays the declared one": (
        replace(SOLO, settings={"model": "qwen3-8b", "serve_revision": "f" * 40}),
        {},
        {"serve_revision": "f" * 40, "model": "qwen3-8b"},
    ),
}


def test_what_serves_it_again() -> None:
    for name, (server, declared, data) in AGAIN.items():
        assert server.data(Settings(**declared)) == data, name


def test_what_is_no_setting_of_a_server_is_never_handed_on() -> None:
    for settings in ({"_sudo": True}, {"ssh_user": "root"}, {"serve_port": 70000}, {"model": "a b"}):
        with pytest.raises(ValueError):
            replace(SOLO, settings=settings).data(Settings())


def test_what_moved_and_what_is_declared_otherwise() -> None:
    now = replace(KEPT, declared={"driver.hold": "other", "new": "1"})
    assert now.differs(KEPT) == ["driver.hold"] and KEPT.differs(KEPT) == []
    other = replace(KEPT, facts={**FACTS, "kernel": "6.17.0-0", "driver": ""})
    assert other.moved(KEPT) == "kernel 6.17.0-1 -> 6.17.0-0 and driver 580.1 -> none" and KEPT.moved(KEPT) == ""


def test_the_file_is_beside_the_inventory_and_is_written_where_it_changed(tmp_path: Path) -> None:
    file = tmp_path / "pair.py"
    assert kept_files.read(file, "@here/spark-a") is None
    kept_files.keep(file, KEPT)
    place = tmp_path / "pair.kept" / "spark-a.json"
    assert kept_files.path(file, "@here/spark-a") == place and oct(place.stat().st_mode & 0o777) == "0o644"
    assert kept_files.read(file, "spark-a") == KEPT
    text = place.read_text()
    kept_files.keep(file, replace(KEPT, at="later"))
    assert place.read_text() == text
    kept_files.keep(file, replace(KEPT, at="later", held={}))
    assert '"at": "later"' in place.read_text()


@pytest.mark.parametrize("text", ["{", "[]", "{}", "[" * 50, "1" * 300_000, "\ud800"], ids=str)
def test_a_file_that_is_none_of_ours_is_refused_and_left(tmp_path: Path, text: str) -> None:
    file = tmp_path / "pair.py"
    place = kept_files.path(file, "spark-a")
    place.parent.mkdir()
    content = text.encode(errors="surrogatepass")
    place.write_bytes(content)
    with pytest.raises(Refusal):
        kept_files.keep(file, KEPT)
    assert place.read_bytes() == content
