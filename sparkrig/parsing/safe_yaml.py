"""YAML that comes from outside, read as plain data: whatever is wrong with it is one kind of error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import yaml

from sparkrig.parsing import bounds

# libyaml's, where PyYAML was built with it, reads the same ten times faster
FAST: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load(text: str, loader: Any = yaml.SafeLoader) -> Any:
    """The data in a text. loader: one that makes only plain data. Raises yaml.YAMLError alone."""
    return _judged(lambda: yaml.load(text, Loader=loader))  # noqa: S506 - a safe one


def load_all(text: str) -> list[Any]:
    """The data of each document in a text. Raises yaml.YAMLError alone."""
    return list(_judged(lambda: [*yaml.safe_load_all(text)]))


def _judged(read: Callable[[], Any]) -> Any:
    """What is read, with any error as yaml.YAMLError.

    PyYAML itself lets Python's errors through for a date like 2026-99-99, a number with 5000 digits, and brackets
    that nest a thousand levels deep. It accepts half of a surrogate pair, which is no text
    (sparkrig.parsing.bounds).
    """
    try:
        found = read()
        bounds.judge_text(found)
        return found
    except (yaml.YAMLError, *bounds.OWN_FAULTS):
        raise
    except RecursionError:
        raise yaml.YAMLError("it nests too deep") from None
    except Exception as error:
        raise yaml.YAMLError(f"a value makes no sense ({error or type(error).__name__})") from None
