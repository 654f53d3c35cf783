"""Components of pages, their order of preference, and clusters, each component by the audit's own code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from scrapy_neardup.audit.clustering import cluster, group_pages, judge_of, number_clusters, order_of
from scrapy_neardup.audit.output import files

from .frames import batch_of, column_names, crawl_of, in_groups, mapped, numbers, parted
from .pairs import REPEATS

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

    from scrapy_neardup.audit.options import AuditOptions

    from .frames import Workspace

#: Up to so many pages are compared by one task, in some kB each.
ALONE = 1 << 17


def connected(edges: DataFrame, space: Workspace) -> DataFrame:
    """Keep the least page that each page with *edges* is connected with: ``row`` and ``component``.

    *edges* have the columns ``a`` and ``b``, in any order. Every round hangs the larger neighbours of each
    page, then the smaller ones, on the least of them, until all are stars (docs/scale.md).
    """
    least = "min(b) over (partition by a) least"
    stars, before, number = edges.select("a", "b"), None, 0
    state = "struct(count(*), sum(cast(xxhash64(a, b) as decimal(38))))"
    while True:
        both = stars.unionByName(stars.selectExpr("b a", "a b")).selectExpr("*", least)
        large = both.where("b > a").selectExpr("b a", "least(least, a) b").distinct()
        smaller = large.selectExpr("greatest(a, b) a", "least(a, b) b").selectExpr("*", least)
        others = smaller.where("b <> least").selectExpr("b a", "least b")
        found = smaller.selectExpr("a", "least b").unionByName(others).distinct()
        stars, number = space.keep(found, f"work/stars{number}", stars=state), number + 1
        if space.counted["stars"] == before:
            break
        before = space.counted["stars"]
    found = stars.selectExpr("stack(2, a, b, b, b) as (row, component)").distinct()
    return space.keep(found, "work/components")


#: What pages are ordered by, see `order_of`; ``number`` is their ``row``.
ORDER = (
    "noindex boolean, urls long, hosts long, unknown boolean, of_other double, first double, alike double, "
    "least_url string, https boolean, declared long, longest long, earliest double, url string, "
    "digest binary, number long"
)


def ranked(
    documents: DataFrame, count: int, pairs: DataFrame, components: DataFrame,
    space: Workspace, settings: AuditOptions,
) -> DataFrame:  # fmt: skip
    """Keep the ``rank`` of each ``row`` of *pairs*: numbers in the order of preference, with gaps.

    *components* has the ``component`` of each ``row`` with an edge; all pages of a cluster have the same.
    """
    story = "coalesce(component, row) story"
    told = documents.join(components, "row", "left").selectExpr("row", "site", story)
    # The share of the stories of each site that no other site has.
    sites = told.groupBy("story").agg(F.collect_set("site").alias("sites"))
    alone = sites.selectExpr("explode(sites) site", "int(size(sites) = 1) alone")
    shares = alone.groupBy("site").agg(F.expr("avg(alone) share"))
    involved = pairs.selectExpr("explode(array(a, b)) row")
    noted = told.join(involved, "row", "left_semi").join(shares, "site").drop("site")
    wanted = documents.drop("title", "alternates", "own", "head", "page", "site").join(noted, "row")
    order = in_groups(wanted, ["story"], count, order_rows, ORDER, settings)
    return space.numbered(order, column_names(ORDER), "work/ranks").selectExpr("number row", "row rank")


def order_rows(table: pa.Table, settings: AuditOptions) -> pa.RecordBatch:
    """Return `ORDER` of the pages of whole stories."""
    stories = np.unique(numbers(table, "story"), return_inverse=True)[1]
    crawl, shares = crawl_of(table, settings), numbers(table, "share")
    columns = order_of(crawl, stories, shares, settings.hosts, settings.urls)
    columns["digest"] = columns["digest"].astype(">u8")[:, np.newaxis]
    return batch_of(columns | {"number": table.column("row")}, ORDER)


#: What becomes known of a page: a row of each table, and whether, and by which name, it can be dropped. The
#: columns of `LED` are set of the canonical page of a cluster.
SHOWN = (
    "url string, verdict string, canonical string, distance int, similarity float, tokens long, "
    "fetched double, title string, noindex boolean, declared string, hreflang string, handled string, "
    "copies long"
)
LED = "size long, exact long, near long, part long, revisit long, hosts long, members array<string>"
GROUPED = (
    "row long, id long, rank long, leader long, kept long, name string, drop boolean, series boolean, "
    f"{SHOWN}, {LED}"
)


def clustered(
    documents: DataFrame, count: int, pairs: DataFrame, components: DataFrame, ranks: DataFrame,
    space: Workspace, settings: AuditOptions,
) -> DataFrame:  # fmt: skip
    """Keep `GROUPED` of all *documents*, so many. Those without edges are looked at where they are."""
    # Of a pair of a template a crawl would file the page of higher rank as one of its pages.
    sides = pairs.where("kind = 'template'").select("a", "b")
    for side in "ab":
        sides = sides.join(ranks.selectExpr(f"row {side}", f"rank rank_{side}"), side)
    sides = sides.selectExpr("stack(2, a, rank_a > rank_b, b, rank_b > rank_a) as (row, template)")
    flags = sides.groupBy("row").agg({"template": "max"}).toDF("row", "template")
    noted = ranks.join(flags, "row", "left").join(components, "row", "left")
    noted = noted.selectExpr("*", "template is not null sibling", "bigint(null) a", "bigint(null) b")
    pages = documents.join(noted, "row", "left").na.fill({"template": False, "sibling": False, "rank": 0})
    edges = pairs.where(REPEATS).select("a", "b").join(components.withColumnRenamed("row", "a"), "a")
    together = pages.where("component is not null").unionByName(edges, allowMissingColumns=True)
    found = in_groups(together, ["component"], count, group, GROUPED, settings)
    alone = mapped(pages.where("component is null"), group, GROUPED, settings)
    return space.keep(found.unionByName(alone), "work/grouped")


#: Pages and pairs of a whole crawl, which are those of a ``kind``, in their order by ``row``.
TOGETHER = f"{GROUPED}, cluster int, url1 string, url2 string, kind string, containment float"


def compare(table: pa.Table, settings: AuditOptions) -> pa.RecordBatch:
    """Compare all pages as the audit of one machine does."""
    table = table.sort_by("row")
    pages, clusters, pairs = cluster(crawl_of(table, settings), settings, lambda done: None)
    found = [shown(table, pages, clusters, settings, TOGETHER)]
    beside = {"row": range(len(pairs)), **files.pair_columns(pages, pairs)}
    return pa.concat_batches([*found, batch_of(beside, TOGETHER)])


def group(table: pa.Table | pa.RecordBatch, settings: AuditOptions) -> pa.RecordBatch:
    """Group pages, which come with all edges between them."""
    table, _, places = parted(table)
    crawl = crawl_of(table, settings)
    judge = judge_of(crawl, settings, numbers(table, "template"))
    pages = group_pages(crawl, judge, places.T, numbers(table, "rank"), numbers(table, "sibling"))
    return shown(table, pages, number_clusters(pages), settings, GROUPED)


def shown(
    table: pa.Table | pa.RecordBatch, pages: NDArray[Any], clusters: NDArray[Any], settings: AuditOptions,
    schema: str,
) -> pa.RecordBatch:  # fmt: skip
    """Return the rows of `GROUPED` for the pages in *table*, with the columns of a *schema*."""
    rows, ids, kept = numbers(table, "row"), numbers(table, "id"), pages["canonical"]
    columns = dict[str, Any](files.page_columns(pages, clusters))
    columns |= {"row": rows, "id": ids, "rank": pages["rank"], "leader": rows[kept], "kept": ids[kept]}
    columns["name"] = names = [*map(files.name_of, columns["url"])]
    # A name stays if any page of it does.
    columns["drop"] = files.repeating(pages, settings) & np.array([*map(files.is_plain, names)], bool)
    leaders = [leader or "" for leader in columns["canonical"]]
    columns["series"] = [*map(files.only_numbers_differ, columns["url"], leaders)]
    led = files.cluster_columns(pages, clusters)
    for name in column_names(LED):
        columns[name] = np.full(len(pages), None)
        columns[name][clusters["canonical"]] = np.fromiter(led[name], object, len(clusters))
    return batch_of(columns, schema)
