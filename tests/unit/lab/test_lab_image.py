"""What an image is made of, and what its key depends on."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from lab import host, image
from lab.image import Source, archive, key, stage
from lab.mirror import DEFAULT, pick

SOURCE = Source("trixie", "http://deb.debian.org/debian")


def members(staged: bytes) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(staged)) as tar:
        return {member.name: member for member in tar.getmembers()}


def test_the_stage_is_the_same_every_time_and_owned_by_root() -> None:
    staged = stage("ssh-ed25519 AAAA lab\n")
    assert staged == stage("ssh-ed25519 AAAA lab\n")
    assert {(member.uid, member.gid, member.mtime) for member in members(staged).values()} == {(0, 0, 0)}


def test_the_stage_holds_guest_files_link_files_and_the_build() -> None:
    found = members(stage("key"))
    assert found["./usr/lib/sparkrig-lab/become"].mode == 0o755
    assert found["./etc/dgx-release"].mode == 0o644
    assert {"./etc/systemd/network/10-enP7s7.link", "./lab/authorized_keys"} <= set(found)
    assert "./lab/guest/build/repositories.py" in found
    assert {"./lab/guest/build/switch/init", "./lab/guest/build/switch/make.sh"} <= set(found)
    assert not any("__pycache__" in name for name in found)


def test_the_key_changes_with_everything_that_goes_in(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {
        key(SOURCE, b"stage"),
        key(SOURCE, b"other stage"),
        key(Source("sid", SOURCE.mirror), b"stage"),
        key(Source("trixie", "http://mirror.example/debian"), b"stage"),
    }
    monkeypatch.setattr(image, "packages", lambda: ["another"])
    keys.add(key(SOURCE, b"stage"))
    assert len(keys) == 5
    assert {len(one) for one in keys} == {16}


def test_an_archive_does_not_depend_on_the_order_of_its_files() -> None:
    assert archive({"a": b"1", "b": b"2"}, set()) == archive({"b": b"2", "a": b"1"}, set())


def test_half_an_image_is_none(tmp_path: Path) -> None:
    (tmp_path / "base.qcow2").touch()
    assert not image.complete(tmp_path)
    for name in image.FILES:
        (tmp_path / name).touch()
    assert image.complete(tmp_path)


def test_a_failed_build_leaves_no_image(lab_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(source: Source, work: Path) -> None:
        (work / "vmlinuz").touch()
        raise RuntimeError

    monkeypatch.setattr(host, "require_build_host", lambda: None)
    monkeypatch.setattr(host, "require_room", lambda folder, gib: None)
    monkeypatch.setattr(image, "bootstrap", fail)
    with pytest.raises(RuntimeError):
        image.build(SOURCE, b"", lab_folder / "images" / "key")
    assert list((lab_folder / "images").iterdir()) == []


def test_the_guest_packages_are_the_ones_a_spark_needs() -> None:
    assert {"network-manager", "docker.io", "rdma-core", "perftest", "linux-image-amd64"} <= set(image.packages())


def test_the_mirror_is_the_first_debian_one_of_apt() -> None:
    targets = (
        "NodeSource|NodeSource|https://deb.nodesource.com/node_20.x/\n"
        "Debian|Debian-Security|http://mirror.example/debian-security/\n"
        "Debian|Debian|file:/srv/debian/\n"
        "Debian|Debian|http://mirror.example/debian/\n"
        "Debian|Debian|http://deb.debian.org/debian/\n"
    )
    assert pick(targets) == "http://mirror.example/debian"
    assert pick("") == DEFAULT
