"""The fault matrix: 48 faults, how each is made, and what is promised; the promises P1 to P10 by name.

Rows and numbers are those of the first fault list (the reliability notes, section 4); row 48 came later. Which
tests show a row stands at the tests: `@pytest.mark.fault(16)`. docs/faults.md is made of both
(tests/faults/table.py).
"""

from __future__ import annotations

from dataclasses import dataclass

PROMISES = {
    1: "The interface that SSH came in on is never changed without an explicit setting.",
    2: "A network change that fails is rolled back in time, even without the controller.",
    3: "A second run changes nothing.",
    4: "If a run is killed at any point, the next run reaches the state that the first would have reached.",
    5: "Verbs that only read write nothing on a host.",
    6: "A reboot between any two steps is safe.",
    7: "Docker with running containers is not restarted without permission.",
    8: "No secret in output, logs, reports or /tmp.",
    9: "What is unknown is reported as unknown.",
    10: "Every refusal and every failed check names one thing to try.",
}


@dataclass(frozen=True)
class Fault:
    """One row: what goes wrong, how a test makes it, what is promised.

    promises: the P numbers that it touches; missing: why no test injects it as it would happen on a Spark, or
    what the test cannot show, empty where it is injected as described.
    """

    number: int
    name: str
    injected: str
    promise: str
    promises: tuple[int, ...] = ()
    missing: str = ""


