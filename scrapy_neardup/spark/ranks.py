"""Which page of a cluster to keep: the order of `audit.canonical`, sorted by Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urldefrag

import numpy as np

from scrapy_neardup.audit.canonical import RULES
from scrapy_neardup.audit.preferences import COLUMNS, Pages, earliest
from scrapy_neardup.audit.releases import release_of
from scrapy_neardup.matching.records import DIGEST
from scrapy_neardup.matching.sites import UNKNOWN, site_key

from .columns import keys_of, numbers, pieces, records_of, texts
from .frames import mapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

    from scrapy_neardup.audit.settings import AuditOptions

    from .frames import Workspace

_COMPARED = ("row", "url", "declared", "noindex", "fetched", "keys", "record", "site")
#: What the rules look at in one page alone. A number is the less, the more a page is preferred.
FACTS = (
    "row long, url string, noindex boolean, site long, named_elsewhere int, earliest double, "
    "decoded string, length long, longest long, digest binary, https long, hosts long, urls long, "
    "release array<long>, latest double, own string, named string"
)


def ranked(
    documents: DataFrame, components: DataFrame, involved: DataFrame, space: Workspace, settings: AuditOptions
) -> DataFrame:
    """Keep the ``rank`` of each ``page`` that is *involved*: numbers in the order of preference, with gaps.

    *components* has the ``component`` of each ``row`` with an edge; all pages of a cluster have the same.
    """
    from pyspark.sql import functions as F  # noqa: N812

    pages = documents.select(*_COMPARED)
    with_edges = pages.select("row", "site").join(components, "row")
    among = mapped(pages.join(involved, "row"), facts_of, FACTS, settings)
    among = among.withColumnRenamed("row", "number")
    facts = among.join(components.withColumnRenamed("row", "number"), "number", "left")
    facts = facts.withColumn("story", F.coalesce("component", "number"))
    declared = documents.where("declared <> ''").select("declared")
    targets = mapped(declared, without_fragments, "own string").distinct()
    facts = facts.join(targets.withColumn("target", F.lit(1)), "own", "left")
    standing = F.when(F.col("named") == F.col("own"), 0).when(F.col("named") != "", 2)
    facts = facts.withColumn("declared", standing.when(F.col("target") == 1, 0).otherwise(1))
    stories = facts.groupBy("story", "site").agg(
        F.max("named_elsewhere").alias("of_other"),
        F.min("earliest").alias("first"),
        F.min(F.struct("length", "decoded", "url", "number")).alias("least"),
    )
    shares = _own_shares(with_edges, pages, components)
    facts = facts.join(stories, ["story", "site"]).join(shares, "site")
    order: list[Column] = [F.col("noindex")]
    rules = RULES if settings.rules is None else settings.rules
    for rule in rules:
        order += _columns(rule)
    if "alphabetical" not in rules:
        order += _columns("alphabetical")
    order += [F.col("earliest"), F.col("longest"), F.col("digest"), F.col("number")]
    names = [f"p{place}" for place in range(len(order))]
    sortable = facts.select("number", *(each.alias(name) for each, name in zip(order, names, strict=True)))
    return space.numbered(sortable, names, "work/ranks").selectExpr("number page", "row rank")


def _columns(rule: str) -> list[Column]:
    """Return the columns of a rule, the most significant first, that ascend from the preferred page on."""
    from pyspark.sql import functions as F  # noqa: N812

    site = [F.col("site") == UNKNOWN, F.col("of_other"), F.col("first"), -F.col("share"), F.col("least")]
    columns = {
        "site": site,
        "longest": [F.col("longest")],
        "earliest": [F.col("earliest")],
        "shortest": [F.col("length")],
        "alphabetical": [F.col("decoded"), F.col("url")],
        "latest": [F.col("release"), F.col("latest")],
    }
    return columns.get(rule, [F.col(rule)])


def _own_shares(with_edges: DataFrame, pages: DataFrame, components: DataFrame) -> DataFrame:
    """Return for each site the ``share`` of its stories that no other site has."""
    from pyspark.sql import functions as F  # noqa: N812

    stories = with_edges.select("component", "site").distinct()
    sites = stories.groupBy("component").agg(F.count("*").alias("sites"))
    shared = stories.join(sites, "component").selectExpr("site", "1 stories", "int(sites = 1) alone")
    single = pages.select("row", "site").join(components, "row", "left_anti")
    each = shared.unionByName(single.selectExpr("site", "1 stories", "1 alone"))
    return each.groupBy("site").agg((F.sum("alone") / F.sum("stories")).alias("share"))


def without_fragments(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the URLs that pages name as canonical, without their fragments."""
    import pyarrow as pa

    for batch in batches:
        own = [urldefrag(url).url for url in texts(batch, "declared")]
        yield pa.RecordBatch.from_pydict({"own": pa.array(own, pa.string())})


def facts_of(batches: Iterable[pa.RecordBatch], settings: AuditOptions) -> Iterator[pa.RecordBatch]:
    """Look at each page alone, with the columns of the rules where these are of one page."""
    import pyarrow as pa

    for batch in batches:
        header, count = settings.header, batch.num_rows
        urls, declared = texts(batch, "url"), texts(batch, "declared")
        sites, digests = numbers(batch, "site"), keys_of(batch, header)[DIGEST]
        pages = Pages(
            urls, declared, records_of(batch, header)["tokens"], numbers(batch, "fetched"), digests,
            numbers(batch, "noindex"), np.arange(count), sites,
        )  # fmt: skip
        named = np.array([site_key(url) if url else UNKNOWN for url in declared], np.int64)
        own, other = ([urldefrag(url).url if url else "" for url in each] for each in (urls, declared))
        decoded = [unquote(url) for url in urls]
        single: dict[str, Any] = {
            rule: COLUMNS[rule](pages, wished)
            for rule, wished in (("https", ()), ("hosts", settings.hosts), ("urls", settings.urls))
        }
        single = {name: found[0] if found else np.zeros(count, np.int64) for name, found in single.items()}
        releases = [release_of(url).order for url in urls]
        yield pa.RecordBatch.from_pydict(
            {
                "row": batch.column("row"),
                "url": batch.column("url"),
                "noindex": batch.column("noindex"),
                "site": batch.column("site"),
                "named_elsewhere": pa.array(((named != UNKNOWN) & (named != sites)).astype(np.int32)),
                "earliest": pa.array(earliest(pages, ())[0]),
                "decoded": pa.array(decoded, pa.string()),
                "length": pa.array([*map(len, decoded)], pa.int64()),
                "longest": pa.array(COLUMNS["longest"](pages, ())[0]),
                "digest": pa.array(pieces(digests.astype(">u8")), pa.binary()),
                **{name: pa.array(found) for name, found in single.items()},
                "release": pa.array([_descending(release) for release in releases], pa.list_(pa.int64())),
                "latest": pa.array(COLUMNS["latest"](pages, ())[1]),
                "own": pa.array(own, pa.string()),
                "named": pa.array(other, pa.string()),
            }
        )


def _descending(release: tuple[int, ...]) -> list[int]:
    """Return numbers that ascend from the newest release on, as tuples of the release descend."""
    # A tuple sorts before a longer one that it begins, so in reverse its end comes after any number.
    return [*(-number for number in release), _END]


#: More than any number of a release, negated.
_END = 1 << 62
