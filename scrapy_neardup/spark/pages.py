"""The pages of a crawl in an order that does not depend on the run, with names and without boilerplate.

These are the rules of `audit.crawl`, `audit.names` and `audit.boilerplate`. They look at all pages of a site,
so each of their counts is made by key, and none needs the pages of a site in one place.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.audit.boilerplate import rest_of
from scrapy_neardup.audit.names import HEADS, UNIQUE, all_words, choose_title, codes_of, without_codes
from scrapy_neardup.audit.signing import unpacked
from scrapy_neardup.audit.urls import place_of
from scrapy_neardup.matching.boilerplate import TITLES, widespread
from scrapy_neardup.matching.records import DIGEST, entries
from scrapy_neardup.matching.sites import site_key

from .frames import (
    DOCUMENT_COLUMNS,
    column_names,
    joined,
    keys_of,
    mapped,
    numbers,
    pieces,
    records_of,
    schema_of,
    texts,
    unsigned,
    whole_groups,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from scrapy_neardup.audit.settings import AuditOptions

    from .frames import Workspace

_IS_REVISIT = "refers_digest is not null or refers_url is not null"
#: What tells the older of two pages.
_AGE = "struct(time, url, keys, id)"


def resolved(pages: DataFrame, space: Workspace, settings: AuditOptions) -> tuple[DataFrame, int]:
    """Return *pages* with each revisit as a copy of what it refers to, under its own URL and time.

    The ``id`` of the copy is that of the page, so that its text is found. Returned besides: how many revisits
    refer to none of *pages*.
    """
    from pyspark.sql import functions as F  # noqa: N812

    revisits = pages.where(_IS_REVISIT)
    if revisits.isEmpty():
        return pages, 0
    others = pages.where(f"not ({_IS_REVISIT})")
    known = others.selectExpr(
        "body_digest", "substring_index(url, '#', 1) filed",
        "coalesce(nanvl(fetched, 0), 0) time", "url", "keys", "id",
    )  # fmt: skip
    own = revisits.selectExpr(
        "id own", "refers_digest", "substring_index(coalesce(refers_url, ''), '#', 1) filed",
        "nanvl(fetched, cast(null as double)) at",
    )  # fmt: skip
    by_digest = known.groupBy("body_digest").agg(F.expr(f"min({_AGE}).id same"))
    found = own.join(by_digest, own["refers_digest"] == by_digest["body_digest"], "left")
    found = found.select("own", "filed", "at", "same")
    of_url = found.where("same is null").join(known, "filed").groupBy("own")
    of_url = of_url.agg(
        F.expr(f"max({_AGE}) filter (where at is null or time <= at).id last"),
        F.expr(f"min({_AGE}).id first"),
    )
    targets = found.select("own", "same").join(of_url, "own", "left")
    targets = targets.selectExpr("own", "coalesce(same, last, first) target")
    targets = space.keep(targets, "work/revisits")
    moved = revisits.selectExpr("id own", "url own_url", "fetched own_fetched").join(targets, "own")
    moved = moved.join(others, moved["target"] == others["id"])
    moved = moved.withColumns({"url": F.col("own_url"), "fetched": F.col("own_fetched")})
    moved = mapped(moved.select(*pages.columns), under_own_site, _schema_of(pages), settings)
    return others.unionByName(moved), targets.where("target is null").count()


def under_own_site(batches: Iterable[pa.RecordBatch], settings: AuditOptions) -> Iterator[pa.RecordBatch]:
    """Give pages with a signature the site of their URL."""
    import pyarrow as pa

    for batch in batches:
        signed = np.flatnonzero(batch.column("record").is_valid().to_numpy(zero_copy_only=False))
        values, urls = texts(batch, "record"), texts(batch, "url")
        for row in signed.tolist():
            record = np.frombuffer(bytearray(values[row]), settings.header.dtype)
            record["site"] = site_key(urls[row])
            values[row] = record.tobytes()
        place = batch.schema.get_field_index("record")
        yield batch.set_column(place, "record", pa.array(values, pa.binary()))


def _schema_of(frame: DataFrame) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in frame.dtypes)


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


#: The names of pages, and the title to sign in place of their own.
NAMES = (
    "row long, site long, own string, head string, common array<string>, page string, rare boolean, "
    "instead string"
)
_SHOWN = ("url", "title", "declared", "alternates", "noindex", "fetched", "id", "site")


def named(pages: DataFrame, texts_read: DataFrame, space: Workspace, settings: AuditOptions) -> DataFrame:
    """Keep the pages as they are compared: with names, and signatures without the boilerplate of sites.

    *texts_read* has the packed ``text`` of each ``id``.
    """
    from pyspark.sql import functions as F  # noqa: N812

    titles = pages.select("site", "title").distinct()
    enough = titles.groupBy("site").count().where(f"count >= {TITLES}").selectExpr("site", "true enough")
    known = titles.where("title <> ''").join(enough, "site").select("site", "title")
    of_site = common_words(known, ["site"]).withColumnRenamed("words", "of_site")
    releases = pages.where("folder <> '' and title <> ''").select("site", "folder", "title").distinct()
    of_release = _of_releases(common_words(releases, ["site", "folder"]))
    sections = pages.groupBy("site", "title").count().where(f"count >= {TITLES}")
    sections = sections.selectExpr("site", "title", "true section")
    facts = (
        pages.select("row", "site", "folder", "page", "title", "headline")
        .join(enough, "site", "left")
        .join(of_site, "site", "left")
        .join(of_release, ["site", "folder"], "left")
        .join(sections, ["site", "title"], "left")
    )
    names = space.keep(mapped(facts, choose_names, NAMES), "work/names")
    paragraphs = pages.where("length(paragraphs) > 0").join(enough, "site")
    spread = mapped(
        paragraphs.select("row", "site", "title", "paragraphs"),
        paragraphs_of,
        "row long, site long, key long, title binary",
    )
    repeated = mapped(space.grouped(spread, ["site", "key"]), find_repeated, "row long, key long")
    left_out = repeated.groupBy("row").agg(F.collect_list("key").alias("left_out"))
    changed = names.where("instead is not null").select("row", "instead").join(left_out, "row", "full")
    changed = space.keep(changed, "work/changed")
    heads = names.select("site", "own", "head").distinct().groupBy("site", "own").count()
    general = heads.where(f"count >= {HEADS}").selectExpr("site", "own", "true general")
    documents = pages.join(names.drop("site"), "row").drop(pages["page"])
    documents = documents.join(general, ["site", "own"], "left")
    documents = documents.withColumn("general", F.coalesce("general", F.lit(False)))
    if not changed.isEmpty():
        own = pages.select("row", "id", "url", "site").join(changed, "row")
        signed_anew = mapped(
            own.join(texts_read, "id").drop("id"),
            sign_rest,
            "row long, new_keys binary, new_record binary, new_wall boolean",
            settings,
        )
        documents = documents.join(signed_anew, "row", "left")
        for name in ("keys", "record", "wall"):
            documents = documents.withColumn(name, F.coalesce(f"new_{name}", name))
    kept = space.keep(documents.select(*DOCUMENT_COLUMNS, *_SHOWN), "work/documents")
    for name in ("names", "changed"):
        space.remove(f"work/{name}")
    return kept


def common_words(titles: DataFrame, group: Sequence[str]) -> DataFrame:
    """Return the ``words`` in more than half of the different *titles* of each group that has enough.

    Those of a group without any are an empty list.
    """
    from pyspark.sql import functions as F  # noqa: N812

    sizes = titles.groupBy(*group).agg(F.count("*").alias("size")).where(f"size >= {TITLES}")
    schema = ", ".join(f"{name} {'long' if name == 'site' else 'string'}" for name in group) + ", word string"
    words = mapped(titles.join(sizes, [*group]).select(*group, "title"), words_of, schema, tuple(group))
    counts = words.groupBy(*group, "word").agg(F.count("*").alias("count"))
    often = counts.join(sizes, [*group]).where("2 * count > size")
    lists = often.groupBy(*group).agg(F.collect_list("word").alias("words"))
    return sizes.join(lists, [*group], "left").select(*group, F.coalesce("words", F.array()).alias("words"))


def _of_releases(releases: DataFrame) -> DataFrame:
    """Return the words ``of_release`` without those that all releases of a site have."""
    from pyspark.sql import functions as F  # noqa: N812

    counts = releases.groupBy("site").agg(F.count("*").alias("releases"))
    each = releases.select("site", F.explode("words").alias("word")).groupBy("site", "word").count()
    everywhere = each.join(counts, "site").where("count = releases").groupBy("site")
    found = releases.join(everywhere.agg(F.collect_list("word").alias("everywhere")), "site", "left")
    words = F.array_except("words", F.coalesce("everywhere", F.array()))
    return found.select("site", "folder", words.alias("of_release"))


def words_of(batches: Iterable[pa.RecordBatch], group: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """Yield a row for each different word of each title."""
    import pyarrow as pa

    for batch in batches:
        words = [[*all_words(title)] for title in texts(batch, "title")]
        places = pa.array(np.repeat(np.arange(len(words)), [*map(len, words)]))
        columns = {name: batch.column(name).take(places) for name in group}
        columns["word"] = pa.array([word for each in words for word in each], pa.string())
        yield pa.RecordBatch.from_pydict(columns)


def choose_names(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Name pages as `name_pages` does, of what is known of their sites and releases."""
    import pyarrow as pa

    for batch in batches:
        own, common, instead = [], [], []
        for row in batch.select(["title", "headline", "enough", "of_site", "of_release"]).to_pylist():
            title = (row["headline"] or "") if row["enough"] else ""
            of_site, of_release = (frozenset(row[name] or ()) for name in ("of_site", "of_release"))
            chosen, shown = choose_title(row["title"], title, of_site, of_release)
            own.append(chosen)
            words = of_site | of_release
            common.append([*(words & (all_words(chosen) | all_words(row["title"])))] if words else [])
            instead.append(shown if shown != title else None)
        yield pa.RecordBatch.from_pydict(
            {
                "row": batch.column("row"),
                "site": batch.column("site"),
                "own": pa.array(own, pa.string()),
                "head": batch.column("title"),
                "common": pa.array(common, pa.list_(pa.string())),
                "page": batch.column("page"),
                "rare": pa.array([not section for section in texts(batch, "section")], pa.bool_()),
                "instead": pa.array(instead, pa.string()),
            }
        )


