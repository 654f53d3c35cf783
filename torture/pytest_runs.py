"""Runs of pytest in forks: how long each test takes, and whether one of some tests fails."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import NoReturn

import pytest

#: How pytest is run. It sets no limit of time, since a busy machine would then kill mutants.
OPTIONS = [
    "-x", "-q", "-n0", "-p", "no:cacheprovider", "-m", "not slow", "--hypothesis-profile", "quick",
    "--timeout", "0",
]  # fmt: skip
#: Seconds that starting the tests or one of them may take, and how much slower than unchanged code a mutant
#: may be.
START, SLOWER = 30, 10


class Timing:
    """A plugin of pytest that writes to *path* how many seconds each test takes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.seconds: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        self.path.write_text(json.dumps(self.seconds), encoding="utf-8")


class InOrder:
    """A plugin of pytest that runs the tests of *seconds* and no others, in this order.

    A test that takes much longer than its *seconds* fails: the fault may have made it wait for ever.
    """

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        found = {item.nodeid: item for item in items}
        items[:] = [found[test] for test in self.seconds if test in found]
        for item in items:
            limit = START + SLOWER * self.seconds[item.nodeid]
            item.add_marker(pytest.mark.timeout(limit), append=False)


def run_pytest(tree: Path, arguments: list[str], plugin: Timing | InOrder, limit: float) -> int:
    """Run pytest in a fork of this process, which may have imported what tests need; return its exit code.

    It is killed if it takes more than *limit* seconds.
    """
    child = os.fork()
    if not child:
        _become_pytest(tree, arguments, plugin)
    ends = time.monotonic() + limit
    while time.monotonic() < ends:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def printed(tree: Path) -> str:
    return (tree / "printed").read_text(encoding="utf-8", errors="replace")[-3000:]


def _become_pytest(tree: Path, arguments: list[str], plugin: Timing | InOrder) -> NoReturn:
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
        # Else the next mutant, written in the same second, would not be seen.
        sys.dont_write_bytecode = isinstance(plugin, InOrder)
        for name in [name for name in sys.modules if name.partition(".")[0] in ("torture", "scrapy_neardup")]:
            del sys.modules[name]
        code = int(pytest.main([*OPTIONS, *arguments], plugins=[plugin]))
    finally:
        os._exit(code)
