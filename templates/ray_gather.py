"""An all_gather over all nodes of a standing Ray cluster; the head's container gets it on standard input.

usage: python3 - BYTES

Each node has one rank of BYTES. With a GPU and PyTorch on each, NCCL gathers; with PyTorch alone, gloo; else Ray's
own objects cross from store to store. What was gathered is checked, and printed as one line, `sparkrig-ray JSON`:
nodes, backend, transport, bytes of all ranks, seconds of the slowest rank, and how many ranks had a wrong byte.
"""

import json
import os
import re
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On

TIMES = 5


class Rank:
    """One rank, in a process of its own on its node."""

    def __init__(self, rank: int, world: int, size: int) -> None:
        self.rank, self.world, self.size = rank, world, size

    def has(self) -> str:
        """The best that this node can gather by."""
        try:
            import torch
        except ImportError:
            return "objects"
        return "nccl" if torch.cuda.is_available() else "gloo"

    def place(self) -> str:
        """An address of this node with a port that is free."""
        with socket.socket() as probe:
            probe.bind((ray.util.get_node_ip_address(), 0))
            address, port = probe.getsockname()[:2]
            return f"{address}:{port}"

    def part(self) -> bytes:
        return bytes([self.rank + 1]) * self.size

    def by_objects(self, parts: list[Any]) -> dict[str, Any]:
        """parts: references to what each rank has; those of other nodes cross now."""
        begin = time.perf_counter()
        found = ray.get(parts)
        seconds = time.perf_counter() - begin
        wrong = any(part.count(bytes([rank + 1])) != self.size for rank, part in enumerate(found))
        return {"seconds": seconds, "wrong": wrong, "transport": "TCP"}

    def by_torch(self, backend: str, place: str) -> dict[str, Any]:
        log = Path(tempfile.mkdtemp()) / "nccl"
        os.environ.update(NCCL_DEBUG="INFO", NCCL_DEBUG_FILE=str(log))
        import torch
        import torch.distributed as dist

        device = torch.device("cuda", 0) if backend == "nccl" else torch.device("cpu")
        meet = {"init_method": f"tcp://{place}", "rank": self.rank, "world_size": self.world}
        # without the device, NCCL takes that of the rank's number, and each node has but the first one
        dist.init_process_group(backend, **meet, device_id=device if backend == "nccl" else None)
        own = torch.full((self.size,), self.rank + 1, dtype=torch.uint8, device=device)
        gathered = torch.empty(self.world * self.size, dtype=torch.uint8, device=device)

        def gather(times: int) -> float:
            dist.barrier()
            begin = time.perf_counter()
            for _ in range(times):
                dist.all_gather_into_tensor(gathered, own)  # into a list it copies once more, and is slower
                if backend == "nccl":
                    torch.cuda.synchronize()
            return (time.perf_counter() - begin) / times

        gather(2)  # connections are made with the first
        seconds = gather(TIMES)
        wrong = any(int((part != rank + 1).sum()) for rank, part in enumerate(gathered.chunk(self.world)))
        dist.destroy_process_group()
        return {"seconds": seconds, "wrong": wrong, "transport": transport(log) if backend == "nccl" else "TCP"}


def transport(log: Path) -> str:
    """What NCCL's channels go by: IB, Socket, P2P, SHM; the slowest of several, empty without channels."""
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    return max(re.findall(r"\bvia (?:NET/)?(\w+)", text), default="")  # Socket is the last, and the slowest


def main() -> None:
    size = int(sys.argv[1])
    ray.init(log_to_driver=False, logging_level="ERROR")
    nodes = [node for node in ray.nodes() if node["Alive"]]
    gpus = min([1, *(node["Resources"].get("GPU", 0) for node in nodes)])
    made = ray.remote(num_cpus=0, num_gpus=gpus)(Rank)
    ranks = [
        made.options(scheduling_strategy=On(node["NodeID"], soft=False)).remote(rank, len(nodes), size)
        for rank, node in enumerate(nodes)
    ]
    can = ray.get([each.has.remote() for each in ranks], timeout=120)
    backend = "objects" if "objects" in can else "gloo" if "gloo" in can else "nccl"
    if backend == "objects":
        parts = [each.part.remote() for each in ranks]
        ray.wait(parts, num_returns=len(parts), fetch_local=False)
        done = ray.get([each.by_objects.remote(parts) for each in ranks], timeout=300)
    else:
        place = ray.get(ranks[0].place.remote())
        done = ray.get([each.by_torch.remote(backend, place) for each in ranks], timeout=300)
    found = {
        "nodes": [node["NodeManagerAddress"] for node in nodes],
        "backend": backend,
        "transport": max(each["transport"] for each in done),
        "bytes": size * len(nodes),
        "seconds": max(each["seconds"] for each in done),
        "wrong": sum(each["wrong"] for each in done),
    }
    print("sparkrig-ray", json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
