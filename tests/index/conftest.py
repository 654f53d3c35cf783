"""LMDB that fails, for all tests of the index, in which documents in memory are in small parts."""

import pytest

from scrapy_neardup.index import memory

from .flaky import Flaky


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "ROWS", 32)


@pytest.fixture
def flaky(monkeypatch: pytest.MonkeyPatch) -> Flaky:
    return Flaky(monkeypatch)
