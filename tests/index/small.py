"""An index whose every size is small, so that few documents make many commits, folds, merges and partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.index import Documents, Header, columns, search
from scrapy_neardup.index import sorted_arrays as sorted_tables
from scrapy_neardup.index.lmdb import (
    blocks,
    partition,
    runs,
    writer,
)
from scrapy_neardup.index.lmdb import (
    compaction as maintenance,
)
from scrapy_neardup.index.lmdb import (
    index as lmdb,
)
from scrapy_neardup.index.lmdb import (
    layout as storage,
)
from scrapy_neardup.index.protocol import Filing
from scrapy_neardup.index.tables import EQUAL, LAYOUTS, Family

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

    from scrapy_neardup.index import Index
    from scrapy_neardup.index.reservation import Reservation

HEADER = Header((Family(LAYOUTS[4]), Family(EQUAL)), (("time", "<u4"), ("tag", "<u8")))
SIZES = (
    (lmdb, {"FOLD": 16, "LOAD": 40}),
    (writer, {"GROUP": 4, "FOLD": 16}),
    (maintenance, {"FOLD": 16, "BLOCK": 8}),
    (runs, {"STEP": 256, "BLOCK": 8}),
    (blocks, {"CHUNK": 3}),
    (partition, {"PLACE": 2}),
    (search, {"FEW": 8, "DENSE": 1}),
    (storage, {"PARTITION": 8, "MAX_PARTITION_BITS": 4}),
    (columns, {"COMPARISONS": 64, "UNSORTED": 8}),
    (sorted_tables, {"CANDIDATES": 16}),
)


def shrink(patch: pytest.MonkeyPatch, **more: float) -> None:
    """Make the sizes small; *more* are constants of the module of its thread."""
    for module, values in SIZES:
        for name, value in values.items():
            patch.setattr(module, name, value)
    for name, number in more.items():
        patch.setattr(writer, name, number)


def documents(fingerprints: Sequence[int], urls: Sequence[str], time: int = 0) -> Documents:
    """Documents with a fingerprint and a key made of the URL, which is ``u`` and a number."""
    keys = np.array([fingerprints, [int(url[1:]) for url in urls]], np.uint64).reshape(2, len(urls))
    records = np.zeros(len(urls), HEADER.dtype)
    records["time"] = time
    records["tag"] = keys[0] ^ keys[1]
    return Documents(keys, records, list(urls))


def reserve(index: Index, new: Documents, replaces: Sequence[int] = ()) -> Reservation:
    """File one document as pending, whatever it meets."""
    reservation = index.reserve_if(new, (), lambda found: Filing(new, replaces))
    assert reservation is not None
    return reservation
