"""Where `$(`, `${` and `((` are closed: by counting, past quotation marks and here-documents."""

from __future__ import annotations

import re

_INSIDE = re.compile(r"[\\'\"(){}]|\$[({]|<<-?[ \t]*['\"]?(\w+)['\"]?|[^\\'\"(){}$<]+|.", re.DOTALL)


def closed(text: str, at: int, stack: list[str]) -> int | None:
    """Where the first of what is open is closed; one mark that encloses it may be below it in the stack."""
    floor = 1 if stack[0] == '"' else 0
    while at < len(text):
        found = _INSIDE.match(text, at)
        if found is None:
            return None
        sign, at = found[0], found.end()
        top = stack[-1]
        if sign == "\\":
            at += 1
        elif sign in ("$(", "${") or (sign, top) == ("(", "("):
            stack.append(sign[-1])
        elif sign == '"':
            stack.pop() if top == '"' else stack.append('"')
        elif sign == "'" and top != '"' and '"' not in stack[:1]:
            at = text.find("'", at) + 1 or len(text)
        elif found[1] and top == "(":
            at = _past_document(text, at, found[1])
        elif (sign, top) in ((")", "("), ("}", "{")):
            stack.pop()
            if len(stack) == floor:
                return found.start()
    return None


def _past_document(text: str, at: int, delimiter: str) -> int:
    end = re.compile(rf"(?m)^\t*{delimiter}[ \t\r)]*$").search(text, at)
    return end.start() + len(delimiter) if end else at
