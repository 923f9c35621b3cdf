"""How a sentence names several things at once."""

from __future__ import annotations

import pytest

from sparkrig import text


@pytest.mark.parametrize(
    ("names", "said"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_listed(names: list[str], said: str) -> None:
    assert text.listed(iter(names)) == said


@pytest.mark.parametrize(("numbers", "said"), [([1], "rail 1"), ([0, 1], "rails 0 and 1")])
def test_rails(numbers: list[int], said: str) -> None:
    assert text.rails(numbers) == said
