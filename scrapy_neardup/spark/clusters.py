"""Components of pages, their order of preference, and clusters, each component by the audit's own code.

The components of a graph of pairs that no machine holds are found in few rounds, after Kiveris, Lattanzi,
Mirrokni, Rastogi and Vassilvitskii, "Connected Components in MapReduce and Beyond" (SoCC 2014): every round
hangs the larger neighbours of each page, then the smaller ones, on the least of them. A graph of n pages
becomes stars in O(log² n) rounds; of real crawls, whose components are small, in a few.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urldefrag

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from scrapy_neardup.audit.canonical import Pages
from scrapy_neardup.audit.canonical import facts_of as columns_of
from scrapy_neardup.audit.clustering import group_pages, judge_of
from scrapy_neardup.audit.components import components
from scrapy_neardup.audit.urls import split_url
from scrapy_neardup.matching.records import DIGEST
from scrapy_neardup.matching.sites import UNKNOWN, site_key

from .frames import (
    batch_of,
    crawl_of,
    grouped,
    keys_of,
    mapped,
    numbers,
    records_of,
    texts,
    whole_groups,
)
from .pairs import REPEATS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from scrapy_neardup.audit.settings import AuditOptions

    from .frames import Workspace

#: Up to so many edges are solved by one task, in some 100 MB.
ALONE = 1 << 20


def connected(edges: DataFrame, space: Workspace, alone: int = ALONE) -> DataFrame:
    """Keep the least page that each page with *edges* is connected with: ``row`` and ``component``.

    *edges* have the columns ``a`` and ``b``, in any order. Up to *alone* of them are left to one task.
    """
    if edges.count() <= alone:
        single = mapped(edges.select("a", "b").coalesce(1), solve, "row long, component long")
        return space.keep(single, "work/components")
    least = F.min("b").over(Window.partitionBy("a"))
    stars, before, number = edges.select("a", "b"), None, 0
    while True:
        both = stars.unionByName(stars.selectExpr("b a", "a b")).withColumn("least", least)
        large = both.where("b > a").selectExpr("b a", "least(least, a) b").distinct()
        smaller = large.selectExpr("greatest(a, b) a", "least(a, b) b").withColumn("least", least)
        others = smaller.where("b <> least").selectExpr("b a", "least b")
        found = smaller.selectExpr("a", "least b").unionByName(others).distinct()
        stars, number = space.keep(found, f"work/stars{number}"), number + 1
        state = stars.selectExpr("count(*)", "coalesce(sum(cast(xxhash64(a, b) as decimal(38))), 0)").first()
        if state == before:
            break
        before = state
    leaves = stars.selectExpr("a row", "b component")
    return space.keep(
        leaves.unionByName(stars.selectExpr("b row", "b component").distinct()), "work/components"
    )


def solve(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the component of each page of all edges."""
    parts = [np.stack((numbers(batch, "a"), numbers(batch, "b"))) for batch in batches]
    if parts:
        pages, places = np.unique(np.concatenate(parts, axis=1), return_inverse=True)
        found = components(len(pages), places.reshape(2, -1).T)
        yield batch_of({"row": pages, "component": pages[found]}, "row long, component long")


#: What the rules look at in one page alone. A number is the less, the more a page is preferred.
FACTS = (
    "number long, url string, noindex boolean, site long, named_elsewhere int, earliest double, "
    "decoded string, length long, longest long, digest binary, https long, hosts long, urls long, "
    "own string, named string"
)


