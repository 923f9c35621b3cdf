"""Driver and kernel stay where they are."""

from __future__ import annotations

import re

import pytest

from tests.state.conftest import Said

# the set by name, written down apart from sparkrig.host.driver on purpose
KEPT = re.compile(
    r"(lib|xserver-xorg-video-)?nvidia-.*(580|59\d|[6-9]\d\d).*|nvidia-(driver.*|modprobe)|cuda-drivers.*"
    r"|linux-(image|headers|modules|nvidia)-.*"
)
APT_REFUSES = 100
PACKAGES = "dpkg-query -W -f='${db:Status-Status} ${db:Status-Want} ${Package} ${Version}\\n'"


def installed(listed: str) -> list[list[str]]:
    """Want, name and version of each installed package."""
    return [
        line.split()[1:] for line in listed.splitlines() if not line.startswith(("not-installed", "config-files"))
    ]


@pytest.mark.asks(packages=PACKAGES)
def test_every_installed_package_of_the_declared_set_is_on_hold(said: Said) -> None:
    kept = {name: want for want, name, _ in installed(said.packages.good) if KEPT.fullmatch(name)}
    assert any("nvidia-driver-580" in name for name in kept), "the driver itself is in the set"
    assert {name for name, want in kept.items() if want != "hold"} == set()


@pytest.mark.asks(upgrade="apt-get -s -o Debug::NoLocking=1 dist-upgrade")
def test_a_dist_upgrade_touches_neither_driver_nor_kernel(said: Said) -> None:
    touched = re.compile(r"(Inst|Remv) (lib)?(nvidia|linux-|cuda-drivers)")
    assert [line for line in said.upgrade.good.splitlines() if touched.match(line)] == []


@pytest.mark.asks(
    pins="cat /etc/apt/preferences.d/*",
    policy="LC_ALL=C apt-cache policy nvidia-driver-590-open",
    install="apt-get -s -o Debug::NoLocking=1 install nvidia-driver-590-open",
)
def test_a_later_driver_cannot_be_had_even_by_name(said: Said) -> None:
    """Where a repository offers it; elsewhere the pin is there for the day when one does."""
    assert "Pin: version /^([0-9]+:)?(59[0-9]|[6-9][0-9][0-9])[.]/" in said.pins.good
    if "Candidate:" in said.policy.good:
        assert "Candidate: (none)" in said.policy.text
    assert said.install.code == APT_REFUSES


@pytest.mark.asks(packages=PACKAGES)
def test_no_later_driver_was_installed_past_the_pin(said: Said) -> None:
    """apt heeds no pin for `install NAME=VERSION`."""
    parts = r"(lib)?nvidia-(driver|open|kernel|compute|utils|gl)|cuda-drivers|linux-modules-nvidia-\d"
    # not its tools: 610 of those is usual
    driver = [row for row in installed(said.packages.good) if re.match(parts, row[1])]
    assert [row for row in driver if re.search(r"-(59|[6-9]\d)\d(-|$)", row[1])] == []
    assert [row for row in driver if re.match(r"(59|[6-9]\d)\d\.", row[2])] == []


@pytest.mark.asks(blacklist="apt-config dump Unattended-Upgrade::Package-Blacklist")
def test_unattended_upgrades_leave_it_alone(said: Said) -> None:
    entries = re.findall(r'"(.+)";', said.blacklist.good)
    for name in ("nvidia-driver-580-open", "linux-image-nvidia-hwe-24.04", "nvidia-modprobe"):
        assert any(re.match(entry, name) for entry in entries), name
