"""The tables of an audit, its drop list, its summary, and the report of some clusters."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

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

from .frames import PLACE_BITS, batch_of, column_names, mapped, numbers, ordered, texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from scrapy_neardup.audit.settings import AuditOptions

    from .frames import Workspace

#: Hosts, clusters and problems that the summary lists.
LISTED = 100
#: The file that says that an audit has come to its end: what is written after it are samples to look at.
SUMMARY = "summary.json"
PAGE_TABLE = (
    "row long, url string, verdict string, cluster int, canonical string, distance int, similarity float, "
    "tokens long, fetched double, title string, noindex boolean, declared string, hreflang string, "
    "handled string, copies long, closest string, closest_similarity float"
)
PAIR_TABLE = (
    "a long, b long, url1 string, url2 string, kind string, distance int, similarity float, containment float"
)


def write_clusters(grouped: DataFrame, space: Workspace) -> DataFrame:
    """Write the table of clusters, the largest first; return the number of each ``leader``."""
    from pyspark.sql import functions as F  # noqa: N812

    led = grouped.where("size is not null")
    places = led.selectExpr("row leader", "-size size", "rank")
    by_size = space.numbered(places, ["size", "rank"], "work/clusters")
    parts = by_size.groupBy(F.expr(f"shiftright(row, {PLACE_BITS}) part")).count().orderBy("part").collect()
    before = np.cumsum([0, *(row["count"] for row in parts)])
    offsets = {row["part"]: int(start) for row, start in zip(parts, before, strict=False)}
    clusters = mapped(by_size.select("leader", "row"), number, "leader long, cluster int", offsets)
    table = led.join(clusters, led["row"] == clusters["leader"]).select(
        "cluster", "canonical", "size", "exact", "near", "part", "revisit", "hosts", "members"
    )
    space.keep(ordered(table, "cluster"), "clusters.parquet")
    return clusters


def number(batches: Iterable[pa.RecordBatch], offsets: dict[int, int]) -> Iterator[pa.RecordBatch]:
    """Give numbers from 0 without gaps; *offsets* says how many rows are in the partitions before each."""
    for batch in batches:
        rows = numbers(batch, "row")
        starts = np.array([offsets[part] for part in (rows >> PLACE_BITS).tolist()], np.int64)
        found = starts + (rows & ((1 << PLACE_BITS) - 1))
        columns = {"leader": batch.column("leader"), "cluster": found.astype(np.int32)}
        yield batch_of(columns, "leader long, cluster int")


def write_pages(grouped: DataFrame, clusters: DataFrame, pairs: DataFrame, space: Workspace) -> None:
    """Write the table of pages, in the order of their URLs."""
    from pyspark.sql import functions as F  # noqa: N812

    members = grouped.where("row <> leader").selectExpr("row a", "leader b", "similarity")
    every = pairs.select("a", "b", "similarity").unionByName(members)
    sides = every.selectExpr(
        "stack(2, a, b, -double(similarity), b, a, -double(similarity)) as (row, other, unlike)"
    )
    closest = sides.groupBy("row").agg(F.min(F.struct("unlike", "other")).alias("least"))
    closest = closest.selectExpr("row", "least.other other", "-least.unlike closest_similarity")
    closest = closest.join(grouped.selectExpr("row other", "url closest"), "other").drop("other")
    pages = grouped.drop("size", "members").join(clusters, "leader", "left").join(closest, "row", "left")
    listed = ordered(pages, "row").select(*column_names(PAGE_TABLE))
    rounded = mapped(listed, round_off, PAGE_TABLE, ("similarity", "closest_similarity"))
    space.keep(rounded.drop("row"), "pages.parquet")


def write_pairs(grouped: DataFrame, pairs: DataFrame, space: Workspace) -> None:
    """Write the table of pairs, in the order of their pages."""
    pairs = pairs.join(grouped.selectExpr("row a", "url url1"), "a")
    pairs = pairs.join(grouped.selectExpr("row b", "url url2"), "b")
    listed = ordered(pairs, "a", "b").select(*column_names(PAIR_TABLE))
    rounded = mapped(listed, round_off, PAIR_TABLE, ("similarity", "containment"))
    space.keep(rounded.drop("a", "b"), "pairs.parquet")


def round_off(batches: Iterable[pa.RecordBatch], names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """Round as the other formats of the tables do."""
    import pyarrow as pa

    for batch in batches:
        for name in names:
            values = [None if each is None else round(each, 4) for each in texts(batch, name)]
            place = batch.schema.get_field_index(name)
            batch = batch.set_column(place, name, pa.array(values, pa.float32()))
        yield batch


def write_dropped(grouped: DataFrame, read: DataFrame, space: Workspace, settings: AuditOptions) -> None:
    """Write what can be dropped, a name a line: `output.files.dropped` says what that is.

    *read* has the packed ``text`` of each ``id``.
    """
    from pyspark.sql import functions as F  # noqa: N812

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
    import pyarrow as pa

    for batch in batches:
        found = [*map(only_numbers_differ, texts(batch, "url"), texts(batch, "canonical"))]
        yield batch.select(["row", "leader", "id"]).filter(pa.array(found, pa.bool_()))


def with_other_numbers(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the pages whose text has other numbers than that of their canonical page."""
    import pyarrow as pa

    for batch in batches:
        found = [
            numbers_in(unpacked(one).shown) != numbers_in(unpacked(other).shown)
            for one, other in zip(texts(batch, "text"), texts(batch, "kept"), strict=True)
        ]
        yield batch.select(["row"]).filter(pa.array(found, pa.bool_()))


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
    from pyspark.sql import functions as F  # noqa: N812

    from scrapy_neardup import __version__

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
    of_hosts = [F.count("*").alias("pages")]
    of_hosts += [F.count(F.when(F.col("verdict") == name, 1)).alias(name) for name in VERDICTS]
    order = [F.desc(F.col("exact") + F.col("near")), F.desc("pages"), F.col("host")]
    hosts = grouped.groupBy("host").agg(*of_hosts).orderBy(*order).limit(LISTED).collect()
    largest = grouped.where("size is not null").orderBy(F.desc("size"), "rank").limit(LARGEST)
    failed = "kind <> 'page' or (reason is not null and reason <> 'no_text')"
    unread = read.where(failed).selectExpr(
        "if(kind = 'skipped', reason, null) skipped", "coalesce(count, 1) count"
    )
    others = unread.groupBy("skipped").agg(F.sum("count").alias("count")).collect()
    skipped = {row["skipped"]: row["count"] for row in others}
    problems = skipped.pop(None, 0)
    skipped |= left_out
    summary = {
        "version": __version__,
        "settings": settings_of(settings),
        "pages": verdicts.total(),
        "verdicts": dict.fromkeys(VERDICTS, 0) | verdicts,
        "handled": dict.fromkeys([*HANDLED, "to_fix"], 0) | handled,
        "clusters": clusters,
        "pairs": {
            row["kind"]: row["count"] for row in pairs.groupBy("kind").count().orderBy("kind").collect()
        },
        "skipped": dict(sorted(skipped.items())),
        "problems": problems,
        "hosts": [
            {"host": row["host"], "pages": row["pages"], **{name: row[name] for name in VERDICTS}}
            for row in hosts
        ],
        "largest_clusters": [
            {"cluster": place, "size": row["size"], "canonical": row["canonical"]}
            for place, row in enumerate(largest.select("size", "canonical").collect())
        ],
    }
    space.write_text(SUMMARY, json.dumps(summary, indent=2, ensure_ascii=False) + "\n")
    return summary
