"""Which kernel GRUB boots next: as GRUB's own emulator ran it (tests/fixtures/boot), and as the fact reads it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from sparkrig.facts.grub import NextBoot
from sparkrig.host import grub
from sparkrig.host.grub import CFG, CUSTOM, ENV, Boot
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


@pytest.mark.parametrize(("name", "least"), [("ubuntu-24.04-saved", 6), ("hand", 0)])
def test_the_kernel_is_the_one_that_grubs_own_emulator_ran_or_unknown(name: str, least: int) -> None:
    """`hand` has what Ubuntu's templates never write: nothing of it is guessed."""
    text = (BOOT / f"{name}.cfg").read_text()
    told = []

    def holds(kernel: str, lines: str) -> None:
        found = grub.boots({CFG: text, **({ENV: block(*lines.split("|"))} if lines else {})})
        assert found.kernel in (kernel, "") and (found.kernel or found.why)
        told.extend([found.kernel] if found.kernel else [])

    rows = [tuple(row.split("\t")) for row in (BOOT / f"{name}.emulated.tsv").read_text().splitlines()]
    assert len(rows) >= 30
    each_row({lines or "no variables": (kernel, lines) for kernel, lines in rows}, holds)
    assert len(told) == least


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
        (f"saved_entry={ADVANCED}>gnulinux-{NEW}-advanced-{UUID}", "named"),  # today's newest, and a pin
        (f"saved_entry={ADVANCED}>Ubuntu, with Linux {OLD}", "named"),
        (f"saved_entry=0|next_entry={ADVANCED}>gnulinux-{OLD}-advanced-{UUID}", "other"),
        ("saved_entry=0|next_entry=", "first"),
    ],
)
def test_how_the_entry_is_chosen_decides_what_becomes_of_it_with_another_kernel(lines: str, way: str) -> None:
    assert grub.boots({CFG: UBUNTU, ENV: block(*lines.split("|"))}).way == way


ODD = {
    "another file": "source /boot/grub/more.cfg",
    "another menu": "configfile (hd1,gpt1)/grub.cfg",
    "boot loader specification": "blscfg",
    "a loop of entries": "for x in 1; do\nmenuentry $x {\n}\ndone",
    "an entry in one line": "menuentry x { true; }",
    "a name of the machine's": 'menuentry "$grub_cpu" {\n}',
    "an entry within an entry": "menuentry a {\nmenuentry b {\n}\n}",
    "two entries in a line": "menuentry a { true; } menuentry b {\n}",
    "a block of nothing": "true {\n}",
    "a quote without end": "menuentry 'x {\n}",
    "a block too many": "}",
}
ANOTHER_WAY = {
    "a condition that sets it": "set default=0\nif cmostest 9; then set default=1; fi",
    "a variable of GRUB's own": 'set default="${grub_cpu}"',
    "set twice": "set default=0\nset default=1",
    "what a person types": "set default=0\nread default",
    "a search that sets it": "set default=0\nsearch --set=default --label x",
}
OTHER = {
    "another kernel in a condition": ("linux /k-1.0\nif x; then linux /k-2.0; fi", "one of several kernels"),
    "no release in its name": ("linux /boot/vmlinuz.old", "does not name its release"),
    "no kernel": ("chainloader +1", "loads no kernel"),
    "one of two": ("linux /vmlinuz-1.0\nlinux /vmlinuz-2.0", "one of several kernels"),
}


def saved(default: str) -> Boot:
    return grub.boots({CFG: UBUNTU, ENV: block(f"saved_entry={default}")})


def test_what_ubuntus_templates_do_not_write_is_unknown_and_says_why() -> None:
    def holds(found: Boot, why: str) -> None:
        assert not found.kernel and why in found.why

    entry = "menuentry 'other' {{\n{}\n}}"
    rows = {
        name: (menu(entries=text), "a line that Ubuntu's templates do not write") for name, text in ODD.items()
    }
    rows |= {name: (menu(text), "sets its default in another way") for name, text in ANOTHER_WAY.items()}
    rows |= {
        name: (menu("set default=other", entries=entry.format(text)), why) for name, (text, why) in OTHER.items()
    }
    rows |= {
        default: (saved(default), "is not the name of an entry")
        for default in ("1", "1>2", f"{ADVANCED}>0", "an entry that is gone", "1>>2", f"{ADVANCED}>nothing")
    }
    rows |= {
        "a name that GRUB takes for a number": (
            menu("set default=2", entries="menuentry 2 {\nlinux /boot/vmlinuz-9.0\n}"),
            "is not the name of an entry",
        ),
        "of some machines": (saved("uefi-firmware"), "only some machines have"),
        "a submenu": (saved(ADVANCED), "loads no kernel"),
        "no entry": (grub.boots({CFG: "set default=0"}), "no entry"),
        "a block without end": (menu(entries="menuentry x {"), "lacks a }"),
        "no menu": (grub.boots({ENV: block()}), "grub.cfg cannot be read"),
        "entries of the owner's": (grub.boots({CFG: UBUNTU, CUSTOM: "set default=1"}), "may change the menu"),
        "a boot that failed": (grub.boots({CFG: UBUNTU, ENV: block("initrdfail=1")}), "of a boot before"),
    }
    each_row(rows, holds)


def test_a_function_and_a_condition_that_sets_no_default_decide_nothing() -> None:
    heads = (
        'if loadfont x; then set gfxmode=auto; fi\nset default="i2"',
        "function f {\n set default=0\n}\nset default=i2",
        "default='k2'",
    )
    each_row(heads, lambda head: _is(menu(head), "2.0"))


def _is(found: Boot, kernel: str) -> None:
    assert found.kernel == kernel


def test_no_menu_takes_long_or_ends_in_another_error() -> None:
    texts = ["if true; then " * 3000, "submenu x {\n" * 3000, '"' * 3001, "\\", "$", "set", "menuentry {", "}"]
    texts += ["set default=" + "9" * 4000, "'" + "a\\" * 9000, "default=" * 9000, "menuentry " * 9000 + "{"]
    began = time.monotonic()
    each_row(texts, lambda text: _is(grub.boots({CFG: text}), ""))
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
    for row in (BOOT / "ubuntu-24.04-saved.emulated.tsv").read_text().splitlines()[1:27]:
        _, lines = row.split("\t")
        rows = printed(tmp_path, **{"grub.cfg": UBUNTU, "grubenv": block(*lines.split("|"))})
        assert grub.read(["dpkg install installed x 1", *rows, "simulated 0"]) == grub.boots(
            {CFG: UBUNTU, ENV: block(*lines.split("|"))}
        )


def test_a_password_and_a_kernels_command_line_stay_on_the_host(tmp_path: Path) -> None:
    text = (
        "set superusers=root\npassword_pbkdf2 root grub.pbkdf2.sha512.10000.SECRET\n"
        "  password root SECRET\n"
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
