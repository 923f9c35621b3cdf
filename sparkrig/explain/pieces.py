"""A pasted text taken apart by the tool that printed each piece of it.

A paste comes from a terminal, a log or a forum: with prompts, prose, and several tools in a row. Sources: what the
tools print (perftest, mlnx-tools, ethtool, pciutils, nvidia-smi, NCCL, nccl-tests), as it stands in public issues
and forums.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sparkrig.explain.explanation import WORD, Piece, Reader, Sign, line_numbers

_PROMPT = re.compile(
    r"^\s*(?:\([\w. -]+\)\s*)?"
    r"(?:(?:\[?[\w.-]{1,64}@(?P<host>[\w.-]{1,64})(?:[ :~/][^#$%\n]*?)?\]?\s?[#$%]|(?:ba|z)?sh-[\d.]+[#$])"
    r"(?:\s+(?P<typed>.*))?|"
    r"(?:[$\u276f\u279c]|\++)\s+(?P<bare>.*))$"
)
_COMMENT = re.compile(r"^\s*#\s+(?P<typed>.*)$")  # root's prompt, or a comment that names the command


class Splitter:
    """Takes texts apart; of readers that fit a command or a line alike, the first counts."""

    def __init__(self, readers: Sequence[Reader]) -> None:
        self._readers = readers
        programs = "|".join(reader.programs for reader in readers if reader.programs)
        self._bare = re.compile(
            rf"^\s*(?:sudo\s+)?(?:[\w./-]*/)?(?:{programs})(?:\s+-[^\n]*|\s+[\w.:-]+)?\s*(?:\d?[|>&;].*)?$"
        )

    def pieces(self, text: str) -> list[Piece]:
        """All lines but those of commands, in order, by the tool that printed them.

        text: made by section.plain.
        """
        signs, current = self._signs(text), Piece()
        pieces, logs = [current], dict[Reader, Piece]()
        for number, line in enumerate(text.split("\n")):
            reader, sign = signs.get(number, (None, None))
            started = None if reader and reader.rows_name_tools else self._command(line, current.host)
            if started:
                pieces.append(current := started)
                logs = {started.reader: started} if started.reader else {}
                continue
            if reader and sign and not (current.reader and sign.only_within and reader is not current.reader):
                if reader is not current.reader and reader.flows:
                    current = logs.get(reader, current)
                if reader is not current.reader or sign.ends(current.signs):
                    pieces.append(current := Piece(reader, host=current.host))
                    logs[reader] = current
                current.signs.append(sign.name)
            elif WORD.search(line) and not (current.reader and current.reader.body.match(line)):
                current.others.append(number)
            if line.strip() or current.lines:
                current.lines.append(line)
                current.numbers.append(number)
        return pieces

    def _signs(self, text: str) -> dict[int, tuple[Reader, Sign]]:
        """The sign of each line that has one."""
        number_at = line_numbers(text)
        signs: dict[int, tuple[Reader, Sign]] = {}
        for reader in self._readers:
            for sign in reader.signs:
                for found in sign.words.finditer(text):
                    signs.setdefault(number_at(found.start()), (reader, sign))
        return signs

    def _command(self, line: str, host: str) -> Piece | None:
        """The piece that a command line begins, of no tool where it is another program's; None for any other line.

        host: of the prompt before it.
        """
        prompt = _PROMPT.match(line)
        typed = prompt or _COMMENT.match(line)
        if not typed and not self._bare.match(line):
            return None
        words = (prompt["typed"] or prompt["bare"] or "") if prompt else typed["typed"] if typed else line
        reader = next((one for one in self._readers if one.command and one.command.search(words)), None)
        if not prompt and (not reader or (typed and not self._bare.match(words))):
            return None
        at = (prompt["host"] if prompt else "") or host
        return Piece(reader, words.strip(), at, prompted=bool(prompt and reader))
