"""What is said beside pyproject.toml, in recipes, citations and workflows, agrees with it."""

import json
import re
import sys
from importlib.metadata import requires, version
from pathlib import Path

import pytest

import scrapy_neardup

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOW = (ROOT / ".github/workflows/nightly-environments.yml").read_text("utf-8")


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


def floor(requirement: str) -> tuple[str, str]:
    found = re.match(r"([\w.-]+)>=([\d.]+)", requirement)
    assert found, requirement
    return found[1], found[2]


def test_each_dependency_is_tried_at_its_oldest_release() -> None:
    rows = dict(re.findall(r"^ +- ([\w.-]+)==([\d.]+?)(?:\.\*)?$", WORKFLOW, re.MULTILINE))
    floors = dict(map(floor, PROJECT["dependencies"]))
    assert rows.keys() == floors.keys()
    for name, oldest in floors.items():
        assert f"{rows[name]}.0".startswith(f"{oldest}."), name


def test_what_musl_installs_for_the_tests_is_what_the_tests_ask_for() -> None:
    listed = dict(re.findall(r"'([\w.-]+)>=([\d.]+)'", WORKFLOW))
    asked = dict(floor(each) for each in PROJECT["optional-dependencies"]["test"] if ">=" in each)
    assert listed
    assert listed == {name: asked[name] for name in listed}


@pytest.mark.parametrize("name", ["test", "nightly", "nightly-environments", "release"])
def test_targets_of_make_that_workflows_call_exist(name: str) -> None:
    workflow = (ROOT / f".github/workflows/{name}.yml").read_text("utf-8")
    makefile = (ROOT / "Makefile").read_text("utf-8")
    called = {
        target
        for line in re.findall(r"run: make ([^\n\"]*)", workflow)
        for target in line.split()
        if "=" not in target
    }
    assert called
    assert called <= {*re.findall(r"^([\w-]+):", makefile, re.MULTILINE)}
