"""Pages around their canonical pages: component by component, by the audit's own code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.audit.clustering import group_pages, judge_of
from scrapy_neardup.audit.urls import split_url
from scrapy_neardup.index import Documents

from .columns import DOCUMENT_COLUMNS, crawl_of, keys_of, names_of, numbers, records_of, schema_of, texts
from .frames import mapped, whole_groups
from .judging import REPEATS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from scrapy_neardup.audit.settings import AuditOptions

    from .frames import Workspace

_SHOWN = ("url", "title", "declared", "alternates", "noindex", "fetched")
#: What becomes known of a page. The columns from ``size`` on are set of the canonical page of a cluster.
GROUPED = (
    "row long, url string, verdict string, leader long, canonical string, distance int, similarity float, "
    "tokens long, fetched double, title string, noindex boolean, declared string, hreflang string, "
    "handled string, renamed boolean, kept_noindex boolean, copies long, rank long, host string, "
    "size long, exact long, near long, part long, revisit long, hosts long, members array<string>"
)
_COUNTED = ("exact", "near", "part", "revisit")


def flags(pairs: DataFrame, ranks: DataFrame) -> DataFrame:
    """Return which pages are in a pair of a template, and which of these a crawl would file as its pages."""
    from pyspark.sql import functions as F  # noqa: N812

    template = pairs.where("kind = 'template'").select("a", "b")
    for side in "ab":
        template = template.join(ranks.selectExpr(f"page {side}", f"rank rank_{side}"), side)
    sides = template.selectExpr("a row", "rank_a > rank_b template").unionByName(
        template.selectExpr("b row", "rank_b > rank_a template")
    )
    return sides.groupBy("row").agg(F.max("template").alias("template"))


def grouped(
    documents: DataFrame,
    pairs: DataFrame,
    components: DataFrame,
    ranks: DataFrame,
    space: Workspace,
    settings: AuditOptions,
) -> DataFrame:
    """Keep `GROUPED` of all pages. Those without edges are looked at where they are."""
    notes = (
        components.join(flags(pairs, ranks).withColumn("sibling", _true()), "row", "full")
        .join(ranks.withColumnRenamed("page", "row"), "row", "full")
        .selectExpr(
            "row",
            "component",
            "coalesce(template, false) template",
            "coalesce(sibling, false) sibling",
            "rank",
        )
    )
    pages = documents.select(*DOCUMENT_COLUMNS, *_SHOWN).join(notes, "row", "left")
    pages = pages.selectExpr(
        *DOCUMENT_COLUMNS, *_SHOWN, "component", "coalesce(template, false) template",
        "coalesce(sibling, false) sibling", "coalesce(rank, 0) rank", "cast(null as long) a",
        "cast(null as long) b",
    )  # fmt: skip
    edges = (
        pairs.where(REPEATS).join(components.withColumnRenamed("row", "a"), "a").select("component", "a", "b")
    )
    together = pages.where("component is not null").unionByName(edges, allowMissingColumns=True)
    connected = mapped(space.grouped(together, ["component"], ["rank"]), group_components, GROUPED, settings)
    alone = mapped(pages.where("component is null"), group_alone, GROUPED, settings)
    return space.keep(connected.unionByName(alone), "work/grouped")


def _true() -> Any:
    from pyspark.sql import functions as F  # noqa: N812

    return F.lit(True)


def group_components(batches: Iterable[pa.RecordBatch], settings: AuditOptions) -> Iterator[pa.RecordBatch]:
    """Group pages that come with the edges between them, component by component."""
    # No name holds the table of a component beside its pages, which are a copy.
    for pages, edges in map(_pages_and_edges, whole_groups(batches, ["component"])):
        yield _group(pages, edges, settings)


def _pages_and_edges(table: pa.Table) -> tuple[pa.Table, Any]:
    import pyarrow.compute as pc

    is_edge = pc.is_valid(table.column("a"))
    edges = table.select(["a", "b"]).filter(is_edge)
    return table.filter(pc.invert(is_edge)), np.stack([numbers(edges, name) for name in "ab"], axis=1)


def group_alone(batches: Iterable[pa.RecordBatch], settings: AuditOptions) -> Iterator[pa.RecordBatch]:
    """Group pages without edges, each by itself."""
    for batch in batches:
        if batch.num_rows:
            yield _group(batch, np.empty((0, 2), np.int64), settings)


def _group(pages: Any, edges: Any, settings: AuditOptions) -> pa.RecordBatch:
    import pyarrow as pa

    header, rows = settings.header, numbers(pages, "row")
    shown = {name: texts(pages, name) for name in _SHOWN}
    documents = Documents(
        keys_of(pages, header), records_of(pages, header), shown["url"], texts(pages, "note")
    )
    crawl = crawl_of(
        documents,
        numbers(pages, "wall"),
        names_of(pages),
        settings,
        urls=shown["url"],
        titles=shown["title"],
        declared=shown["declared"],
        alternates=shown["alternates"],
        noindex=numbers(pages, "noindex"),
        fetched=numbers(pages, "fetched"),
    )
    order = np.argsort(rows)
    places = order[np.searchsorted(rows[order], edges)]
    judge = judge_of(crawl, settings, numbers(pages, "template"))
    ranks = numbers(pages, "rank")
    table = group_pages(crawl, judge, places, ranks, numbers(pages, "sibling"))
    leaders = table["canonical"]
    sizes = np.bincount(leaders, minlength=len(table))
    compared = ~np.isnan(table["similarity"])
    inside = table["cluster"] >= 0
    lists = _members(table, sizes)
    columns: dict[str, Any] = {
        "row": rows,
        "url": shown["url"],
        "verdict": table["verdict"],
        "leader": rows[leaders],
        "canonical": _where(table["url"][leaders], inside),
        "distance": _where(table["distance"], compared),
        "similarity": _where(table["similarity"], compared),
        "tokens": table["tokens"],
        "fetched": _where(table["fetched"], ~np.isnan(table["fetched"])),
        "title": shown["title"],
        "noindex": shown["noindex"],
        "declared": [each or None for each in shown["declared"]],
        "hreflang": [each or None for each in shown["alternates"]],
        "handled": [each or None for each in table["handled"].tolist()],
        "renamed": table["renamed"],
        "kept_noindex": table["noindex"][leaders],
        "copies": np.where(inside, sizes[leaders] - 1, 0),
        "rank": ranks,
        "host": [split_url(url).host for url in shown["url"]],
        "size": _where(sizes, sizes > 1),
        **{
            verdict: _where(
                np.bincount(leaders[inside & (table["verdict"] == verdict)], minlength=len(table)),
                sizes > 1,
            )
            for verdict in _COUNTED
        },
        "hosts": [None if each is None else len({split_url(url).host for url in each}) for each in lists],
        "members": lists,
    }
    return pa.RecordBatch.from_pydict(columns, schema_of(GROUPED))


def _members(table: Any, sizes: Any) -> list[list[str] | None]:
    """Return for each page the URLs of the cluster that it leads, its own first; None if it leads none."""
    found: list[list[str] | None] = [None] * len(table)
    rows = np.flatnonzero(sizes[table["canonical"]] > 1)
    rows = rows[np.lexsort((table["rank"][rows], table["canonical"][rows]))]
    leaders, starts = np.unique(table["canonical"][rows], return_index=True)
    ends = np.append(starts[1:], len(rows)).tolist()
    for leader, start, end in zip(leaders.tolist(), starts.tolist(), ends, strict=False):
        found[leader] = table["url"][rows[start:end]].tolist()
    return found


def _where(values: Any, wanted: Any) -> pa.Array:
    import pyarrow as pa

    return pa.array(values, mask=~wanted)
