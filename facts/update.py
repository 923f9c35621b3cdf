"""All that decides what an update would do to a Spark, in one look."""

from __future__ import annotations

from sparkrig.facts.bundle import Bundle
from sparkrig.facts.firmware import Firmware
from sparkrig.facts.preflight import Preflight
from sparkrig.facts.repositories import Repositories
from sparkrig.facts.resources import FACTS
from sparkrig.facts.serving import Serving
from sparkrig.update.look import Seen


class Update(Bundle[Seen]):
    """Packages, releases, firmware, and whether the host is fit for a change; the clock comes last."""

    nouns = {
        "identity": FACTS["identity"],
        "driver": FACTS["driver"],
        "serving": Serving,
        "releases": FACTS["releases"],
        "firmware": Firmware,
        "repositories": Repositories,
        "preflight": Preflight,
    }
    whole = Seen
