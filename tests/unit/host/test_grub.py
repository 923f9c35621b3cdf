"""Which kernel GRUB boots next: as GRUB's own emulator ran it (tests/fixtures/boot), and as the fact reads it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from sparkrig.facts.grub import NextBoot
from sparkrig.host import grub
from sparkrig.host.grub import Boot
from sparkrig.host.grub_syntax import CFG, CUSTOM, ENV
from tests.tables import each_row
from tests.unit.shells import sh

BOOT = Path("tests/fixtures/boot")
UBUNTU = (BOOT / "ubuntu-24.04-saved.cfg").read_text()
HEADER = "# GRUB Environment Block\n"
OLD, NEW = "6.17.0-1008-nvidia", "6.17.0-1014-nvidia"
TOP = f"Ubuntu, with Linux {NEW}"


def block(*lines: str) -> str:
    """A grubenv as grub-editenv writes it."""
    return "".join([HEADER, *(f"{line}\n" for line in lines)]).ljust(1024, "#")


def menu(head: str = "", *, entries: str = "") -> Boot:
    """What boots with entries 0 (kernel 1.0) and 1 (kernel 2.0), after the lines `head` and before `entries`."""
    two = "".join(f"menuentry 'k{n}' --id i{n} {{\n linux /boot/vmlinuz-{n}.0 ro\n}}\n" for n in (1, 2))
    return grub.boots({CFG: f"{head}\n{two}{entries}"})


@pytest.mark.parametrize("name", ["ubuntu-24.04-saved", "hand"])
def test_the_kernel_is_the_one_that_grubs_own_emulator_ran(name: str) -> None:
    text = (BOOT / f"{name}.cfg").read_text()

    def holds(kernel: str, lines: str) -> None:
        files = {CFG: text, **({ENV: block(*lines.split("|"))} if lines else {})}
        assert grub.boots(files).kernel == kernel

    rows = [tuple(row.split("\t")) for row in (BOOT / f"{name}.emulated.tsv").read_text().splitlines()]
    assert len(rows) >= 30
    each_row({lines or "no variables": (kernel, lines) for kernel, lines in rows}, holds)


def test_a_pin_in_the_menu_itself_needs_no_variables() -> None:
    uuid = "00000000-0000-4000-8000-000000000001"
    pin = f"gnulinux-advanced-{uuid}>gnulinux-{OLD}-advanced-{uuid}"
    pinned = UBUNTU.replace('default="${saved_entry}"', f'default="{pin}"')
    assert pinned != UBUNTU
    assert grub.boots({CFG: pinned}) == Boot(OLD, f"Ubuntu, with Linux {OLD}", "named")
    assert grub.boots({CFG: pinned, ENV: block("next_entry=0")}).kernel == NEW
    assert grub.boots({CFG: pinned, ENV: "next_entry=0\n"}).kernel == OLD  # no block of GRUB's: nothing is loaded


UUID = "00000000-0000-4000-8000-000000000001"
ADVANCED = f"gnulinux-advanced-{UUID}"


@pytest.mark.parametrize(
    ("lines", "way"),
    [
        ("", "first"),
        ("saved_entry=0", "first"),
        ("saved_entry=Ubuntu", "first"),  # update-grub gives the entry of that title each newest kernel
        (f"saved_entry=gnulinux-simple-{UUID}", "first"),
        ("saved_entry=an entry that is gone", "first"),
        (f"saved_entry={ADVANCED}", "first"),
        (f"saved_entry={ADVANCED}>gnulinux-{NEW}-advanced-{UUID}", "named"),  # today's newest, and a pin
        (f"saved_entry={ADVANCED}>Ubuntu, with Linux {OLD}", "named"),
        ("saved_entry=1>2", "other"),
        ("saved_entry=1", "other"),
        (f"saved_entry={ADVANCED}>0", "other"),
        (f"saved_entry=0|next_entry={ADVANCED}>gnulinux-{OLD}-advanced-{UUID}", "other"),
        ("saved_entry=0|next_entry=", "first"),
    ],
)
def test_how_the_entry_is_chosen_decides_what_becomes_of_it_with_another_kernel(lines: str, way: str) -> None:
    assert grub.boots({CFG: UBUNTU, ENV: block(*lines.split("|"))}).way == way


def test_an_entry_that_only_some_machines_have_makes_what_depends_on_it_unknown() -> None:
    def holds(default: str, kernel: str) -> None:
        found = grub.boots({CFG: UBUNTU, ENV: block(f"saved_entry={default}")})
        assert found.kernel == kernel and (kernel or "only some machines have" in found.why)

    each_row([("2", ""), ("uefi-firmware", ""), ("UEFI Firmware Settings", ""), ("3", NEW), ("1>2", OLD)], holds)


def test_what_the_files_do_not_tell_is_unknown_and_says_why() -> None:
    def holds(found: Boot, kernel: str, why: str) -> None:
        assert found.kernel == kernel and why in found.why

    one = "if cmostest 9; then set default=1; else set default={}; fi"
    file = "menuentry 'other' {{ {} }}"
    each_row(
        {
            "a button that decides": (menu(one.format(0)), "", "what only the machine tells"),
            "a variable of GRUB's own": (menu('set default="${grub_cpu}"'), "", "what only the machine tells"),
            "another file": (menu(entries="source /boot/grub/more.cfg"), "", "another place (source /boot/grub/m"),
            "another menu": (menu(entries="configfile (hd1,gpt1)/grub.cfg"), "", "another place (configfile"),
            "boot loader specification": (menu(entries="blscfg"), "", "another place (blscfg"),
            "variables of elsewhere": (menu("load_env -f /efi/env"), "", "variables of another file"),
            "a command of the machine's": (menu("$grub_cpu x"), "", "a command whose name only the machine"),
            "a loop of entries": (menu("for x in 1 2; do menuentry $x { true; }\ndone"), "", "a loop"),
            "a loop that sets it": (menu("for x in 0 1; do set default=$x; done"), "", "only the machine"),
            "a loop without end that sets it": (menu("while x; do set default=1; done"), "", "only the machine"),
            "what a person types": (menu("read default"), "", "only the machine"),
            "a condition that is a block": (
                menu("if if true; then true; fi; then default=1; fi"),
                "",
                "only the mac",
            ),
            "submenus within submenus": (menu(entries="submenu x { " * 60 + "}" * 60), "", "deep"),
            "a block of nothing": (menu("true {\n}"), "", "a block that belongs to nothing"),
            "more steps than any menu has": (menu("true\n" * 20_001), "", "steps"),
            "a search that sets it": (menu("search --set=default --label x"), "", "only the machine"),
            "no release in its name": (
                menu("set default=2", entries=file.format("linux /boot/vmlinuz.old")),
                "",
                "does not name its release",
            ),
            "no kernel": (menu("set default=2", entries=file.format("chainloader +1")), "", "loads no kernel"),
            "one of two": (
                menu(
                    "set default=2",
                    entries=file.format("if x; then linux /vmlinuz-1.0; else linux /vmlinuz-2.0; fi"),
                ),
                "",
                "one of several kernels",
            ),
            "the same twice": (
                menu(
                    "set default=2",
                    entries=file.format("if x; then linux /vmlinuz-2.0; else linux /vmlinuz-2.0; fi"),
                ),
                "2.0",
                "other",
            ),
            "no entry": (grub.boots({CFG: "set default=0"}), "", "no entry"),
            "a quote without end": (menu("set default='1"), "", "cannot be read"),
            "a block without end": (menu(entries="menuentry x {"), "", "lacks a }"),
            "a block too many": (menu("}"), "", "did not begin"),
            "no menu": (grub.boots({ENV: block()}), "", "grub.cfg cannot be read"),
        },
        holds,
    )


def test_a_condition_of_the_machine_that_decides_nothing_leaves_the_answer() -> None:
    heads = (
        'if loadfont x; then set gfxmode=auto; fi; set default="1"',
        'set default=1; if cmostest 9; then set default="1"; fi',
        "function f { set default=1; }\nif true; then f; fi",
        "set default=0; unset default; set default=i2",
        'if [ -z "$none" -a ! -f /x -o "a" = \'a\' ]; then default=k2; fi',
        "if test -n \"${prefix}\"; then set default='1'; fi",
        "if [ ]; then set default=0; else set default=1; fi",
    )
    each_row(heads, lambda head: _is(menu(head), "2.0"))


def _is(found: Boot, kernel: str) -> None:
    assert found.kernel == kernel


def test_custom_cfg_adds_entries_and_may_set_the_default() -> None:
    custom = "set default=mine\nmenuentry 'Mine' --id mine {\n linux /boot/vmlinuz-7.0.0-1019-nvidia\n}\n"
    assert grub.boots({CFG: UBUNTU, CUSTOM: custom}).kernel == "7.0.0-1019-nvidia"
    assert grub.boots({CFG: UBUNTU, CUSTOM: f"source {CUSTOM}"}).kernel == ""  # a file that reads itself


def test_variables_are_loaded_by_name_and_an_absent_file_adds_nothing() -> None:
    stored = {ENV: block("saved=1", "other=0")}
    entries = "".join(f"menuentry 'k{n}' --id i{n} {{\n linux /boot/vmlinuz-{n}.0 ro\n}}\n" for n in (1, 2))

    def holds(head: str, kernel: str) -> None:
        assert grub.boots({CFG: f"{head}\n{entries}", **stored}).kernel == kernel

    each_row(
        [
            ('load_env saved\nset default="$saved"', "2.0"),
            ('load_env other\nset default="$saved"', "1.0"),
            (f'load_env --file {ENV}\nset default="$saved"', "2.0"),
            (f'load_env -f {ENV} saved\nset default="${{saved}}"', "2.0"),
            (f"source {CUSTOM}\nset default=1", "2.0"),
            (f"if [ -f {CUSTOM} ]; then set default=1; fi", "1.0"),
        ],
        holds,
    )


def test_no_menu_takes_long_or_ends_in_another_error() -> None:
    deep = "if true; then " * 3000
    calls = "".join(f"function f{n} {{ f{n + 1}; f{n + 1}; }}\n" for n in range(40)) + "f0\n"
    grows = "set a=xxxxxxxxxxxxxxxx\n" + "set a=$a$a$a$a\n" * 200
    texts = [deep, calls, grows, "function f { f; }\nf", "submenu x { " * 3000, '"' * 3001, "\\", "$", "[", "set"]
    texts += [
        "for",
        "if",
        "menuentry",
        "menuentry {",
        "submenu x { }",
        "set default=" + "9" * 4000,
        "'" + "a\\" * 9000,
    ]
    texts += [f"if [ {test} ]; then true; fi" for test in ("! " * 9000, f"a{' -o a' * 9000}")]
    began = time.monotonic()
    each_row(texts, lambda text: _is(grub.boots({CFG: text}), ""))
    assert menu("set default=" + "9" * 4000).kernel == "1.0"
    assert time.monotonic() - began < 5


# --- the script


def printed(folder: Path, **files: str) -> list[str]:
    """What the script prints of those files."""
    for name, text in files.items():
        (folder / name).write_text(text)
    done = sh(NextBoot.script.replace("/boot/grub", str(folder)))
    assert done.returncode == 0
    return done.stdout.splitlines()


def test_a_host_without_a_menu_prints_nothing(tmp_path: Path) -> None:
    assert printed(tmp_path) == printed(tmp_path, grubenv=block("saved_entry=1")) == []
    assert grub.read([]) is None
    assert grub.read(["dpkg install installed linux-image-7.0 7.0", "cdi /etc/cdi/nvidia.yaml"]) is None


def test_the_rows_of_the_script_tell_the_same_as_the_files(tmp_path: Path) -> None:
    for name in ("ubuntu-24.04-saved", "hand"):
        text = (BOOT / f"{name}.cfg").read_text()
        for row in (BOOT / f"{name}.emulated.tsv").read_text().splitlines()[1:27:6]:
            kernel, lines = row.split("\t")
            rows = printed(tmp_path, **{"grub.cfg": text, "grubenv": block(*lines.split("|"))})
            found = grub.read(["dpkg install installed x 1", *rows, "simulated 0"])
            assert found is not None and found.kernel == kernel, row
    assert grub.read(printed(tmp_path, **{"grub.cfg": f"{UBUNTU}\nwhole\n-whole\nset default=1"})) == Boot(
        NEW, TOP, "other"
    )
    custom = {"custom.cfg": "menuentry 'Mine' {\n linux /boot/vmlinuz-7.0.0-1019-nvidia\n}\n"}
    found = grub.read(printed(tmp_path, **{"grub.cfg": UBUNTU, "grubenv": block("saved_entry=Mine"), **custom}))
    assert found == Boot("7.0.0-1019-nvidia", "Mine", "other")


def test_a_password_and_a_kernels_command_line_stay_on_the_host(tmp_path: Path) -> None:
    text = (
        "set superusers=root\npassword_pbkdf2 root grub.pbkdf2.sha512.10000.SECRET\n  password root SECRET\n"
        "menuentry 'a' {\n\tlinux /boot/vmlinuz-1.0 root=UUID=1 luks=SECRET\n\tinitrd /SECRET\n\techo SECRET\n}\n"
    )
    rows = printed(tmp_path, **{"grub.cfg": text})
    assert "SECRET" not in "\n".join(rows) and grub.read(rows) == Boot("1.0", "a")


def test_a_menu_that_cannot_be_read_whole_is_unknown(tmp_path: Path) -> None:
    def holds(text: str, why: str) -> None:
        rows = printed(tmp_path, **{"grub.cfg": text})
        found = grub.read(rows)
        assert found is not None and not found.kernel and why in found.why
        assert len(rows) < 19_000 and sum(map(len, rows)) < 140_000

    each_row(
        {
            "long": (UBUNTU + "x\n" * 300_000, "longer than what is read"),
            "wide": (f"{UBUNTU}\ntrue {'x' * 3_000_000}\n", "longer than what is read"),
            "empty": ("", "cannot be read"),
        },
        holds,
    )
