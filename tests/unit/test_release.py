"""What a release publishes: a README that stands alone, addresses, and a workflow that keeps no token."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts import published

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = "https://example.org/me/sparkrig"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TAG = f"v{PROJECT['version']}"


def test_no_link_of_the_published_readme_leads_into_a_folder_beside_it() -> None:
    text = published.readme((ROOT / "README.md").read_text(), ADDRESS, TAG)
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 10 and all(re.match("https://|#", link) for link in links)
    ours = [link.removeprefix(f"{ADDRESS}/") for link in links if link.startswith(ADDRESS)]
    files = [re.sub(rf"^(blob|raw)/{TAG}/", "", link).partition("#")[0] for link in ours]
    assert files and all((ROOT / file).is_file() for file in files), files
    assert published.PLACE not in text and f"{ADDRESS}/raw/{TAG}/docs/doctor.svg" in text


def test_the_project_gets_its_addresses_and_no_tag_of_another_version() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    assert "urls" not in PROJECT, "a fork has others"
    made = tomllib.loads(published.project(text, ADDRESS, TAG))["project"]
    assert made["urls"]["Changelog"] == f"{ADDRESS}/blob/{TAG}/CHANGELOG.md"
    assert {name: value for name, value in made.items() if name != "urls"} == PROJECT
    with pytest.raises(SystemExit, match=rf"Try: git tag {TAG}"):
        published.project(text, ADDRESS, "v9")


def test_the_workflow_uploads_what_was_checked_and_keeps_no_token() -> None:
    text = (ROOT / ".github/workflows/release.yml").read_text()
    jobs: dict[str, Any] = yaml.safe_load(text)["jobs"]
    runs = [step["run"] for step in jobs["build"]["steps"] if "run" in step]
    assert [run.split()[1] for run in runs[:2]] == ["lint", "test-fast"]
    built = next(number for number, run in enumerate(runs) if "hatchling build" in run)
    assert "scripts.published" in runs[built - 1] and "twine check --strict" in runs[built + 1]
    assert jobs["publish"]["needs"] == "build" and jobs["publish"]["permissions"] == {"id-token": "write"}
    assert "permissions" not in jobs["build"] and "secrets." not in text and "password" not in text
