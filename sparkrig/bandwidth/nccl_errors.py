"""What NCCL, PyTorch and docker print where an all_gather fails, and why NCCL falls back to sockets."""

from __future__ import annotations

from sparkrig.cure import on_host
from sparkrig.signatures import Signature

# of a served model's log, too (sparkrig/serving/trouble.py)
MISMATCHED, TRUNCATED = r"Mismatched NCCL version", r"[Mm]essage truncated"
NO_INTERFACE, CUDA_MEMORY = r"no socket interface found", r"cudaErrorMemoryAllocation"
_NEVER = r"(?!)"  # known by the exit status alone
# How a rank can end without a result; level unknown where that shows nothing about the fabric.
# What explains most comes first: the first that fits a rank is its error, and the first of both is the pair's.
ERRORS = (
    Signature(
        "nccl-version",
        MISMATCHED,
        "the ranks run different NCCL releases",
        "put one image on both hosts: docker save on one, docker load on the other",
    ),
    Signature(
        "image-drift",
        TRUNCATED,
        "the ranks do not agree about their messages",
        "put one image on both hosts: docker save on one, docker load on the other",
    ),  # section 9
    Signature(
        "memory-registration",
        r"ibv_reg_\w{0,20}mr\w{0,20} failed.{0,200}(?:Cannot allocate memory|errno 12\b)",
        "the NIC could not register memory",
        "cold boot both hosts, with kho=off on a 7.0 kernel",
    ),  # sections 3 and 9
    Signature(
        "cuda-memory",
        rf"(?i)\bout of memory\b|{CUDA_MEMORY}",
        "no memory for the GPU",
        "free memory (sync; echo 3 > /proc/sys/vm/drop_caches), then repeat",
        level="unknown",
    ),
    Signature(
        "no-gpu",
        r"No CUDA GPUs are available|Found no NVIDIA driver|no CUDA-capable device|could not select device driver"
        r"|nvidia-container-cli:|unresolvable CDI device",
        "the container has no GPU",
        on_host("docker run --rm --gpus all IMAGE nvidia-smi"),
        level="unknown",
    ),
    Signature(
        "image-unfit",
        r"No module named 'torch|NCCL built in|no kernel image is available|driver version is insufficient"
        r"|unsupported toolchain|exec format error|executable file not found",
        "the image does not fit",
        "set nccl_image to one with PyTorch and NCCL for this GPU",
        level="unknown",
    ),
    Signature(
        "no-interface",
        rf"{NO_INTERFACE}|No usable listening interface|NET/Socket ?: no interface found"
        r"|no device found matching",
        "NCCL_SOCKET_IFNAME names no interface that is up",
        "compare NCCL_SOCKET_IFNAME with ip -4 addr, then run the deploy again",
    ),
    Signature("port-busy", r"EADDRINUSE", "the rendezvous port is taken", "repeat the check", level="unknown"),
    Signature(
        "queue-pair",
        r"ibv_(?:modify|create)_qp failed",
        "the NIC refused a queue pair",
        "compare NCCL_IB_GID_INDEX with show_gids, then run the deploy again",
    ),
    Signature(
        "rdma-completion",
        r"Got completion from peer .{0,200}status=",
        "an RDMA transfer failed",
        "ping each rail, then measure it alone with sparkrig bandwidth",
    ),  # section 4: a cold ARP table does this too
    Signature(
        "no-rendezvous",
        r"clients joined|client socket has (?:timed out|failed)|DistNetworkError.{0,300}connect",
        "the ranks did not meet",
        "check that the hosts reach each other over TCP (ping, firewall)",
        level="unknown",
    ),
    Signature(
        "container",
        r"^docker: |^Error response from daemon",
        "docker could not start it",
        "start the image by hand with docker run",
        level="unknown",
    ),
    Signature(
        "killed", _NEVER, "it was killed (exit 137)", "look for an out-of-memory kill in dmesg", level="unknown"
    ),
    Signature(
        "nccl-error",
        r"nccl(?:System|Internal|UnhandledCuda)Error|unhandled (?:system|cuda) error",
        "NCCL failed",
        "measure the rails alone with sparkrig bandwidth",
    ),
    Signature(
        "no-result",
        _NEVER,
        "it ended without a result",
        "start the image by hand with docker run",
        level="unknown",
    ),
    Signature(
        "timeout",
        r"Watchdog caught collective operation timeout",
        "it did not end in time",
        "measure the rails alone with sparkrig bandwidth",
    ),
    Signature(
        "peer-lost",
        r"Connection closed by remote peer|ncclRemoteError|remote process exited|Connection was likely closed"
        r"|[Cc]onnection reset by peer|Broken pipe",
        "the other rank went away",
        "look at the other host",
        level="unknown",
    ),
    Signature("stopped", _NEVER, "it was ended with the other rank", "repeat the check", level="unknown"),
)
RANKED = {error.cause: number for number, error in enumerate(ERRORS)}
# Exit statuses: of `timeout` and of a process that its own alarm ended; of SIGKILL; of docker itself.
STATUSES = {124: "timeout", 142: "timeout", 137: "killed", 125: "container", 126: "container", 127: "container"}
# Why NCCL falls back to sockets, with the cure; "No device found" alone is normal where a plugin finds them.
SOCKET_REASONS = {
    "NCCL_IB_DISABLE is set": (
        r"NCCL_IB_DISABLE set by environment to [1-9]",
        "take NCCL_IB_DISABLE out of the setting environment",
    ),
    "NCCL_NET is set": (
        r"NCCL_NET set by environment to Socket",
        "take NCCL_NET out of the setting environment",
    ),
    "libibverbs is missing in the image": (
        r"Failed to open libibverbs",
        "set nccl_image to one with libibverbs",
    ),
    "NCCL found no RDMA device": (
        r"NET/IB ?: No device found",
        "compare NCCL_IB_HCA with rdma link, then run the deploy again",
    ),
}
