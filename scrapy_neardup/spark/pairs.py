"""Pairs of pages: those that share a key or have near fingerprints, and how they are judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

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
from scrapy_neardup.index.tables import BITS
from scrapy_neardup.matching.records import DIGEST

from .frames import batch_of, column_names, crawl_of, in_groups, mapped, numbers, parted, texts
from .pages import COMPARED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame

    from scrapy_neardup.audit.all_pairs import Keys
    from scrapy_neardup.audit.options import AuditOptions
    from scrapy_neardup.fingerprint import Scheme
    from scrapy_neardup.index.tables import PermutedTables

    from .frames import Rows, Workspace

PAIR = "a long, b long"
#: Fingerprints that the layout of tables is chosen by, and seconds that an entry of a table takes: it is
#: written, sent and sorted, by one core of a server of 2021. Pairs that stay together, about.
_SAMPLE, _ENTRY, _SHARE = 1 << 14, 1e-6, 1 << 12


def firsts(documents: DataFrame, space: Workspace, settings: AuditOptions) -> DataFrame:
    """Keep of *documents* the halves of the digest of each text, and what pages with equal texts differ in.

    The ``first`` page with its text, and with its note, ``again``; whether it is ``fit`` to be judged; and
    whether it is compared with others, ``alone``, see `Groups`. Only of such a page further keys are kept.
    """
    fields, further = settings.header.dtype.fields, settings.header.keys - settings.loaded_scheme.keys
    assert fields is not None
    columns = [f"substring(keys, {8 * DIGEST + 1}, 8) text", f"substring(keys, {8 * further + 1}) own"]
    for name in ("digest", "fingerprint", "site", "tokens"):
        kind, offset, *_ = fields[name]
        columns.append(f"substring(record, {offset + 1}, {kind.itemsize}) {name}")
    tokens = ", ".join(f"substring(tokens, {place}, 1)" for place in (4, 3, 2, 1))  # the least byte is first
    fit = f"coalesce(bigint(conv(hex(concat({tokens})), 16, 10)) >= {max(settings.min_tokens, 1)}, false) fit"
    least = "min(row) over (partition by text, digest"
    alone = f"fit and row = {least}, note, fingerprint, site) alone"
    found = documents.selectExpr("row", "note", *columns).selectExpr("*", fit)
    found = found.selectExpr("*", f"{least}) first", f"{least}, note) again", alone)
    own = "if(alone, own, null) own"
    found = found.selectExpr("row", "first", "again", "fit", "alone", "fingerprint", own)
    return space.keep(found, "work/firsts", alone="count_if(alone)")


def candidates(found: DataFrame, count: int, space: Workspace, settings: AuditOptions) -> DataFrame:
    """Return pairs of pages that stand alone, as *found* by `firsts`: each once, the lower row first."""
    scheme = settings.loaded_scheme
    alone = found.where("alone").select("row", "fingerprint", "own")
    held = [f"struct(1 kind, substring(own, {8 * key + 1}, 8) key)" for key in range(scheme.keys)]
    held += ["struct(0 kind, fingerprint key)"] * len(scheme.simhash)
    keys = alone.selectExpr("row", f"inline(array({', '.join(held)}))").where("key <> X'FFFFFFFFFFFFFFFF'")
    pairs = in_groups(keys, ["kind", "key"], count, pairs_of_keys, PAIR, scheme)
    if scheme.simhash and scheme.distance:
        sample = alone.select("fingerprint").limit(_SAMPLE).collect()  # they are in groups by a hash
        values = np.unique(np.frombuffer(b"".join(row[0] for row in sample), np.uint64))
        layout = choose_layout(values, scheme.distance, space.counted["alone"], _ENTRY)
        entry = "name int, prefix long, key long, row long"
        filed = mapped(alone.select("row", "fingerprint"), permuted, entry, layout)
        given = (near_pairs_of_tables, PAIR, layout, scheme.distance)
        pairs = pairs.unionByName(in_groups(filed, ["name", "prefix"], count, *given))
    return pairs.distinct()


def longs(table: pa.Table | pa.RecordBatch, name: str) -> Keys:
    """Return a column of 8 bytes each."""
    return np.frombuffer(b"".join(texts(table, name)), np.uint64)


def pairs_of_keys(table: pa.Table, scheme: Scheme) -> pa.RecordBatch:
    """Return the pairs of pages with a key in common."""
    table = table.sort_by("row")
    kinds, keys = numbers(table, "kind"), longs(table, "key")
    rows, places = np.unique(numbers(table, "row"), return_inverse=True)
    found = []
    for kind, most in enumerate((SAME, scheme.most or MOST)):
        own = kinds == kind
        found += [rows[pairs.T] for pairs in equal_keys(keys[own], places[own], most)]
    return _pairs(found)


def permuted(batch: pa.RecordBatch, layout: PermutedTables) -> pa.RecordBatch:
    """Return each page once for each table, with its fingerprint permuted and the prefix of that."""
    keys = layout.keys(longs(batch, "fingerprint"))
    shifts = BITS - np.array(layout.prefix_bits, np.uint64)
    columns = {
        "name": np.repeat(np.arange(len(keys), dtype=np.int32), batch.num_rows),
        "prefix": (keys >> shifts[:, np.newaxis]).ravel().astype(np.int64),
        "key": keys.ravel().view(np.int64),
        "row": np.tile(numbers(batch, "row"), len(keys)),
    }
    return batch_of(columns, "name int, prefix long, key long, row long")


def near_pairs_of_tables(table: pa.Table, layout: PermutedTables, distance: int) -> pa.RecordBatch:
    """Return the pairs of pages whose fingerprints differ, in at most *distance* bits."""
    names, keys, rows = numbers(table, "name"), numbers(table, "key").view(np.uint64), numbers(table, "row")
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


def judged(documents: DataFrame, count: int, space: Workspace, settings: AuditOptions) -> DataFrame:
    """Keep the pairs of *documents*, so many, that an audit lists: `compare_all` says which."""
    found = firsts(documents, space, settings)
    kept = "explode(array_distinct(array(first, again))) a"
    copies = found.where("fit").selectExpr(kept, "row b", "true copy").where("a <> b")
    every = candidates(found, count, space, settings).selectExpr("a", "b", "false copy").unionByName(copies)
    # Pages that are like one page go to one task, or some: each is sent once, not with each of its pairs.
    share = f"b % (1 + count(*) over (partition by story) div {_SHARE}) share"
    pairs = every.selectExpr("*", "min(a) over (partition by b) story").selectExpr("*", share)
    pairs = space.keep(pairs, "work/candidates")
    sides = pairs.selectExpr("explode(array(a, b)) row", "story", "share").distinct()
    pages = sides.join(documents.select(*column_names(COMPARED)), "row")
    together = pages.unionByName(pairs, allowMissingColumns=True)
    found = in_groups(together, ["story", "share"], count, judge_pairs, JUDGED, settings)
    every = space.keep(found, "work/judged")
    # Of a page's template the closest ones.
    template = every.where("kind = 'template'")
    sides = template.selectExpr("a", "b", "similarity", "stack(2, a, b, b, a) as (page, other)")
    place = "row_number() over (partition by page order by similarity desc, other) place"
    wanted = sides.selectExpr("a", "b", place).where(f"place <= {SIBLINGS}")
    kept = template.join(wanted.select("a", "b").distinct(), ["a", "b"], "left_semi")
    return space.keep(every.where(REPEATS).unionByName(kept), "work/pairs")


def judge_pairs(table: pa.Table, settings: AuditOptions) -> pa.RecordBatch:
    """Judge the pairs of pages in a table that has their pages, too; leave out those that no audit lists."""
    pages, pairs, sides = parted(table)
    crawl = crawl_of(pages, settings)
    judge = judge_of(crawl, settings, np.zeros(len(crawl), bool))
    sides = sides[:, numbers(pairs, "copy") | (~judge.equal(*sides) & judge.likely(*sides))]
    compared = Compared(sides[0], sides[1], judge.either(*sides)).listed()
    rows, found = numbers(pages, "row"), pairs_table(judge, compared)
    columns = {name: found[name] for name in ("distance", "similarity", "containment")}
    columns |= {"a": rows[compared.a], "b": rows[compared.b], "kind": found["kind"].tolist()}
    return batch_of(columns, JUDGED)