def ranked(
    documents: DataFrame, components: DataFrame, pairs: DataFrame, space: Workspace, settings: AuditOptions
) -> DataFrame:
    """Keep the ``rank`` of each ``row`` of *pairs*: numbers in the order of preference, with gaps.

    *components* has the ``component`` of each ``row`` with an edge; all pages of a cluster have the same.
    """
    of_components = components.withColumnRenamed("row", "number")
    involved = pairs.selectExpr("a row").unionByName(pairs.selectExpr("b row")).distinct()
    facts = mapped(documents.join(involved, "row"), facts_of, FACTS, settings)
    facts = facts.join(of_components, "number", "left")
    facts = facts.withColumn("story", F.coalesce("component", "number"))
    targets = mapped(documents.where("declared <> ''").select("declared"), without_fragments, "own string")
    facts = facts.join(targets.distinct().withColumn("target", F.lit(1)), "own", "left")
    standing = F.when(F.col("named") == F.col("own"), 0).when(F.col("named") != "", 2)
    facts = facts.withColumn("declared", standing.when(F.col("target") == 1, 0).otherwise(1))
    stories = facts.groupBy("story", "site").agg(
        F.max("named_elsewhere").alias("of_other"),
        F.min("earliest").alias("first"),
        F.min(F.struct("length", "decoded", "url", "number")).alias("least"),
    )
    # The share of the stories of each site that no other site has.
    told = documents.select("row", "site").join(components, "row", "left")
    told = told.selectExpr("coalesce(component, row) story", "site").distinct()
    sites = told.groupBy("story").agg(F.count("*").alias("sites"))
    shares = told.join(sites, "story").groupBy("site").agg(F.expr("avg(int(sites = 1)) share"))
    facts = facts.join(stories, ["story", "site"]).join(shares, "site")
    site = [F.col("site") == UNKNOWN, "of_other", "first", -F.col("share"), "least"]
    order: list[Any] = [
        "noindex", "urls", "hosts", *site, "https", "declared", "longest", "earliest", "length", "decoded",
        "url", "digest", "number",
    ]  # fmt: skip
    sortable = facts.select(
        "number",
        *(
            (F.col(each) if isinstance(each, str) else each).alias(f"p{place}")
            for place, each in enumerate(order)
        ),
    )
    ranks = space.numbered(sortable, [f"p{place}" for place in range(len(order))], "work/ranks")
    return ranks.selectExpr("number row", "row rank")


