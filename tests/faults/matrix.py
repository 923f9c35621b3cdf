"""The fault matrix: 42 faults, how each is injected, and what is promised; the promises P1 to P10 by name.

Rows and numbers are those of the first fault list (the reliability notes, section 4). Which tests show a row
stands at the tests: `@pytest.mark.fault(16)`. docs/faults.md is made of both (tests/faults/table.py).
"""

from __future__ import annotations

from dataclasses import dataclass

PROMISES = {
    1: "The interface that SSH came in on is never changed without an explicit setting.",
    2: "A network change that fails is back in the earlier state in time, with no controller.",
    3: "A second run has nothing to change.",
    4: "Killed at any point, the next run ends where the first would have.",
    5: "What only looks writes nothing on a host.",
    6: "A reboot between any two steps is safe.",
    7: "Docker with running containers is not restarted without leave.",
    8: "No secret in output, logs, reports or /tmp.",
    9: "What is unknown is said to be unknown.",
    10: "Every refusal and every failed check names one thing to try.",
}


@dataclass(frozen=True)
class Fault:
    """One row: what goes wrong, how a test brings it about, what is promised.

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
        "waits with holder and time left shown, kills nothing, then says who holds it",
        (10,),
    ),
    Fault(
        2,
        "dpkg was interrupted",
        "dpkg killed in mid-configure",
        "found before the first change; the repair is named and left to a person",
        (10,),
    ),
    Fault(
        3,
        "a host cannot be reached at the start",
        "a name that does not resolve, in the inventory",
        "the host is named, and nothing is done to its peer",
        (9, 10),
    ),
    Fault(
        4,
        "a host is lost in mid-run",
        "carrier of the management link off",
        "noticed in time; the state is unknown and said so; the next run finishes it",
        (4, 9),
    ),
    Fault(
        5,
        "ssh is dropped in mid-operation",
        "the controller killed with -9, at each step",
        "what ran goes on or ends by itself; the next run finishes it",
        (4,),
    ),
    Fault(
        6,
        "a host reboots between steps",
        "power cut of one guest, at each step",
        "the next run finishes it; what was interrupted is shown",
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
        "waited for where it is starting, else refused before the first change",
        (10,),
    ),
    Fault(
        10,
        "NetworkManager restarts in the window of a change",
        "systemctl restart NetworkManager",
        "the dead-man's switch puts the earlier state back",
        (2,),
    ),
    Fault(
        11,
        "a checkpoint of somebody else's, or of a crash, is there",
        "CheckpointCreate over D-Bus",
        "owner and age are said, and it is waited out or refused",
        (2, 10),
    ),
    Fault(
        12,
        "a foreign netplan file or profile defines the fabric",
        "NVIDIA's 40-cx7.yaml, a profile by nmcli",
        "shown, and adopted, set aside or left by an explicit setting; never merged",
        (10,),
    ),
    Fault(
        13,
        "a declared netdev is missing or has another name",
        "its driver unbound; two renamed into one another",
        "refused with the netdevs that are there; two that changed places are seen below IP",
        (10,),
        "permanent MAC and PCI path of a ConnectX-7 are virtio's here",
    ),
    Fault(
        14,
        "only one of the twins is up",
        "carrier of one twin off; its driver unbound",
        "a rail is missing: a fault, no warning; the other is measured",
        (9,),
    ),
    Fault(
        15,
        "no cable",
        "carrier of a cage off at both ends",
        "cable-out with the cage, from carrier, not from NetworkManager",
    ),
    Fault(
        16,
        "the cable is in the other port",
        "the rails' sockets swapped",
        "the real wiring is told before any IP test",
    ),
    Fault(
        17,
        "somebody else has the address",
        "the address on the peer's other link",
        "no activation counts without the address; the change is put back and the owner's MAC named",
        (2,),
    ),
    Fault(
        18,
        "the fabric's subnet overlaps the LAN's or docker's",
        "a fabric address out of docker's range, by setting",
        "refused before the first change, with both networks",
        (10,),
    ),
    Fault(
        19,
        "MTU 1500 on one side",
        "ip link set mtu 1500",
        "path-mtu with the netdev that has it; healthy asks for 4096",
    ),
    Fault(
        20,
        "a switch at 1500 in between",
        "packets above 1500 bytes dropped at one end",
        "both MTUs look right, and the link is no healthy one all the same",
        (9,),
        "the rails are sockets: a filter on one guest drops what such a switch would",
    ),
    Fault(
        21,
        "the GID index moves",
        "addresses taken away and added in another order",
        "looked up where it is now; files that carry the old one are said to be stale, and mended",
    ),
    Fault(
        22,
        "GIDs differ between devices or hosts",
        "the index of one device of two moved",
        "no one index is written for both, but what NCCL needs to find each",
    ),
    Fault(
        23,
        "the port is busy, or a server was left over",
        "ib_write_bw of somebody else, and one of an earlier run",
        "the next port is taken; theirs is named and left alone, ours is ended",
    ),
    Fault(
        24, "the server dies in mid-test", "its process killed with -9", "peer-died, in time, with how it ended"
    ),
    Fault(
        25, "the link flaps in mid-test", "carrier off and on", "link-flap, whatever the exit code and the figure"
    ),
    Fault(
        26,
        "perftest versions differ",
        "one guest's ib_write_bw says another version",
        "versions-differ names both, beside the figures",
        (),
        "the other version only says that it is one",
    ),
    Fault(
        27,
        "RDMA writes above 64 KiB fail on GB10",
        "not injected",
        "never asked for: messages of 65,536 bytes",
        (),
        "a fault of GB10 with ConnectX-7 [@perftest-394]",
    ),
    Fault(
        28,
        "a busy host is measured",
        "values of a busy host",
        "the load stands beside a low figure as what would explain it",
        (),
        "the load of an emulated guest says nothing of its link",
    ),
    Fault(
        29,
        "the clock is wrong",
        "date --set",
        "a small skew is said, a large one stops before apt",
        (10,),
    ),
    Fault(
        30,
        "a repository's key is another one, or has expired",
        "the guest's own repository: another key at its URL, an expired one, a signature by another",
        "compared with the pinned fingerprint; never fetched from elsewhere; both shown; nothing installed",
        (10,),
    ),
    Fault(
        31,
        "a mirror is offline or half-way through its update",
        "the guest's own repository: moved away; an index that does not fit its signature",
        "apt's own words; nothing half-installed; the next run finishes it",
        (4, 10),
    ),
    Fault(
        32,
        "a restart of docker would stop containers",
        "a container that runs",
        "refused without leave; the very same container runs on",
        (7, 10),
    ),
    Fault(
        33,
        "daemon.json is overwritten or invalid",
        "another file by hand; one that is no JSON",
        "merged, unknown keys kept, validated before it lands; one that cannot be read is refused",
        (10,),
    ),
    Fault(
        34,
        "the toolkit's mode changes, or its CDI file is stale",
        "CDI files that name another driver, as text",
        "said among the health of a host; the mode is never changed",
        (),
        "nvidia-ctk is a stand-in here, and no CDI file is made",
    ),
    Fault(
        35,
        "an upgrade brings 590, or a kernel without its module",
        "a repository that offers both, under new names",
        "held, pinned, and proven by simulation",
    ),
    Fault(
        36,
        "the driver has the wrong flavour",
        "nvidia-smi's words where no module drives the GPU, as text",
        "no-gpu, with where to look; the flavour itself is not read",
        (9,),
        "no GPU here, and no proprietary module for a GB10",
    ),
    Fault(
        37,
        "module and userspace are of two versions",
        "nvidia-smi's words for it, as text",
        "driver-mismatch, and that a reboot mends it",
        (10,),
        "no nvidia.ko here",
    ),
    Fault(
        38,
        "sudo asks for a password, or refuses",
        "the guest's sudoers file removed",
        "said in words at the first host; no password is tried",
        (8, 10),
    ),
    Fault(
        39,
        "two operators at once",
        "two deploys side by side",
        "the second is told who holds the lock, since when and why",
        (10,),
    ),
    Fault(
        40,
        "Ctrl-C",
        "SIGINT in mid-step and in mid-measurement",
        "nothing is left running; what was reached is shown; the next run finishes it",
        (4,),
    ),
    Fault(
        41,
        "the host key has changed",
        "another key in known_hosts",
        "refused before the first change, with what to do",
        (10,),
    ),
    Fault(
        42,
        "an old result is taken for a new one",
        "a record of another link on the host",
        "a record counts for the link that it was taken on; a deploy looks anew",
        (9,),
    ),
)
