"""Pairs of pages that the scheme may take for candidates: pages that share a key, and near fingerprints.

The rules that bound a flood of like pages are those of `audit.pairs`. They name the first page of a
group, by row, so it makes no difference where its members are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.audit.clustering import MARGIN, judge_of, pairs_table
from scrapy_neardup.audit.pairs import (
    MOST,
    REJECTED,
    SAME,
    SIBLINGS,
    Compared,
    Groups,
    choose_layout,
    equal_keys,
    found_first,
    neighbours,
    pairs_of_values,
)
from scrapy_neardup.index import Documents
from scrapy_neardup.index.tables import BITS, NO_KEY
from scrapy_neardup.matching.records import DIGEST

from .frames import (
    DOCUMENT_COLUMNS,
    PART,
    crawl_of,
    joined,
    keys_of,
    mapped,
    merged_names,
    names_of,
    numbers,
    pieces,
    records_of,
    schema_of,
    signed,
    texts,
    unsigned,
    whole_groups,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

    from scrapy_neardup.audit.settings import AuditOptions
    from scrapy_neardup.fingerprint import Scheme
    from scrapy_neardup.index.tables import PermutedTables

    from .frames import Workspace

    Rows = NDArray[np.int64]

#: Of a page: the first page with its text, and with its note, too; whether it can be judged, and whether it
#: stands for all that any comparison finds alike. Of the latter the fingerprint and the further keys.
FIRSTS = "row long, first long, again long, fit boolean, alone boolean, fingerprint long, own binary"
PAIR = "a long, b long"
#: Of a page: the halves of the digest of its text, and what `FIRSTS` have, for each page the further keys.
TEXT = "text long, digest long, row long, fit boolean, fingerprint long, site long, note binary, own binary"
#: Fingerprints that the layout of tables is chosen by, and seconds that an entry of a table takes: it is
#: written, sent and sorted, by one core of a server of 2021.
_SAMPLE, _ENTRY = 1 << 14, 1e-6
#: A fingerprint goes with so many of its pages: no rule asks for more.
_MEMBERS = SAME * SAME


def firsts(documents: DataFrame, space: Workspace, settings: AuditOptions) -> DataFrame:
    """Keep `FIRSTS` of all *documents*."""
    described = mapped(documents.select("row", "keys", "record", "wall", "note"), text_of, TEXT, settings)
    ordered = space.grouped(described, ["text", "digest"], ["row"])
    return space.keep(mapped(ordered, find_firsts, FIRSTS), "work/firsts")


def text_of(batches: Iterable[pa.RecordBatch], settings: AuditOptions) -> Iterator[pa.RecordBatch]:
    """Yield of each page what its text is equal by, and what else `FIRSTS` say."""
    import pyarrow as pa

    header, further = settings.header, settings.loaded_scheme.keys
    for batch in batches:
        documents = Documents(keys_of(batch, header), records_of(batch, header), [], [])
        crawl = crawl_of(documents, numbers(batch, "wall"), None, settings)
        count = batch.num_rows
        own = pieces(documents.keys[header.keys - further :].T) if further else [b""] * count
        columns = (
            signed(documents.keys[DIGEST]),
            signed(documents.records["digest"]),
            numbers(batch, "row"),
            crawl.long & ~crawl.wall,
            signed(documents.records["fingerprint"]),
            documents.records["site"].astype(np.int64),
            batch.column("note"),
            own,
        )
        schema = schema_of(TEXT)
        arrays = [
            each.cast(kind) if isinstance(each, pa.Array) else pa.array(each, kind)
            for each, kind in zip(columns, schema.types, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def find_firsts(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Find equal texts among pages that come in the order of their texts, then their rows."""
    import pyarrow as pa

    for table in whole_groups(batches, ["text", "digest"]):
        text, digest, rows, fingerprints, sites = (
            numbers(table, name) for name in ("text", "digest", "row", "fingerprint", "site")
        )
        groups = Groups.of_texts((text, digest), texts(table, "note"), fingerprints, sites)
        fit = table.column("fit").combine_chunks()
        alone = numbers(table, "fit") & (groups.alike == np.arange(len(rows)))
        held = pa.array(np.where(alone, np.arange(len(rows)), 0), mask=~alone)
        columns = {
            "row": table.column("row").combine_chunks(),
            "first": pa.array(rows[groups.same_text]),
            "again": pa.array(rows[groups.same_note]),
            "fit": fit,
            "alone": pa.array(alone),
            "fingerprint": table.column("fingerprint").combine_chunks(),
            "own": table.column("own").combine_chunks().take(held),
        }
        yield pa.RecordBatch.from_pydict(columns, schema_of(FIRSTS))


def candidates(found: DataFrame, space: Workspace, settings: AuditOptions) -> DataFrame:
    """Return pairs of pages that stand alone among *found*, `FIRSTS`: each once, the lower row first."""
    scheme = settings.loaded_scheme
    alone = found.where("alone").select("row", "fingerprint", "own")
    keys = mapped(alone, keys_held, "kind int, key long, row long", scheme)
    pairs = mapped(space.grouped(keys, ["kind", "key"], ["row"]), pairs_of_keys, PAIR, scheme)
    if scheme.simhash and scheme.distance:
        values = mapped(
            space.grouped(alone.select("fingerprint", "row"), ["fingerprint"], ["row"]),
            members_of,
            "fingerprint long, size long, members binary",
        )
        values = space.keep(values, "work/fingerprints")
        layout = layout_for(values, scheme.distance)
        filed = mapped(values, permuted, "name int, prefix long, key long, size long, members binary", layout)
        near = mapped(
            space.grouped(filed, ["name", "prefix"]), near_pairs_of_tables, PAIR, layout, scheme.distance
        )
        pairs = pairs.unionByName(near)
    return pairs.distinct()


