"""The files that this toolkit owns."""

from facts.noun import Noun
from sparkrig import files
from sparkrig.owned import OWNED


class Files(Noun[dict[str, files.Found]]):
    """Content, mode and owner of each file of ours that exists."""

    parse = staticmethod(files.parse)
    script = (
        "for f in "
        + " ".join(OWNED)
        + r"""; do
  if [ -f "$f" ]; then printf '%s %s %s\n' "$f" "$(stat -c '%a %U:%G' "$f")" "$(base64 -w0 "$f")"; fi
done
"""
    )

    @staticmethod
    def default() -> dict[str, files.Found]:
        return {}
