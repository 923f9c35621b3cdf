"""T1: the cluster deploy as a whole, on what the virtual pair printed."""

from __future__ import annotations

import base64
import re
import time

import pytest

from sparkrig.host import first_upgrade
from sparkrig.settings import Settings
from tests.plan.conftest import (
    FABRIC,
    USERS,
    A,
    B,
    Deploy,
    Host,
    Run,
    converged,
    pair,
    recorded,
    run_deploy,
    sections,
    well,
)
from tests.plan.states import Edit, applied, fresh, netplan, perftest, settled, swap
from tests.plan.steps import STEPS

# what is printed of the packages once they are held and pinned
HELD = {"driver": sections(recorded("converged-a"))["driver"]}


def test_a_fresh_pair_needs_every_step_on_both_hosts(deploy: Deploy) -> None:
    run = well(deploy(fresh(), "--json", "--dry"))
    assert list(run.plan) == STEPS
    looks = {"Driver | prove it by a simulated upgrade", "RDMA | GID index of each rail"}
    assert {step for step, hosts in run.plan.items() if hosts != {A, B}} == looks, "a look changes nothing"


def test_a_settled_pair_needs_nothing_and_costs_one_exec_per_host(deploy: Deploy) -> None:
    run = well(deploy(settled(), "--json", "--dry"))
    assert set().union(*run.plan.values()) == set()
    assert [host for host, _ in sorted(run.commands)] == ["spark-a", "spark-b"]


@pytest.mark.promise(3)
def test_applying_to_a_settled_pair_executes_nothing_more(deploy: Deploy) -> None:
    run = well(deploy(settled(), "-y"))
    assert len(run.commands) == 2
    assert run.changes == []


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return well(run_deploy(tmp_path_factory.mktemp("first"), applied(), "-y"))


def test_the_commands_of_a_first_run_in_their_order(first: Run) -> None:
    mine = [command for host, command in first.changes if host == "spark-a"]
    hold = next(command for command in mine if "apt-mark hold" in command)
    assert "nvidia-driver-580-open" in hold and "linux-image-nvidia-hwe-24.04" in hold
    order = [
        next((at, command.index(text)) for at, command in enumerate(mine) if text in command)
        for text in (
            "while read -r folder name mode content",
            "apt-get -q -o DPkg::Lock::Timeout=300 update",
            "apt-mark hold",
            'verb "$1" start',
            "/usr/lib/apt/apt-helper download-file",
            "--no-install-recommends install",
            "dockerd --validate --config-file",
            "systemctl restart docker",
            "ping=$1 limit=$2",
        )
    ]
    assert order == sorted(order)
    key = next(command for command in mine if "/usr/lib/apt/apt-helper download-file" in command)
    assert Settings.model_fields["toolkit_key_fingerprint"].default in key
    looks = {host: text for host, text in first.sent if USERS in text}
    assert looks.keys() == {"spark-a", "spark-b"}, "what a measurement takes from before a change is of no use"
    assert all(
        f"#sparkrig:end {noun} " in look for look in looks.values() for noun in ("network", "rdma", "files")
    )


def test_the_toolkits_list_alone_is_fetched_where_this_run_has_fetched_all(deploy: Deploy) -> None:
    """Elsewhere what the toolkit needs may be on a list of last year; and where another one named its source."""
    alone, every = "-o Dir::Etc::sourcelist=/etc/apt/sources.list.d/sparkrig-", "-o DPkg::Lock::Timeout=300 update"

    def fetched(hosts: list[Host], file: str) -> list[list[str]]:
        """For each command that fetches lists on spark-a: which, and whether it installs."""
        run = well(deploy(hosts, "-y", file=file))
        found = [command for host, command in run.changes if host == "spark-a" and "apt-get -q" in command]
        words = {"one": alone, "all": every, "install": "--no-install-recommends install"}
        return [[word for word, text in words.items() if text in command] for command in found]

    assert fetched(applied(), "deploys/cluster.py") == [["all"], ["one", "install"]]
    assert fetched(applied(), "deploys/containers.py") == [["all", "install"]]
    theirs = applied()
    for host in theirs:
        assert host.seen.count("\ntoolkit \n") == 1
        host.seen = host.seen.replace(
            "\ntoolkit \n", "\ntoolkit \nsource /etc/apt/sources.list.d/theirs.sources\n"
        )
    assert fetched(theirs, "deploys/cluster.py") == [["all"], ["all", "install"]]


