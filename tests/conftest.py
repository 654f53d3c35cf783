"""What all tests use: Hypothesis that does not watch the clock, names, seeds, a Redis server."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.examples import QUICK, THOROUGH
from tests.index.redis_server import RedisServer, running

# The first call in a process makes tables, and machines are busy; how long work takes is measured elsewhere.
settings.register_profile("thorough", deadline=None, max_examples=THOROUGH)
settings.register_profile("quick", deadline=None, max_examples=QUICK)  # --hypothesis-profile quick
settings.load_profile("thorough")

_names = itertools.count()
#: How many characters of a text stand in the name of a test, as they are printed there.
_SHOWN = 60
#: Files that take longest, longest first, whatever the number of their tests.
_LONG = (
    "spark_audit", "docs", "processes", "segment", "workers", "example_project", "hostile", "budget",
    "signing", "floods", "kill", "losses", "serve", "walls", "matcher", "audit",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first, then those with slow or most tests: so none works on alone at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    tests = Counter(item.path for item in items)

    def order(item: pytest.Item) -> tuple[int, bool, int, Path]:
        name = item.path.stem.removeprefix("test_")
        place = _LONG.index(name) if name in _LONG else len(_LONG)
        return place, item.path not in slow, -tests[item.path], item.path

    items.sort(key=order)


def pytest_make_parametrize_id(val: object) -> str | None:
    """Cut long texts in the names of tests, such as a page or a bomb."""
    text = val.decode("latin-1") if isinstance(val, bytes) else val
    shown = text.encode("unicode_escape").decode("ascii") if isinstance(text, str) else ""
    return f"{shown[:_SHOWN]}... ({len(text)})" if len(shown) > _SHOWN else None  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The seeds of indexes, which borderline pairs depend on, are the same in each run."""
    monkeypatch.setattr("secrets.randbits", random.Random(1).getrandbits)


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """Yield a server that the tests of a module share; skip them if there is none, see `running`."""
    with running(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """Return the URL of an index on the server that no other test uses."""
    return redis_server.url(f"test{next(_names)}")
