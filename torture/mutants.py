"""The command `python -m torture.mutants`: do the tests notice small faults in the code?

A sample of mutants of a package is made, see `torture.source_mutants`. Each is written into a copy of the
tree, and the tests run that reach its line, the quickest first, until one fails. What no test notices is
printed: either the fault changes nothing that anybody could see, or a test is missing.

Two kinds survive by the way this works: sizes that the tests take from the module by name, and what runs once
in a process because its outcome is cached, for which only the first test counts as reaching it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import click
import coverage
import pytest

from .source_mutants import mutants

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .source_mutants import Mutant

#: Which tests are those of a package, beside its own folder of tests.
FURTHER = {
    "matching": [
        "tests/test_detector.py", "tests/test_weak.py", "tests/test_preferred.py", "tests/test_short_lines.py"
    ],
    "index": ["tests/test_floods.py"],
}  # fmt: skip
#: What a copy of the tree needs.
PARTS = ("scrapy_neardup", "tests", "example_project", "benchmarks", "docs", "pyproject.toml", "README.md")
#: How pytest is run. It sets no limit of time, since a busy machine would then kill mutants.
OPTIONS = [
    "-x", "-q", "-n0", "-p", "no:cacheprovider", "-m", "not slow", "--hypothesis-profile", "quick",
    "--timeout", "0",
]  # fmt: skip
#: What the tests import, other than this package.
_NEEDED = (
    "hypothesis", "lmdb", "lxml.html", "mmh3", "numpy", "pyarrow", "scrapy.crawler", "tldextract",
    "trafilatura",
)  # fmt: skip
#: Seconds that starting the tests may take, and how much slower than unchanged code a mutant may be.
_START, _SLOWER = 60, 5


class Survey(NamedTuple):
    """What the tests of unchanged code reach."""

    #: For each module, by its path in the tree, and each line of it: the tests that run it.
    tests: dict[str, dict[int, set[str]]]
    #: Seconds that each test takes.
    seconds: dict[str, float]


class Fate(NamedTuple):
    """What became of a mutant."""

    module: str
    mutant: Mutant
    #: "killed", "survived" or "unreached": no test runs its line.
    outcome: str
    tests: int


@click.command()
@click.argument("package", default="matching")
@click.option("--sample", default=100, show_default=True, help="How many mutants; 0 for all.")
@click.option("--seed", default=1, show_default=True, help="Which ones.")
@click.option("--module", multiple=True, help="Only of modules whose name contains this.")
@click.option("--tests", "chosen", multiple=True, help="These tests instead of those of the package.")
@click.option("--report", type=click.Path(path_type=Path), help="Write a JSON line for each mutant here.")
def main(
    package: str,
    sample: int,
    seed: int,
    module: tuple[str, ...],
    chosen: tuple[str, ...],
    report: Path | None,
) -> None:
    """Sample mutants of scrapy_neardup/PACKAGE, such as matching or index/lmdb; print those that survive."""
    root = Path.cwd()
    top = package.split("/", maxsplit=1)[0]
    tests = list(chosen) or [f"tests/{top}", *FURTHER.get(top, [])]
    with tempfile.TemporaryDirectory(prefix="neardup-mutants-") as folder:
        tree = Path(folder, "tree")
        _copy(root, tree)
        survey = _survey(tree, f"scrapy_neardup/{package}", tests)
        all_of_them = [
            (path.relative_to(tree).as_posix(), mutant)
            for path in sorted((tree / "scrapy_neardup" / package).rglob("*.py"))
            if not module or any(part in path.name for part in module)
            for mutant in mutants(path.read_bytes())
        ]
        picked = random.Random(seed).sample(all_of_them, min(sample or len(all_of_them), len(all_of_them)))
        click.echo(f"{len(picked)} of {len(all_of_them)} mutants, seed {seed}; {len(survey.seconds)} tests")
        for name in _NEEDED:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        fates = []
        for number, fate in enumerate(_fates(tree, picked, survey), 1):
            fates.append(fate)
            if fate.outcome != "killed":
                click.echo(f"{number}: {fate.outcome} ({fate.tests} tests) {fate.module}:{fate.mutant}")
            if report:
                with report.open("a", encoding="utf-8") as file:
                    line = {"module": fate.module, "outcome": fate.outcome, "mutant": str(fate.mutant)}
                    file.write(json.dumps(line) + "\n")
    counts = {
        name: sum(fate.outcome == name for fate in fates) for name in ("killed", "survived", "unreached")
    }
    click.echo(f"{counts}; killed {counts['killed'] / max(1, len(fates)):.1%}")


def _copy(root: Path, tree: Path) -> None:
    for name in PARTS:
        if (root / name).is_dir():
            shutil.copytree(root / name, tree / name, ignore=shutil.ignore_patterns("__pycache__", "out"))
        else:
            shutil.copy(root / name, tree / name)


def _survey(tree: Path, package: str, tests: list[str]) -> Survey:
    """Run the *tests*, which have to pass, and see what they reach of a *package*."""
    config = tree / "coverage.ini"
    config.write_text(f"[run]\nsource = {package}\ndata_file = {tree}/reached\n")
    options = [f"--cov={package}", "--cov-context=test", "--cov-report=", f"--cov-config={config}"]
    options += [f"--junitxml={tree}/times.xml", "-o", "junit_family=xunit1"]
    command = [sys.executable, "-m", "pytest", *OPTIONS, *tests, *options]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run(command, check=False, cwd=tree, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise click.ClickException(f"The tests fail on the code as it is: {done.stdout[-3000:]}")
    data = coverage.CoverageData(str(tree / "reached"))
    data.read()
    reached: dict[str, dict[int, set[str]]] = {}
    for path in data.measured_files():
        lines = data.contexts_by_lineno(path)
        reached[Path(path).relative_to(tree).as_posix()] = {
            line: {_function(context.rpartition("|")[0]) for context in contexts}
            for line, contexts in lines.items()
        }
    return Survey(reached, _seconds(tree / "times.xml"))


def _seconds(path: Path) -> dict[str, float]:
    """Return how long each test took, with all its parameters together."""
    found: dict[str, float] = defaultdict(float)
    for case in ET.parse(path).getroot().iter("testcase"):
        names = case.get("classname", "").split(".")
        stem = Path(case.get("file", "")).stem
        inner = names[names.index(stem) + 1 :] if stem in names else []
        test = _function("::".join([case.get("file", ""), *inner, case.get("name", "")]))
        found[test] += float(case.get("time", 0))
    return dict(found)


def _function(test: str) -> str:
    """Return the name of a test without its parameters, which may hold any character."""
    return test.partition("[")[0]


def _fates(tree: Path, picked: list[tuple[str, Mutant]], survey: Survey) -> Iterator[Fate]:
    for module, mutant in picked:
        at_import = survey.tests.get(module, {})
        lines = range(mutant.statement, mutant.line + 1)
        tests = set().union(*(at_import.get(line, set()) for line in lines))
        # What runs when the module is imported concerns every test that reaches the module.
        if "" in tests:
            tests = set().union(*at_import.values())
        ordered = sorted(tests & survey.seconds.keys(), key=lambda test: survey.seconds[test])
        if not ordered:
            yield Fate(module, mutant, "unreached", 0)
            continue
        path = tree / module
        source = path.read_bytes()
        Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
        path.write_bytes(mutant.apply(source))
        limit = _START + _SLOWER * sum(survey.seconds[test] for test in ordered)
        try:
            killed = _run(tree, ordered, limit)
        finally:
            path.write_bytes(source)
        yield Fate(module, mutant, "killed" if killed else "survived", len(ordered))


def _run(tree: Path, tests: list[str], limit: float) -> bool:
    """Run *tests* until one fails, in a fork of this process; tell whether one did.

    This process has imported what they need. They fail if they take more than *limit* seconds, too.
    """
    listed = tree / "chosen.txt"
    listed.write_text("\n".join(tests), encoding="utf-8")
    child = os.fork()
    if not child:
        _become_pytest(tree, [f"@{listed}"])
    ends = time.monotonic() + limit
    while time.monotonic() < ends:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            if code in (4, 5):
                raise click.ClickException(f"pytest did not run: {(tree / 'printed').read_text()[-2000:]}")
            return code != 0
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def _become_pytest(tree: Path, arguments: list[str]) -> NoReturn:
    """Run pytest in this process, which was forked to do so; its output goes to a file."""
    code = 3
    try:
        os.setsid()
        os.chdir(tree)
        with (tree / "printed").open("wb") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        os.environ["PYTHONPATH"] = str(tree)
        sys.path[:] = [
            str(tree),
            *(part for part in sys.path if part not in ("", str(Path(__file__).parents[1]))),
        ]
        sys.dont_write_bytecode = True  # else the next mutant, written in the same second, would not be seen
        for name in [name for name in sys.modules if name.partition(".")[0] in ("torture", "scrapy_neardup")]:
            del sys.modules[name]
        code = int(pytest.main([*OPTIONS, *arguments]))
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
