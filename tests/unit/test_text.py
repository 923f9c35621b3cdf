"""How a sentence names several things at once."""

from __future__ import annotations

from ipaddress import IPv6Address

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


@pytest.mark.parametrize(
    "address", ["0000:0000:0000:0000:0000:ffff:c0a8:640b", "fe80:0000:0000:0000:5054:00ff:fe1b:0001"]
)
def test_an_address_is_written_as_the_kernel_prints_a_gid(address: str) -> None:
    """Whichever Python; the first one is 192.168.100.11."""
    assert text.eight_groups(IPv6Address(address)) == address