def test_every_change_has_an_end_on_the_host_itself(first: Run) -> None:
    assert [command[:80] for _, command in first.changes if not command.startswith("timeout -k 5 ")] == []


@pytest.mark.parametrize(
    ("client", "complaint"),
    [
        (perftest(gbps=0.001), "0.00 Gb/s, at least 0.01 expected"),
        ("nothing of perftest's", "no result header"),
    ],
)
def test_a_link_that_proves_nothing_fails_the_run(deploy: Deploy, client: str, complaint: str) -> None:
    run = deploy(applied(client), "-y")
    assert run.code == 1
    assert complaint in run.stderr
    assert "Traceback" not in run.stderr
    stops = [command for host, command in run.changes if host == "spark-b" and "run=$1 why=$2" in command]
    assert len(stops) == 3, (
        "both at once, then each alone; the servers of each case are stopped, whatever their clients said"
    )


def test_a_lone_spark_without_a_cable_needs_no_rdma(deploy: Deploy) -> None:
    text = recorded("fresh-a")
    parts = sections(text)
    uncabled = text.replace(parts["rdma"], "\n")
    lone = [Host("@fake/spark-c", uncabled, HELD)]
    run = well(deploy(lone, "-y"))
    assert not [command for _, command in run.changes if "nmcli" in command or "ib_write_bw" in command]


def test_a_lone_spark_with_a_declared_fabric_and_no_cable_is_fine(deploy: Deploy) -> None:
    run = well(
        deploy(
            [
                Host(
                    "@fake/spark-c",
                    recorded("fresh-a").replace("f0np0 p0 1", "f0np0 p0 0"),
                    data={"fabric": FABRIC[A]},
                )
            ],
            "--json",
            "--dry",
        )
    )
    assert run.plan["Network | profiles and live links"] == set()


def pinned(kernel: str) -> Edit:
    """GRUB's menu boots that kernel next, and none of its modules is installed."""
    entry = f"grub menuentry x {{\ngrub linux /boot/vmlinuz-{kernel}\ngrub }}"
    menu = f"simulated 0\ngrub\n/boot/grub/grub.cfg\n{entry}\ngrub-whole\n"

    def edit(text: str) -> str:
        torn = swap(f"modules-nvidia-580-open-{kernel} ", "modules-nvidia-580-open-5.0 ")(text)
        return swap("simulated 0\n", menu)(torn)

    return edit


def daemon(text: str) -> Edit:
    return swap("\ntoolkit", f"\ndaemon {base64.b64encode(text.encode()).decode()}\ntoolkit")


def running_containers(count: int) -> Edit:
    return swap('"running":0', f'"running":{count}')


def upgrade_once(active: str) -> Edit:
    """NVIDIA's own upgrade of the first start, without its mark."""
    unit = f"Id={first_upgrade.UNIT}", "LoadState=loaded", "UnitFileState=enabled", f"ActiveState={active}"
    rows = "".join(f"{first_upgrade.WORD} {row}\n" for row in ("boot=one", "", *unit, ""))
    return swap("unit Load", f"{rows}unit Load")


