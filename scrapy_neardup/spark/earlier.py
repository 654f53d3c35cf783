"""New pages that repeat one of an earlier audit: of all earlier pages only the keys are read."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scrapy_neardup.audit.output.files import is_plain, name_of, only_numbers_differ
from scrapy_neardup.index import Documents
from scrapy_neardup.index.search import look_up, sort_entries
from scrapy_neardup.index.stores import open_index
from scrapy_neardup.matching.items import ItemNotes, RepeatedItems, unpack
from scrapy_neardup.matching.matcher import NEAREST, decide
from scrapy_neardup.matching.records import filed_url

from .clusters import GROUPED
from .frames import batch_of, in_groups, keys_of, mapped, numbers, records_of, texts
from .pages import PAGE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from scrapy_neardup.audit.options import AuditOptions

    from .frames import Kernel, Workspace

#: What an audit leaves of each page that stays and can be judged, under that name.
FILED, COLUMNS = "filed.parquet", ("id", "url", "fetched", "keys", "record", "note")
#: Of so many pages Parquet is asked where they are; for more all are read.
FEW = 1 << 9
_SHOWN = "title", "noindex", "nullif(declared, '') declared", "nullif(alternates, '') hreflang", "true is_new"
_FOUND = "verdict", "canonical", "distance", "similarity", "drop"


def filed_of(table: pa.Table | pa.RecordBatch, settings: AuditOptions) -> Documents:
    """Return pages as an index holds them."""
    keys, records = keys_of(table, settings.header), records_of(table, settings.header)
    records["time"] = np.clip(np.nan_to_num(numbers(table, "fetched")), 0, 2**32 - 1)
    return Documents(keys, records, [*map(filed_url, texts(table, "url"))], texts(table, "note"))


def repeating(signed: DataFrame, folders: list[str], space: Workspace, settings: AuditOptions) -> DataFrame:
    """Keep those *signed* pages that repeat one that audits in *folders* have filed, as `filter` tells.

    One task judges them. Each task that reads earlier keys has those of the new pages: 90 bytes each.
    """
    new = signed.where(f"{PAGE} and record is not null and not wall").selectExpr(*COLUMNS, *_SHOWN)
    filed = space.spark.read.parquet(*(f"{folder}/{FILED}" for folder in folders))
    # Of a crowd as many are enough as show that it is one.
    place = "row_number() over (partition by kind, key order by id) place"
    met = mapped(filed.select("id", "keys"), meeting(new, settings), "kind int, key long, id long")
    met = met.selectExpr("*", place).where(f"place <= {NEAREST + 1}").select("id").distinct()
    met = space.keep(met, "work/met")
    some = [row[0] for row in met.limit(FEW + 1).collect()]
    # Two audits may have given a number twice. A page more that is not alike is no page that is found.
    filed = filed.where(filed["id"].isin(some)) if len(some) <= FEW else filed.join(met, "id")
    together = new.unionByName(filed, allowMissingColumns=True).repartition(1)
    return space.keep(in_groups(together, [], 0, judge, GROUPED, settings), "work/repeats")


def meeting(new: DataFrame, settings: AuditOptions) -> Kernel:
    """Return what tells which pages the lookups of one of the *new* pages find, and by which keys."""
    header, searches = settings.header, list[Any]()
    keys = keys_of(new.select("keys").toArrow(), header)
    for lookup in settings.matcher.lookups:
        family = header.families[lookup.family]
        for key in range(header.keys)[header.rows[lookup.family]]:
            own = keys[key, family.has(keys[key])]
            tables = [sort_entries(each, np.zeros(len(own), np.uint32)) for each in family.tables.keys(own)]
            searches.append((key, lookup.distance, family.tables, tables))

    def met(batch: pa.RecordBatch) -> pa.RecordBatch:
        found = np.zeros_like(own := keys_of(batch, header), bool)
        for key, distance, layout, tables in searches:
            for entries, probes, bits in zip(tables, layout.keys(own[key]), layout.prefix_bits, strict=True):
                for rows, *_ in look_up(entries, probes, probes, bits, distance, 1 << 20):
                    found[key, rows] = True
        kinds, rows = np.nonzero(found)
        columns = {"kind": kinds, "key": own[kinds, rows].view(np.int64), "id": numbers(batch, "id")[rows]}
        return batch_of(columns, "kind int, key long, id long")

    return met


def judge(table: pa.Table, settings: AuditOptions) -> pa.RecordBatch:
    """Return `GROUPED` of the new pages in a table that repeat one of the others."""
    is_new, matcher = table.column("is_new").is_valid(), settings.matcher
    stored, table = table.filter(pc.invert(is_new)), table.filter(is_new)
    notes, found = ItemNotes(), dict[int, tuple[Any, ...]]()
    pages, urls = filed_of(table, settings), texts(table, "url")
    with closing(open_index(None, settings.header)) as index:
        index.add(filed_of(stored, settings))
        for row in np.flatnonzero(pages.records["tokens"] >= max(settings.min_tokens, 1)).tolist():
            page = pages.take(slice(row, row + 1))
            candidates = matcher.candidates(page, index.find(page, matcher.lookups))
            kind, best, _, _, _, _, unchanged = decide(candidates)
            if best is None or not (kind in ("exact", "near") or unchanged):
                continue
            match, similarity = candidates.found.stored.urls[best], candidates.judgement.similarity[best]
            (items, _), others = unpack(page.notes[0]), RepeatedItems(notes, candidates.repeated(best))
            differs = bool(items) and others.find(items[0], several=False) == "differs"
            if differs or similarity < np.float32(settings.min_similarity):
                continue
            # A name stays if an earlier page has it. Of a series a text would have to be read.
            alike = similarity >= np.float32(settings.drop_similarity)
            drop = kind == "exact" or (kind == "near" and alike and not only_numbers_differ(urls[row], match))
            drop &= is_plain(urls[row]) and not candidates.own.any()
            found[row] = kind, match, candidates.judgement.distance[best], similarity, drop
    table, names = table.take(np.array([*found], np.int64)), [name_of(urls[row]) for row in found]
    columns = dict[str, Any](zip(table.schema.names, table.columns, strict=True)) | {"name": names}
    columns |= dict(zip(_FOUND, zip(*found.values(), strict=True), strict=False))
    return batch_of(columns | {"tokens": pages.records["tokens"][[*found]]}, GROUPED)
