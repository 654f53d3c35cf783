"""Pairs of pages, joined with what the pages are compared by, and judged by the audit's own judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.audit.clustering import MARGIN, judge_of
from scrapy_neardup.audit.pairs.compare import REJECTED, SIBLINGS, Compared
from scrapy_neardup.audit.verdicts import pairs_table
from scrapy_neardup.index import Documents

from .columns import (
    DOCUMENT_COLUMNS,
    crawl_of,
    keys_of,
    merged_names,
    names_of,
    numbers,
    records_of,
    texts,
)
from .frames import PART, mapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from scrapy_neardup.audit.settings import AuditOptions

    from .frames import Workspace

JUDGED = "a long, b long, kind string, distance int, similarity float, containment float"
#: The kinds of pairs of which one page repeats the other.
REPEATS = "kind in ('exact', 'part', 'near')"
#: Bytes of a pair with the document of one of its pages, as Spark sorts it.
_WITH_DOCUMENT = 600
#: Pairs that are judged at a time.
_CHUNK = 1 << 12


def judged(
    firsts: DataFrame, candidates: DataFrame, documents: DataFrame, space: Workspace, settings: AuditOptions
) -> DataFrame:
    """Keep the pairs that an audit lists: `compare_all` says which.

    *firsts* are `FIRSTS` of all pages, *candidates* pairs of those that stand alone.
    """
    copies = firsts.where("fit and first <> row").selectExpr("first a", "row b", "true copy")
    again = firsts.where("fit and again <> row and again <> first").selectExpr(
        "again a", "row b", "true copy"
    )
    pairs = candidates.selectExpr("a", "b", "false copy").unionByName(copies).unionByName(again)
    pairs = space.keep(pairs, "work/candidates")
    count = pairs.count()
    sides = documents.select(*DOCUMENT_COLUMNS)
    for side in "ab":
        named = sides.select(*(sides[name].alias(f"{name}_{side}") for name in DOCUMENT_COLUMNS))
        pairs = pairs.join(named, pairs[side] == named[f"row_{side}"])
    # A page has any number of pairs, each of which is sorted with a whole document: parts are cut by pairs.
    with space.parts(max(count * _WITH_DOCUMENT, space.partitions * PART)):
        every = space.keep(mapped(pairs, judge_pairs, JUDGED, settings), "work/judged")
    space.remove("work/candidates")
    return _listed(every, space)


def judge_pairs(batches: Iterable[pa.RecordBatch], settings: AuditOptions) -> Iterator[pa.RecordBatch]:
    """Judge pairs of pages; leave out those that no audit lists."""
    for batch in batches:
        for start in range(0, batch.num_rows, _CHUNK):
            yield _judge(batch.slice(start, _CHUNK), settings)


def _judge(pairs: pa.RecordBatch, settings: AuditOptions) -> pa.RecordBatch:
    import pyarrow as pa

    header, count = settings.header, pairs.num_rows
    # The first pages of all pairs, then the second ones.
    documents = Documents(
        np.concatenate([keys_of(pairs, header, f"keys_{side}") for side in "ab"], axis=1),
        np.concatenate([records_of(pairs, header, f"record_{side}") for side in "ab"]),
        [],
        [note for side in "ab" for note in texts(pairs, f"note_{side}")],
    )
    wall = np.concatenate([numbers(pairs, f"wall_{side}") for side in "ab"])
    names = merged_names(names_of(pairs, "_a"), names_of(pairs, "_b"))
    judge = judge_of(crawl_of(documents, wall, names, settings), settings, np.zeros(2 * count, bool))
    a = np.arange(count)
    compared = Compared(a, a + count, judge.either(a, a + count))
    judgement = compared.judgement
    alike = judgement.template | judgement.near
    alike |= judgement.similarity >= settings.least_similarity - MARGIN
    listed = np.flatnonzero(numbers(pairs, "copy") | (alike & ~judge.equal(a, a + count)))
    table = pairs_table(judge, compared.take(listed))
    return pa.RecordBatch.from_pydict(
        {
            "a": pa.array(numbers(pairs, "a")[listed]),
            "b": pa.array(numbers(pairs, "b")[listed]),
            "kind": pa.array(table["kind"].tolist(), pa.string()),
            "distance": pa.array(table["distance"].astype(np.int32)),
            "similarity": pa.array(table["similarity"]),
            "containment": pa.array(table["containment"]),
        }
    )


def _listed(every: DataFrame, space: Workspace) -> DataFrame:
    """Keep of *every* pair the repeats, the `SIBLINGS` closest of a page's template, `REJECTED` others."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    kept = every.where(REPEATS)
    template = every.where("kind = 'template'")
    sides = template.selectExpr("a", "b", "similarity", "a page", "b other").unionByName(
        template.selectExpr("a", "b", "similarity", "b page", "a other")
    )
    by = Window.partitionBy("page").orderBy(F.desc("similarity"), "other")
    wanted = sides.withColumn("place", F.row_number().over(by)).where(f"place <= {SIBLINGS}")
    kept = kept.unionByName(template.join(wanted.select("a", "b").distinct(), ["a", "b"], "left_semi"))
    rejected = every.where("kind = 'rejected'").orderBy(F.desc("similarity"), "a", "b").limit(REJECTED)
    found = space.keep(kept.unionByName(rejected), "work/pairs")
    space.remove("work/judged")
    return found
