"""How far an update of the host has come."""

from sparkrig import programs
from sparkrig.facts.noun import Noun
from sparkrig.host import update_record


class UpdateRecord(Noun[update_record.Standing]):
    """The plan of an open update, its steps, and what the kernel that it boots has."""

    parse = staticmethod(update_record.parse)
    script = programs.text("facts/update_record.sh")
