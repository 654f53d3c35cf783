"""The tables of an audit, its drop list, its summary."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from scrapy_neardup import __version__
from scrapy_neardup.audit.model import HANDLED, VERDICTS
from scrapy_neardup.audit.output.files import (
    LARGEST,
    is_plain,
    is_url,
    numbers_in,
    only_numbers_differ,
    settings_of,
)
from scrapy_neardup.audit.signing import unpacked
from scrapy_neardup.matching.records import filed_url

from .frames import PLACE_BITS, batch_of, mapped, ordered, texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from scrapy_neardup.audit.settings import AuditOptions

    from .frames import Workspace

#: Hosts that the summary lists.
LISTED = 100
#: The file that says that an audit has come to its end.
SUMMARY = "summary.json"
PAGE_TABLE = (
    "url verdict cluster canonical distance {similarity} tokens fetched title noindex declared hreflang "
    "handled copies"
)
PAIR_TABLE = "url1 url2 kind distance {similarity} {containment}"


def write_clusters(grouped: DataFrame, space: Workspace) -> DataFrame:
    """Write the table of clusters, the largest first; return the number of each ``leader``."""
    led = grouped.where("size is not null")
    places = led.selectExpr("row leader", "-size size", "rank")
    by_size = space.numbered(places, ["size", "rank"], "work/clusters")
    by_size = by_size.withColumn("part", F.expr(f"shiftright(row, {PLACE_BITS})"))
    # Numbers from 0 without gaps: after those of the parts before comes the place in the own one.
    before, offsets = 0, "map(-1L, 0L"
    for part, count in by_size.groupBy("part").count().orderBy("part").collect():
        offsets += f", {part}L, {before}L"
        before += count
    number = f"{offsets})[part] + row - shiftleft(part, {PLACE_BITS})"
    clusters = by_size.selectExpr("leader", f"int({number}) cluster")
    table = led.join(clusters, led["row"] == clusters["leader"]).select(
        "cluster", "canonical", "size", "exact", "near", "part", "revisit", "hosts", "members"
    )
    space.keep(ordered(table, "cluster"), "clusters.parquet")
    return clusters


def write_pages(grouped: DataFrame, clusters: DataFrame, space: Workspace) -> None:
    """Write the table of pages, in the order of their URLs."""
    pages = grouped.drop("size", "members").join(clusters, "leader", "left")
    space.keep(ordered(pages, "row").selectExpr(*_rounded(PAGE_TABLE)), "pages.parquet")


def write_pairs(grouped: DataFrame, pairs: DataFrame, space: Workspace) -> None:
    """Write the table of pairs, in the order of their pages."""
    pairs = pairs.join(grouped.selectExpr("row a", "url url1"), "a")
    pairs = pairs.join(grouped.selectExpr("row b", "url url2"), "b")
    space.keep(ordered(pairs, "a", "b").selectExpr(*_rounded(PAIR_TABLE)), "pairs.parquet")


def _rounded(columns: str) -> list[str]:
    """Return the columns of a table; those in braces are rounded as in the other formats of the tables."""
    return [
        f"float(bround(double({name[1:-1]}), 4)) {name[1:-1]}" if name[0] == "{" else name
        for name in columns.split()
    ]


def write_dropped(grouped: DataFrame, read: DataFrame, space: Workspace, settings: AuditOptions) -> None:
    """Write what can be dropped, a name a line: `output.files.dropped` says what that is.

    *read* has the packed ``text`` of each ``id``.
    """
    alike = f"similarity >= float({settings.drop_similarity})"
    repeats = f"(verdict = 'exact' or (verdict in ('near', 'part') and {alike})) and not renamed"
    pages = grouped.withColumn("repeats", F.expr(f"{repeats} and not kept_noindex"))
    doubtful = pages.where("repeats and verdict <> 'exact'").select("row", "leader", "url", "canonical", "id")
    doubtful = space.keep(mapped(doubtful, of_series, "row long, leader long, id long"), "work/series")
    if not doubtful.isEmpty():
        kept = grouped.selectExpr("row leader", "id kept_id")
        both = doubtful.join(kept, "leader").join(read, "id")
        both = both.join(read.selectExpr("id kept_id", "text kept"), "kept_id").select("row", "text", "kept")
        series = mapped(both, with_other_numbers, "row long").withColumn("series", F.lit(True))
        pages = pages.join(series, "row", "left")
        pages = pages.withColumn("repeats", F.expr("repeats and series is null"))
    named = mapped(pages.select("url", "repeats"), name_of, "name string, repeats boolean, plain boolean")
    wanted = named.groupBy("name").agg(F.expr("bool_and(repeats and plain) wanted")).where("wanted")
    ordered(wanted.select("name"), "name").write.mode("overwrite").text(space.path("drop.txt"))


def of_series(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the pages whose URL only numbers tell from that of their canonical page."""
    for batch in batches:
        found = [*map(only_numbers_differ, texts(batch, "url"), texts(batch, "canonical"))]
        yield batch.select(["row", "leader", "id"]).filter(pa.array(found, pa.bool_()))


