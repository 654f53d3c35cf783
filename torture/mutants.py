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
import math
import random
import shutil
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
import coverage
import pytest

from .pytest_runs import SLOWER, START, InOrder, Timing, printed, run_pytest
from .source_mutants import mutants

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .source_mutants import Mutant

#: Which tests are those of a package, beside its own folder of tests.
FURTHER = {
    "matching": [
        "tests/test_detector.py", "tests/test_preferred.py",
        "tests/test_short_lines.py", "tests/index/test_header.py",
    ],
    "index": ["tests/test_floods.py"],
    "plugin": ["tests/cli/test_cli.py"],
}  # fmt: skip
#: A module that runs in processes alone that its tests start and share, where coverage cannot tell for which
#: test: all these may reach it.
ELSEWHERE = {"scrapy_neardup/plugin/command.py": "tests/cli/test_cli.py"}
#: Modules that are left out: sizes and times that may have any value, on which only speed and memory depend.
FREE = {"scrapy_neardup/index/lmdb/tuning.py"}
#: What a copy of the tree needs.
PARTS = ("scrapy_neardup", "tests", "example_project", "benchmarks", "docs", "pyproject.toml", "README.md")
#: What the tests import, other than this package.
_NEEDED = (
    "hypothesis", "lmdb", "lxml.html", "mmh3", "numpy", "pyarrow", "scrapy.crawler", "tldextract",
    "trafilatura",
)  # fmt: skip
#: How coverage measures processes that tests start, too.
_EVERYWHERE = "branch = true\npatch =\n    _exit\n    fork\n    subprocess\n"
#: Quick tests of so many files, which take about so many seconds in all, run first: to import all files takes
#: longer than that.
_FILES, _QUICK = 5, 5


class Survey(NamedTuple):
    """What the tests of unchanged code reach."""

    #: For each module, by its path in the tree, and each line of it: the tests that run it.
    tests: dict[str, dict[int, set[str]]]
    #: Seconds that each test takes, with what is set up for it.
    seconds: dict[str, float]


class Fate(NamedTuple):
    """What became of a mutant."""

    module: str
    mutant: Mutant
    #: "killed", "survived" or "unreached": no test runs its line.
    outcome: str
    #: How many tests reach it.
    tests: int


@click.command()
@click.argument("package", default="matching")
@click.option("--sample", default=100, show_default=True, help="How many mutants; 0 for all.")
@click.option("--seed", default=1, show_default=True, help="Which ones.")
@click.option("--module", multiple=True, help="Only of modules whose name contains this.")
@click.option("--tests", "chosen", multiple=True, help="These tests instead of those of the package.")
@click.option("--within", default=0.0, help="Only the quickest tests, up to so many seconds; 0 for all.")
@click.option("--report", type=click.Path(path_type=Path), help="Write a JSON line for each mutant here.")
def main(
    package: str,
    sample: int,
    seed: int,
    module: tuple[str, ...],
    chosen: tuple[str, ...],
    within: float,
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
            if path.relative_to(tree).as_posix() not in FREE
            and (not module or any(part in path.name for part in module))
            for mutant in mutants(path.read_bytes())
        ]
        picked = random.Random(seed).sample(all_of_them, min(sample or len(all_of_them), len(all_of_them)))
        click.echo(f"{len(picked)} of {len(all_of_them)} mutants, seed {seed}; {len(survey.seconds)} tests")
        for name in _NEEDED:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        fates = []
        for number, fate in enumerate(_fates(tree, picked, survey, within or math.inf), 1):
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
    config, times = tree / "coverage.ini", tree / "times.json"
    config.write_text(f"[run]\nsource = {package}\ndata_file = {tree}/reached\n{_EVERYWHERE}")
    options = [f"--cov={package}", "--cov-context=test", "--cov-report=", f"--cov-config={config}"]
    if run_pytest(tree, [*tests, *options], Timing(times), math.inf):
        raise click.ClickException(f"The tests fail on the code as it is: {printed(tree)}")
    data = coverage.CoverageData(str(tree / "reached"))
    data.read()
    reached = {}
    for path in data.measured_files():
        reached[Path(path).relative_to(tree).as_posix()] = {
            line: {context.rpartition("|")[0] for context in contexts}  # "test|run", or "" at import
            for line, contexts in data.contexts_by_lineno(path).items()
        }
    return Survey(reached, json.loads(times.read_text(encoding="utf-8")))


