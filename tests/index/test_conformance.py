"""An index on disk, and one that vanishes, do what the protocol says."""

from __future__ import annotations

from pathlib import Path

import pytest

from scrapy_neardup.index import Index, LmdbIndex
from tests.index.conformance import HEADER, IndexConformance

from .small import SMALL


class TestScratch(IndexConformance):
    def open(self) -> Index:
        return LmdbIndex(None, HEADER)


class TestDisk(IndexConformance):
    @pytest.fixture(autouse=True)
    def directory(self, tmp_path: Path) -> None:
        self.path = tmp_path

    def open(self) -> Index:
        return LmdbIndex(self.path, HEADER)

    def reopen(self, index: Index) -> Index:
        index.close()
        return LmdbIndex(self.path, HEADER)


class TestSmall(TestDisk):
    """With every size small there are runs, in several partitions, and what is opened again is one run."""

    def open(self) -> Index:
        return LmdbIndex(self.path, HEADER, tuning=SMALL)

    def reopen(self, index: Index) -> Index:
        assert isinstance(index, LmdbIndex)
        index.compact()
        index.close()
        return self.open()
