"""The steps of the cluster deploy, in order: tests/plan holds them to its plan, tests/faults breaks each off."""

STEPS = [
    "Driver | pin later branches away",
    "Driver | hold the installed 580 set",
    "Driver | prove it by a simulated upgrade",
    "Network | profiles and live links",
    "RDMA | GID index of each rail",
    "Containers | nvidia-container-toolkit",
    "Containers | docker's nvidia runtime",
    "Environment | NCCL, vLLM and Ray files",
    "Bandwidth | ib_write_bw on each rail",
    "close the run",
]
