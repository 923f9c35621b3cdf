"""The files that this toolkit owns."""

from sparkrig import files, programs
from sparkrig.facts.noun import Noun
from sparkrig.runs.managed_files import OWNED


class Files(Noun[dict[str, files.Found]]):
    """Content, mode and owner of each file of ours that exists."""

    parse = staticmethod(files.parse)
    default = dict
    script = f"set -- {' '.join(OWNED)}\n{programs.text('facts/files.sh')}"