REFUSALS: dict[str, tuple[Edit, str]] = {
    "N1X": (swap("gpu=NVIDIA GB10", "pci=10de:0x2e03"), "this host is no DGX Spark: its GPU is an N1X"),
    "another GPU": (
        swap("gpu=NVIDIA GB10", "gpu=NVIDIA H100 80GB HBM3"),
        "its GPU is NVIDIA H100 80GB HBM3, not a GB10",
    ),
    "not root": (swap("uid=0\n", "uid=1000\n"), "commands run as uid 1000, root is expected"),
    "590 already there": (
        swap("installed libnvidia-compute-580 580.173.02", "installed libnvidia-compute 590.48.01"),
        "a driver later than 580 is installed (libnvidia-compute 590.48.01",
    ),
    "a torn upgrade": (
        swap(
            "linux-modules-nvidia-580-open-6.17.0-1029-nvidia 6.17",
            "linux-modules-nvidia-580-open-6.17.0-1014-nvidia 6.17",
        ),
        "kernel 6.17.0-1029-nvidia boots next, and no nvidia.ko of driver 580 fits it;"
        " linux-modules-nvidia-580-open-",
    ),
    "NetworkManager down": (swap("nm running", "nm"), "NetworkManager does not run"),
    "unmanaged": (
        swap("device enp1s0f0np0:connecting (getting IP configuration)", "device enp1s0f0np0:unmanaged"),
        "NetworkManager does not manage enp1s0f0np0",
    ),
    "missing netdev": (swap('"ifname":"enp1s0f0np0"', '"ifname":"enp9s9f9np9"'), "there is no netdev enp1s0f0np0"),
    "no carrier": (swap("port enP2p1s0f0np0 p0 1", "port enP2p1s0f0np0 p0 0"), "enP2p1s0f0np0 has no carrier"),
    "second profile": (
        swap("connection.autoconnect-priority:-999", "connection.autoconnect-priority:0"),
        "second definition: NetworkManager profile 'Wired connection",
    ),
    "netplan file": (
        netplan("/etc/netplan/40-cx7.yaml", "network: {ethernets: {enp1s0f0np0: {dhcp4: false}}}"),
        "second definition: netplan file /etc/netplan/40-cx7.yaml defines enp1s0f0np0 (no fixed address)",
    ),
    "colliding route": (
        swap('{"dst":"10.0.2.0/24"', '{"dst":"172.16.0.0/12","dev":"wlP9s9"},{"dst":"10.0.2.0/24"'),
        "collides with the route to 172.16.0.0/12 over wlP9s9",
    ),
    "no docker": (swap("docker\ninfo", "info"), "docker is not installed"),
    "docker down": (swap("info {", "trouble {"), "docker does not answer"),
    "daemon.json broken": (daemon("{nope"), "/etc/docker/daemon.json is not valid JSON"),
    "containers run": (running_containers(2), "2 container(s) are running"),
    "no room": (swap("room 5000 /var", "room 499 /var"), "/var has 499 MB of room, and 500 MB are expected"),
    "read-only": (swap("room 5000 /\n", "read-only /\nroom 0 /var\n"), "/ is mounted read-only"),
    "dpkg": (
        swap("unit Load", "package unpacked ok libfoo\nunit Load"),
        "dpkg was interrupted (libfoo unfinished)",
    ),
    "clock": (swap("\nclock ", "\nclock 9"), "s ahead of this machine's (and is not synchronised)"),
    "NVIDIA's upgrade runs": (
        upgrade_once("activating"),
        "NVIDIA's first-boot upgrade (nvidia-spark-run-apt-upgrade-once.service) is running; it upgrades every",
    ),
    "masked": (
        lambda text: swap("nm running", "nm")(swap("LoadState=loaded", "LoadState=masked")(text)),
        "NetworkManager is masked, and the fabric needs it",
    ),
    "old NetworkManager": (swap('nm s "1.52.1"', 'nm s "1.30.0"'), "NetworkManager is 1.30.0, and 1.40 or later"),
    "a reboot to come": (
        swap("unit Load", "shutdown USEC=0\nshutdown MODE=reboot\nunit Load"),
        "a reboot is scheduled in 0 min",
    ),
    "a pin on an older kernel": (
        pinned("6.17.0-1026-nvidia"),
        "kernel 6.17.0-1026-nvidia boots next, and no nvidia.ko of driver 580 fits it;",
    ),
}


