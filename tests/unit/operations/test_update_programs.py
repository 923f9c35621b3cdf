"""The programs of an update, run for real in folders of their own, with stand-ins for apt, dpkg, systemd and GRUB.

GRUB's menu is that of an Ubuntu 24.04 with three of NVIDIA's kernels (tests/fixtures/boot).
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from sparkrig import programs
from sparkrig.facts.update_record import UpdateRecord
from sparkrig.host import update_record
from sparkrig.host.update_record import FOLDER, Record, Standing
from sparkrig.host.upgrade import Move
from sparkrig.operations import update
from tests.unit.resources.world import PLACES, World

MENU = (Path(__file__).parents[2] / "fixtures" / "boot" / "ubuntu-24.04-saved.cfg").read_text()
OLD, NEW = "6.17.0-1008-nvidia", "6.17.0-1014-nvidia"
ROOT = "00000000-0000-4000-8000-000000000001"
ENTRY = {kernel: f"gnulinux-advanced-{ROOT}>gnulinux-{kernel}-advanced-{ROOT}" for kernel in (OLD, NEW)}
DROPIN = "/etc/default/grub.d/zz-sparkrig-update.cfg"
RECORD = Record(
    id="20261126T000000Z",
    goal="OTA2607",
    typed="sparkrig update inventories/pair.py",
    kernel=Move(OLD, NEW),
    driver=Move("580.142", "580.159.03"),
    release=("nvidia-driver-580-open", "linux-image-nvidia-hwe-24.04"),
    before={"nvidia-driver-580-open": "580.142-0ubuntu0.24.04.1", "curl": "8.5.0-2"},
    after={"nvidia-driver-580-open": "580.159.03-0ubuntu0.24.04.1", "curl": "8.5.0-3"},
    gone=("libold",),
    new=(f"linux-image-{NEW}",),
    served=("-",),
    reboots=True,
)
# each program writes what it is given; apt-get may fail at a word
CALLED = 'printf "%s\\n" "{name} $*" >>/run/called'
APT = f"""{CALLED.format(name="apt-get")}
case " $* " in *" -s "*) cat /run/simulated 2>/dev/null; exit ;; esac
for word; do case $word in Dir::Etc::Preferences=*) cat "${{word#*=}}" >/run/preferences ;; esac; done
case " $* " in *" $(cat /run/fails 2>/dev/null || echo nothing) "*) exit 100 ;; esac"""
MKCONFIG = f"""{CALLED.format(name="grub-mkconfig")}
[ ! -e /run/menu-fails ] || exit 1
. /etc/default/grub; for each in /etc/default/grub.d/*.cfg; do [ ! -e "$each" ] || . "$each"; done
sed "s|set default=\\"\\${{saved_entry}}\\"|set default=\\"$GRUB_DEFAULT\\"|" /boot/menu >"$2" """
DPKG_QUERY = r"""case $* in
*Version*) printf 'installed libold 1.0-1\ninstalled curl 8.5.0-2\nconfig-files libgone 1\n' ;;
*Status-Status*)
  shift 3
  [ $# -gt 0 ] || set -- bash openssh-server libc6 # as it lists all where it is given no name
  for name; do case $name in gone-*) ;; *) printf 'installed %s\n' "$name" ;; esac; done ;;
esac"""


class Spark(World):
    """A Spark with three kernels, of which one runs."""

    def made(self, runs: str = OLD) -> Spark:
        for place in PLACES:
            (self.root / place).mkdir(parents=True, exist_ok=True)
        for name, text in {
            "apt-get": APT,
            "grub-mkconfig": MKCONFIG,
            "grub-probe": "case $1 in *fs) cat /run/fs ;; esac",
            "dpkg-query": DPKG_QUERY,
            "dpkg": f'{CALLED.format(name="dpkg")}\n[ "$1" != --audit ] || cat /run/audit 2>/dev/null',
            "apt-cache": 'for last; do :; done; ! grep -qxF "$last" /run/unknown 2>/dev/null',
            "modinfo": "echo 580.159.03",
            "sync": "",
            **{name: CALLED.format(name=name) for name in ("apt-mark", "systemctl", "systemd-run", "grub-reboot")},
            "grub-editenv": CALLED.format(name="grub-editenv"),
        }.items():
            self.tool(name, text)
        alternatives = Path("/etc/alternatives/awk")  # which /usr/bin/awk leads to
        if alternatives.is_symlink():
            self.file(str(alternatives)).symlink_to(alternatives.readlink())
        for path in ("/boot/menu", "/boot/grub/grub.cfg"):
            self.file(path).write_text(MENU)
        self.file("/etc/default/grub").write_text("GRUB_DEFAULT=0\n")
        self.file("/etc/apt/preferences").write_text("Package: theirs\n")
        self.file(f"/boot/initrd.img-{NEW}").write_text("initrd")
        (self.root / "etc/systemd/system").mkdir(parents=True)
        (self.root / "run/called").write_text("")
        (self.root / "run/fs").write_text("ext2\n")
        self.runs(runs)
        return self

    def runs(self, kernel: str) -> None:
        self.tool("uname", f"echo {kernel}")

    def does(self, program: str, *words: str, stdin: str = "") -> tuple[int, str]:
        """Exit code and last words of a program."""
        self.file("/run/stdin").write_text(stdin)
        given = shlex.join(["sh", "-c", program, "sparkrig", *words])
        rows, _ = self.look(f"{given} </run/stdin 2>/run/said; echo $?")
        return int(rows[-1]), (self.root / "run/said").read_text()

    def begun(self, record: Record = RECORD, limits: str = "Package: limited\n") -> Spark:
        assert self.does(update.BEGIN, limits, stdin=update_record.text(record)) == (0, "")
        return self

    def notes(self, *steps: str) -> None:
        for step in steps:
            assert self.does(update.STEP, step) == (0, "")

    @property
    def standing(self) -> Standing:
        rows, _ = self.look(UpdateRecord().command())
        return update_record.parse(row for row in rows if row)

    @property
    def called(self) -> list[str]:
        """What was called since the last time, without apt's options."""
        file = self.root / "run/called"
        rows = file.read_text().splitlines()
        file.write_text("")
        found = []
        for row in rows:
            words = row.split()
            kept = [
                word for at, word in enumerate(words) if word not in ("-o", "-q", "-y") and words[at - 1] != "-o"
            ]
            found.append(" ".join(kept))
        return found

    @property
    def default(self) -> str:
        """What GRUB's menu has as its default."""
        lines = [line.strip() for line in (self.root / "boot/grub/grub.cfg").read_text().splitlines()]
        return [line for line in lines if line.startswith("set default=")][1]


@pytest.fixture
def spark(tmp_path: Path) -> Spark:
    return Spark(tmp_path).made()


def test_what_was_agreed_to_is_kept_whole_and_once(spark: Spark) -> None:
    assert spark.standing.record is None
    spark.begun()
    assert spark.standing.record == RECORD
    spark.notes("drained")
    other = replace(RECORD, id="20261126T000001Z", goal="OTA2609")
    code, said = spark.does(update.BEGIN, "", stdin=update_record.text(other))
    assert (code, said) == (75, "another update is open here\n")
    assert spark.does(update.CLOSE, other.id) == (0, "")
    assert (spark.standing.record, [step.name for step in spark.standing.steps]) == (RECORD, ["drained"])
    assert spark.does(update.CLOSE, RECORD.id) == (0, "") and spark.standing.record is None


def test_plan_and_steps_come_at_once_and_what_a_power_cut_left_is_no_obstacle(spark: Spark) -> None:
    spark.tool("mv", "exit 1")
    assert spark.does(update.BEGIN, "", stdin=update_record.text(RECORD))[0] == 1
    assert not (spark.root / FOLDER.lstrip("/")).exists()
    (spark.bin / "mv").unlink()
    assert spark.begun().standing.record == RECORD


def test_a_record_counts_for_its_own_machine_and_an_older_one_says_of_none(spark: Spark) -> None:
    board, disk = spark.file("/sys/class/dmi/id/product_uuid"), spark.file("/etc/machine-id")
    board.write_text("one\n")
    disk.write_text("1\n")
    looks = programs.text("facts/open_update.sh")
    assert spark.begun().standing.record == RECORD
    assert spark.look(looks)[0] == ["update begun OTA2607"]
    board.write_text("another\n")
    assert (spark.standing.record, spark.standing.another) == (None, True)
    (row,) = spark.look(looks)[0]
    assert update_record.opened(row.removeprefix("update ")) == update_record.ANOTHERS
    assert spark.does(update.BEGIN, "", stdin=update_record.text(RECORD))[0] == 75, "nor is it replaced"
    (spark.root / FOLDER.lstrip("/") / "machine").unlink()
    assert spark.standing.record == RECORD


def test_a_plan_that_comes_in_part_is_none(spark: Spark) -> None:
    cut = update_record.text(RECORD).removesuffix("end\n")
    code, said = spark.does(update.BEGIN, "", stdin=cut)
    assert code == 74 and "in part" in said
    assert spark.standing.record is None


def test_a_step_that_a_power_cut_tore_counts_for_nothing(spark: Spark) -> None:
    spark.begun().notes("drained")
    with (spark.root / FOLDER.lstrip("/") / "steps").open("a") as steps:
        steps.write("installed 17956")
    assert [step.name for step in spark.standing.steps] == ["drained"]
    assert spark.standing.task == "install"


def test_all_is_downloaded_before_anything_is_installed_and_held_again(spark: Spark) -> None:
    assert spark.begun().does(update.INSTALL) == (0, "")
    held = "nvidia-driver-580-open linux-image-nvidia-hwe-24.04"
    assert spark.called == [
        "dpkg --audit",
        f"apt-mark unhold {held}",
        "apt-get -s dist-upgrade",
        "apt-get --download-only dist-upgrade",
        "apt-get --no-download dist-upgrade",
        "dpkg --audit",
        f"apt-mark hold {held}",
    ]
    assert spark.standing.done("install") is not None


def test_limits_come_before_the_preferences_of_the_host(spark: Spark) -> None:
    spark.begun().does(update.INSTALL)
    assert (spark.root / "run/preferences").read_text() == "Package: limited\n\nPackage: theirs\n"
    assert [*(spark.root / "run").glob("sparkrig-*")] == []


@pytest.mark.parametrize(
    ("fails", "said"),
    [("--download-only", "cannot be downloaded, and nothing is installed"), ("--no-download", "broke off")],
)
def test_whatever_fails_leaves_the_set_held_and_is_not_noted(spark: Spark, fails: str, said: str) -> None:
    spark.file("/run/fails").write_text(fails)
    code, words = spark.begun().does(update.INSTALL)
    assert code == 1 and said in words
    calls = spark.called
    assert calls[-1].startswith("apt-mark hold") and not any("--no-download" in call for call in calls[:-2])
    assert spark.standing.done("install") is None


def test_the_kernel_that_runs_is_the_default_before_another_one_is_installed(spark: Spark) -> None:
    assert spark.begun().does(update.KEEP) == (0, "")
    assert spark.default == f'set default="{ENTRY[OLD]}"'
    assert "panic=30" in (spark.root / DROPIN.lstrip("/")).read_text()


def test_without_an_entry_for_the_kernel_that_runs_nothing_begins(spark: Spark) -> None:
    spark.runs("6.17.0-1009-nvidia")
    code, said = spark.begun().does(update.KEEP)
    assert code != 0 and "GRUB's menu has no entry of 6.17.0-1009-nvidia" in said


def test_a_driver_alone_leaves_grub_as_it_is(spark: Spark) -> None:
    alone = Record(
        "1", "g", "t", Move(OLD, OLD), RECORD.driver, only=("nvidia-driver-580-open",), before={"a1": "1"}
    )
    spark.begun(alone).does(update.INSTALL)
    calls = spark.called
    assert not any("grub" in call for call in calls)
    assert "apt-get --no-download install --only-upgrade nvidia-driver-580-open" in calls


def test_what_an_update_leaves_alone_is_held_first(spark: Spark) -> None:
    """`--only os` on a Spark before its first deploy, which holds nothing yet."""
    alone = Record(
        "1", "g", "t", Move(OLD, OLD), Move("", ""), keep=("nvidia-driver-580-open",), before={"curl": "1"}
    )
    assert spark.begun(alone).does(update.INSTALL) == (0, "")
    calls = [call for call in spark.called if call.startswith(("apt-mark", "apt-get"))]
    assert calls[0] == "apt-mark hold nvidia-driver-580-open" and calls[1].startswith("apt-get -s")
    assert calls[-1].startswith("apt-get --no-download"), "what is not released is not held, nor is all else"


def test_what_dpkg_left_is_finished_first(spark: Spark) -> None:
    spark.file("/run/audit").write_text("The following packages are only half configured:\n curl\n")
    code, said = spark.begun().does(update.INSTALL)
    calls = spark.called
    assert calls[1] == "dpkg --force-confdef --force-confold --configure -a"
    assert code == 1 and "unfinished" in said  # it is still so, as the stand-in mends nothing


def test_a_new_kernel_is_booted_once_on_trial(spark: Spark) -> None:
    assert spark.begun().does(update.BOOT, NEW, "900s") == (0, "")
    assert f"grub-reboot {ENTRY[NEW]}" in spark.called
    assert spark.default == f'set default="{ENTRY[OLD]}"'
    units = spark.root / "etc/systemd/system"
    assert "OnBootSec=900s" in (units / "sparkrig-update-trial.timer").read_text()
    service = (units / "sparkrig-update-trial.service").read_text()
    assert f'test "$(uname -r)" = "$(cat {FOLDER}/trial)" || exit 0' in service
    assert (spark.root / FOLDER.lstrip("/") / "trial").read_text() == f"{NEW}\n"


def test_the_trial_boots_the_earlier_kernel_again_only_under_the_new_one(spark: Spark) -> None:
    spark.begun().does(update.BOOT, NEW, "900s")
    lines = (spark.root / "etc/systemd/system/sparkrig-update-trial.service").read_text().splitlines()
    words = shlex.split(next(line for line in lines if line.startswith("ExecStart=")).removeprefix("ExecStart="))
    assert spark.called
    spark.does(words[2])
    assert spark.called == []
    spark.runs(NEW)
    spark.does(words[2])
    assert spark.called == ["systemctl reboot"]
    spark.does(words[2])
    assert spark.called == []


def test_a_kernel_without_an_entry_is_not_booted(spark: Spark) -> None:
    code, said = spark.begun().does(update.BOOT, "6.17.0-1099-nvidia", "900s")
    assert code != 0 and "no entry of 6.17.0-1099-nvidia" in said
    assert not any("grub-reboot" in call for call in spark.called)


def test_once_proven_nothing_of_the_trial_stays(spark: Spark) -> None:
    spark.begun().does(update.BOOT, NEW, "900s")
    spark.runs(NEW)
    assert spark.does(update.PROVE) == (0, "")
    assert not (spark.root / DROPIN.lstrip("/")).exists()
    assert [*(spark.root / "etc/systemd/system").glob("sparkrig-update*")] == []
    assert not (spark.root / FOLDER.lstrip("/") / "trial").exists()
    assert spark.default == 'set default="0"'
    assert spark.standing.done("prove") is not None


def test_the_way_back_installs_the_versions_of_before(spark: Spark) -> None:
    """Of a version that no repository has any more, the file in apt's cache."""
    spark.begun().notes("installing", "installed", "armed")
    spark.file("/run/unknown").write_text("curl=8.5.0-2\n")
    spark.file("/var/cache/apt/archives/curl_8.5.0-2_arm64.deb").write_text("")
    assert spark.does(update.BACK) == (0, "")
    assert spark.standing.back
    assert spark.does(update.INSTALL) == (0, "")
    install = next(call for call in spark.called if "--no-download" in call)
    assert install.endswith(
        "install --allow-downgrades --allow-change-held-packages nvidia-driver-580-open=580.142-0ubuntu0.24.04.1 "
        "/var/cache/apt/archives/curl_8.5.0-2_arm64.deb libold=1.0-1"
    )
    assert (spark.root / "run/preferences").read_text() == "Package: theirs\n"


MOVE = replace(
    RECORD,
    words=("nvidia-driver-open=590.48.01-1", "nvidia-old-"),
    drop=("nvidia-utils", "gone-already"),
    new=(*RECORD.new, "nvidia-utils", "nvidia-driver-open"),
)


@pytest.mark.parametrize("broken", ["", "--no-download"])
def test_another_branch_is_asked_for_by_name_and_so_again_where_it_broke_off(spark: Spark, broken: str) -> None:
    words = "dist-upgrade --allow-downgrades nvidia-driver-open=590.48.01-1 nvidia-old-"
    spark.begun(MOVE)
    if broken:
        spark.file("/run/fails").write_text(broken)
        assert spark.does(update.INSTALL)[0] == 1
        assert spark.called[-1].startswith("apt-mark hold"), "what is there is held meanwhile"
        spark.file("/run/fails").unlink()
    assert spark.does(update.INSTALL) == (0, "")
    asked = [call for call in spark.called if call.startswith("apt-get")]
    assert asked == [f"apt-get {how} {words}" for how in ("-s", "--download-only", "--no-download")]


def test_the_way_back_from_another_branch_takes_its_libraries_away_at_once(spark: Spark) -> None:
    """They would be the newest driver that is installed, and no reboot would come."""
    spark.begun(MOVE).notes("installing", "installed", "armed")
    assert spark.does(update.BACK) == (0, "")
    assert spark.does(update.INSTALL) == (0, "")
    install = next(call for call in spark.called if "--no-download" in call)
    assert " nvidia-utils- nvidia-driver-580-open=580.142-0ubuntu0.24.04.1 " in install
    assert "gone-already" not in install and "nvidia-driver-open" not in install.replace("580-open", "")


def test_the_way_back_boots_the_earlier_kernel_by_default_and_removes_what_came(spark: Spark) -> None:
    spark.begun().notes("installing", "installed", "armed", "back", "installed")
    spark.runs(NEW)
    assert spark.does(update.BOOT, OLD, "900s") == (0, "")
    assert spark.default == f'set default="{ENTRY[OLD]}"'
    assert not any("grub-reboot" in call for call in spark.called)
    spark.runs(OLD)
    assert spark.does(update.PROVE) == (0, "")
    assert f"apt-get --allow-change-held-packages remove linux-image-{NEW}" in spark.called


def test_a_server_stops_and_does_not_start_with_the_next_boot(spark: Spark) -> None:
    wants = spark.file("/etc/systemd/system/multi-user.target.wants/sparkrig-serve.service")
    wants.write_text("")
    code, said = spark.begun().does(update.DRAIN, "ray", "sparkrig-serve")
    assert (code, said) == (1, "sparkrig-serve.service does not stop\n")  # the stand-in says that it is active
    spark.tool("systemctl", f'{CALLED.format(name="systemctl")}\n[ "$2" != is-active ]')
    assert spark.does(update.DRAIN, "-", "sparkrig-serve") == (0, "")
    assert not wants.exists() and not any("sparkrig-ray" in call for call in spark.called)
    assert spark.does(update.DRAIN, "ray", "sparkrig-serve") == (0, "")
    assert spark.called[-2:] == [
        "systemctl is-active sparkrig-serve.service",
        "systemctl stop sparkrig-ray.service",
    ]
    assert spark.standing.steps == (), "the host that has the update notes it, once both have stopped"


def test_the_record_is_kept_as_the_last_one(spark: Spark) -> None:
    spark.begun().notes("checked")
    assert spark.does(update.CLOSE) == (0, "")
    assert spark.standing.record is None
    assert (spark.root / f"{FOLDER}.last/plan".lstrip("/")).exists()


@pytest.mark.parametrize("code", [0, 2])
def test_firmware_that_was_taken_or_is_there_is_staged(spark: Spark, code: int) -> None:
    spark.tool("fwupdmgr", f"{CALLED.format(name='fwupdmgr')}\nexit {code}")
    assert spark.begun().does(update.FIRMWARE, 40 * "a") == (0, "")
    assert spark.called == [f"fwupdmgr update --no-reboot-check {40 * 'a'}"]


def test_firmware_that_is_not_taken_is_not_staged(spark: Spark) -> None:
    spark.tool("fwupdmgr", "exit 1")
    code, said = spark.begun().does(update.FIRMWARE, 40 * "a")
    assert code == 1 and "did not take the firmware" in said
    assert spark.standing.steps == ()


def test_what_was_not_agreed_to_is_not_installed(spark: Spark) -> None:
    """The lists were fetched in between, and a newer driver came."""
    driver, curl = "nvidia-driver-580-open", "curl"
    agreed = f"Inst {driver} [580.142] (580.159.03-0ubuntu0.24.04.1 Ubuntu [arm64])\nRemv libold [1.0-1]\n"
    spark.file("/run/simulated").write_text(agreed)
    assert spark.begun().does(update.INSTALL) == (0, "")
    assert spark.called
    for more in (
        f"Inst {driver} [580.142] (580.178.04-1 Ubuntu [arm64])",
        f"Remv {curl} [8.5.0-2]",
        "Inst new:arm64 (1 U)",
    ):
        spark.file("/run/simulated").write_text(f"{agreed}{more}\n")
        code, said = spark.does(update.INSTALL)
        assert code == 1 and "was not agreed to (" in said, more
        assert not any("download" in call for call in spark.called)


def test_of_the_rest_what_cannot_be_had_again_is_named_and_left(spark: Spark) -> None:
    """Ubuntu's repositories keep the newest version alone."""
    spark.begun().notes("installing", "back")
    spark.file("/run/unknown").write_text("curl=8.5.0-2\n")
    assert spark.does(update.INSTALL) == (0, "")
    assert not any("curl" in call for call in spark.called)
    assert spark.standing.left == ("curl=8.5.0-2",)


def test_a_driver_that_cannot_be_had_again_stops_the_way_back(spark: Spark) -> None:
    spark.begun().notes("installing", "back")
    spark.file("/run/unknown").write_text("nvidia-driver-580-open=580.142-0ubuntu0.24.04.1\n")
    code, said = spark.does(update.INSTALL)
    assert code == 1 and "of driver or kernel, cannot be had again" in said


def test_a_name_that_is_not_installed_any_more_stops_nothing(spark: Spark) -> None:
    """nvidia-firmware-580-VERSION goes with its version, and apt knows it no more."""
    gone = Record("1", "g", "t", Move(OLD, OLD), Move("", ""), release=("gone-1",), only=("gone-2", "curl"))
    assert spark.begun(gone).does(update.INSTALL) == (0, "")
    calls = spark.called
    assert not any("gone-" in call for call in calls) and not any(call.startswith("apt-mark") for call in calls)


def test_a_way_back_that_brought_nothing_new_removes_nothing(spark: Spark) -> None:
    alone = Record("1", "g", "t", Move(OLD, OLD), RECORD.driver, before={"curl": "1"}, reboots=True)
    spark.begun(alone).notes("installing", "back", "installed", "armed")
    assert spark.does(update.PROVE) == (0, "")
    assert not any(call.startswith("apt-get") for call in spark.called)


def test_what_would_go_with_it_keeps_the_new_kernel_from_being_removed(spark: Spark) -> None:
    spark.begun().notes("installing", "back", "installed", "armed")
    spark.file("/run/simulated").write_text(f"Remv linux-image-{NEW} [1]\nRemv theirs [1]\n")
    code, said = spark.does(update.PROVE)
    assert code == 1 and "cannot be removed alone" in said


def test_the_way_back_ends_the_trial(spark: Spark) -> None:
    """Its timer would reboot in the middle of dpkg."""
    spark.begun().does(update.BOOT, NEW, "900s")
    spark.runs(NEW)
    assert spark.does(update.BACK) == (0, "")
    assert not (spark.root / FOLDER.lstrip("/") / "trial").exists()
    assert "grub-editenv /boot/grub/grubenv unset next_entry" in spark.called


def test_the_step_is_noted_before_grub_has_anything_to_boot_once(spark: Spark) -> None:
    spark.tool("grub-reboot", "exit 1")
    code, _ = spark.begun().does(update.BOOT, NEW, "900s")
    assert code == 1 and spark.standing.done("boot") is not None
    assert spark.standing.task == "drain"  # of the same boot: asked for again


@pytest.mark.parametrize("program", [update.KEEP, update.BOOT])
def test_without_a_file_system_that_grub_writes_no_kernel_is_booted_once(spark: Spark, program: str) -> None:
    (spark.root / "run/fs").write_text("btrfs\n")
    code, said = spark.begun().does(program, NEW, "900s")
    assert code == 1 and "cannot forget" in said
    assert not any("grub-reboot" in call for call in spark.called)


def test_a_menu_that_cannot_be_made_leaves_the_old_one_and_is_made_by_the_next_try(spark: Spark) -> None:
    fails, menu = spark.file("/run/menu-fails"), spark.root / "boot/grub/grub.cfg"
    fails.write_text("")
    code, said = spark.begun().does(update.KEEP)
    assert code == 1 and "menu cannot be made anew" in said
    assert not (spark.root / DROPIN.lstrip("/")).exists() and menu.read_text() == MENU
    fails.unlink()
    assert spark.does(update.KEEP) == (0, "")
    fails.write_text("")
    assert spark.does(update.PROVE)[0] == 1
    assert spark.standing.done("prove") is None
    fails.unlink()
    assert spark.does(update.PROVE) == (0, "")
    assert spark.default == 'set default="0"' and [*menu.parent.glob("*.sparkrig")] == []


def test_a_row_after_a_torn_one_begins_on_its_own_line(spark: Spark) -> None:
    spark.begun()
    with (spark.root / FOLDER.lstrip("/") / "steps").open("a") as steps:
        steps.write("back 17956")
    assert not spark.standing.back
    spark.notes("began")
    assert [step.name for step in spark.standing.steps] == ["began"]


def test_an_update_that_ends_leaves_nothing_in_grub(spark: Spark) -> None:
    spark.begun().does(update.KEEP)
    assert spark.does(update.CLOSE) == (0, "")
    assert not (spark.root / DROPIN.lstrip("/")).exists() and spark.default == 'set default="0"'
