"""What must hold before a Spark boots what an update installed, and after it."""

from __future__ import annotations

from sparkrig.host import driver
from sparkrig.host.driver import Packages
from sparkrig.host.grub import Boot
from sparkrig.host.nvidia_smi import Gpu
from sparkrig.host.update_record import Standing
from sparkrig.text import listed


def unready(found: Standing, packages: Packages) -> str:
    """Why what is installed must not be booted, in words; empty where it may.

    A kernel without its initrd does not come up, and one without an nvidia.ko of the driver has no GPU
    [@spark-fleet-updates].
    """
    kernel, wanted = found.kernel_to_be, found.driver_to_be
    missing = []
    if found.unfinished:
        missing.append("dpkg has left packages unfinished")
    if not found.initrd:
        missing.append(f"kernel {kernel} has no initrd")
    if wanted and (installed := driver.version(packages)) != wanted:
        missing.append(f"driver {installed or 'none'} is installed, and {wanted} was planned")
    # the way back of an update without packages puts back nothing but the kernel
    only_the_kernel = found.back and found.record is not None and not found.record.packages
    if wanted and found.module != wanted and not only_the_kernel:
        missing.append(f"kernel {kernel} has {_module(found.module)}, and the driver is {wanted}")
    return listed(missing)


def _module(version: str) -> str:
    return f"nvidia.ko {version}" if version else "no nvidia.ko"


def misled(kernel: str, menu: Boot | None) -> str:
    """Why GRUB would boot another kernel than this one, in words; empty where it boots it, or has no menu."""
    if menu is None or menu.kernel == kernel:
        return ""
    return f"GRUB would boot {menu.kernel or f'a kernel that is not known ({menu.why})'}, not {kernel}"


def unproven(found: Standing, packages: Packages, gpu: Gpu) -> str:
    """Why the Spark is not as the update was to make it, in words; empty where it is."""
    wanted = found.driver_to_be
    missing = []
    if found.kernel != found.kernel_to_be:
        missing.append(f"kernel {found.kernel} runs, and {found.kernel_to_be} was planned")
    if wanted and packages.module and packages.module != wanted:
        missing.append(f"nvidia.ko {packages.module} is loaded, and the driver is {wanted}")
    if wanted and gpu.trouble:
        missing.append(f"nvidia-smi has no GPU ({gpu.trouble.rstrip('.')})")
    elif wanted and gpu.driver and gpu.driver != wanted:
        missing.append(f"nvidia-smi reports driver {gpu.driver}, and {wanted} was planned")
    return listed(missing)
