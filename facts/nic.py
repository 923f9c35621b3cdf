"""The fabric's netdevs: link, PCIe, RDMA counters, cable."""

from sparkrig import programs
from sparkrig.facts.noun import Noun
from sparkrig.host import nic


class Nics(Noun[dict[str, nic.Nic]]):
    """Each fabric netdev as sysfs has it, its firmware and its cable by ethtool.

    The cable's serial number stays on the host: what leaves it is a digest of four hex digits.
    """

    parse = staticmethod(nic.parse)
    default = dict
    script = programs.text("facts/nic.sh")