def _fates(tree: Path, picked: list[tuple[str, Mutant]], survey: Survey, within: float) -> Iterator[Fate]:
    """Yield what becomes of each mutant by the quickest tests that reach it, which take *within* seconds."""
    for module, mutant in picked:
        at_import = survey.tests.get(module, {})
        lines = range(mutant.statement, mutant.line + 1)
        tests = set().union(*(at_import.get(line, set()) for line in lines))
        # What runs when the module is imported, or in a process that tests start, concerns every test that
        # reaches the module.
        if tests == {""}:
            tests = set().union(*at_import.values())
        tests |= {test for test in survey.seconds if _file(test) == ELSEWHERE.get(module)}
        reaching = {test: survey.seconds[test] for test in tests & survey.seconds.keys()}
        if not reaching:
            yield Fate(module, mutant, "unreached", 0)
            continue
        path = tree / module
        source = path.read_bytes()
        Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
        path.write_bytes(mutant.apply(source))
        try:
            killed = any(_fails(tree, some) for some in _in_two(reaching, within))
        finally:
            path.write_bytes(source)
        yield Fate(module, mutant, "killed" if killed else "survived", len(reaching))


def _in_two(seconds: dict[str, float], within: float) -> Iterator[dict[str, float]]:
    """Yield quick tests of a few files, which most mutants do not survive, then the others.

    All of them take *within* seconds, by the *seconds* that each takes.
    """
    ordered = _quickest_first(seconds)
    files = {*list(dict.fromkeys(map(_file, ordered)))[:_FILES]}
    quick: list[str] = []
    for test in ordered:
        if _file(test) in files and sum(seconds[each] for each in quick) < _QUICK:
            quick.append(test)
    others = _by_turns([test for test in ordered if test not in quick])
    left = within
    for part in (quick, others):
        some = {}
        for test in part:
            left -= seconds[test]
            if left >= 0 or test is ordered[0]:
                some[test] = seconds[test]
        if some:
            yield some


def _quickest_first(seconds: dict[str, float]) -> list[str]:
    """Return the tests, the quickest first; those of one function with other parameters come later.

    Such tests mostly notice the same. So each waits as if it took the time of those before it, too.
    """
    spent: dict[str, float] = defaultdict(float)
    waits = {}
    for test in sorted(seconds, key=lambda test: seconds[test]):
        function = test.partition("[")[0]
        spent[function] += seconds[test]
        waits[test] = spent[function]
    return sorted(waits, key=lambda test: waits[test])


def _by_turns(tests: list[str]) -> list[str]:
    """Return the first of *tests* of each file, then the second ones, and so on.

    A file is about one thing. So no fault waits long for the file that is about it.
    """
    counts: Counter[str] = Counter()
    turns = {}
    for test in tests:
        counts[_file(test)] += 1
        turns[test] = counts[_file(test)]
    return sorted(tests, key=lambda test: turns[test])


def _file(test: str) -> str:
    return test.partition("::")[0]


def _fails(tree: Path, seconds: dict[str, float]) -> bool:
    """Run the tests of *seconds*; return whether one has failed, or takes far too long."""
    files = sorted({*map(_file, seconds)})
    code = run_pytest(tree, files, InOrder(seconds), 2 * START + SLOWER * sum(seconds.values()))
    if code == pytest.ExitCode.NO_TESTS_COLLECTED:
        raise click.ClickException(f"pytest did not run: {printed(tree)}")
    return bool(code)


if __name__ == "__main__":
    main()
