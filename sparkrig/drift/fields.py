"""Fields that reports share."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import ValidatorFunctionWrapHandler, WrapValidator

from sparkrig.cure import Cure


def _kept(cure: object, text: ValidatorFunctionWrapHandler) -> object:
    return cure if isinstance(cure, Cure) else text(cure)


CureText: TypeAlias = Annotated[str, WrapValidator(_kept)]
"""A cure, which is its text in a document; one that was not read from a document keeps what is known of it."""
