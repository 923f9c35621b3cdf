"""Driver and kernel packages."""

from sparkrig import programs
from sparkrig.facts.noun import Noun
from sparkrig.host import driver


class Driver(Noun[driver.Packages]):
    """Installed packages of driver and kernel, with apt's own forecast of a dist-upgrade and GRUB's next boot."""

    parse = staticmethod(driver.parse)
    script = programs.text("facts/driver.sh")
    shared = (programs.text("facts/packages.sh"),)
