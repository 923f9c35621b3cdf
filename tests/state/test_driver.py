"""Driver and kernel stay where they are."""

from __future__ import annotations

import re

from testinfra.host import Host

# the set by name, written down apart from sparkrig.host.driver on purpose
KEPT = re.compile(
    r"(lib|xserver-xorg-video-)?nvidia-.*(580|59\d|[6-9]\d\d).*|nvidia-(driver.*|modprobe)|cuda-drivers.*"
    r"|linux-(image|headers|modules|nvidia)-.*"
)


def test_every_installed_package_of_the_declared_set_is_on_hold(host: Host) -> None:
    listed = host.check_output("dpkg-query -W -f='${db:Status-Want} ${db:Status-Status} ${Package}\\n'")
    gone = (" not-installed ", " config-files ")
    installed = [line.split() for line in listed.splitlines() if not any(state in line for state in gone)]
    kept = {name: want for want, _, name in installed if KEPT.fullmatch(name)}
    assert any("nvidia-driver-580" in name for name in kept), "the driver itself is in the set"
    assert {name for name, want in kept.items() if want != "hold"} == set()


def test_a_dist_upgrade_touches_neither_driver_nor_kernel(host: Host) -> None:
    said = host.check_output("apt-get -s -o Debug::NoLocking=1 dist-upgrade")
    moved = [
        line for line in said.splitlines() if re.match(r"(Inst|Remv) (lib)?(nvidia|linux-|cuda-drivers)", line)
    ]
    assert moved == []


def test_a_later_driver_cannot_be_had_even_by_name(host: Host) -> None:
    """Where a repository offers it; elsewhere the pin is there for the day when one does."""
    said = host.check_output("LC_ALL=C apt-cache policy nvidia-driver-590-open; cat /etc/apt/preferences.d/*")
    assert "Pin: version /^([0-9]+:)?(59[0-9]|[6-9][0-9][0-9])[.]/" in said
    if "Candidate:" in said:
        assert "Candidate: (none)" in said
        assert host.run("apt-get -s -o Debug::NoLocking=1 install nvidia-driver-590-open").rc != 0


def test_no_later_driver_was_installed_past_the_pin(host: Host) -> None:
    """apt heeds no pin for `install NAME=VERSION`."""
    listed = host.check_output("dpkg-query -W -f='${db:Status-Status} ${Package} ${Version}\\n'")
    rows = [line.split() for line in listed.splitlines() if not line.startswith(("not-installed", "config-files"))]
    parts = r"(lib)?nvidia-(driver|open|kernel|compute|utils|gl)|cuda-drivers|linux-modules-nvidia-\d"
    driver = [row for row in rows if re.match(parts, row[1])]  # not its tools: 610 of those is usual
    assert [row for row in driver if re.search(r"-(59|[6-9]\d)\d(-|$)", row[1])] == []
    assert [row for row in driver if re.match(r"(59|[6-9]\d)\d\.", row[2])] == []


def test_unattended_upgrades_leave_it_alone(host: Host) -> None:
    said = host.check_output("apt-config dump Unattended-Upgrade::Package-Blacklist")
    entries = re.findall(r'"(.+)";', said)
    for name in ("nvidia-driver-580-open", "linux-image-nvidia-hwe-24.04", "nvidia-modprobe"):
        assert any(re.match(entry, name) for entry in entries), name
