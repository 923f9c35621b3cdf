"""docs/schema/: a JSON schema of what each verb prints with --json, and of a file in models/, from the types."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import WithDefaultSchema

from sparkrig.bandwidth import report as bandwidth
from sparkrig.checks import server_plan
from sparkrig.doctor import doctor
from sparkrig.drift import drift, plan
from sparkrig.explain.explanation import Explain
from sparkrig.fabric.survey import Topologies
from sparkrig.onboarding import report as onboard
from sparkrig.runs import undo_outcome
from sparkrig.runs.lock import Unlock
from sparkrig.serving import catalogue_report, startup_report
from sparkrig.serving.bench import report as bench
from sparkrig.serving.lint import judgement as lint
from sparkrig.serving.model import Model
from sparkrig.status import status
from sparkrig.storage import report as storage
from sparkrig.support.archive import Support
from sparkrig.update import report as update
from sparkrig.watch import blackbox_report

FOLDER = Path(__file__).resolve().parent / "schema"

DOCUMENTS: Mapping[str, Any] = {
    "apply": plan.Applying,
    "bandwidth": bandwidth.Report,
    "bench": bench.Report,
    "blackbox": blackbox_report.Report,
    "doctor": doctor.Report,
    "drift": drift.Report,
    "explain": Explain,
    "lint": lint.Report,
    "models": catalogue_report.Report,
    "onboard": onboard.Report,
    "plan": plan.Planning,
    "serve": server_plan.Report,
    "startup": startup_report.Report,
    "status": status.Report,
    "storage": storage.Report,
    "support": Support,
    "topology": Topologies,
    "undo": undo_outcome.Report,
    "unlock": Unlock,
    "update": update.Report,
}
"""What each verb prints with --json. Fields are only ever added.

What would break a reader gets the next number, in the document's field `schema`.
"""


class _Printed(GenerateJsonSchema):
    """What is printed, and not what could be read: a field with a default is there, too.

    What is left out under a condition may be absent.
    """

    def field_is_required(self, field: Any, total: bool) -> bool:  # noqa: ARG002 - pydantic's signature
        return field.get("serialization_exclude_if") is None

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        return False

    def default_schema(self, schema: WithDefaultSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])


def schema_of(verb: str) -> JsonSchemaValue:
    """The JSON schema of a verb's document."""
    made = TypeAdapter(DOCUMENTS[verb]).json_schema(by_alias=True, mode="serialization", schema_generator=_Printed)
    made["$defs"] = dict(sorted(made.get("$defs", {}).items()))
    head = {"$schema": _Printed.schema_dialect, "title": f"sparkrig {verb} --json"}
    return {**head, **{key: value for key, value in made.items() if key != "title"}}


def model_file() -> dict[str, Any]:
    """The JSON schema of a file in models/, by which an editor completes and checks it."""
    made = Model.model_json_schema()
    head = {"$schema": _Printed.schema_dialect, "title": "a file in models/"}
    return {**head, **{key: value for key, value in made.items() if key != "title"}}


def texts() -> dict[Path, str]:
    """Each file and its text."""
    made = {verb: json.dumps(schema_of(verb), indent=2) + "\n" for verb in DOCUMENTS}
    made["model-file"] = json.dumps(model_file(), indent=2) + "\n"
    return {FOLDER / f"{verb}.json": re.sub(r"(?:\b|(?<=\\n))None\b", "null", text) for verb, text in made.items()}