def paragraphs_of(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield a row for each long paragraph of each page."""
    import pyarrow as pa

    for batch in batches:
        keys = np.frombuffer(joined(batch, "paragraphs"), np.int64)
        counts = [len(own) // 8 for own in texts(batch, "paragraphs")]
        places = pa.array(np.repeat(np.arange(len(counts)), counts))
        titles = [_title_key(title) for title in texts(batch, "title")]
        yield pa.RecordBatch.from_pydict(
            {
                "row": batch.column("row").take(places),
                "site": batch.column("site").take(places),
                "key": pa.array(keys),
                "title": pa.array(titles, pa.binary()).take(places),
            }
        )


def _title_key(title: str) -> bytes:
    return blake2b(title.encode(), digest_size=16).digest()


def find_repeated(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the paragraphs that are boilerplate of their site."""
    import pyarrow as pa

    for table in whole_groups(batches, ["site", "key"]):
        titles = np.frombuffer(joined(table, "title"), "V16")
        _, which = np.unique(titles, return_inverse=True)
        keys = numbers(table, "key")
        found = widespread(numbers(table, "site"), unsigned(keys), which.reshape(-1))
        yield pa.RecordBatch.from_pydict(
            {"row": pa.array(numbers(table, "row")[found]), "key": pa.array(keys[found])}
        )


def sign_rest(batches: Iterable[pa.RecordBatch], settings: AuditOptions) -> Iterator[pa.RecordBatch]:
    """Sign what is left of texts without boilerplate, under the titles that are compared."""
    import pyarrow as pa

    fingerprinter, header = settings.fingerprinter, settings.header
    for batch in batches:
        rest = []
        columns = (texts(batch, name) for name in ("text", "left_out", "instead"))
        for packed, left_out, instead in zip(*columns, strict=True):
            text = unpacked(packed)
            keys = unsigned(np.array(left_out or (), np.int64)).tolist()
            rest.append(rest_of(text, {*keys}, text.title if instead is None else instead))
        signatures = [*fingerprinter.signatures(rest)]
        documents = entries(signatures, texts(batch, "url"), header)
        records = documents.records.copy()
        records["site"] = numbers(batch, "site")
        yield pa.RecordBatch.from_pydict(
            {
                "row": batch.column("row"),
                "new_keys": pa.array(pieces(documents.keys.T), pa.binary()),
                "new_record": pa.array(pieces(records), pa.binary()),
                "new_wall": pa.array([signature.wall for signature in signatures], pa.bool_()),
            }
        )
