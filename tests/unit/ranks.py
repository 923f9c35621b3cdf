"""What healthy ranks of NCCL print."""

from __future__ import annotations

import json

from sparkrig.bandwidth.nccl_preflight import GIB

IMAGE = "sha256:" + "a" * 64


PREFLIGHT = f"""docker 29.2.1
image {IMAGE}
gpus 1
rdma
environment
MemTotal 127535084
MemAvailable 115343360
port 29600"""


HEALTHY = f"""spark:1:1 [0] NCCL INFO NCCL version 2.28.9+cuda13.0
spark:1:1 [0] NCCL INFO NET/IB : Using [0]rocep1s0f0:1/RoCE [1]roceP2p1s0f0:1/RoCE [RO]; OOB enp1s0f0np0:192.168.100.11<0>
spark:1:1 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0
sparkrig-nccl {json.dumps({"bytes": 8 * GIB, "rounds": 55, "busbw": 23.74, "wrong": 0, "nccl": "2.28.9"})}
"""  # noqa: E501 - as NCCL prints it
