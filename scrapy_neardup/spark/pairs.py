"""Pairs of pages: those that share a key or have near fingerprints, and how they are judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from scrapy_neardup.audit.all_pairs import (
    MOST,
    SAME,
    SIBLINGS,
    Compared,
    choose_layout,
    equal_keys,
    found_first,
    neighbours,
    pairs_of_values,
)
from scrapy_neardup.audit.arrays import begins
from scrapy_neardup.audit.clustering import judge_of, pairs_table
from scrapy_neardup.index.tables import BITS, NO_KEY
from scrapy_neardup.matching.records import DIGEST

from .frames import batch_of, column_names, crawl_of, in_groups, mapped, numbers, signed, texts, unsigned
from .pages import COMPARED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column, DataFrame

    from scrapy_neardup.audit.options import AuditOptions
    from scrapy_neardup.fingerprint import Scheme
    from scrapy_neardup.index.tables import PermutedTables

    from .frames import Rows, Workspace

#: Of a page: the halves of the digest of its text, whether it can be judged, its fingerprint, other keys.
TEXT = "text long, digest long, row long, fit boolean, fingerprint long, site long, note binary, own binary"
PAIR = "a long, b long"
#: Fingerprints that the layout of tables is chosen by, and seconds that an entry of a table takes: it is
#: written, sent and sorted, by one core of a server of 2021.
_SAMPLE, _ENTRY = 1 << 14, 1e-6


def firsts(documents: DataFrame, space: Workspace, settings: AuditOptions) -> DataFrame:
    """Keep `TEXT` of *documents*, and what pages with equal texts are compared by: see `Groups`.

    The ``first`` page with its text, and with its note, ``again``; and whether it is compared with others,
    ``alone``. Only of such a page the further keys are kept.
    """
    described = mapped(documents.select("row", "keys", "record", "wall", "note"), text_of, TEXT, settings)

    def least(*by: str) -> Column:
        return F.min("row").over(Window.partitionBy("text", "digest", *by))

    alone = F.col("fit") & (F.col("row") == least("note", "fingerprint", "site"))
    found = described.withColumns({"first": least(), "again": least("note"), "alone": alone})
    found = found.withColumn("own", F.when(F.col("alone"), F.col("own")))
    return space.keep(found, "work/firsts", alone="count_if(alone)")


def text_of(batch: pa.RecordBatch, settings: AuditOptions) -> pa.RecordBatch:
    """Return of each page what its text is equal by, and what else `TEXT` has."""
    crawl = crawl_of(batch, settings)
    documents = crawl.documents
    columns = {
        "text": signed(documents.keys[DIGEST]),
        "digest": signed(documents.records["digest"]),
        "row": batch.column("row"),
        "fit": crawl.long,
        "fingerprint": signed(documents.records["fingerprint"]),
        "site": documents.records["site"].astype(np.int64),
        "note": batch.column("note"),
        "own": documents.keys[settings.header.keys - settings.loaded_scheme.keys :].T,
    }
    return batch_of(columns, TEXT)


def candidates(found: DataFrame, count: int, space: Workspace, settings: AuditOptions) -> DataFrame:
    """Return pairs of pages that stand alone, as *found* by `firsts`: each once, the lower row first."""
    scheme = settings.loaded_scheme
    alone = found.where("alone").select("row", "fingerprint", "own")
    keys = mapped(alone, keys_held, "kind int, key long, row long", scheme)
    pairs = in_groups(keys, ["kind", "key"], count, pairs_of_keys, PAIR, scheme)
    if scheme.simhash and scheme.distance:
        sample = alone.select("fingerprint").limit(_SAMPLE).collect()  # they are in groups by a hash
        values = np.unique(unsigned(np.array([row[0] for row in sample], np.int64)))
        layout = choose_layout(values, scheme.distance, space.counted["alone"], _ENTRY)
        entry = "name int, prefix long, key long, row long"
        filed = mapped(alone.select("row", "fingerprint"), permuted, entry, layout)
        given = (near_pairs_of_tables, PAIR, layout, scheme.distance)
        pairs = pairs.unionByName(in_groups(filed, ["name", "prefix"], count, *given))
    return pairs.distinct()


def keys_held(batch: pa.RecordBatch, scheme: Scheme) -> pa.RecordBatch:
    """Return a row for the fingerprint of each page (kind 0), and for each further key (kind 1)."""
    rows = numbers(batch, "row")
    own = np.frombuffer(b"".join(texts(batch, "own")), np.uint64)
    by_print = rows if scheme.simhash else rows[:0]
    key = np.concatenate((unsigned(numbers(batch, "fingerprint"))[: len(by_print)], own))
    row = np.concatenate((by_print, np.repeat(rows, scheme.keys)))
    kind = np.repeat(np.array([0, 1], np.int32), [len(by_print), len(own)])
    held = key != NO_KEY
    columns = {"kind": kind[held], "key": signed(key[held]), "row": row[held]}
    return batch_of(columns, "kind int, key long, row long")


def pairs_of_keys(table: pa.Table, scheme: Scheme) -> pa.RecordBatch:
    """Return the pairs of pages with a key in common."""
    table = table.sort_by("row")
    kinds, keys = numbers(table, "kind"), unsigned(numbers(table, "key"))
    rows, places = np.unique(numbers(table, "row"), return_inverse=True)
    found = []
    for kind, most in enumerate((SAME, scheme.most or MOST)):
        own = kinds == kind
        found += [rows[pairs.T] for pairs in equal_keys(keys[own], places[own], most)]
    return _pairs(found)


def permuted(batch: pa.RecordBatch, layout: PermutedTables) -> pa.RecordBatch:
    """Return each page once for each table, with its fingerprint permuted and the prefix of that."""
    keys = layout.keys(unsigned(numbers(batch, "fingerprint")))
    shifts = BITS - np.array(layout.prefix_bits, np.uint64)
    columns = {
        "name": np.repeat(np.arange(len(keys), dtype=np.int32), batch.num_rows),
        "prefix": (keys >> shifts[:, np.newaxis]).ravel().astype(np.int64),
        "key": signed(keys.ravel()),
        "row": np.tile(numbers(batch, "row"), len(keys)),
    }
    return batch_of(columns, "name int, prefix long, key long, row long")


def near_pairs_of_tables(table: pa.Table, layout: PermutedTables, distance: int) -> pa.RecordBatch:
    """Return the pairs of pages whose fingerprints differ, in at most *distance* bits."""
    names, keys, rows = numbers(table, "name"), unsigned(numbers(table, "key")), numbers(table, "row")
    order = np.lexsort((rows, keys, names))
    names, keys, rows = names[order], keys[order], rows[order]
    found: list[Rows] = []
    for name in np.unique(names).tolist():
        own = np.flatnonzero(names == name)
        first = own[begins(keys[own])]
        sizes = np.diff(first, append=own[-1] + 1)
        values = layout.restore(name, keys[first])
        by_value = np.argsort(values)
        for left, right in neighbours(keys[first], layout.prefix_bits[name], distance):
            a, b = found_first(layout, name, left, right)
            ones, others = (by_value[np.searchsorted(values[by_value], each)] for each in (a, b))
            if len(a):
                found += map(np.stack, pairs_of_values(rows, first, sizes, ones, others))
    return _pairs(found)


def _pairs(found: Iterable[Rows]) -> pa.RecordBatch:
    """Return the pairs of some arrays of rows, int64[2, m] each."""
    a, b = np.sort(np.concatenate([np.empty((2, 0), np.int64), *found], axis=1), axis=0)
    return batch_of({"a": a, "b": b}, PAIR)


JUDGED = "a long, b long, kind string, distance int, similarity float, containment float"
#: The kinds of pairs, and of those of which one page repeats the other.
PAIRED, REPEATS = ("exact", "near", "part", "template"), "kind in ('exact', 'part', 'near')"
_SIDE = column_names(COMPARED)


def judged(
    firsts: DataFrame, candidates: DataFrame, documents: DataFrame, space: Workspace, settings: AuditOptions
) -> DataFrame:
    """Keep the pairs that an audit lists: `compare_all` says which.

    *firsts* are those of all pages, *candidates* pairs of those that stand alone.
    """
    kept = "explode(array_distinct(array(first, again))) a"
    copies = firsts.where("fit").selectExpr(kept, "row b", "true copy")
    pairs = candidates.selectExpr("a", "b", "false copy").unionByName(copies.where("a <> b"))
    for side in "ab":
        sides = documents.selectExpr(*(f"{name} {name}_{side}" for name in _SIDE))
        pairs = pairs.join(sides, pairs[side] == sides[f"row_{side}"])
    every = space.keep(mapped(pairs, judge_pairs, JUDGED, settings), "work/judged")
    # Of a page's template the closest ones.
    template = every.where("kind = 'template'")
    sides = template.selectExpr("a", "b", "similarity", "stack(2, a, b, b, a) as (page, other)")
    by = Window.partitionBy("page").orderBy(F.desc("similarity"), "other")
    wanted = sides.withColumn("place", F.row_number().over(by)).where(f"place <= {SIBLINGS}")
    kept = template.join(wanted.select("a", "b").distinct(), ["a", "b"], "left_semi")
    return space.keep(every.where(REPEATS).unionByName(kept), "work/pairs")


def judge_pairs(pairs: pa.RecordBatch, settings: AuditOptions) -> pa.RecordBatch:
    """Judge pairs of pages; leave out those that no audit lists."""
    # The first pages of all pairs, then the second ones.
    sides = [pairs.select([f"{name}_{side}" for name in _SIDE]).rename_columns([*_SIDE]) for side in "ab"]
    count = pairs.num_rows
    crawl = crawl_of(pa.Table.from_batches(sides), settings)
    judge = judge_of(crawl, settings, np.zeros(2 * count, bool))
    a = np.arange(count)
    compared = Compared(a, a + count, judge.either(a, a + count))
    alike = compared.judgement.template | compared.judgement.near
    listed = np.flatnonzero(alike & (numbers(pairs, "copy") | ~judge.equal(a, a + count)))
    table = pairs_table(judge, compared.take(listed))
    columns = {name: table[name] for name in ("distance", "similarity", "containment")}
    columns |= {name: numbers(pairs, name)[listed] for name in "ab"}
    return batch_of(columns | {"kind": table["kind"].tolist()}, JUDGED)
