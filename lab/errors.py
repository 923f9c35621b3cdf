"""The lab's one kind of failure: a sentence a person can act on."""

from __future__ import annotations


class LabError(Exception):
    """What happened, what was expected, and one command to try, as a single sentence."""

    def __init__(self, happened: str, *, expected: str, attempt: str) -> None:
        self.happened, self.expected, self.attempt = happened, expected, attempt
        super().__init__(f"{happened} ({expected}); try: {attempt}")
