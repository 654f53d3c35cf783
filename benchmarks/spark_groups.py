"""How much memory the audit on Spark takes for a page of one large group, which one Python process holds.

    python -m benchmarks.spark_groups

Spark itself does not run: each step gets the batches that it would get, in a process of its own, once for
fewer pages and once for more. What the second one needs beyond the first is printed by page.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from scrapy_neardup.audit.settings import AuditOptions
from scrapy_neardup.spark.candidates import TEXT, find_firsts, pairs_of_keys
from scrapy_neardup.spark.frames import DOCUMENT, pieces, schema_of
from scrapy_neardup.spark.grouping import group_components

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Rows of a batch, as Spark sends them.
_BATCH = 10_000
_SETTINGS = AuditOptions(seed=7)
#: Tokens and shingles of a page.
_LENGTH = 400
#: Pages and edges of a component, as `grouped` has them.
_CONNECTED = (
    f"{DOCUMENT}, url string, title string, declared string, alternates string, noindex boolean, "
    "fetched double, component long, template boolean, sibling boolean, rank long, a long, b long"
)


def equal_texts(pages: int) -> Iterator[pa.RecordBatch]:
    """Find the first page of *pages* with one text."""
    own = b"\1" * 8 * _SETTINGS.loaded_scheme.keys
    return find_firsts(
        _batch(
            TEXT,
            text=np.zeros(len(rows), np.int64),
            digest=np.zeros(len(rows), np.int64),
            row=rows,
            fit=np.ones(len(rows), bool),
            fingerprint=np.zeros(len(rows), np.int64),
            site=rows % 500,
            own=[own] * len(rows),
        )
        for rows in _rows(pages)
    )


def phrase(pages: int) -> Iterator[pa.RecordBatch]:
    """Pair *pages* that share a phrase."""
    kind, key = np.ones(_BATCH, np.int32), np.full(_BATCH, 5, np.int64)
    return pairs_of_keys(
        (_batch("kind int, key long, row long", kind=kind, key=key, row=rows) for rows in _rows(pages)),
        _SETTINGS.loaded_scheme,
    )


def component(pages: int) -> Iterator[pa.RecordBatch]:
    """Group *pages* of one component: all repeat the first."""
    return group_components(_connected(pages), _SETTINGS)


def _connected(pages: int) -> Iterator[pa.RecordBatch]:
    for rows in _rows(pages):
        others = rows[rows > 0]
        yield _batch(
            _CONNECTED, component=np.zeros(len(others), np.int64), a=np.zeros(len(others), np.int64), b=others
        )
    header = _SETTINGS.header
    keys = np.arange(1, header.keys + 1, dtype=np.uint64)[np.newaxis].repeat(_BATCH, axis=0)
    records = np.zeros(_BATCH, header.dtype)
    records["tokens"] = records["shingles"] = _LENGTH
    for rows in _rows(pages):
        records["site"] = rows % 500
        records["digest"] = 3
        names = {name: ["A story that many sites have"] * len(rows) for name in ("own", "head", "page")}
        yield _batch(
            _CONNECTED,
            row=rows,
            keys=pieces(keys),
            record=pieces(records),
            **names,
            common=[[]] * len(rows),
            url=[
                f"https://site{row % 500}.example/2026/11/a-story-of-some-length-{row}"
                for row in rows.tolist()
            ],
            title=["A story that many sites have, word by word"] * len(rows),
            declared=[""] * len(rows),
            alternates=[""] * len(rows),
            component=np.zeros(len(rows), np.int64),
            rank=rows,
            **{
                name: np.zeros(len(rows), bool)
                for name in ("wall", "rare", "general", "noindex", "template", "sibling")
            },
        )


def _rows(pages: int) -> Iterator[Any]:
    return (np.arange(start, start + _BATCH) for start in range(0, pages, _BATCH))


def _batch(columns: str, **known: Any) -> pa.RecordBatch:
    """Return a batch with *columns*; what is not *known* is null."""
    schema, count = schema_of(columns), len(next(iter(known.values())))
    arrays = [
        pa.nulls(count, field.type) if field.name not in known else pa.array(known[field.name], field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _peak(step: Callable[[int], Iterator[pa.RecordBatch]], pages: int) -> int:
    """Do a *step* in a process of its own; return the bytes that it had in memory at most."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_work, (step, pages))


def _work(step: Callable[[int], Iterator[pa.RecordBatch]], pages: int) -> int:
    deque(step(pages), maxlen=0)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, nargs=2, default=[200_000, 600_000])
    arguments = parser.parse_args()
    fewer, more = arguments.pages
    print(f"bytes for each page of one group, between {fewer:,} and {more:,} pages:")
    for step in (phrase, equal_texts, component):
        grown = _peak(step, more) - _peak(step, fewer)
        print(f"  {step.__name__}: {grown / (more - fewer):,.0f}", flush=True)


if __name__ == "__main__":
    main()
