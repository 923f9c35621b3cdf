"""The condition of a host apart from NIC and GPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sparkrig.facts.health import Health as Fact
from sparkrig.host import health
from sparkrig.host.grub import Boot
from sparkrig.host.health import Health, Kernel, ThermalZone
from tests.faults.record import Seen
from tests.tables import each_row
from tests.unit.shells import sh, tool

SPARK = Health(
    boot_id="b",
    kernel="6.17.0-1021-nvidia",
    memory_total_kb=127535084,
    memory_available_kb=110000000,
    load=0.5,
    cores=20,
    zones=(ThermalZone("acpitz", 47.1), ThermalZone("mt7925_phy0", 80)),
    kernels=(Kernel("6.17.0-1008-nvidia", True, "580.95.05"), Kernel("6.17.0-1021-nvidia", True, "580.159.03")),
    cdi=("/etc/cdi/nvidia.yaml",),
)
ROWS = """\
boot_id b
kernel 6.17.0-1021-nvidia
cmdline root=UUID= quiet
MemTotal:       127535084 kB
MemAvailable:   110000000 kB
load 0.50 0.33 0.21 1/106 783
cores 20
zone 47100 acpitz
zone 80000 mt7925_phy0
modules 6.17.0-1008-nvidia yes 580.95.05
modules 6.17.0-1021-nvidia no
driver 580.159.03
cdi /etc/cdi/nvidia.yaml
missing /usr/lib/libcuda.so.580.95.05
perftest 6.18
""".splitlines()


def test_a_spark() -> None:
    assert health.parse(ROWS) == replace(
        SPARK,
        cmdline="root=UUID= quiet",
        kernels=(Kernel("6.17.0-1008-nvidia", True, "580.95.05"), Kernel("6.17.0-1021-nvidia", False)),
        driver="580.159.03",
        cdi_missing=("/usr/lib/libcuda.so.580.95.05",),
        perftest="6.18",
    )


def test_what_is_absent_is_none() -> None:
    assert health.parse(["boot_id b", "kernel k", "load ", "cores "]) == Health("b", "k")


@pytest.mark.parametrize("rows", [[], ["kernel k"], ["boot_id b", "kernel k", "zone hot acpitz"]])
def test_nonsense_is_an_error(rows: list[str]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        health.parse(rows)


# --- the script


def test_script_on_this_machine() -> None:
    done = sh(Fact.script)
    found = health.parse(done.stdout.splitlines())
    assert done.returncode == 0 and found.boot_id and found.kernel
    assert found.memory_total_kb and found.memory_available_kb and found.cores and found.load is not None


def test_script_reads_kernels_zones_and_cdi_files(tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    files = {
        "modules/6.17.0-1008-nvidia/modules.order": "",
        "modules/6.17.0-1008-nvidia/updates/dkms/nvidia.ko.zst": "",
        "modules/6.17.0-1021-nvidia/modules.order": "",
        "modules/6.17.0-1021-nvidia/kernel/nvidia-wmi-ec-backlight.ko.xz": "",
        "modules/6.8.0-1-generic/updates/dkms/nvidia.ko": "",  # what a removed kernel left behind
        "thermal/thermal_zone0/type": "acpitz\n",
        "thermal/thermal_zone0/temp": "47100\n",
        "thermal/thermal_zone1/type": "iwlwifi_1\n",
        "cdi/nvidia.yaml": f"mounts:\n- containerPath: /x\n  hostPath: {tmp_path}/there\n"
        "- hostPath: '/gone/libcuda.so.1'\n  options: [ro]\n- {hostPath: \"/gone/b\", containerPath: /b}\n",
        "cdi/other.json": '{"mounts":[{"hostPath":"/gone/c","containerPath":"/gone/d"}]}',
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    tool(tmp_path / "bin", "modinfo", '[ "$2" = 6.17.0-1008-nvidia ] && echo 580.95.05')
    tool(tmp_path / "bin", "ib_write_bw", "echo 'Version: 6.18'")
    text = Fact.script.replace("/lib/modules", f"{tmp_path}/modules").replace("/etc/cdi", f"{tmp_path}/cdi")
    text = text.replace("/sys/class/thermal", f"{tmp_path}/thermal").replace("/var/run/cdi", "/nonexistent")
    (tmp_path / "cdi/two\nlines (copy).yaml").write_text("")
    (tmp_path / "modules/6.99 yes 1").mkdir()
    (tmp_path / "modules/6.99 yes 1/modules.order").touch()
    found = health.parse(sh(text, path=tmp_path / "bin").stdout.splitlines())
    assert found.kernels == (Kernel("6.17.0-1008-nvidia", True, "580.95.05"), Kernel("6.17.0-1021-nvidia", False))
    assert found.zones == (ThermalZone("acpitz", 47.1),)
    names = ("nvidia.yaml", "two\nlines (copy).yaml", "other.json")
    assert found.cdi == tuple(f"{tmp_path}/cdi/{name}" for name in names)
    assert found.cdi_missing == ("/gone/b", "/gone/libcuda.so.1", "/gone/c")
    assert found.perftest == "6.18"


def test_the_command_line_leaves_without_uuids(tmp_path: Path) -> None:
    (tmp_path / "cmdline").write_text("root=UUID=11112222-3333 ro kho=off\n")
    done = sh(Fact.script.replace("/proc/cmdline", f"{tmp_path}/cmdline"))
    assert health.parse(done.stdout.splitlines()).cmdline == "root=UUID= ro kho=off"


# --- verdicts


@pytest.mark.parametrize(
    ("available", "expected"),
    [(110000000, ("healthy", "")), (15304211, ("healthy", "")), (15304209, ("degraded", "memory-low"))],
)
def test_memory(available: int, expected: tuple[str, str]) -> None:
    found = health.memory(replace(SPARK, memory_available_kb=available))
    assert (found.level, found.cause) == expected and "of 121.6 GiB" in found.evidence


def test_memory_that_is_not_told() -> None:
    assert health.memory(Health("b", "k")).cause == "memory-unknown"


GIB = 2**20


def test_kho() -> None:
    """By its signature: NV-Kernels pull 591 tells 0 and 9.7 GiB with it, 0 and 0 without; MiaAI 259 32 MiB."""

    def holds(kernel: str, cmdline: str, cma: tuple[int | None, int | None], cause: str) -> None:
        found = health.kho(replace(SPARK, kernel=kernel, cmdline=cmdline, cma_total_kb=cma[0], cma_free_kb=cma[1]))
        assert found.cause == cause and found.level == {"kho": "fault", "": "healthy"}.get(cause, "unknown")

    kept, none, untold = (0, 10171187), (0, 0), (None, None)
    each_row(
        [
            ("7.0.0-1019-nvidia", "quiet", kept, "kho"),
            ("7.0.0-31-generic", "quiet", (32 * 1024, int(9.3 * GIB)), "kho"),
            ("7.0.0-1020-nvidia", "kho=on", kept, "kho"),
            ("7.0.0-1020-nvidia", "kho=off kho=on", kept, "kho"),
            ("7.0.0-1020-nvidia", "nokho=off", kept, "kho"),
            ("7.1.0-1001-nvidia", "", kept, "kho"),  # no version says it will not
            ("6.17.0-1021-nvidia", "", (0, GIB), "kho"),
            ("7.0.0-1019-nvidia", "quiet", none, ""),  # built with the default off
            ("7.0.0-1020-nvidia", "quiet kho=off", untold, ""),
            ("7.0.0-1020-nvidia", "kho=0", none, ""),
            ("7.0.0-1019-nvidia", "quiet", untold, "kho-unknown"),
            ("7.0", "", (0, None), "kho-unknown"),
            ("7.0.0-1019-nvidia", "quiet", (0, 940604), "kho"),  # the page cache uses the rest: MiaAI 259
            ("6.17.0-1021-nvidia", "", (32 * 1024, 32 * 1024 + 1), "kho"),
            ("7.0.0-31-generic", "quiet", (32 * 1024, 32 * 1024), "kho-unknown"),
            ("7.0.0-31-generic", "quiet", (32 * 1024, 30 * 1024), "kho-unknown"),
            ("6.17.0-1021-nvidia", "", untold, ""),
            ("6.17.0-1021-nvidia", "", (64 * 1024, 60 * 1024), ""),
            ("7.01.0", "", untold, ""),
            ("17.0.0", "", untold, ""),
            ("7.1.0-1001-nvidia", "", none, ""),
        ],
        holds,
    )


def test_kho_in_words() -> None:
    found = health.kho(replace(SPARK, kernel="7.0.0-1019-nvidia", cma_total_kb=0, cma_free_kb=10171187))
    assert found.evidence == (
        "kernel 7.0.0-1019-nvidia keeps memory for a kexec handover, 9.7 GiB of it free (CmaTotal 0 kB, "
        "CmaFree 10171187 kB), and ibv_reg_mr fails"
    )


def test_the_script_prints_what_kho_is_judged_by(tmp_path: Path) -> None:
    rows = (
        "MemTotal:       127535084 kB",
        "MemFree: 1 kB",
        "CmaTotal:          32768 kB",
        "CmaFree:   9751756 kB",
    )
    (tmp_path / "meminfo").write_text("".join(f"{row}\n" for row in rows))
    done = sh(Fact.script.replace("/proc/meminfo", f"{tmp_path}/meminfo"))
    found = health.parse(done.stdout.splitlines())
    assert (found.cma_total_kb, found.cma_free_kb, found.memory_total_kb) == (32768, 9751756, 127535084)


OLD, NOW = Kernel("6.17.0-1008-nvidia", True, "580.95.05"), Kernel("6.17.0-1021-nvidia", True, "580.159.03")


def test_next_kernel() -> None:
    def holds(kernels: tuple[Kernel, ...], expected: tuple[str, str]) -> None:
        found = health.next_kernel(replace(SPARK, kernels=kernels))
        assert (found.level, found.cause) == expected

    each_row(
        [
            ((NOW,), ("healthy", "")),
            ((OLD, NOW), ("healthy", "")),
            ((NOW, Kernel("6.17.0-999-nvidia", False)), ("healthy", "")),  # lower than 1021, as numbers go
            ((NOW, Kernel("7.0.0-1019-nvidia", False)), ("fault", "next-kernel")),
            ((Kernel("6.17.0-1100-nvidia", False), NOW), ("fault", "next-kernel")),
            ((NOW, Kernel("7.0.0-1019-nvidia", True, "590.48.01")), ("fault", "next-kernel")),
            ((NOW, Kernel("7.0.0-1019-nvidia", True)), ("healthy", "")),
            ((replace(NOW, nvidia=False),), ("unknown", "no-nvidia-module")),
            ((), ("unknown", "no-nvidia-module")),
        ],
        holds,
    )


def test_the_next_kernel_is_the_one_of_grubs_menu() -> None:
    bare, other = Kernel("7.0.0-1019-nvidia", False), replace(OLD, version=NOW.version)

    def holds(menu: Boot | None, kernels: tuple[Kernel, ...], level: str, words: str) -> None:
        found = health.next_kernel(replace(SPARK, kernels=kernels, grub=menu))
        assert found.level == level and words in found.evidence
        cause = {"fault": "next-kernel", "unknown": "next-kernel-unknown", "healthy": ""}[level]
        assert found.cause == cause and (level == "healthy") == (not found.cure)

    pinned, untold = Boot(NOW.release, "Ubuntu, with Linux"), Boot("", "its menu has no entry")
    each_row(
        {
            "pinned, a newer one has no module": (pinned, (NOW, bare), "healthy", NOW.release),
            "pinned to one without a module": (
                Boot("6.0"),
                (Kernel("6.0", False), NOW),
                "fault",
                "6.0, which has no",
            ),
            "pinned to another driver": (Boot(OLD.release), (OLD, NOW), "fault", "nvidia.ko of 580.95.05"),
            "a newer one of another driver": (
                pinned,
                (NOW, replace(bare, nvidia=True, version="590")),
                "healthy",
                "",
            ),
            "a kernel that is gone": (Boot("6.1"), (NOW,), "fault", "6.1 by GRUB's menu, and no modules"),
            "not told": (untold, (NOW, bare), "unknown", "the next boot takes: its menu has no entry"),
            "not told, and all the same": (untold, (NOW, other), "healthy", "each installed kernel"),
            "no menu": (None, (NOW, bare), "fault", "7.0.0-1019-nvidia"),
        },
        holds,
    )


def test_the_menu_of_grub_is_read_with_the_rest() -> None:
    entry = ["menuentry x {", "linux /boot/vmlinuz-6.17.0-1008-nvidia", "}"]
    rows = [*ROWS, "grub", "/boot/grub/grub.cfg", *(f"grub {line}" for line in entry), "grub-whole"]
    found = health.parse(iter(rows))
    assert found.grub == Boot("6.17.0-1008-nvidia", "x") and replace(found, grub=None) == health.parse(ROWS)


@pytest.mark.fault(35)
def test_next_kernel_in_words(seen: Seen) -> None:
    found = health.next_kernel(replace(SPARK, kernels=(NOW, Kernel("7.0.0-1019-nvidia", False))))
    assert found.evidence == (
        "the next boot takes kernel 7.0.0-1019-nvidia, which has no nvidia.ko (6.17.0-1021-nvidia has one)"
    )
    modules = "linux-modules-nvidia-580-open-7.0.0-1019-nvidia"
    assert f"apt-get install {modules}" in found.cure and "apt-mark unhold $held" in found.cure
    seen(found.evidence)


@pytest.mark.parametrize(
    ("files", "missing", "cause", "words"),
    [
        ((), (), "", ""),
        (("/etc/cdi/nvidia.yaml",), (), "", "every host path of /etc/cdi/nvidia.yaml exists"),
        (("/etc/cdi/nvidia.yaml",), ("/a",), "cdi-stale", "names 1 host path that does not exist (/a)"),
        (("/var/run/cdi/nvidia.yaml",), ("/a", "/b"), "cdi-stale", "2 host paths that do not exist (/a, ...)"),
    ],
)
def test_cdi(files: tuple[str, ...], missing: tuple[str, ...], cause: str, words: str) -> None:
    found = health.cdi(replace(SPARK, cdi=files, cdi_missing=missing))
    assert found.cause == cause and words in found.evidence
    if cause:
        assert found.cure.endswith(f"--output={files[0]}")


@pytest.mark.fault(34)
def test_a_stale_cdi_file_in_words(seen: Seen) -> None:
    found = health.cdi(
        replace(SPARK, cdi=("/etc/cdi/nvidia.yaml",), cdi_missing=("/usr/lib/libcuda.so.580.95.05",))
    )
    assert (found.level, found.cause) == ("fault", "cdi-stale") and "libcuda.so.580.95.05" in found.evidence
    seen(found.evidence)


@pytest.mark.fault(28)
def test_a_busy_host_in_words(seen: Seen) -> None:
    found = health.busy(replace(SPARK, load=31.5, cores=20))
    assert (found.level, found.cause) == ("degraded", "busy") and "31.5" in found.evidence
    seen(found.evidence)


def test_busy() -> None:
    def holds(load: float | None, cores: int, cause: str) -> None:
        assert health.busy(replace(SPARK, load=load, cores=cores)).cause == cause

    each_row(
        [(0.5, 20, ""), (20.0, 20, ""), (20.1, 20, "busy"), (1.5, 1, "busy"), (None, 20, "load-unknown")], holds
    )


def test_thermal() -> None:
    def holds(zones: tuple[ThermalZone, ...], cause: str) -> None:
        assert health.thermal(replace(SPARK, zones=zones)).cause == cause

    each_row(
        [
            ((ThermalZone("acpitz", 47.1), ThermalZone("mt7925_phy0", 80)), ""),
            ((ThermalZone("acpitz", 65.1),), ""),
            ((ThermalZone("acpitz", 90),), ""),
            ((ThermalZone("acpitz", 50), ThermalZone("acpitz", 90.1)), "soc-hot"),
            ((ThermalZone("cpu-thermal", 91),), "soc-hot"),
            ((ThermalZone("x86_pkg_temp", 91),), "soc-hot"),
            ((ThermalZone("iwlwifi_1", 70), ThermalZone("acpitz", 0)), "no-temperature"),
            ((), "no-temperature"),
        ],
        holds,
    )
