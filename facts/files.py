"""The files that this toolkit owns."""

from sparkrig import files
from sparkrig.facts.noun import Noun
from sparkrig.runs.managed_files import OWNED


class Files(Noun[dict[str, files.Found]]):
    """Content, mode and owner of each file of ours that exists."""

    parse = staticmethod(files.parse)
    script = (
        "for f in "
        + " ".join(OWNED)
        + r"""; do
  if [ -f "$f" ]; then set -- "$@" "$f"; fi
done
if [ $# -gt 0 ]; then
  stat -c '%n %a %U:%G' "$@" | while read -r f row; do
    printf '%s %s ' "$f" "$row"; base64 -w0 "$f"; printf '\n'
  done
fi
"""
    )

    @staticmethod
    def default() -> dict[str, files.Found]:
        return {}
