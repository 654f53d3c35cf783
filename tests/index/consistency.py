"""A full check of an index on disk, written against its documented layout and not against its code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_neardup.index import LmdbIndex
    from scrapy_neardup.index.lmdb.layout import Run
    from scrapy_neardup.index.lmdb.snapshot import Snapshot
    from scrapy_neardup.index.tables import Family


def check(index: LmdbIndex) -> None:
    """Blocks without gaps and with right checksums.

    The tables of every run agree with each other and the records. The tag of a record is the XOR of all keys
    of the document.
    """
    with index.reading() as reader:
        tags = _tags(reader)
        state, dead = reader.state, set(reader.dead.tolist())
        assert [run.start for run in state.runs[1:]] == [run.stop for run in state.runs[:-1]]
        assert not state.runs or state.runs[-1].stop == state.flushed
        assert state.flushed <= state.next
        assert len({run.id for run in state.runs} | {state.next_run}) == len(state.runs) + 1
        known = set(range(state.flushed, state.next))
        for run in state.runs:
            known |= _check_run(reader, run, tags)
        assert dead <= known, "removed documents are remembered as long as a run holds them, no longer"
        first = state.flushed
        for number, documents in reader.log(0):
            assert number == first, "gap in the log, or flushed documents in it"
            first += len(documents.urls)
            expected = [_xor(reader.header.families, keys) for keys in documents.keys.T.tolist()]
            assert documents.records["tag"].tolist() == expected, "keys and record of different documents"


def _xor(families: tuple[Family, ...], keys: list[int]) -> int:
    tag = place = 0
    for family in families:
        for key in keys[place : place + family.keys]:
            tag ^= key if family.tables.blocks > 1 or family.keys == 1 or key != 2**64 - 1 else 0
        place += family.keys
    return tag


def _tags(reader: Snapshot) -> dict[int, int]:
    """The tag of each document."""
    tags: dict[int, int] = {}
    last = None
    for first, stored in reader.blocks(0, 1 << 32):
        assert len(stored.urls) == len(stored.records) > 0
        assert last is None or first == last + 1, "gap between blocks"
        last = first + len(stored.urls) - 1
        tags.update(zip(range(first, last + 1), stored.records["tag"].tolist(), strict=True))
    assert (0 if last is None else last + 1) == reader.state.next
    return tags


def _check_run(reader: Snapshot, run: Run, tags: dict[int, int]) -> set[int]:
    """Return the documents that the run holds."""
    held = set((np.flatnonzero(reader.held(run)) + run.start).tolist())
    assert len(held) == run.documents, "miscounted"
    found = dict.fromkeys(held, 0)
    place = 0
    for family in reader.header.families:
        tables = []
        for table in range(len(family.tables)):
            keys, documents = _entries(reader, run, family, place)
            stored = family.tables.restore(table, keys).tolist()
            tables.append(sorted(zip(stored, documents.tolist(), strict=True)))
            place += 1
        assert all(entries == tables[0] for entries in tables), "tables of one family differ"
        for key, document in tables[0]:
            found[document] ^= key  # a KeyError would be a document that the run does not hold
    assert found == {document: tags[document] for document in held}, "tables and records differ"
    return held


def _entries(
    reader: Snapshot, run: Run, family: Family, place: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
    cut = run.cut(family)
    parts = [reader.partition(run, cut, place, part).entries for part in range(1 << cut)]
    for number, part in enumerate(parts):
        if cut:
            assert set((part.keys >> np.uint64(64 - cut)).tolist()) <= {number}
    keys = np.concatenate([part.keys for part in parts])
    assert (keys[1:] >= keys[:-1]).all(), "not sorted"
    return keys, np.concatenate([part.documents for part in parts])
