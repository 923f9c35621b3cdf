"""The environment variables that vLLM reads."""

from __future__ import annotations

import ast
import re

from scripts.vllm_flags.source import Source

_NAME = re.compile(r"""["'](VLLM_[A-Z0-9_]*[A-Z0-9])["']""")
_ENVS = "vllm/envs.py"


def variables(source: Source) -> frozenset[str]:
    """The names in vllm/envs.py, and each VLLM_ name that another file has as a whole word.

    The latter are read there, or handed on to workers; one that is only named as gone would be among them, which
    errs towards a variable that still counts.
    """
    module = source.needed("vllm.envs")
    place = module.find("environment_variables")
    if place is None or not isinstance(place.value, ast.Dict):
        raise ValueError(f"{module.path}: no dictionary environment_variables, of which the names are read")
    own = {str(each.value) for each in place.value.keys if isinstance(each, ast.Constant)}
    others = {name for path, text in source.files.items() if path != _ENVS for name in _NAME.findall(text)}
    return frozenset(own | others)