FIRST = 10  # names of one width, as pyinfra pads them


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Every refusal in one run, each the second host of a pair of its own."""
    hosts = [host for at, (edit, _) in enumerate(REFUSALS.values(), FIRST) for host in refused_pair(at, edit)]
    return run_deploy(tmp_path_factory.mktemp("refused"), hosts, "-y", together=False)


def refused_pair(at: int, edit: Edit) -> list[Host]:
    halves = pair(recorded("fresh-a"), edit(recorded("fresh-b")), pair=f"pair{at}")
    for host, letter in zip(halves, "ab", strict=True):
        host.name = f"@fake/{letter}{at}"
        host.data = {
            **host.data,
            "fabric": {
                name: each.replace("192.168.", f"172.{10 + at}.")
                for name, each in FABRIC[A if letter == "a" else B].items()
            },
        }
    return halves


@pytest.mark.parametrize("case", REFUSALS)
def test_what_must_not_be_touched_is_refused_in_words(refused: Run, case: str) -> None:
    at, sentence = FIRST + list(REFUSALS).index(case), REFUSALS[case][1]
    said = [line for line in refused.stderr.splitlines() if f"[@fake/b{at}] Refused: " in line]
    assert len(said) == 1
    assert sentence in said[0]
    assert "Try: " in said[0]


def test_a_refusal_changes_nothing_on_either_half_of_its_pair(refused: Run) -> None:
    assert refused.changes == []
    assert refused.code == 1
    assert "Traceback" not in refused.stderr


def test_a_host_in_spec_with_a_warning_is_left_as_it_is(deploy: Deploy) -> None:
    slow = [re.sub(r"^clock .*$", f"clock {time.time() - 200}", text, flags=re.M) for text in map(converged, "ab")]
    run = well(deploy(pair(*map(upgrade_once("inactive"), slow)), "-y"))
    assert len(re.findall(r"the clock is 2[0-5]\d s behind this machine's", run.stderr)) == 2
    assert run.stderr.count(f"({first_upgrade.UNIT}) has not run yet: it starts with the next boot") == 2
    assert run.changes == []


def test_a_refused_host_stops_the_pair(deploy: Deploy) -> None:
    run = deploy(pair(recorded("fresh-a"), swap("uid=0\n", "uid=1000\n")(recorded("fresh-b"))), "-y")
    assert run.code == 1
    assert run.changes == []


def test_one_refused_pair_of_a_fleet_leaves_the_others_to_their_work(deploy: Deploy) -> None:
    bad = pair(recorded("fresh-a"), swap("uid=0\n", "uid=1000\n")(recorded("fresh-b")))
    good = [Host("@fake/spark-c", recorded("fresh-a"), HELD)]
    run = deploy([*bad, *good], "-y", together=False)
    assert {host for host, _ in run.changes} == {"spark-c"}, "neither host of the refused pair is touched"
    assert run.code == 1


def test_leave_to_restart_docker_is_taken_at_its_word(deploy: Deploy) -> None:
    host = Host("@fake/spark-c", running_containers(2)(recorded("fresh-a")), HELD, data={"restart_docker": True})
    run = well(deploy([host], "-y"))
    assert [command for _, command in run.changes if "systemctl restart docker" in command]


def test_a_kernel_without_its_module_that_grub_does_not_boot_holds_nothing_up(deploy: Deploy) -> None:
    """The newest one lacks its module; GRUB's menu pins another, which has it."""
    entry = "grub menuentry x {\ngrub linux /boot/vmlinuz-6.17.0-1026-nvidia\ngrub }"
    menu = f"grub\n/boot/grub/grub.cfg\n{entry}\ngrub-whole\n"
    pin = swap("simulated 0\n", f"simulated 0\n{menu}")
    torn = swap("modules-nvidia-580-open-6.17.0-1029-nvidia ", "modules-nvidia-580-open-5.0 ")
    run = deploy([Host("@fake/spark-c", pin(torn(converged("a"))))], "-y")
    assert "boots next" not in run.stderr
    run = deploy([Host("@fake/spark-c", torn(converged("a")))], "-y")
    assert "kernel 6.17.0-1029-nvidia boots next" in run.stderr


