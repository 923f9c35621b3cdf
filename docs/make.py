"""Make pages and tables from the code: python -m docs.make"""

from __future__ import annotations

import json
import re
import runpy
from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from docs import alerts, commands, picture, schemas
from sparkrig.bandwidth.bands import BANDS, Band
from sparkrig.checks.reference import KINDS
from sparkrig.explain.readers import READERS
from sparkrig.serving.io.catalogue_files import FOLDER, catalogue
from sparkrig.serving.model import Checkpoint, Model
from sparkrig.settings import Settings
from tests.faults import table as faults

HERE = Path(__file__).resolve().parent
PAGE = HERE / "settings.md"
FABRIC = HERE / "fabric.md"
DRIFT = HERE / "drift.md"
EXPLAIN = HERE / "explain.md"
MODELS = HERE / "models.md"
SOURCES = HERE / "sources.md"
WATCHING = HERE / "watching.md"
GROUP_DATA = HERE.parent / "inventories" / "group_data" / "all.py"

_WORDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "True or False"}
_FORMATS = {"ipv4interface": "IPv4 address/prefix"}

# pyinfra's own keys that matter here: (key, meaning). group_data/all.py knows those that have a default.
LOGIN = (
    ("ssh_hostname", "Address or name to connect to; the host's name in the inventory where it is left out."),
    ("ssh_user", "Login on the Spark. It needs sudo without a password, or is root."),
    ("ssh_key", "Private key file. Where it is left out, the ssh agent and the usual files in ~/.ssh are tried."),
    ("ssh_known_hosts_file", "Where host keys are kept; ~/.ssh/known_hosts where it is left out."),
    (
        "ssh_strict_host_key_checking",
        'Only "yes" is accepted: a host key that is not known yet, or has changed, is refused with words that say '
        "how to compare and take it (docs/security.md).",
    ),
    ("_sudo", "Run every command as root through sudo. The deploy refuses a host where it is not root."),
)

HEAD = """\
<!-- Made by `python -m docs.make` (make docs) from sparkrig/settings.py. Do not edit. -->

# Settings

This page lists every setting, with its type and default. A setting is plain pyinfra data:

```
pyinfra inventories/pair.py deploys/cluster.py --data mtu=4200 --dry
```

The later place wins:

1. `inventories/group_data/all.py`: the defaults below, for every host;
2. `inventories/group_data/NAME.py`: for one inventory file (`pair.py` for `inventories/pair.py`) or one group;
3. the host's own entry in the inventory file;
4. `--data NAME=VALUE` on pyinfra's command line, for one run.

Places 1 to 3 are checked before pyinfra connects, all four before the first change. A name that is not
listed below is an error. Keys of your own start with `x_`; keys that start with `_` or `ssh_` are pyinfra's.

## What a Spark should be
"""

SOURCES_HEAD = """\
<!-- Made by `python -m docs.make` (make docs) from models/sources.yaml. Do not edit. -->

# Sources

This page lists every public source that sparkrig cites, by its key. `models/sources.yaml` has the title and the
date of each, and what its figures hold for. To find where one is cited:

```
git grep docai-122b
```

- Code, tests and pages cite a key as `[@docai-122b]`; the catalogue and the rules of lint in a field `source:`.
- Man pages, RFCs and a program's own source are named where they are used. "Measured" means our own runs.
- A new source is a row in `models/sources.yaml`, a citation, and `make docs`.

"""

SECRETS = """
No setting is a place for a secret: an inventory lands in git, and `environment` in a file that every user of the
Spark can read. `secrets` says where secrets are found; [security.md](security.md) says where they go.

## How to log in

These keys are pyinfra's. The whole list is in pyinfra's documentation, under its SSH connector and its global
arguments. A password among them (`ssh_password`, `ssh_key_password`, `_sudo_password`, `_su_password`) is refused.
"""


