"""Driver and kernel stay where they are."""

from __future__ import annotations

import re

from testinfra.host import Host

# the set by name, written down apart from sparkrig.driver on purpose
KEPT = re.compile(
    r"(lib|xserver-xorg-video-)?nvidia-.*580.*|nvidia-modprobe|cuda-drivers.*"
    r"|linux-(image|headers|modules|nvidia)-.*"
)


def test_every_installed_package_of_the_580_set_is_on_hold(host: Host) -> None:
    listed = host.check_output("dpkg-query -W -f='${db:Status-Want} ${db:Status-Status} ${Package}\\n'")
    installed = [line.split() for line in listed.splitlines() if " installed " in line]
    kept = {name: want for want, _, name in installed if KEPT.fullmatch(name)}
    assert any("nvidia-driver-580" in name for name in kept), "the driver itself is in the set"
    assert {name for name, want in kept.items() if want != "hold"} == set()


def test_a_dist_upgrade_touches_neither_driver_nor_kernel(host: Host) -> None:
    said = host.check_output("apt-get -s -o Debug::NoLocking=1 dist-upgrade")
    moved = [
        line for line in said.splitlines() if re.match(r"(Inst|Remv) (lib)?(nvidia|linux-|cuda-drivers)", line)
    ]
    assert moved == []


def test_a_later_driver_has_no_candidate_even_when_asked_for_by_name(host: Host) -> None:
    later = "nvidia-driver-590-open"
    if later not in host.check_output("apt-cache pkgnames nvidia-driver-590"):
        assert "nvidia" in host.file("/etc/apt/preferences.d/00-sparkrig-nvidia.pref").content_string
        return
    assert "Candidate: (none)" in host.check_output("LC_ALL=C apt-cache policy %s", later)
    assert host.run("apt-get -s -o Debug::NoLocking=1 install %s", later).rc != 0


def test_unattended_upgrades_leave_it_alone(host: Host) -> None:
    said = host.check_output("apt-config dump Unattended-Upgrade::Package-Blacklist")
    entries = re.findall(r'"(.+)";', said)
    for name in ("nvidia-driver-580-open", "linux-image-nvidia-hwe-24.04", "nvidia-modprobe"):
        assert any(re.match(entry, name) for entry in entries), name