def without_fragments(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the URLs that pages name as canonical, without their fragments."""
    for batch in batches:
        yield batch_of({"own": [urldefrag(url).url for url in texts(batch, "declared")]}, "own string")


def facts_of(batches: Iterable[pa.RecordBatch], settings: AuditOptions) -> Iterator[pa.RecordBatch]:
    """Look at each page alone, with the columns of the rules where these are of one page."""
    for batch in batches:
        header, count = settings.header, batch.num_rows
        urls, declared = texts(batch, "url"), texts(batch, "declared")
        sites, digests = numbers(batch, "site"), keys_of(batch, header)[DIGEST]
        pages = Pages(
            urls, declared, records_of(batch, header)["tokens"], numbers(batch, "fetched"), digests,
            numbers(batch, "noindex"), np.arange(count), sites,
        )  # fmt: skip
        named = np.array([site_key(url) if url else UNKNOWN for url in declared], np.int64)
        columns: dict[str, Any] = {name: batch.column(name) for name in ("url", "noindex", "site")}
        columns |= columns_of(pages, settings.hosts, settings.urls)
        columns |= {
            "number": batch.column("row"),
            "named_elsewhere": ((named != UNKNOWN) & (named != sites)).astype(np.int32),
            "decoded": [unquote(url) for url in urls],
            "digest": digests.astype(">u8")[:, np.newaxis],
            "own": [urldefrag(url).url for url in urls],
            "named": [urldefrag(url).url if url else "" for url in declared],
        }
        yield batch_of(columns, FACTS)


#: What becomes known of a page. The columns from ``size`` on are set of the canonical page of a cluster.
GROUPED = (
    "row long, url string, verdict string, leader long, canonical string, distance int, similarity float, "
    "tokens long, fetched double, title string, noindex boolean, declared string, hreflang string, "
    "handled string, renamed boolean, kept_noindex boolean, copies long, rank long, host string, id long, "
    "size long, exact long, near long, part long, revisit long, hosts long, members array<string>"
)
_COUNTED = ("exact", "near", "part", "revisit")


def clustered(
    documents: DataFrame,
    pairs: DataFrame,
    components: DataFrame,
    ranks: DataFrame,
    space: Workspace,
    settings: AuditOptions,
) -> DataFrame:
    """Keep `GROUPED` of all pages. Those without edges are looked at where they are."""
    # Of a pair of a template a crawl would file the page of higher rank as one of its pages.
    sides = pairs.where("kind = 'template'").select("a", "b")
    for side in "ab":
        sides = sides.join(ranks.selectExpr(f"row {side}", f"rank rank_{side}"), side)
    sides = sides.selectExpr("stack(2, a, rank_a > rank_b, b, rank_b > rank_a) as (row, template)")
    flags = sides.groupBy("row").agg({"template": "max"}).toDF("row", "template")
    noted = ranks.join(flags, "row", "left").join(components, "row", "left")
    pages = documents.join(noted, "row", "left").selectExpr(
        *documents.columns, "component", "coalesce(template, false) template",
        "template is not null sibling", "coalesce(rank, 0) rank", "cast(null as long) a",
        "cast(null as long) b",
    )  # fmt: skip
    edges = pairs.where(REPEATS).join(components.withColumnRenamed("row", "a"), "a")
    together = pages.where("component is not null").unionByName(
        edges.select("component", "a", "b"), allowMissingColumns=True
    )
    by_component = grouped(together, ["component"], ["rank"])
    found = mapped(by_component, group_components, GROUPED, settings)
    alone = mapped(pages.where("component is null"), group_alone, GROUPED, settings)
    return space.keep(found.unionByName(alone), "work/grouped")


def group_components(batches: Iterable[pa.RecordBatch], settings: AuditOptions) -> Iterator[pa.RecordBatch]:
    """Group pages that come with the edges between them, component by component."""
    for table in whole_groups(batches, ["component"]):
        is_edge = pc.is_valid(table.column("a"))
        edges = table.select(["a", "b"]).filter(is_edge)
        sides = np.stack([numbers(edges, name) for name in "ab"], axis=1)
        yield _group(table.filter(pc.invert(is_edge)), sides, settings)


def group_alone(batches: Iterable[pa.RecordBatch], settings: AuditOptions) -> Iterator[pa.RecordBatch]:
    """Group pages without edges, each by itself."""
    for batch in batches:
        if batch.num_rows:
            yield _group(batch, np.empty((0, 2), np.int64), settings)


def _group(pages: Any, edges: Any, settings: AuditOptions) -> pa.RecordBatch:
    rows = numbers(pages, "row")
    urls, declared, alternates = (texts(pages, name) for name in ("url", "declared", "alternates"))
    crawl = crawl_of(
        pages,
        settings,
        urls=urls,
        titles=texts(pages, "title"),
        declared=declared,
        alternates=alternates,
        noindex=numbers(pages, "noindex"),
        fetched=numbers(pages, "fetched"),
    )
    order = np.argsort(rows)
    places = order[np.searchsorted(rows[order], edges)]
    judge = judge_of(crawl, settings, numbers(pages, "template"))
    table = group_pages(crawl, judge, places, numbers(pages, "rank"), numbers(pages, "sibling"))
    leaders = table["canonical"]
    sizes = np.bincount(leaders, minlength=len(table))
    compared, inside = ~np.isnan(table["similarity"]), table["cluster"] >= 0
    lists = _members(table, sizes)
    counts = {
        verdict: np.bincount(leaders[inside & (table["verdict"] == verdict)], minlength=len(table))
        for verdict in _COUNTED
    }
    columns: dict[str, Any] = {
        **{name: pages.column(name) for name in ("row", "url", "title", "noindex", "id")},
        **{name: table[name] for name in ("verdict", "tokens", "renamed", "rank")},
        "leader": rows[leaders],
        "canonical": _where(table["url"][leaders], inside),
        "distance": _where(table["distance"], compared),
        "similarity": _where(table["similarity"], compared),
        "fetched": _where(table["fetched"], ~np.isnan(table["fetched"])),
        "declared": [each or None for each in declared],
        "hreflang": [each or None for each in alternates],
        "handled": [each or None for each in table["handled"].tolist()],
        "kept_noindex": table["noindex"][leaders],
        "copies": np.where(inside, sizes[leaders] - 1, 0),
        "host": [split_url(url).host for url in urls],
        **{name: _where(each, sizes > 1) for name, each in (counts | {"size": sizes}).items()},
        "hosts": [None if each is None else len({split_url(url).host for url in each}) for each in lists],
        "members": lists,
    }
    return batch_of(columns, GROUPED)


def _members(table: Any, sizes: Any) -> list[list[str] | None]:
    """Return for each page the URLs of the cluster that it leads, its own first; None if it leads none."""
    found: list[list[str] | None] = [None] * len(table)
    for row in np.lexsort((table["rank"], table["canonical"])).tolist():
        leader = table["canonical"][row]
        if sizes[leader] > 1:
            members = found[leader] = found[leader] or []
            members.append(table["url"][row])
    return found


def _where(values: Any, wanted: Any) -> pa.Array:
    return pa.array(values, mask=~wanted)
