"""RDMA devices and their GID tables."""

from sparkrig import programs
from sparkrig.facts.noun import Noun
from sparkrig.rdma import gid, rdma


class Rdma(Noun[rdma.Rdma]):
    """Devices by `rdma link` (soft-RoCE has no `device` link in sysfs), path MTU, and every used GID."""

    parse = staticmethod(rdma.parse)
    script = programs.text("facts/rdma.sh") + gid.COMMAND
