"""The pages of a crawl in an order that does not depend on the run, each with a number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.audit.names import place_of
from scrapy_neardup.audit.notes import UNIQUE, codes_of, without_codes
from scrapy_neardup.matching.records import DIGEST

from .columns import column_names, keys_of, pieces, records_of, schema_of, texts
from .frames import mapped
from .revisits import resolved

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from scrapy_neardup.audit.settings import AuditOptions

    from .frames import Workspace

#: What is kept of a page when its place is known; the text stays with what was read.
PAGES = (
    "id long, url string, title string, declared string, alternates string, noindex boolean, fetched double, "
    "keys binary, record binary, wall boolean, headline string, paragraphs binary, note binary, site long, "
    "folder string, page string, first binary"
)
_KEPT = column_names(PAGES)[:13]
#: The order of `audit.crawl`: what is the same in all of these is the same page.
_ORDER = ("url", "first", "fetched", "title", "declared", "noindex", "alternates", "record", "note")


def in_order(signed: DataFrame, space: Workspace, settings: AuditOptions) -> tuple[DataFrame, dict[str, int]]:
    """Keep the pages among what was *signed*, each with its number ``row`` in the order of URLs.

    Returned besides: how many are left out, by reason.
    """
    pages, elsewhere = resolved(signed.where("kind = 'page'"), space, settings)
    left_out = {"revisit_of_another_crawl": elsewhere} if elsewhere else {}
    pages = pages.where("reason is null or reason = 'no_text'")
    if settings.indexable_only:
        indexable = "not noindex and declared in ('', substring_index(url, '#', 1))"
        if count := pages.where(f"not ({indexable})").count():
            left_out["not_indexable"] = count
        pages = pages.where(indexable)
    described = _with_telling_notes(mapped(pages.select(*_KEPT), describe, PAGES, settings))
    return space.numbered(described, _ORDER, "work/pages"), left_out


def _with_telling_notes(pages: DataFrame) -> DataFrame:
    """Return *pages* with the notes that `telling_notes` makes, by counting codes over the whole crawl."""
    from pyspark.sql import functions as F  # noqa: N812

    noted = pages.where("length(note) > 0").select("site", "url", "note")
    if noted.isEmpty():
        return pages
    counts = mapped(noted, codes_in, "site long, key long, url string, value binary").groupBy("site", "key")
    counts = counts.agg(
        F.count_distinct("url", "value").alias("pages"), F.count_distinct("value").alias("values")
    )
    idle = counts.where(f"pages = values and pages >= {UNIQUE}")
    idle = idle.groupBy("site").agg(F.collect_list("key").alias("idle"))
    return mapped(
        pages.join(idle, "site", "left").select(*column_names(PAGES), "idle"), leave_codes_out, PAGES
    )


def codes_in(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield a row for each code in the note of each page."""
    import pyarrow as pa

    for batch in batches:
        columns = (texts(batch, name) for name in ("site", "url", "note"))
        rows = [
            {"site": site, "key": key, "url": url, "value": value}
            for site, url, note in zip(*columns, strict=True)
            for key, value in codes_of(note)
        ]
        yield pa.RecordBatch.from_pylist(rows, schema_of("site long, key long, url string, value binary"))


def leave_codes_out(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Leave the codes that are idle out of notes."""
    import pyarrow as pa

    for batch in batches:
        pairs = zip(texts(batch, "note"), texts(batch, "idle"), strict=True)
        notes = [without_codes(note, idle or ()) for note, idle in pairs]
        place = batch.schema.get_field_index("note")
        changed = batch.set_column(place, "note", pa.array(notes, pa.binary()))
        yield changed.select([*column_names(PAGES)])


def describe(batches: Iterable[pa.RecordBatch], settings: AuditOptions) -> Iterator[pa.RecordBatch]:
    """Add what pages are sorted and grouped by: their site, release, digest and fingerprint."""
    import pyarrow as pa

    header = settings.header
    blank_keys, blank_record = bytes(8 * header.keys), bytes(header.dtype.itemsize)
    for batch in batches:
        columns: dict[str, Any] = {name: batch.column(name) for name in _KEPT}
        for name, blank in (("keys", blank_keys), ("record", blank_record)):
            columns[name] = pa.array([value or blank for value in texts(batch, name)], pa.binary())
        columns["fetched"] = pa.array([np.nan if time is None else time for time in texts(batch, "fetched")])
        table = pa.RecordBatch.from_pydict(columns)
        keys, records = keys_of(table, header), records_of(table, header)
        first = np.stack((keys[DIGEST], records["digest"], records["fingerprint"]), axis=1).astype(">u8")
        places = [place_of(url) for url in texts(batch, "url")]
        columns |= {
            "site": pa.array(records["site"].astype(np.int64)),
            "folder": pa.array([folder for folder, _ in places], pa.string()),
            "page": pa.array([page for _, page in places], pa.string()),
            "first": pa.array(pieces(first), pa.binary()),
        }
        yield pa.RecordBatch.from_pydict(columns)
