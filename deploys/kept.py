"""What a run keeps of each Spark beside its inventory: `sparkrig onboard --replace` goes by it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pyinfra import host, logger

from sparkrig.checks import last_declaration
from sparkrig.deploys.spark import Spark
from sparkrig.facts.serving import Serving
from sparkrig.files import DECLARED, Found
from sparkrig.onboarding import kept
from sparkrig.onboarding.io import kept_files
from sparkrig.onboarding.kept import Kept
from sparkrig.operations import journal
from sparkrig.operations.again import again
from sparkrig.refusal import Refusal

if TYPE_CHECKING:
    from sparkrig.checks.server import Server  # all that judges a server, which a deploy without one need not load


@cache
def inventory_file() -> Path | None:
    """The inventory on the command line of pyinfra; None where hosts were typed."""
    return next((Path(word) for word in sys.argv[1:] if word.endswith(".py") and Path(word).is_file()), None)


def deployed(spark: Spark, declared: str | None) -> None:
    """Keep a Spark after a whole deploy. declared: what that noted on the host; None where it stood there."""
    file = spark.found.files.get(DECLARED) if declared is None else Found(declared, "", "")
    wants = last_declaration.load(file)
    _keep(spark, lambda now: replace(now, declared=wants.wants if wants else {}))


def served(spark: Spark, server: Server) -> None:
    """Keep what a host serves after deploys/serve.py; a run that changed something has it looked at once more."""

    def change(now: Kept) -> Kept:
        servers = {each.service: each for each in now.servers if each.service != server.name}
        if not (server.goes or server.idle):
            seen = again(Serving, weights=server.mine.weights) if journal.begun(host) else spark.found.serving
            servers[server.name] = kept.served(server.name, server.wish, server.mine, seen)
        return replace(now, servers=tuple(servers[name] for name in sorted(servers)))

    _keep(spark, change)


def _keep(spark: Spark, change: Callable[[Kept], Kept]) -> None:
    """A run does not fail for it: the host is as it is, whatever this machine can write."""
    if (file := inventory_file()) is None:
        return
    try:
        before = kept_files.read(file, spark.name)
        at = f"{datetime.now(UTC):%Y-%m-%dT%H:%MZ}"
        now = kept.of(spark.name, at, spark.found, spark.settings)
        if before:
            now = replace(now, declared=before.declared, servers=before.servers)
        kept_files.keep(file, change(now))
    except Refusal as refusal:
        host.log_styled(f"{refusal.what}; try: {refusal.cure}", fg="yellow", log_func=logger.warning)