FAULTS = (
    Fault(
        1,
        "apt's lock is held by unattended-upgrades",
        "a process holds lock-frontend",
        "waits and shows holder and time left, kills nothing, then names the holder",
        (10,),
    ),
    Fault(
        2,
        "dpkg was interrupted",
        "dpkg is killed while it configures a package",
        "found before the first change; the repair command is shown, and left to a person",
        (10,),
    ),
    Fault(
        3,
        "a host cannot be reached at the start",
        "the inventory has a name that does not resolve",
        "the host is named, and its peer is not changed",
        (9, 10),
    ),
    Fault(
        4,
        "a host is lost during a run",
        "the carrier of the management link is switched off",
        "noticed in time; the state is reported as unknown; the next run finishes",
        (4, 9),
    ),
    Fault(
        5,
        "ssh is dropped during an operation",
        "the controller is killed with -9, at each step",
        "the running command continues or ends by itself; the next run finishes",
        (4,),
    ),
    Fault(
        6,
        "a host reboots between steps",
        "the power of one guest is cut, at each step",
        "the next run finishes; what was interrupted is shown",
        (4, 6),
    ),
    Fault(
        7,
        "the disk is full",
        "a file that fills the file system",
        "refused before the first change, with what is free and what is needed",
        (10,),
    ),
    Fault(
        8, "the root is read-only", "mount -o remount,ro /", "one clear sentence before the first change", (10,)
    ),
    Fault(
        9,
        "NetworkManager does not run",
        "systemctl stop, or mask",
        "the run waits if it is starting, otherwise it is refused before the first change",
        (10,),
    ),
    Fault(
        10,
        "NetworkManager restarts during a network change",
        "systemctl restart NetworkManager",
        "the dead-man's switch restores the earlier state",
        (2,),
    ),
    Fault(
        11,
        "there is a checkpoint of another program, or of a crash",
        "CheckpointCreate over D-Bus",
        "owner and age are shown; the run waits until it ends, or is refused",
        (2, 10),
    ),
    Fault(
        12,
        "a foreign netplan file or profile defines the fabric",
        "NVIDIA's 40-cx7.yaml, a profile by nmcli",
        "shown; adopted, set aside or left if a setting says so; never merged",
        (10,),
    ),
    Fault(
        13,
        "a declared netdev is missing or has another name",
        "its driver is unbound; the names of two are swapped",
        "refused, with the existing netdevs; swapped netdevs are found without IP",
        (10,),
        "here permanent MAC and PCI path are those of virtio",
    ),
    Fault(
        14,
        "only one of the twins is up",
        "the carrier of one twin is switched off; its driver is unbound",
        "the missing rail is a fault, not a warning; the other is measured",
        (9,),
    ),
    Fault(
        15,
        "no cable",
        "the carrier of a cage is switched off at both ends",
        "cable-out with the name of the cage, from the carrier, not from NetworkManager",
    ),
    Fault(
        16,
        "the cable is in the other port",
        "the sockets of the rails are swapped",
        "the real cabling is reported before any IP test",
    ),
    Fault(
        17,
        "another machine has the address",
        "the other link of the peer gets the address",
        "an activation counts only with the address; the change is rolled back, and the owner's MAC is named",
        (2,),
    ),
    Fault(
        18,
        "the fabric's subnet overlaps the LAN's or docker's",
        "a setting gives a fabric address in docker's range",
        "refused before the first change, with both networks",
        (10,),
    ),
    Fault(
        19,
        "MTU 1500 on one side",
        "ip link set mtu 1500",
        "path-mtu with the name of the netdev; healthy needs 4096",
    ),
    Fault(
        20,
        "a switch with MTU 1500 in between",
        "packets above 1500 bytes are dropped at one end",
        "the link does not count as healthy, although both MTUs are right",
        (9,),
        "the rails are sockets: a filter on one guest drops what such a switch would drop",
    ),
    Fault(
        21,
        "the GID index moves",
        "addresses are removed and added in another order",
        "the current index is read; files with the old index are reported as stale, and fixed",
    ),
    Fault(
        22,
        "GIDs differ between devices or hosts",
        "the index of one of two devices moves",
        "instead of one index for both, the files get what NCCL needs to find each",
    ),
    Fault(
        23,
        "the port is in use, or a server is left over",
        "another ib_write_bw runs, and one of an earlier run",
        "the next port is used; the other one is named and left alone, ours is ended",
    ),
    Fault(
        24,
        "the server dies during the test",
        "its process is killed with -9",
        "peer-died, in time, with how it ended",
    ),
    Fault(
        25,
        "the link flaps during the test",
        "the carrier is switched off and on",
        "link-flap, regardless of the exit code and the figure",
    ),
    Fault(
        26,
        "perftest versions differ",
        "the ib_write_bw of one guest reports another version",
        "versions-differ names both, beside the figures",
        (),
        "it only reports another version",
    ),
    Fault(
        27,
        "RDMA writes above 64 KiB fail on GB10",
        "not made",
        "never used: messages have 65,536 bytes",
        (),
        "a fault of GB10 with ConnectX-7 [@perftest-394]",
    ),
    Fault(
        28,
        "a busy host is measured",
        "values of a busy host are given",
        "the load is shown beside a low figure as an explanation",
        (),
        "the load of an emulated guest says nothing about its link",
    ),
    Fault(
        29,
        "the clock is wrong",
        "date --set",
        "a small difference is reported, a large one is refused before apt runs",
        (10,),
    ),
    Fault(
        30,
        "the key of a repository has changed or expired",
        "the guest's repository gets another key at its URL, an expired key, a signature by another key",
        "compared with the pinned fingerprint, never fetched from elsewhere; both are shown; nothing is installed",
        (10,),
    ),
    Fault(
        31,
        "a mirror is offline or in the middle of an update",
        "the guest's repository is moved away; its index does not match its signature",
        "apt's message is shown; nothing is half installed; the next run finishes",
        (4, 10),
    ),
    Fault(
        32,
        "a restart of docker would stop containers",
        "a container runs",
        "refused without permission; the same container keeps running",
        (7, 10),
    ),
    Fault(
        33,
        "daemon.json is overwritten or invalid",
        "another file by hand; a file that is not JSON",
        "merged; unknown keys stay; validated before it is written; refused if it cannot be read",
        (10,),
    ),
    Fault(
        34,
        "the toolkit's mode changes, or its CDI file is stale",
        "the text of CDI files that name another driver",
        "reported with the health of the host; the mode is never changed",
        (),
        "nvidia-ctk is a stand-in here, and no CDI file is made",
    ),
    Fault(
        35,
        "an upgrade brings 590, or a kernel without its module",
        "a repository offers both, under new names",
        "held and pinned, which a simulated upgrade proves",
    ),
    Fault(
        36,
        "the driver has the wrong flavour",
        "the text that nvidia-smi prints if no module drives the GPU",
        "no-gpu, and where to look; the flavour itself is not read",
        (9,),
        "no GPU here, and no proprietary module for a GB10",
    ),
    Fault(
        37,
        "module and userspace have different versions",
        "the text that nvidia-smi prints for it",
        "driver-mismatch, and the advice to reboot",
        (10,),
        "no nvidia.ko here",
    ),
    Fault(
        38,
        "sudo asks for a password, or refuses",
        "the guest's sudoers file is removed",
        "reported at the first host; no password is tried",
        (8, 10),
    ),
    Fault(
        39,
        "two operators at once",
        "two deploys run at the same time",
        "the second shows who holds the lock, since when and why",
        (10,),
    ),
    Fault(
        40,
        "Ctrl-C",
        "SIGINT during a step and during a measurement",
        "nothing is left running; the progress is shown; the next run finishes",
        (4,),
    ),
    Fault(
        41,
        "the host key has changed",
        "known_hosts has another key",
        "refused before the first change, with advice",
        (10,),
    ),
    Fault(
        42,
        "an old result is used as a new one",
        "the host has a record of another link",
        "a record counts only for its own link; a deploy measures again",
        (9,),
    ),
    Fault(
        43,
        "a kernel is offered before its nvidia.ko",
        "a repository has a kernel without the package of its modules",
        "an update is refused before anything changes, and names the package",
    ),
    Fault(
        44,
        "the kernel of an update does not come up",
        "its initrd panics before the root is mounted",
        "the earlier kernel boots by itself; one command puts the packages back",
    ),
    Fault(
        45,
        "a repository goes away in the middle of an update",
        "its files are moved once apt has its lists",
        "nothing is installed, the set is held; the same command goes on",
        (10,),
    ),
    Fault(
        46,
        "the disk has no room for an update",
        "a file fills it",
        "refused before anything changes",
        (10,),
    ),
    Fault(
        47,
        "an update is broken off",
        "the controller is killed at three steps, and the power is cut at two",
        "the same command brings both halves to the end",
        (4, 6),
    ),
    Fault(
        48,
        "a second fault while a killed run's network change is armed",
        "the controller is killed once it has applied; then an undo, a kill, a power cut, an edit or a clock",
        "each look sees it; the next run settles it first, and what that run calls done stays",
        (2, 4),
    ),
)
