"""The GPU, as nvidia-smi tells of it."""

from sparkrig import programs
from sparkrig.facts.noun import Noun
from sparkrig.host import gpu


class Gpu(Noun[gpu.Gpu]):
    """The (first) GPU, with its GSP firmware, or what keeps nvidia-smi from telling."""

    parse = staticmethod(gpu.parse)
    script = programs.text("facts/gpu.sh")
