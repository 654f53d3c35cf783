"""What the documentation shows is true: its scripts run as they stand, and print what their comments say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.helpers import forked

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PRINTED = re.compile(r"^\s*print\(.*\)  # (.*)$", re.MULTILINE)
#: What the blocks of the README leave to the reader.
GIVEN = """\
import numpy as np
text = " ".join(f"{a}{b}{c}" for a in ("ka", "lo", "mi", "nu") for b in ("ra", "so", "ti") for c in "bdfgk")
fingerprints = np.array([1, 2, 3], np.uint64)
queries = fingerprints[:2]
"""


class Script(NamedTuple):
    """A block of code, and the line of its file that it begins on."""

    name: str
    line: int
    code: str


def scripts(name: str, heading: str = "") -> list[Script]:
    """Return the Python blocks of a file, or of its section under *heading*."""
    page = (ROOT / name).read_text("utf-8")
    start = page.index(heading)
    stop = page.find("\n## ", start + 1) if heading else -1
    return [
        Script(name, page.count("\n", 0, found.start(1)) + 1, found[1])
        for found in BLOCK.finditer(page, start, stop if stop > 0 else len(page))
    ]


def run(script: Script, folder: Path, given: str = "") -> str:
    """Run a block as a script of its own in *folder*; returns what it prints.

    Its lines have the numbers of the page.
    """
    path = folder / "example.py"
    blank = "\n" * (script.line - 1 - given.count("\n"))
    path.write_text(blank + given + script.code, "utf-8")
    done = forked.script(path)
    if done.returncode:
        pytest.fail(done.stderr.replace(str(path), script.name), pytrace=False)
    return done.stdout


def place(script: Script) -> str:
    return f"{script.name}:{script.line}"


@pytest.mark.parametrize("script", scripts("docs/api.md"), ids=place)
def test_a_script_of_the_reference_prints_what_it_says(script: Script, tmp_path: Path) -> None:
    expected = PRINTED.findall(script.code)
    assert expected, f"{place(script)} shows nothing"
    assert run(script, tmp_path).splitlines() == expected, place(script)


@pytest.mark.parametrize("script", scripts("README.md", "## Without Scrapy"), ids=place)
def test_a_script_of_the_readme_runs(script: Script, tmp_path: Path) -> None:
    run(script, tmp_path, GIVEN)


def test_blocks_are_found() -> None:
    assert len(scripts("docs/api.md")) >= 10
    assert len(scripts("README.md", "## Without Scrapy")) >= 2


def test_the_tests_that_the_threat_model_names_are_there() -> None:
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", (ROOT / "SECURITY.md").read_text("utf-8"))
    assert len(named) > 20
    for path, name in named:
        assert re.search(rf"^(async )?def {name}\(", (ROOT / "tests" / path).read_text("utf-8"), re.MULTILINE)
