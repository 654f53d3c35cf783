"""The house is as docs/architecture.md draws it: arrows point one way, and its tables are true."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest

from scrapy_neardup.cli import main
from scrapy_neardup.extraction.libraries import EXTRACTORS
from scrapy_neardup.fingerprint import SCHEMES
from scrapy_neardup.index.stores import BACKENDS
from scrapy_neardup.verdict import Kind

ROOT = Path(__file__).parents[1]
PACKAGE = "scrapy_neardup"
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
#: What each part may import of the others; all may import what has no entry, such as errors.
MAY_IMPORT = {
    "fingerprint": {"index.tables"},
    "index": set(),
    "matching": {"fingerprint", "index", "verdict"},
    "extraction": {"fingerprint"},
    "detector": {"fingerprint", "index", "matching", "verdict"},
    "verdict": {"index"},
    "audit": {"detector", "extraction", "fingerprint", "index", "matching"},
    "serve": {"audit", "detector", "extraction", "matching", "verdict"},
    "spark": {"audit", "extraction", "fingerprint", "index", "matching"},
    "cli": {"audit", "detector", "extraction", "index", "matching", "serve", "spark"},
    "plugin": {"cli", "detector", "extraction", "fingerprint", "index", "matching", "verdict"},
}


def modules() -> dict[str, Path]:
    """Return the modules of the package by their names, without that of the package."""
    found = {}
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        parts = path.relative_to(ROOT / PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imports(name: str, path: Path) -> set[str]:
    """Return the modules of the package that a module imports, also in functions and for type checkers."""
    found = set()
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom):
            continue
        base = package[: len(package) - node.level + 1] if node.level else []
        absolute = ".".join([*base, *([node.module] if node.module else [])])
        if not node.level:
            if absolute.split(".")[0] != PACKAGE:
                continue
            absolute = absolute.removeprefix(PACKAGE).removeprefix(".")
        for alias in node.names:
            below = f"{absolute}.{alias.name}".lstrip(".")
            found.add(below if below in MODULES else absolute)
    return found - {name}


@pytest.fixture(scope="module")
def arrows() -> dict[str, set[str]]:
    return {name: imports(name, path) for name, path in MODULES.items()}


def test_no_module_imports_itself_by_way_of_others(arrows: dict[str, set[str]]) -> None:
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        pytest.fail(f"a cycle: {' -> '.join(error.args[1])}")


@pytest.mark.parametrize("part", sorted(MAY_IMPORT))
def test_arrows_point_one_way(part: str, arrows: dict[str, set[str]]) -> None:
    for name, targets in arrows.items():
        if name.split(".")[0] != part:
            continue
        for target in targets:
            top = target.split(".")[0]
            assert top == part or top not in MAY_IMPORT or {top, target} & MAY_IMPORT[part], (
                f"{name} imports {target}"
            )


def test_only_the_plugin_imports_scrapy() -> None:
    for name, path in MODULES.items():
        if name.split(".")[0] in ("plugin", "addon"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            assert not {each.split(".")[0] for each in names} & {"scrapy", "twisted"}, name


def test_files_named_in_the_documentation_are_there() -> None:
    for page in (ROOT / "docs").glob("*.md"):
        for place in re.findall(r"`((?:[a-z_]+/)*[a-z_]+\.py)`", page.read_text(encoding="utf-8")):
            among = (ROOT / PACKAGE / place, ROOT / PACKAGE / "index" / place, ROOT / place)
            within = (ROOT / PACKAGE / "audit" / place, ROOT / PACKAGE / "audit" / "sources" / place)
            assert any(path.exists() for path in (*among, *within)), f"{page.name}: {place}"


def test_places_named_in_the_table_of_changes_are_there() -> None:
    rows = re.findall(r"^\| .* \| (.*) \|$", ARCHITECTURE.partition("## Which files")[2], re.MULTILINE)[1:]
    assert len(rows) > 12
    for row in rows:
        for place in re.findall(r"`([a-z_/]+(?:\.py|/))`", row):
            assert (ROOT / PACKAGE / place).exists(), place
        for page in re.findall(r"docs/\w+\.md|tests/\w+", row):
            assert (ROOT / page).exists(), page


def test_the_map_of_the_index_on_disk_names_each_module() -> None:
    named = re.findall(r"`(\w+)`", import_module(f"{PACKAGE}.index.lmdb").__doc__ or "")
    modules = [name.rpartition(".")[2] for name in MODULES if name.startswith("index.lmdb.")]
    assert sorted(named) == sorted(modules)


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("schemes.md", SCHEMES),
        ("scrapy.md", EXTRACTORS),
        ("cli.md", main.commands),
        ("glossary.md", [name.replace("_", " ") for name in get_args(Kind)]),
        ("api.md", BACKENDS),
    ],
    ids=["schemes", "extractors", "commands", "verdicts", "back-ends"],
)
def test_each_is_documented(page: str, names: Iterable[str]) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert [name for name in names if not re.search(rf"\b{re.escape(name)}\b", text)] == []


def lines(*patterns: str) -> int:
    """Count the lines of files of the repository."""
    return sum(len(path.read_bytes().splitlines()) for each in patterns for path in ROOT.glob(each))


@pytest.mark.parametrize(
    ("patterns", "most"),
    [
        (("scrapy_neardup/**/*.py",), 21_240),
        (("tests/**/*.py",), 21_560),
        (("torture/**/*.py", "benchmarks/**/*.py"), 6_000),
        (("docs/*.md", "README.md"), 2_800),
    ],
    ids=lambda value: value[0].split("/")[0] if isinstance(value, tuple) else "",
)
def test_the_house_stays_small(patterns: tuple[str, ...], most: int) -> None:
    """What comes in makes something go."""
    assert lines(*patterns) <= most


def test_files_that_make_names_are_there() -> None:
    named = re.findall(r"tests/[\w/]+\.py", (ROOT / "Makefile").read_text("utf-8"))
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_modules_and_arrows_between_packages_are_few(arrows: dict[str, set[str]]) -> None:
    assert len(MODULES) <= 120
    folders = {name: path.parent for name, path in MODULES.items()}
    parts = [(name, target) for name, targets in arrows.items() for target in targets if target in MODULES]
    assert len({(folders[a], folders[b]) for a, b in parts if folders[a] != folders[b]}) <= 60
