"""One rank of an NCCL all_gather, measured and checked; sparkrig sends it to a container on standard input.

usage: python3 - --rank 0|1 --address ADDRESS --port PORT --bytes N [--iterations N] [--limit S] [--device N]

Without --iterations, as many are made as take ten seconds, so that others can look at a machine under load.

The two ranks meet at rank 0's address. Each stage is announced as `sparkrig-nccl stage NAME`, so that a
hang has a place, and the figures come as one line, `sparkrig-nccl JSON`. Standard library and PyTorch only.
"""

import argparse
import json
import signal
import time
from collections.abc import Iterator
from datetime import timedelta

import torch
import torch.distributed as dist

RANKS = 2
WARM_UPS = 2
SECONDS = 10
LEAST, MOST = 3, 500  # iterations
PIECE = 1 << 24  # elements that are filled or checked at a time, so that checking takes little memory


def main() -> None:
    wanted = arguments()
    # The process ends by itself, whatever becomes of the connection that started it.
    signal.alarm(wanted.limit)
    device = torch.device("cuda", wanted.device)
    torch.cuda.set_device(device)
    stage("meet")
    dist.init_process_group(
        "nccl",
        init_method=f"tcp://{wanted.address}:{wanted.port}",
        rank=wanted.rank,
        world_size=RANKS,
        timeout=timedelta(seconds=wanted.limit / 2),  # so that its message comes before the alarm
        device_id=device,
    )
    stage("warm-up")
    # In place, so that the message is all the memory that it takes.
    gathered = torch.full((RANKS, wanted.bytes // RANKS // 4), -1, dtype=torch.int32, device=device)
    for piece, pattern in pieces(gathered[wanted.rank], wanted.rank):
        piece.copy_(pattern)
    gather(gathered, wanted.rank, 1)  # connections are made with the first
    iterations = wanted.iterations or agreed(gather(gathered, wanted.rank, WARM_UPS - 1), device)
    stage("measure")
    seconds = gather(gathered, wanted.rank, iterations)
    stage("check")
    wrong = sum(
        int((piece != pattern).sum())
        for rank, chunk in enumerate(gathered)
        for piece, pattern in pieces(chunk, rank)
    )
    report(wanted, gathered.nbytes, iterations, seconds, wrong)
    dist.destroy_process_group()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="all_gather.py")
    parser.add_argument("--rank", type=int, choices=range(RANKS), required=True)
    parser.add_argument("--address", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--bytes", type=int, required=True)
    parser.add_argument("--iterations", type=int)
    parser.add_argument("--limit", type=int, default=180)
    parser.add_argument("--device", type=int, default=0)
    return parser.parse_args()


def stage(name: str) -> None:
    print(f"sparkrig-nccl stage {name}", flush=True)


def pieces(chunk: torch.Tensor, rank: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """A rank's chunk, piece by piece, each with what it should hold: every position and rank differs."""
    for start in range(0, len(chunk), PIECE):
        piece = chunk[start : start + PIECE]
        positions = torch.arange(start, start + len(piece), dtype=torch.int32, device=chunk.device)
        yield piece, positions ^ (rank + 1)


def gather(gathered: torch.Tensor, rank: int, times: int) -> float:
    """Seconds that one all_gather takes, averaged over several."""
    dist.barrier(device_ids=[gathered.device.index])
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(times):
        dist.all_gather_into_tensor(gathered.view(-1), gathered[rank])
        torch.cuda.synchronize()  # PyTorch counts its timeout from when a call is queued
    return (time.perf_counter() - begin) / times


def agreed(seconds: float, device: torch.device) -> int:
    """How many iterations to make, given how long one takes; rank 0 decides for both."""
    wanted = torch.tensor(max(LEAST, min(MOST, round(SECONDS / seconds))), device=device)
    dist.broadcast(wanted, 0)
    return int(wanted)


def report(wanted: argparse.Namespace, size: int, iterations: int, seconds: float, wrong: int) -> None:
    """The figures; bus bandwidth as nccl-tests has it, in GB/s (10^9)."""
    algorithm = size / seconds / 1e9
    figures = {
        "rank": wanted.rank,
        "bytes": size,
        "rounds": WARM_UPS + iterations,
        "seconds": seconds,
        "algbw": algorithm,
        "busbw": algorithm * (RANKS - 1) / RANKS,
        "wrong": wrong,
        "nccl": ".".join(map(str, torch.cuda.nccl.version())),
        "torch": torch.__version__,
        "gpu": torch.cuda.get_device_name(),
    }
    print(f"sparkrig-nccl {json.dumps(figures)}", flush=True)


if __name__ == "__main__":
    main()
