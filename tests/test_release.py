"""What is said beside pyproject.toml, for other ways to install and to cite, agrees with it."""

from __future__ import annotations

import json
import re
from importlib.metadata import requires, version
from pathlib import Path

import scrapy_neardup

ROOT = Path(__file__).parents[1]


def test_the_recipe_for_conda_asks_for_what_the_package_asks_for() -> None:
    recipe = (
        (ROOT / "packaging" / "recipe.yaml")
        .read_text("utf-8")
        .partition("  run:\n")[2]
        .partition("tests:")[0]
    )
    listed = dict(re.findall(r"- (\S+) (\S+)", recipe))
    assert listed.pop("python") == ">=3.10"
    listed["lmdb"] = listed.pop("python-lmdb")  # conda has a program of the other name
    asked = [
        re.fullmatch(r"([\w.-]+)(\S+)", each) for each in requires("scrapy-neardup") or () if ";" not in each
    ]
    assert asked
    own = {found[1].lower(): set(found[2].split(",")) for found in asked if found}
    assert {name: set(bounds.split(",")) for name, bounds in listed.items()} == own


def test_archives_and_citations_name_the_same_software() -> None:
    archive = json.loads((ROOT / ".zenodo.json").read_text("utf-8"))
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f'title: "{archive["title"]}"' in citation
    assert archive["license"] in citation
    assert all(each["identifier"] in citation for each in archive["related_identifiers"])


def test_the_version_is_that_of_the_tag() -> None:
    assert scrapy_neardup.__version__ == version("scrapy-neardup")
