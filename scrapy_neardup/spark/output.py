"""The tables of an audit, its drop list and its summary, written by the executors."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.audit.model import HANDLED, VERDICTS
from scrapy_neardup.audit.output.files import is_plain, is_url, numbers_in, only_numbers_differ
from scrapy_neardup.audit.output.summary import LARGEST, settings_of
from scrapy_neardup.audit.packing import unpacked
from scrapy_neardup.matching.records import filed_url

from .columns import column_names, numbers, texts
from .frames import PLACE_BITS, mapped

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
PAGES = (
    "row long, url string, verdict string, cluster int, canonical string, distance int, similarity float, "
    "tokens long, fetched double, title string, noindex boolean, declared string, hreflang string, "
    "handled string, copies long, closest string, closest_similarity float"
)
PAIRS = (
    "a long, b long, url1 string, url2 string, kind string, distance int, similarity float, containment float"
)


def write_clusters(grouped: DataFrame, space: Workspace) -> DataFrame:
    """Write the table of clusters, the largest first; return the number of each ``leader``."""
    from pyspark.sql import functions as F  # noqa: N812

    led = grouped.where("size is not null")
    places = led.select("row", F.col("size"), "rank").withColumnRenamed("row", "leader")
    ordered = space.numbered(places, [F.desc("size"), F.col("rank")], "work/clusters")
    parts = ordered.groupBy(F.expr(f"shiftright(row, {PLACE_BITS}) part")).count().orderBy("part").collect()
    before = np.cumsum([0, *(row["count"] for row in parts)])
    offsets = {row["part"]: int(start) for row, start in zip(parts, before, strict=False)}
    clusters = mapped(ordered.select("leader", "row"), number, "leader long, cluster int", offsets)
    clusters = space.keep(clusters, "work/numbers")
    table = led.join(clusters, led["row"] == clusters["leader"]).select(
        "cluster", "canonical", "size", "exact", "near", "part", "revisit", "hosts", "members"
    )
    listed = table.repartitionByRange(space.partitions, "cluster").sortWithinPartitions("cluster")
    space.write(listed, "clusters.parquet")
    return clusters


def number(batches: Iterable[pa.RecordBatch], offsets: dict[int, int]) -> Iterator[pa.RecordBatch]:
    """Give numbers from 0 without gaps; *offsets* says how many rows are in the partitions before each."""
    import pyarrow as pa

    for batch in batches:
        rows = numbers(batch, "row")
        starts = np.array([offsets[part] for part in (rows >> PLACE_BITS).tolist()], np.int64)
        found = starts + (rows & ((1 << PLACE_BITS) - 1))
        yield pa.RecordBatch.from_pydict(
            {"leader": batch.column("leader"), "cluster": pa.array(found.astype(np.int32))}
        )


def write_pages(grouped: DataFrame, clusters: DataFrame, pairs: DataFrame, space: Workspace) -> None:
    """Write the table of pages, in the order of their URLs."""
    from pyspark.sql import functions as F  # noqa: N812

    members = grouped.where("row <> leader").selectExpr("row a", "leader b", "similarity")
    every = pairs.select("a", "b", "similarity").unionByName(members)
    sides = every.selectExpr("a row", "b other", "-double(similarity) unlike").unionByName(
        every.selectExpr("b row", "a other", "-double(similarity) unlike")
    )
    closest = sides.groupBy("row").agg(F.min(F.struct("unlike", "other")).alias("least"))
    closest = closest.selectExpr("row", "least.other other", "-least.unlike closest_similarity")
    urls = grouped.selectExpr("row other", "url closest")
    closest = closest.join(urls, "other").drop("other")
    pages = grouped.drop("size", "members").join(clusters, "leader", "left").join(closest, "row", "left")
    ordered = pages.repartitionByRange(space.partitions, "row").sortWithinPartitions("row")
    listed = ordered.select(*column_names(PAGES))
    rounded = mapped(listed, round_off, PAGES, ("similarity", "closest_similarity"))
    space.write(rounded.drop("row"), "pages.parquet")


def write_pairs(grouped: DataFrame, pairs: DataFrame, space: Workspace) -> None:
    """Write the table of pairs, in the order of their pages."""
    named = pairs.join(grouped.selectExpr("row a", "url url1"), "a").join(
        grouped.selectExpr("row b", "url url2"), "b"
    )
    ordered = named.repartitionByRange(space.partitions, "a", "b").sortWithinPartitions("a", "b")
    listed = ordered.select(*column_names(PAIRS))
    rounded = mapped(listed, round_off, PAIRS, ("similarity", "containment"))
    space.write(rounded.drop("a", "b"), "pairs.parquet")


def round_off(batches: Iterable[pa.RecordBatch], names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """Round as the other formats of the tables do."""
    import pyarrow as pa

    for batch in batches:
        columns = {name: batch.column(name) for name in batch.schema.names}
        for name in names:
            values = [None if each is None else round(each, 4) for each in texts(batch, name)]
            columns[name] = pa.array(values, pa.float32())
        yield pa.RecordBatch.from_pydict(columns)


def write_dropped(
    grouped: DataFrame, read: DataFrame, ids: DataFrame, space: Workspace, settings: AuditOptions
) -> None:
    """Write what can be dropped, a name a line: `output.files.dropped` says what that is.

    *read* has the packed ``text`` of each ``id``, *ids* the ``id`` of each ``row``.
    """
    from pyspark.sql import functions as F  # noqa: N812

    alike = f"similarity >= float({settings.drop_similarity})"
    repeats = f"(verdict = 'exact' or (verdict in ('near', 'part') and {alike})) and not renamed"
    pages = grouped.withColumn("repeats", F.expr(f"{repeats} and not kept_noindex"))
    doubtful = mapped(
        pages.where("repeats and verdict <> 'exact'").select("row", "leader", "url", "canonical"),
        of_series,
        "row long, leader long",
    )
    doubtful = space.keep(doubtful, "work/series")
    if not doubtful.isEmpty():
        needed = doubtful.select("row").unionByName(doubtful.selectExpr("leader row")).distinct()
        texts_of = ids.join(needed, "row").join(read, "id").select("row", "text")
        both = doubtful.join(texts_of, "row").join(texts_of.selectExpr("row leader", "text kept"), "leader")
        series = mapped(both.select("row", "text", "kept"), with_other_numbers, "row long")
        pages = pages.join(series.withColumn("series", F.lit(True)), "row", "left")
        pages = pages.withColumn("repeats", F.expr("repeats and series is null"))
    named = mapped(pages.select("url", "repeats"), name_of, "name string, repeats boolean, plain boolean")
    wanted = named.groupBy("name").agg(F.min("repeats").alias("all"), F.min("plain").alias("plain"))
    lines = wanted.where("all and plain").select("name")
    lines.repartitionByRange(space.partitions, "name").sortWithinPartitions("name").write.mode(
        "overwrite"
    ).text(space.path("drop.txt"))


def of_series(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the pages whose URL only numbers tell from that of their canonical page."""
    import pyarrow as pa

    for batch in batches:
        found = [*map(only_numbers_differ, texts(batch, "url"), texts(batch, "canonical"))]
        yield batch.select(["row", "leader"]).filter(pa.array(found, pa.bool_()))


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
    import pyarrow as pa

    for batch in batches:
        names = [filed_url(url) if is_url(url) else url for url in texts(batch, "url")]
        yield pa.RecordBatch.from_pydict(
            {
                "name": pa.array(names, pa.string()),
                "repeats": batch.column("repeats"),
                "plain": pa.array([is_plain(name) for name in names], pa.bool_()),
            }
        )


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
