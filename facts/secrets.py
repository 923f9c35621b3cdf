"""The variables that only root may read: names and digests, never a value."""

from sparkrig import programs
from sparkrig.facts.noun import Noun
from sparkrig.host import secrets

LOOK = programs.text("facts/secrets_look.sh")


class Secrets(Noun[secrets.Secrets]):
    """Mode, owner, names and digests of the file of secrets."""

    parse = staticmethod(secrets.parse)
    script = f"f={secrets.PATH}{LOOK}"

    @staticmethod
    def default() -> secrets.Secrets:
        return secrets.Secrets()