def page() -> str:
    """The text of docs/settings.md."""
    known = runpy.run_path(str(GROUP_DATA))
    fields = Settings.model_json_schema()["properties"]
    settings = [
        f"- {_code(name)} ({_type(schema)}): {schema.get('description', '')}" for name, schema in fields.items()
    ]
    login = [
        f"- {_code(key)}" + (f" ({_code(literal(known[key]))})" if key in known else "") + f": {meaning}"
        for key, meaning in LOGIN
    ]
    return "\n".join([HEAD, *settings, SECRETS, *login, ""])


def _type(schema: Mapping[str, Any]) -> str:
    """What a setting admits, and its default."""
    admitted = type_in_words(schema)
    if schema["default"] is None:
        admitted = admitted.removesuffix(f" or {_code('None')}")
    return f"{admitted}; {_code(literal(schema['default']))}"


def with_bands(text: str) -> str:
    """The text of docs/fabric.md with the table of bands between its two marker lines.

    Raises ValueError where they are not there.
    """
    rows = [
        (span(band), band.level, _code(band.cause) if band.cause else "", band.meaning, band.cure, band.source)
        for band in BANDS
    ]
    return _marked(
        text,
        "bands",
        _table(("Gb/s", "level", "cause", "what it is", "what to do", "published figures"), rows),
    )


def with_readers(text: str) -> str:
    """The same of docs/explain.md and the list of what is read."""
    return _marked(text, "readers", [f"- {each.tool}: {each.readable}" for each in READERS if each.readable])


# what the doctor asks alone
DOCTORS = ("access.", "gpu.", "health.", "nic.", "pair.", "rdma.NETDEV.path-mtu", "time.synchronised")


def with_checks(text: str) -> str:
    """The same of docs/drift.md and the names of its checks, by category; `doctor --list` has their meanings."""
    names: dict[str, list[str]] = {}
    for kind in KINDS:
        if not kind.name.startswith(DOCTORS):
            names.setdefault(kind.category, []).append(_code(kind.name))
    names["deploy"] = [_code("deploy.plan"), _code("deploy.refused")]
    return _marked(text, "checks", [f"- {category}: {', '.join(each)}" for category, each in names.items()])


def with_models(text: str) -> str:
    """The same of docs/models.md and the models: a list for each number of Sparks that they take."""
    models = sorted(catalogue(FOLDER).models.values(), key=lambda each: (each.nodes, each.name))
    lines = [
        line
        for nodes, alike in groupby(models, lambda each: each.nodes)
        for line in ("", f"**{nodes} Spark{'s' * (nodes > 1)}**", "", *map(_model, alike))
    ]
    return _marked(text, "models", lines[1:])


def _model(model: Model) -> str:
    """Its line: parameters, active ones, the best checkpoint, its standing, and what its name alone starts."""
    size = f"{model.parameters_b or 0:g}B" + f"-A{model.active_b:g}B" * (model.active_b != model.parameters_b)
    standing = "" if model.standing == "works" else f", **{model.standing}**"
    return f"- {_code(model.name)}: {size}, {_checkpoint(model.best())}{standing}; {_starts(model)}"


def _starts(model: Model) -> str:
    """The vLLM that its name alone starts."""
    launch = model.by_name()
    if model.obstacle or launch is None:
        return "not by name"
    return f"vLLM {launch.vllm}" if launch.vllm else "by name"


def with_metrics(text: str) -> str:
    """The same of docs/watching.md and the lists of metrics and alerts."""
    program = runpy.run_path(str(HERE.parent / "templates" / "watch" / "metrics.py"))
    metrics = [
        f"- {_code(f'sparkrig_{name}' + f'{{{label}}}' * bool(label))} ({kind}): {meaning.rstrip('.')}"
        for name, kind, label, meaning in program["METRICS"]
    ]
    text = _marked(text, "metrics", metrics)
    return _marked(text, "alerts", [f"- {alert}, {after}: {about}" for alert, after, about in alerts.table()])


