"""The GPU, as nvidia-smi reports it."""

from sparkrig import programs
from sparkrig.facts.noun import Noun
from sparkrig.host import nvidia_smi


class Gpu(Noun[nvidia_smi.Gpu]):
    """The (first) GPU, with its GSP firmware, or what keeps nvidia-smi from telling."""

    parse = staticmethod(nvidia_smi.parse)
    script = programs.text("facts/gpu.sh")
