"""What tells pages of one site apart: names and boilerplate of sites, by counting over the whole crawl.

These are the rules of `audit.names` and `audit.boilerplate`. They look at all pages of a site, so each of
their counts is made by key, and none needs the pages of a site in one place.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.audit.boilerplate import rest_of
from scrapy_neardup.audit.names import HEADS, all_words, choose_title
from scrapy_neardup.audit.packing import unpacked
from scrapy_neardup.matching.boilerplate import TITLES, widespread
from scrapy_neardup.matching.records import entries

from .columns import DOCUMENT_COLUMNS, joined, numbers, pieces, texts, unsigned
from .frames import mapped, whole_groups

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from scrapy_neardup.audit.settings import AuditOptions

    from .frames import Workspace

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
