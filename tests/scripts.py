"""Every shell script that the project sends to a host, in a folder: python -m tests.scripts FOLDER."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from sparkrig.bandwidth import nccl, perftest_run
from sparkrig.facts.apt import Holders
from sparkrig.facts.containers import Containers
from sparkrig.facts.driver import Packages
from sparkrig.facts.evidence import IDENTIFIERS, JOURNALS, RUN, TOOLS, Evidence, Identifiers
from sparkrig.facts.fabric import Fabric
from sparkrig.facts.files import Files
from sparkrig.facts.first_upgrade import FirstUpgrade
from sparkrig.facts.gpu import Gpu
from sparkrig.facts.health import Health
from sparkrig.facts.hostname import Hostname
from sparkrig.facts.identity import Identity
from sparkrig.facts.journal import Journal
from sparkrig.facts.neighbours import Neighbours
from sparkrig.facts.network import Network
from sparkrig.facts.nic import Nics
from sparkrig.facts.noun import Noun
from sparkrig.facts.ping import Pings
from sparkrig.facts.preflight import BARS, Preflight
from sparkrig.facts.rdma import Rdma
from sparkrig.facts.secrets import Secrets
from sparkrig.facts.serving import Serving
from sparkrig.facts.spark import Spark
from sparkrig.facts.startup import Startup
from sparkrig.facts.trust import Trust
from sparkrig.network import guard
from sparkrig.operations import build, image, onboard, serving, weights
from sparkrig.operations import guard as guards
from sparkrig.operations import secrets as secret_file
from sparkrig.operations import trust as node_trust
from sparkrig.operations.containers import FETCH_KEY
from sparkrig.operations.driver import HOLD
from sparkrig.operations.files import WRITE
from sparkrig.rdma import gid
from sparkrig.runs import journal, lock, undo

TEMPLATES = Path(__file__).resolve().parents[1] / "templates"
NOUNS: list[type[Noun[Any]]] = [
    Containers,
    Evidence,
    Files,
    FirstUpgrade,
    Gpu,
    Health,
    Holders,
    Hostname,
    Identifiers,
    Identity,
    Journal,
    Network,
    Nics,
    Packages,
    Pings,
    Rdma,
    Secrets,
    Serving,
    Startup,
    Trust,
]
TEXTS = {
    **{f"fact {noun.__name__}": noun.script for noun in NOUNS},
    "fact Fabric": Fabric().command(),
    "fact Neighbours": Neighbours().command(),
    "fact Preflight": Preflight().command(),
    "fact Spark": Spark().command(),
    **{f"evidence {name}": RUN + text for name, text in {**TOOLS, **JOURNALS}.items()},
    "evidence IDENTIFIERS": IDENTIFIERS,
    "gid.COMMAND": gid.COMMAND,
    "WRITE": WRITE,
    "HOLD": HOLD,
    "journal.LEFT": journal.LEFT,
    "journal.NOTE": f'steps=$1\n{journal.NOTE}note "$2" "$3"\n',
    "secrets.WRITE": secret_file.WRITE,
    "secrets.REMOVE": secret_file.REMOVE,
    "trust.AS_USER": node_trust.AS_USER,
    "trust.KEYS_BAR": node_trust.KEYS_BAR,
    "preflight.BARS": BARS,
    "trust.MAKE": node_trust.MAKE,
    "trust.AUTHORIZE": node_trust.AUTHORIZE,
    "trust.FORGET": node_trust.FORGET,
    "trust.PROVE": node_trust.PROVE,
    "trust.REMOVE": node_trust.REMOVE,
    "guard.PREPARE": guards.PREPARE,
    "guard.START": guards.START,
    "guard.ASK": guards.ASK,
    "LINK": guard.LINK,
    "FETCH_KEY": FETCH_KEY,
    "trial.PREFLIGHT": perftest_run.PREFLIGHT,
    "trial.SERVER": perftest_run.SERVER,
    "trial.CLIENT": perftest_run.CLIENT,
    "trial.STOP": perftest_run.STOP,
    "nccl.PREFLIGHT": nccl.PREFLIGHT,
    "nccl.RANK": nccl.RANK,
    "nccl.END": nccl.END,
    "lock.HOLD": lock.HOLD,
    "lock.IDENTITY": lock.IDENTITY,
    "lock.LOCK": lock.LOCK,
    "lock.RELEASE": lock.RELEASE,
    "lock.UNLOCK": lock.UNLOCK,
    "journal.BEGIN": journal.BEGIN,
    "journal.ABANDON": journal.ABANDON,
    "journal.END": journal.END,
    "journal.LOOK": journal.LOOK,
    "undo.RESTORE": undo.RESTORE,
    "undo.FIT": undo.FIT,
    "undo.TEXTS": undo.TEXTS,
    "undo.DOCKER": undo.DOCKER,
    "undo.HOLDS": undo.HOLDS,
    "undo.GIDS": undo.GIDS,
    "undo.SERVE": undo.SERVE,
    "build.BUILD": build.BUILD,
    "build.VERSION": build.VERSION,
    "build.VERIFY": build.VERIFY,
    "onboard.AUTHORIZE": onboard.AUTHORIZE,
    "onboard.ALLOW": onboard.ALLOW,
    "serving.PROBE": serving.PROBE,
    "serving.BEGIN": serving.BEGIN,
    "serving.PLACED": serving.PLACED,
    "serving.NEW_TOKEN": serving.NEW_TOKEN,
    "serving.START": serving.START,
    "serving.PULSE": serving.PULSE,
    "serving.LAST_WORDS": serving.LAST_WORDS,
    "serving.ASK": serving.ASK,
    "serving.COMMIT": serving.COMMIT,
    "serving.ROLL_BACK": serving.ROLL_BACK,
    "weights.DOWNLOAD": weights.DOWNLOAD,
    "weights.SEAL": weights.SEAL,
    "weights.COPY_WEIGHTS": weights.COPY_WEIGHTS,
    "image.COPY_IMAGE": f"#!/bin/bash\n{image.COPY_IMAGE}",
    "dispatcher": (TEMPLATES / "90-sparkrig-gid").read_text(),
    "memory.sh": (TEMPLATES / "serving" / "memory.sh").read_text(),
    "start.sh": (TEMPLATES / "serving" / "start.sh").read_text(),
}


# SC2046, SC2086: words of ours are split on purpose ($ids, $ssh, $d); SC2015: as intended;
# SC1007: `life=$1 wait=$2` and `gb10=` are plain assignments; SC2030, SC2031: each noun is a subshell;
# SC2013: paths below /sys have no blanks; SC2016: the one look quotes each noun's text for a shell of its own;
# SC1003: sed's `$a\` ends in a backslash; SC1010: `ping -M do`; SC2174: the folder alone is private.
ACCEPTED = "SC1003,SC1007,SC1010,SC2013,SC2015,SC2016,SC2030,SC2031,SC2046,SC2086,SC2174"


def write(folder: Path) -> list[Path]:
    """Each script as a file that names its shell, and what shellcheck may find in it."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, text in TEXTS.items():
        shell, rest = text.split("\n", 1) if text.startswith("#!") else ("#!/bin/sh", text)
        files.append(folder / re.sub(r"\W+", "-", name))
        files[-1].write_text(f"{shell}\n# shellcheck disable={ACCEPTED}\n{rest}", encoding="utf-8")
    return files


if __name__ == "__main__":
    write(Path(sys.argv[1]))