def with_other_numbers(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the pages whose text has other numbers than that of their canonical page."""
    for batch in batches:
        own, kept = (
            [numbers_in(unpacked(each).shown) for each in texts(batch, name)] for name in ("text", "kept")
        )
        differs = [one != other for one, other in zip(own, kept, strict=True)]
        yield batch.select(["row"]).filter(pa.array(differs, pa.bool_()))


def name_of(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the name that each page is dropped by."""
    for batch in batches:
        names = [filed_url(url) if is_url(url) else url for url in texts(batch, "url")]
        columns = {"name": names, "repeats": batch.column("repeats"), "plain": [*map(is_plain, names)]}
        yield batch_of(columns, "name string, repeats boolean, plain boolean")


def summarise(
    grouped: DataFrame,
    pairs: DataFrame,
    read: DataFrame,
    left_out: dict[str, int],
    space: Workspace,
    settings: AuditOptions,
) -> dict[str, Any]:
    """Write ``summary.json``: counts, and the hosts and clusters with the most; return it.

    *left_out* says how many of the pages *read* are not among those *grouped*, by reason.
    """
    counts = grouped.groupBy("verdict", "handled").agg(
        F.count("*").alias("pages"), F.count("size").alias("clusters")
    )
    verdicts, handled = Counter[str](), Counter[str]()
    clusters = 0
    for row in counts.collect():
        verdicts[row["verdict"]] += row["pages"]
        clusters += row["clusters"]
        if row["verdict"] in ("exact", "near"):
            handled[row["handled"] or "to_fix"] += row["pages"]
    of_hosts = [F.count(F.when(F.col("verdict") == name, 1)).alias(name) for name in VERDICTS]
    order = [F.desc(F.col("exact") + F.col("near")), F.desc("pages"), F.col("host")]
    hosts = grouped.groupBy("host").agg(F.count("*").alias("pages"), *of_hosts).orderBy(*order)
    largest = grouped.where("size is not null").orderBy(F.desc("size"), "rank").limit(LARGEST)
    failed = "kind <> 'page' or (reason is not null and reason <> 'no_text')"
    unread = read.where(failed).selectExpr(
        "if(kind = 'skipped', reason, null) skipped", "coalesce(count, 1) count"
    )
    skipped = dict(unread.groupBy("skipped").agg(F.sum("count")).collect())
    problems = skipped.pop(None, 0)
    summary = {
        "version": __version__,
        "settings": settings_of(settings),
        "pages": verdicts.total(),
        "verdicts": dict.fromkeys(VERDICTS, 0) | verdicts,
        "handled": dict.fromkeys([*HANDLED, "to_fix"], 0) | handled,
        "clusters": clusters,
        "pairs": dict(pairs.groupBy("kind").count().orderBy("kind").collect()),
        "skipped": dict(sorted((skipped | left_out).items())),
        "problems": problems,
        "hosts": [row.asDict() for row in hosts.limit(LISTED).collect()],
        "largest_clusters": [
            {"cluster": place, **row.asDict()}
            for place, row in enumerate(largest.select("size", "canonical").collect())
        ],
    }
    space.write_text(SUMMARY, json.dumps(summary, indent=2, ensure_ascii=False) + "\n")
    return summary
