"""What apt knows of driver and kernel, and what each kernel on the disk has."""

from sparkrig import programs
from sparkrig.facts.noun import Noun
from sparkrig.update import repositories


class Repositories(Noun[repositories.Repositories]):
    """The versions that can be had, what is on hold, and the kernels in /boot."""

    parse = staticmethod(repositories.parse)
    script = programs.text("facts/repositories.sh")
    shared = (programs.text("facts/packages.sh"),)
