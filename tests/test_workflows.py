"""The nightly workflow tries the oldest releases that pyproject.toml allows, of each direct dependency."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOW = (ROOT / ".github/workflows/nightly-environments.yml").read_text("utf-8")


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
