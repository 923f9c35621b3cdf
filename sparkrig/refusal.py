"""The one way in which this toolkit says no."""


class Refusal(Exception):
    """A host or a setting that must not be acted upon.

    what: one sentence, without the host's name: what was found, and what was expected.
    cure: one command or edit to try.
    """

    def __init__(self, what: str, cure: str) -> None:
        super().__init__(what, cure)
        self.what = what
        self.cure = cure

    def __str__(self) -> str:
        return f"{self.what}. Nothing was changed by this step. Try: {self.cure}"