def keys_held(batches: Iterable[pa.RecordBatch], scheme: Scheme) -> Iterator[pa.RecordBatch]:
    """Yield a row for the fingerprint of each page (kind 0), and for each further key (kind 1)."""
    import pyarrow as pa

    for batch in batches:
        rows = numbers(batch, "row")
        kinds = [np.zeros(len(rows) * bool(scheme.simhash), np.int32)]
        keys = [unsigned(numbers(batch, "fingerprint"))] * bool(scheme.simhash)
        pages = [rows] * bool(scheme.simhash)
        if scheme.keys:
            own = np.frombuffer(joined(batch, "own"), np.uint64)
            kinds.append(np.ones(len(own), np.int32))
            keys.append(own)
            pages.append(np.repeat(rows, scheme.keys))
        key = np.concatenate(keys)
        held = key != NO_KEY
        yield pa.RecordBatch.from_pydict(
            {
                "kind": pa.array(np.concatenate(kinds)[held]),
                "key": pa.array(signed(key[held])),
                "row": pa.array(np.concatenate(pages)[held]),
            }
        )


def pairs_of_keys(batches: Iterable[pa.RecordBatch], scheme: Scheme) -> Iterator[pa.RecordBatch]:
    """Yield the pairs of pages with a key in common; pages come in the order of their keys."""
    for table in whole_groups(batches, ["kind", "key"]):
        kinds, keys = numbers(table, "kind"), unsigned(numbers(table, "key"))
        rows, places = np.unique(numbers(table, "row"), return_inverse=True)
        for kind, most in enumerate((SAME, scheme.most or MOST)):
            own = kinds == kind
            for pairs in equal_keys(keys[own], places[own], most):
                yield _batch(rows[pairs[:, 0]], rows[pairs[:, 1]])


def members_of(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield each fingerprint with the number of its pages and the first ones of them."""
    import pyarrow as pa

    for table in whole_groups(batches, ["fingerprint"]):
        values, rows = numbers(table, "fingerprint"), numbers(table, "row")
        starts = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
        sizes = np.diff(starts, append=len(values))
        members = [
            rows[start : start + min(size, _MEMBERS)].tobytes()
            for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)
        ]
        yield pa.RecordBatch.from_pydict(
            {
                "fingerprint": pa.array(values[starts]),
                "size": pa.array(sizes.astype(np.int64)),
                "members": pa.array(members, pa.binary()),
            }
        )


def layout_for(values: DataFrame, distance: int) -> PermutedTables:
    """Choose the tables for *values*, different fingerprints, by how many they are and a sample of them."""
    count = values.count()
    sample = values.select("fingerprint")
    if count > _SAMPLE:
        sample = sample.sample(min(1.5 * _SAMPLE / count, 1.0), 0).limit(_SAMPLE)
    found = np.array([row[0] for row in sample.collect()], np.int64)
    return choose_layout(np.unique(unsigned(found)), distance, count, _ENTRY)


def permuted(batches: Iterable[pa.RecordBatch], layout: PermutedTables) -> Iterator[pa.RecordBatch]:
    """Yield each fingerprint once for each table, permuted, with the prefix that it is looked up by."""
    import pyarrow as pa

    for batch in batches:
        if not batch.num_rows:
            continue
        every = layout.keys(unsigned(numbers(batch, "fingerprint")))
        for table, (keys, bits) in enumerate(zip(every, layout.prefix_bits, strict=True)):
            yield pa.RecordBatch.from_pydict(
                {
                    "name": pa.array(np.full(len(keys), table, np.int32)),
                    "prefix": pa.array((keys >> np.uint64(BITS - bits)).astype(np.int64)),
                    "key": pa.array(signed(keys)),
                    "size": batch.column("size"),
                    "members": batch.column("members"),
                }
            )


def near_pairs_of_tables(
    batches: Iterable[pa.RecordBatch], layout: PermutedTables, distance: int
) -> Iterator[pa.RecordBatch]:
    """Yield the pairs of pages whose fingerprints differ, in at most *distance* bits."""
    for table in whole_groups(batches, ["name", "prefix"]):
        names, keys = numbers(table, "name"), unsigned(numbers(table, "key"))
        sizes = numbers(table, "size")
        held = np.minimum(sizes, _MEMBERS)
        starts = np.cumsum(held) - held
        members = np.frombuffer(joined(table, "members"), np.int64)
        for name in np.unique(names).tolist():
            own = np.flatnonzero(names == name)
            own = own[np.argsort(keys[own])]
            values = layout.restore(name, keys[own])
            order = np.argsort(values)
            values, own_by_value = values[order], own[order]
            for left, right in neighbours(keys[own], layout.prefix_bits[name], distance):
                a, b = found_first(layout, name, left, right)
                if not len(a):
                    continue
                ones, others = (own_by_value[np.searchsorted(values, each)] for each in (a, b))
                yield from _of_values(members, starts, sizes, ones, others)


def _of_values(
    members: Rows, starts: Rows, sizes: Rows, ones: Rows, others: Rows
) -> Iterator[pa.RecordBatch]:
    for a, b in pairs_of_values(members, starts, sizes, ones, others):
        yield _batch(a, b)


def _batch(a: Rows, b: Rows) -> pa.RecordBatch:
    import pyarrow as pa

    return pa.RecordBatch.from_pydict({"a": pa.array(np.minimum(a, b)), "b": pa.array(np.maximum(a, b))})


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