@pytest.mark.promise(1)
def test_the_management_network_is_never_touched(deploy: Deploy) -> None:
    hosts = [Host("@fake/spark-c", recorded("fresh-a"), data={"fabric": {"enP7s7": "192.168.100.11/24"}})]
    run = deploy(hosts, "-y")
    assert run.code == 1
    assert "enP7s7 carries this SSH connection" in run.stderr
    assert run.changes == []


def test_an_upgrade_that_would_still_move_the_driver_fails_the_proof(deploy: Deploy) -> None:
    moved = swap("simulated 0", "Inst nvidia-driver-open (590.48.01-0ubuntu0.24.04.1 DGX:1 [arm64])\nsimulated 0")
    run = deploy(pair(converged("a"), moved(converged("b"))), "-y")
    assert run.code == 1
    assert "a dist-upgrade would still touch driver or kernel (nvidia-driver-open: install 590.48.01" in run.stderr


@pytest.mark.parametrize(
    ("flag", "sentence"),
    [
        ("mtuu=9000", "there is no setting mtuu; did you mean mtu?"),
        ("mtu=100", "setting mtu: a whole number from 1280 to 9216 is expected (found 100)"),
    ],
)
def test_a_bad_setting_on_the_command_line_changes_nothing(deploy: Deploy, flag: str, sentence: str) -> None:
    run = deploy(fresh(), "-y", "--data", flag)
    assert run.code == 1
    assert sentence in run.stderr
    assert "Traceback" not in run.stderr
    assert run.commands == []


def test_no_half_runs_ahead_of_the_other(deploy: Deploy) -> None:
    """The one that led the network's change gave its lock back while the other host still worked on both."""
    run = deploy(fresh(), "-y", "--no-wait")
    assert run.code == 1
    assert "--no-wait lets one host run ahead of its peers" in run.stderr
    assert "Traceback" not in run.stderr
    assert run.commands == []
    well(deploy([Host("@fake/spark-c", recorded("fresh-a"), HELD)], "-y", "--no-wait"))


def test_a_bad_inventory_stops_before_the_first_connection(deploy: Deploy) -> None:
    hosts = fresh()
    hosts[1].data = {**hosts[1].data, "fabric": FABRIC[A]}
    run = deploy(hosts, "-y")
    assert run.code == 1
    assert "192.168.100.11 is given to @fake/spark-a enp1s0f0np0 too" in run.stderr
    assert "Connecting to hosts" not in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.slow
def test_a_host_that_fails_in_mid_run_takes_its_peer_along_and_nobody_else(deploy: Deploy) -> None:
    hosts = fresh()
    hosts[1].responses = {"apt-mark hold": {"success": False, "stderr": "E: dpkg was interrupted"}}
    run = deploy([*hosts, Host("@fake/spark-c", recorded("fresh-a"), HELD)], "-y", together=False)
    assert run.code == 1
    later = {host for host, command in run.changes if "dockerd --validate" in command}
    assert later == {"spark-c"}


def test_one_noun_can_be_applied_by_itself(deploy: Deploy) -> None:
    run = deploy(fresh(), "--json", "--dry", file="deploys/driver.py")
    assert list(run.plan) == [*STEPS[:3], STEPS[-1]]


def test_measuring_again_asks_no_record(deploy: Deploy) -> None:
    run = deploy(settled(), "--json", "--dry", file="deploys/bandwidth.py")
    assert run.plan == {"Bandwidth | ib_write_bw on each rail": {A, B}, STEPS[-1]: set()}


def test_half_a_pair_is_not_set_up(deploy: Deploy) -> None:
    run = deploy(fresh(), "-y", "--limit", A)
    assert run.code == 1
    assert "its peer @fake/spark-b is not in this run" in run.stderr
    assert run.changes == []
