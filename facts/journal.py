"""What this toolkit did to a host, who is at it now, and what stands there."""

from sparkrig.facts.noun import Noun
from sparkrig.runs import journal, journal_look


class Journal(Noun[journal.Journal]):
    """Every run that is kept, the lock, and the items that a run could have changed."""

    parse = staticmethod(journal_look.parse)
    script = journal_look.LOOK
