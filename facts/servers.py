"""What serves on a host, and what was deployed there for it: what a benchmark needs, in one look."""

from sparkrig.facts.bundle import Bundle
from sparkrig.facts.files import Files
from sparkrig.facts.serving import Serving
from sparkrig.serving.bench.server import Look


class Servers(Bundle[Look]):
    """Servers and our files, of a host that serves."""

    nouns = {"serving": Serving, "files": Files}
    whole = Look

    def command(self) -> str:
        return f"weights= served=; export weights served\n{super().command()}"
