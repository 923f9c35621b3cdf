"""`sparkrig plan` and `apply` on fake hosts: what would change, old to new, and that the run then changes that."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import pytest

from sparkrig.runs.applied import Applied
from tests import warm
from tests.plan.conftest import A, B, Deploy, Host, converged, pair, recorded, well
from tests.plan.desk import Desk, Done, commands, noted
from tests.plan.lost import lost
from tests.plan.states import applied, fresh, settled, swap
from tests.plan.steps import STEPS
from tests.tables import each_row

NETDEV = "enp1s0f0np0"
JOINTS = "/,:=._|)-"
LOOKS = {"Driver | prove it by a simulated upgrade", "RDMA | GID index of each rail"}


def planned(desk: Desk, *words: str) -> tuple[Done, dict[str, dict[str, Any]]]:
    done = desk.typed("plan", "--json", *words)
    return done, {host["name"]: host for host in done.report["hosts"]}


def changes(host: dict[str, Any]) -> dict[tuple[str, str], tuple[str | None, str | None]]:
    return {
        (each["kind"], each["item"]): (each["before"], each["after"])
        for step in host["steps"]
        for each in step["changes"]
    }


def test_the_plan_of_a_pair_from_the_box_names_each_change(desk: Desk) -> None:
    done, hosts = planned(noted(desk, fresh()))
    assert (done.code, done.report["exit_code"], done.said) == (2, 2, "")
    for host, last in ((hosts[A], 11), (hosts[B], 12)):
        assert [step["name"] for step in host["steps"]] == [each for each in STEPS if each not in LOOKS]
        assert all(step["changes"] for step in host["steps"]), "each step says what it changes"
        found = changes(host)
        assert found["mtu", NETDEV] == ("1500", "9000")
        assert found["address", NETDEV] == ("none", f"192.168.100.{last}/24")
        assert found["hold", "nvidia-driver-580-open"] == ("not held", "held")
        assert found["package", "nvidia-container-toolkit"] == (None, "the newest of its repository")
        assert found["service", "docker"] == ("without the nvidia runtime", "reloaded, or restarted, with it")
        diffs = {each["item"]: each["diff"] for step in host["steps"] for each in step["changes"]}
        assert any("nvidia-container-runtime" in line for line in diffs["/etc/docker/daemon.json"])
        assert any(NETDEV in said for said in host["interrupts"]) and host["seconds"] > 60
    assert len(commands(desk)) == 2, "the one look of each host, and nothing else"
    assert all("#sparkrig:end" in each for each in commands(desk))


def test_plan_and_drift_name_one_command(desk: Desk) -> None:
    desk.has(applied())
    for verb in ("plan", "drift"):
        shown = "".join(desk.typed(verb).out.split())  # a plan breaks a long line
        assert f":pyinfra{desk.inventory}deploys/cluster.py" in shown and "sparkrigapply" not in shown, verb


def test_the_plan_of_a_settled_pair_is_empty(desk: Desk) -> None:
    done, hosts = planned(desk.has(settled()))
    assert (done.code, [hosts[name]["steps"] for name in (A, B)]) == (0, [[], []])
    shown = desk.typed("plan")
    assert shown.code == 0 and "Next:" not in shown.out
    assert shown.out.count("as declared") == 2


def test_one_half_refused_shows_both(desk: Desk) -> None:
    done, hosts = planned(desk.has(pair(recorded("fresh-a"), swap("uid=0\n", "uid=1000\n")(recorded("fresh-b")))))
    assert done.code == 2
    assert "root" in hosts[B]["refusals"][0]["what"] and not hosts[B]["steps"]
    assert hosts[A]["steps"] and hosts[A]["held_up_by"] == B
    shown = desk.typed("plan").out
    assert f"{B}: refused" in shown and f"until {B} can be changed, too" in shown
    assert "nothing is done, 1 refused" in shown


def test_a_host_that_cannot_be_read_is_said_and_the_other_one_shown(desk: Desk) -> None:
    done, hosts = planned(desk.has(lost(settled())))
    assert done.code == 3
    (away,) = set(hosts) - {A}
    assert "refused" in hosts[away]["unread"]
    assert hosts[A]["held_up_by"] == away, "a pair is set up as a pair"
    assert hosts[A]["steps"] == hosts[A]["refusals"] == []


def with_lines(text: str, path: str, more: str) -> str:
    """A look at a host that has more lines in a file of ours."""
    (row,) = re.findall(rf"^{re.escape(path)} .*$", text, re.MULTILINE)
    *words, content = row.split(" ")
    longer = base64.b64decode(content) + more.encode()
    return text.replace(row, " ".join([*words, base64.b64encode(longer).decode()]))


def test_a_line_of_somebody_else_is_shown_as_a_diff_without_its_secret(desk: Desk) -> None:
    more = "NCCL_DEBUG=INFO\x1b[31m\nHF_TOKEN=hf_0123456789abcdef\nMY_KEY=opensesame\n"
    desk.has(pair(with_lines(converged("a"), "/etc/nccl.conf", more), converged("b")))
    shown, document = desk.typed("plan"), desk.typed("plan", "--json")
    assert shown.code == document.code == 2
    assert "-NCCL_DEBUG=INFO" in shown.out and "-HF_TOKEN=***" in shown.out
    for text in (shown.out, document.out):
        assert "0123456789abcdef" not in text and "opensesame" not in text and "\x1b" not in text


def test_variables_of_a_setting_are_planned_where_the_network_changes_too(desk: Desk) -> None:
    """The files are then foreseen, and written once the links stand; the two are to be the same."""
    moved = re.sub(r'("ifname":"enp1s0f0np0".*?"mtu":)9000', r"\g<1>1500", converged("b"), count=1)
    desk.has(pair(converged("a"), moved, nccl_conf={"NCCL_DEBUG": "INFO"}))
    _, hosts = planned(desk)
    found = {each["item"]: each for step in hosts[B]["steps"] for each in step["changes"]}
    assert ("mtu", NETDEV) in changes(hosts[B])
    assert "+NCCL_DEBUG=INFO" in found["/etc/nccl.conf"]["diff"], found


def test_what_is_planned_is_what_the_deploy_then_does(desk: Desk, deploy: Deploy) -> None:
    _, hosts = planned(desk.has(applied()))
    run = well(deploy(applied(), "-y"))
    seen = Applied()
    for line in run.stderr.splitlines():
        seen.read(line)
    for name, host in hosts.items():
        done = {step.replace(": ", " | ", 1) for step in seen.changed[name]} - LOOKS
        # the host that does not lead is measured by the other one
        assert done | {"Bandwidth | ib_write_bw on each rail"} == {step["name"] for step in host["steps"]}


def test_pyinfra_s_own_dry_run_says_what_each_operation_changes(deploy: Deploy) -> None:
    run = deploy(fresh(), "--dry")
    for line in (
        f"[{A}] mtu {NETDEV}: 1500 -> 9000",
        f"[{A}] address {NETDEV}: none -> 192.168.100.11/24",
        f"[{B}] package nvidia-container-toolkit: none -> the newest of its repository",
    ):
        assert line in run.stderr
    assert run.changes == []


# --- screens


def words_of(text: str) -> set[str]:
    return set(text.split())


def whole(narrow: str, wide: str) -> None:
    """That a screen broke no word: each is one of the wide screen, or a piece of a path or list that is parted."""
    known = words_of(wide)
    for word in words_of(narrow) - known:
        inside = [each for each in known if word in each]
        assert inside, word
        joined = [
            each for each in inside if re.search(rf"(^|[{JOINTS}]){re.escape(word)}($|(?<=[{JOINTS}]))", each)
        ]
        assert joined or any(re.fullmatch(r"[0-9A-F]{40}", each) for each in inside), word


def at_width(desk: Desk, columns: int, verb: str, *words: str, env: dict[str, str] | None = None) -> Any:
    env = {"XDG_STATE_HOME": str(desk.folder / "state"), "NO_COLOR": "1", "COLUMNS": str(columns), **(env or {})}
    return warm.run("sparkrig", verb, str(desk.inventory), *words, env=env)


def screens(desk: Desk, verb: str, *words: str) -> None:
    wide = at_width(desk, 2000, verb, *words)

    def holds(columns: int) -> None:
        done = at_width(desk, columns, verb, *words)
        assert done.returncode == wide.returncode
        lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
        said = [line for line in lines if "reading" not in line]
        commands = [line for line in said if line.startswith(("Next: ", "sparkrig ", "pyinfra "))]
        assert [line for line in said if line not in commands and len(line) > columns] == []
        assert all(line in wide.stdout for line in commands), "it cannot be copied"
        whole("\n".join(said), f"{wide.stdout}\n{wide.stderr}")

    each_row([80, 40], holds)


@pytest.mark.slow
def test_no_word_of_a_plan_is_broken_on_a_narrow_screen(desk: Desk) -> None:
    screens(desk.has(fresh()), "plan", "--all")
    screens(desk.has(pair(recorded("fresh-a"), swap("uid=0\n", "uid=1000\n")(recorded("fresh-b")))), "plan")


# --- apply


PYINFRAS = ("No hosts remaining", "pyinfra error", "Traceback", "bug report")


def ours(done: Any) -> None:
    for words in PYINFRAS:
        assert words not in done.stdout + done.stderr


def test_apply_carries_out_the_plan_and_shows_it_at_any_width(desk: Desk) -> None:
    noted(desk, applied())

    def holds(columns: int) -> None:
        done = at_width(desk, columns, "apply", "-y")
        assert done.returncode == 0, done.stdout + done.stderr
        ours(done)
        lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
        assert max(map(len, lines)) <= columns
        assert "Done: changed" in done.stdout and "Next: sparkrig doctor" in re.sub(r"\s+", " ", done.stdout)
        assert "✓ Network: profiles and live links" in re.sub(r"\s+", " ", done.stderr)
        assert "1500 -> 9000" not in done.stderr, "the plan showed it"

    each_row([40], holds)
    assert any("apt-mark hold" in each for each in commands(desk))


def test_apply_has_nothing_to_do_on_a_settled_pair(desk: Desk) -> None:
    done = noted(desk, settled()).typed("apply", "-y")
    assert (done.code, done.out.splitlines()[-1]) == (0, "Nothing is to be done.")
    assert len(commands(desk)) == 2


def test_apply_asks_nobody_without_a_terminal(desk: Desk) -> None:
    done = noted(desk, fresh()).typed("apply")
    assert (done.code, done.out, commands(desk)) == (1, "", [])
    wanted = r"Error: .* Try: sparkrig plan \S+, .*; then sparkrig apply \S+ --yes\n"
    assert re.fullmatch(wanted, done.said), done.said


def test_apply_changes_nothing_where_a_half_is_refused(desk: Desk) -> None:
    noted(desk, pair(recorded("fresh-a"), swap("uid=0\n", "uid=1000\n")(recorded("fresh-b"))))
    done = desk.typed("apply", "-y")
    assert done.code == 1 and len(commands(desk)) == 2
    assert done.out.splitlines()[-1].startswith("Nothing was changed:") or "Nothing was changed:" in done.out


def failing(what: str) -> list[Host]:
    hosts = applied()
    hosts[1].first = {what: {"success": False, "stderr": "E: dpkg was interrupted"}}
    return hosts


def test_a_run_that_breaks_off_ends_with_our_sentence(desk: Desk) -> None:
    done = noted(desk, failing("apt-mark hold")).typed("apply", "-y")
    ours(Plain(done))
    last = re.sub(r"\s+", " ", done.out[done.out.index("The run ended on") :])
    assert done.code == 1
    step = "Driver: hold the installed 580 set"
    assert last.startswith(f"The run ended on {B} at {step}; what was done before stays.")
    assert "E: dpkg was interrupted" in done.said


@pytest.mark.slow  # whole deploys
def test_a_link_that_is_not_healthy_is_a_failed_check(desk: Desk) -> None:
    done = noted(desk, applied("nothing of perftest's")).typed("apply", "-y", "--json")
    document = json.loads(done.out)
    assert (done.code, document["exit_code"]) == (2, 2)
    assert document["outcome"].startswith(f"A check failed on {A} at Bandwidth: ib_write_bw on each rail")
    assert document["plan"]["schema"] == "sparkrig.plan/1"


class Plain:
    def __init__(self, done: Done) -> None:
        self.stdout, self.stderr = done.out, done.said


@pytest.mark.parametrize("verb", ["plan", "apply"])
def test_an_inventory_that_is_no_python_is_one_sentence(desk: Desk, verb: str) -> None:
    desk.inventory.write_text("sparks = [\n")
    done = desk.typed(verb, *(["-y"] if verb == "apply" else []))
    assert (done.code, done.out, done.said.count("\n")) == (1, "", 1)
    assert done.said.startswith("Error: ") and "SyntaxError" in done.said


def test_what_an_operation_would_refuse_is_a_finding_of_its_host(desk: Desk) -> None:
    moved = swap("simulated 0", "Inst nvidia-driver-open (590.48.01-0ubuntu0.24.04.1 DGX:1 [arm64])\nsimulated 0")
    done, hosts = planned(desk.has(pair(converged("a"), moved(converged("b")))))
    assert done.code == 2
    assert "a dist-upgrade would still touch driver" in hosts[B]["refusals"][0]["what"]
    assert not hosts[A]["refusals"]