def sources() -> str:
    """The text of docs/sources.md: a paragraph for the keys of each initial, then those without an address."""
    cited = sorted(catalogue(FOLDER).sources.items())
    links = [f"[{key}]({each.where.split()[0]})" for key, each in cited if each.where.startswith("http")]
    alike = [", ".join(each) for _, each in groupby(links, lambda link: link[1])]
    others = [f"- {key}: {each.title}" for key, each in cited if not each.where.startswith("http")]
    return "\n\n".join([SOURCES_HEAD.rstrip(), *alike, "\n".join(others)]) + "\n"


def _checkpoint(each: Checkpoint) -> str:
    return f"{each.format}, {each.weights_gib:g} GiB" if each.weights_gib else each.format


def _marked(text: str, word: str, lines: Iterable[str]) -> str:
    parts = re.fullmatch(rf"(.*<!-- {word}: [^\n]*\n).*(<!-- /{word} -->.*)", text, re.DOTALL)
    if parts is None:
        raise ValueError(f"the page has no two lines that mark the {word}")
    return "\n".join([parts[1].rstrip("\n"), "", *lines, "", parts[2]])


def span(band: Band) -> str:
    """The range of a band in words."""
    if band.low == 0:
        return f"below {band.high:g}"
    return f"{band.low:g} and more" if band.high == float("inf") else f"{band.low:g} to {band.high:g}"


def type_in_words(schema: Mapping[str, Any]) -> str:
    """What a JSON schema admits, for a reader who writes Python."""
    if "anyOf" in schema:
        return " or ".join(type_in_words(each) for each in schema["anyOf"])
    if "const" in schema:
        return _code(literal(schema["const"]))
    if "enum" in schema:
        *most, last = (_code(literal(value)) for value in schema["enum"])
        return f"{', '.join(most)} or {last}"
    if schema["type"] == "null":
        return _code("None")
    if schema["type"] == "array":
        return f"list of {type_in_words(schema['items'])}"
    if schema["type"] == "object":
        assert "patternProperties" in schema, "the keys of a mapping need a type of shapes.py, in its SHAPES, too"
        (value,) = schema["patternProperties"].values()
        return f"mapping of text to {type_in_words(value)}"
    return (_FORMATS.get(schema.get("format", "")) or _WORDS[schema["type"]]) + _bounds(schema)


def _bounds(schema: Mapping[str, Any]) -> str:
    if "minimum" in schema and "maximum" in schema:
        return f", {schema['minimum']} to {schema['maximum']}"
    if "exclusiveMinimum" in schema:
        return f" above {schema['exclusiveMinimum']}"
    return ""


def literal(value: Any) -> str:
    """A value as it is written in an inventory."""
    return json.dumps(value) if isinstance(value, str) else repr(value)


def _code(text: str) -> str:
    return f"`{text}`"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    titles = list(head)
    cells = [titles, *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    first, *rest = (f"| {' | '.join(row)} |" for row in cells)
    return [first, "|---" * len(titles) + "|", *rest]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    FABRIC.write_text(with_bands(FABRIC.read_text(encoding="utf-8")), encoding="utf-8")
    EXPLAIN.write_text(with_readers(EXPLAIN.read_text(encoding="utf-8")), encoding="utf-8")
    DRIFT.write_text(with_checks(DRIFT.read_text(encoding="utf-8")), encoding="utf-8")
    MODELS.write_text(with_models(MODELS.read_text(encoding="utf-8")), encoding="utf-8")
    SOURCES.write_text(sources(), encoding="utf-8")
    WATCHING.write_text(with_metrics(WATCHING.read_text(encoding="utf-8")), encoding="utf-8")
    commands.PAGE.write_text(commands.page(), encoding="utf-8")
    picture.PICTURE.write_text(picture.picture(), encoding="utf-8")
    for file, text in schemas.texts().items():
        file.write_text(text, encoding="utf-8")
    faults.write()
