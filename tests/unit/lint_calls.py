"""What `sparkrig lint` is given."""

from __future__ import annotations

from click.testing import CliRunner, Result

from sparkrig.cli.lint import lint
from tests.unit.launch_texts import pair, serve

BAD = serve("Qwen/Qwen3-30B-A3B", "-tp 2 --enforce-eager --speculative-config.method mtp")


SCRIPT = f"{BAD}\n{pair('infiniband')}\n"


def typed(*words: str, text: str = "") -> Result:
    return CliRunner().invoke(lint, words, input=text)
