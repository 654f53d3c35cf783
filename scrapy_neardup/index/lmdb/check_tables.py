"""The check of the sorted tables of a run: its partitions, and whether they file what the run holds.

A run says which documents it holds. Each of them must be in a block, and no other in a table. The tables of
one family must file the same documents under the same keys.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.errors import IndexCorrupted

from .check_blocks import find_block_problems
from .damage import Problem, partition_fault
from .layout import HELD, decode_held, partition_key
from .partition import decode_partition
from .sums import Sums

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from scrapy_neardup.index.tables import Family

    from .check_blocks import View
    from .layout import Run


@dataclass(slots=True)
class _Table:
    """What one table of a run holds."""

    sums: Sums = field(default_factory=Sums)
    #: What is wrong, with the numbers of the partitions of which it is.
    faults: dict[str, list[int]] = field(default_factory=dict)


def find_run_problems(view: View, run: Run, dead: NDArray[np.int64]) -> Iterator[Problem]:
    """Yield the problems of the blocks and tables of *run*.

    *dead* (int64[n]) are the documents of its range that have a tombstone.
    """
    where = f"run {run.id}"
    try:
        data = view.transaction.get(partition_key(run.id, HELD, 0), b"", db=view.databases["runs"])
        held = decode_held(data, run)
    except IndexCorrupted:
        yield Problem(where, "It does not say which documents it holds.")
        return
    if (count := int(held.sum())) != run.documents:
        yield Problem(where, f"It holds {count} documents, and the state says {run.documents}.")
    lost = np.flatnonzero(~held[dead - run.start])
    if len(lost):
        yield Problem(
            where,
            f"{len(lost)} documents are marked as removed, the first {dead[lost[0]]}, and not there.",
        )
    yield from find_block_problems(view, "documents", run.start, held)
    for family, first in zip(view.header.families, view.header.first_table, strict=False):
        yield from _find_family_problems(view, run, family, first, held)


def _find_family_problems(
    view: View, run: Run, family: Family, first: int, held: NDArray[np.bool_]
) -> Iterator[Problem]:
    """Yield the problems of the tables of *family*, whose numbers begin with *first*.

    *held* (bool[n]) says which documents of its range *run* holds.
    """
    sound: list[tuple[int, Sums]] = []
    for table in range(len(family.tables)):
        content = _read_table(view, run, family, first, table, held)
        for what, partitions in content.faults.items():
            more = f" and {len(partitions) - 1} more" if len(partitions) > 1 else ""
            yield Problem(f"run {run.id}, table {first + table}, partition {partitions[0]}{more}", what)
        if not content.faults:
            sound.append((first + table, content.sums))
    count = int(held.sum())
    expected = count * family.keys
    for place, sums in sound:
        where = f"run {run.id}, table {place}"
        if sums.count > expected or (sums.count < expected and not family.equal):
            yield Problem(where, f"It has {sums.count} entries of {count} documents with {family.keys} keys.")
        elif sums != sound[0][1]:
            yield Problem(where, f"It files other documents or keys than table {sound[0][0]}.")


def _read_table(
    view: View, run: Run, family: Family, first: int, table: int, held: NDArray[np.bool_]
) -> _Table:
    """Read one table, which should file the documents *held*."""
    content = _Table()
    cut = run.cut(family)
    for partition in range(1 << cut):
        data = view.transaction.get(
            partition_key(run.id, first + table, partition), db=view.databases["runs"]
        )
        fault = partition_fault(data, cut, partition)
        if fault is not None:
            content.faults.setdefault(fault, []).append(partition)
        if data is None or fault is not None:
            continue
        entries = decode_partition(data, cut).entries
        rows = entries.documents.astype(np.int64) - run.start
        inside = (rows >= 0) & (rows < len(held))
        if not inside.all():
            fault = "It holds documents that are not in the range of the run."
            content.faults.setdefault(fault, []).append(partition)
        elif not held[rows].all():
            fault = "It holds documents that the run does not hold."
            content.faults.setdefault(fault, []).append(partition)
        content.sums.add(entries.documents, family.tables.restore(table, entries.keys))
        view.advance(len(rows))
    return content
