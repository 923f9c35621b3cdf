"""An inventory that declares Sparks as they were found: `sparkrig init DIR --from ADDRESS`.

What sparkrig does not manage is left out. What the settings do not tell, such as what an owner added to a file of
ours, the plan shows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from sparkrig import inventory_file, login
from sparkrig.fabric import as_found
from sparkrig.host.identity import to_root
from sparkrig.network import environment
from sparkrig.onboarding import wishes
from sparkrig.refusal import Refusal
from sparkrig.resources.state import RESOURCES, State
from sparkrig.settings import Settings
from sparkrig.shapes import HERE

_LOGIN = ("ssh_hostname", "ssh_user", "ssh_port", "ssh_known_hosts_file")  # never a password


def inventory(file: PurePath, logins: Mapping[str, Mapping[str, Any]], seen: Mapping[str, State]) -> str:
    """The text of an inventory of these hosts. logins: how each is reached; seen: what it is; by the same names.

    Raises Refusal.
    """
    names: dict[str, str] = {}
    for typed, state in seen.items():
        if state.identity.uid:
            raise Refusal(f"{typed} shows root alone all that is to be declared", to_root())
        names[typed] = wishes.own_name(_called(state), names.values())
    joined = as_found.settings({names[typed]: state.network for typed, state in seen.items()})
    text = inventory_file.new(file)
    for typed, state in seen.items():
        name, here = names[typed], bool(logins[typed].get(login.HERE))
        data = {key: logins[typed][key] for key in _LOGIN if key in logins[typed]}
        data |= _no_defaults(_settings(state) | joined[name])
        text = inventory_file.with_host(text, f"{HERE}{name}" if here else name, data)
    return inventory_file.stopped_together(text) if any(joined.values()) else text


def _called(state: State) -> str:
    """The name that a host was deployed by, which stands in files of ours; else what it calls itself."""
    file = state.files.get(environment.NCCL_CONF)
    written = re.search(r"^# Written by sparkrig for ([\w-]+)\.", file.content, re.ASCII) if file else None
    return written[1] if written else state.identity.hostname


def _settings(state: State) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for resource in RESOURCES:
        found |= resource.settings_of(state)
    return found


def _no_defaults(settings: Mapping[str, Any]) -> dict[str, Any]:
    fields = Settings.model_fields
    return {key: value for key, value in settings.items() if value != fields[key].default}
