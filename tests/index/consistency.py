"""A full check of an index on disk whose documents say in their records which keys they have."""

from __future__ import annotations

import numpy as np

from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb.commands import check as problems

from .small import reading_of


def check(index: LmdbIndex) -> None:
    """The index has no problems, and in each table of each run, and in the log, are the keys of the records.

    The tag of a record is the XOR of all keys of the document.
    """
    assert list(problems(index)) == []
    with reading_of(index) as reader:
        for run in reader.state.runs:
            tags = np.concatenate([stored.records["tag"] for _, stored in reader.blocks(run.start, run.stop)])
            # Each table of a family has the same keys, so a family that has several counts once.
            left = tags.copy()
            for family, first in zip(reader.header.families, reader.header.first_table, strict=False):
                found = []
                for table in range(len(family.tables)):
                    cut, of_key = run.cut(family), np.zeros(len(tags), np.uint64)
                    for number in range(1 << cut):
                        keys, documents = reader.partition(run, cut, first + table, number).entries
                        assert (keys[1:] >= keys[:-1]).all(), "not sorted"
                        assert not cut or (keys >> np.uint64(64 - cut) == number).all(), "misplaced"
                        stored = family.tables.restore(table, keys)
                        np.bitwise_xor.at(of_key, documents.astype(np.int64) - run.start, stored)
                    found.append(of_key)
                assert all((each == found[0]).all() for each in found), "tables of one family differ"
                left ^= found[0]
            alive = ~reader.dead.between(run.start, run.stop)
            assert not left[alive].any(), "tables and records differ"
        for _, new in reader.whole_log():
            assert (np.bitwise_xor.reduce(new.keys) == new.records["tag"]).all(), "record of another document"
