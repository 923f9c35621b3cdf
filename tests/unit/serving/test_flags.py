"""What is known of vLLM's command line by version, against models/vllm/flags.yaml as it is."""

from __future__ import annotations

from datetime import date

import pytest

from sparkrig.serving.flags import Flag, Knowledge, Table, Version, at, within
from sparkrig.serving.io import vllm_flags

KNOWN = vllm_flags.knowledge()
OLD, NEW = (0, 19, 1), (0, 33, 0)


def table(of: Version) -> Table:
    found = KNOWN.flags(of)
    assert found is not None
    return found


def flag(name: str, of: Version = NEW) -> Flag:
    found = table(of).find(name)
    assert found is not None, name
    return found


def test_each_minor_version_is_known_up_to_the_newest() -> None:
    minors = [*KNOWN.releases]
    # of 0.15 no source package was published
    assert minors == [(0, minor) for minor in range(11, max(minors)[1] + 1) if minor != 15]
    assert KNOWN.newest.released <= KNOWN.read
    assert KNOWN.newest.released >= date(2026, 11, 2)
    for release in KNOWN.releases.values():
        assert len(release.sha256) == 64, release.version


def test_a_flag_has_its_values() -> None:
    assert {"auto", "marlin", "triton", "flashinfer_cutlass"} <= {*flag("moe-backend", (0, 24, 0)).values}
    assert flag("moe-backend").accepts("marlin") is True
    assert flag("moe-backend").accepts("FlashInfer-CUTLASS") is True  # vLLM's parser reads it so
    assert flag("moe-backend").accepts("marlyn") is False
    assert flag("moe-backend").nearest("marlyn") == "marlin"
    assert flag("attention-backend").accepts("flashinfer") is True
    assert flag("max-model-len").accepts("128K") is None
    assert flag("tool-call-parser").accepts("of_a_plugin") is None


def test_a_name_is_found_as_vllm_would() -> None:
    found = {
        "--tensor_parallel_size": "tensor-parallel-size",
        "-tp": "tensor-parallel-size",
        "tensor-par": "tensor-parallel-size",
        "no-enable-prefix-caching": "enable-prefix-caching",
        "device-memory-utilization": "gpu-memory-utilization",
        "-ac.backend": "attention-config.backend",
        "compilation-config.pass_config.fuse_allreduce_rms": "compilation-config.pass_config",
        "hf-overrides.anything": "hf-overrides",
    }
    assert {name: flag(name).name for name in found} == found
    for name in ("--tp", "enable", "no-headless", "no-max-model-len", "attention-config.backed", "--max"):
        assert table(NEW).find(name) is None, name


def test_a_switch_has_an_opposite_since_vllm_knows_it() -> None:
    assert table(NEW).find("disable-prefix-caching") is not None
    assert table((0, 32, 0)).find("disable-prefix-caching") is None


def test_a_misspelt_flag_is_near_another() -> None:
    assert table(NEW).nearest("gpu-memory-utilisation") == "gpu-memory-utilization"
    assert table(NEW).nearest("--max_model_length") == "max-model-len"
    assert table(NEW).nearest("attention-config.backed") == "attention-config.backend"
    assert table(NEW).nearest("wholly-other-thing") == ""


def test_when_a_flag_came_and_went() -> None:
    assert KNOWN.removed("swap-space") == (0, 18)
    assert KNOWN.removed("calculate-kv-scales") == (0, 28)
    assert KNOWN.removed("moe-backend") is None
    assert KNOWN.removed("never-there") is None
    assert "deprecated" in flag("disable-cascade-attn").deprecated


def test_whether_a_version_takes_a_flag() -> None:
    name = "kv-cache-memory-bytes"
    assert KNOWN.takes(name, (0, 11, 0)) and KNOWN.takes(name, NEW)
    assert KNOWN.takes(name, None) and KNOWN.takes(name, (0, 99, 0)), "a nightly takes what the newest does"
    assert not KNOWN.takes(name, (0, 10, 2)), "no table is as old"
    assert not KNOWN.takes("swap-space", None) and KNOWN.takes("swap-space", (0, 17, 1))


def test_when_a_variable_went() -> None:
    assert KNOWN.variable_removed("VLLM_ATTENTION_BACKEND") == (0, 16)  # or 0.15, which cannot be read
    assert KNOWN.variable_removed("VLLM_USE_FLASHINFER_MOE_FP4") == (0, 24)
    assert KNOWN.variable_removed("VLLM_TEST_FORCE_FP8_MARLIN") == (0, 29)
    assert KNOWN.variable_removed("VLLM_HOST_IP") is None


@pytest.mark.parametrize("of", [None, (), (0, 10, 2), (0, 15, 1), (0, 19, 2), (0, 33, 99), (1, 0, 0)])
def test_a_version_that_was_not_read_is_unknown(of: Version | None) -> None:
    """(0, 19, 2) was never released: a nightly build of 0.20 has that number."""
    assert KNOWN.flags(of) is None


def test_an_earlier_patch_is_its_minor_version() -> None:
    assert KNOWN.flags((0, 27, 0)) is KNOWN.flags((0, 27, 1)) is KNOWN.flags((0, 27))


def test_spans() -> None:
    spans = {
        "from 0.24": [(0, 24), (0, 25), (1, 0)],
        "to 0.24": [(0, 19), (0, 24)],
        "0.24 to 0.25": [(0, 24), (0, 25)],
        "in 0.25": [(0, 25)],
        "to 0.19, in 0.25, from 1.0": [(0, 19), (0, 25), (1, 0)],
    }
    minors = [(0, 19), (0, 24), (0, 25), (1, 0)]
    assert {text: [each for each in minors if within(text, each)] for text in spans} == spans
    assert at({"to 0.19": 0.9, "from 0.24": 0.92}, (0, 24)) == 0.92
    assert at({"to 0.19": 0.9}, (0, 24)) is None
    with pytest.raises(ValueError, match="no span of versions"):
        within("since 0.24", (0, 24))


def test_values_lie_within_the_life_of_their_flag() -> None:
    wrong = [
        f"{name} {value}"
        for name, row in KNOWN.histories.items()
        for value, spans in row.values_in.items()
        for minor in KNOWN.releases
        if within(spans, minor) and not within(row.spans, minor)
    ]
    assert wrong == []
    assert isinstance(KNOWN, Knowledge)
