"""The tables of an audit, its drop list, its summary, and the report of some clusters."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.audit.model import CLUSTERS, HANDLED, NO_DISTANCE, PAGES, PAIRS, VERDICTS, Audit, Input
from scrapy_neardup.audit.output.files import (
    LARGEST,
    is_plain,
    is_url,
    numbers_in,
    only_numbers_differ,
    settings_of,
)
from scrapy_neardup.audit.output.report import write_report
from scrapy_neardup.audit.signing import unpacked
from scrapy_neardup.matching.records import filed_url

from .frames import PLACE_BITS, column_names, mapped, numbers, texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa
    from numpy.typing import NDArray
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
    listed = ordered.select(*column_names(PAGE_TABLE))
    rounded = mapped(listed, round_off, PAGE_TABLE, ("similarity", "closest_similarity"))
    space.write(rounded.drop("row"), "pages.parquet")


def write_pairs(grouped: DataFrame, pairs: DataFrame, space: Workspace) -> None:
    """Write the table of pairs, in the order of their pages."""
    named = pairs.join(grouped.selectExpr("row a", "url url1"), "a").join(
        grouped.selectExpr("row b", "url url2"), "b"
    )
    ordered = named.repartitionByRange(space.partitions, "a", "b").sortWithinPartitions("a", "b")
    listed = ordered.select(*column_names(PAIR_TABLE))
    rounded = mapped(listed, round_off, PAIR_TABLE, ("similarity", "containment"))
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


REPORT = "report.html"
#: Clusters that are in a sample because they are the largest, and so many drawn by the hash of a URL.
SAMPLE = 200
#: Pages of a cluster that are in it, its canonical page first, and those of them with a text.
MEMBERS, WITH_TEXT = 20, 5
_PAIRS = 100_000
_COUNTS = ("size", "exact", "near", "part", "revisit")


class _Texts:
    """What an audit takes texts from."""

    def __init__(self, packed: Mapping[int, bytes | None]) -> None:
        self._packed = packed

    def text(self, page: int) -> str | None:
        packed = self._packed.get(page)
        return None if packed is None else unpacked(packed).shown

    def close(self) -> None:
        pass


def write_sample(
    grouped: DataFrame,
    pairs: DataFrame,
    read: DataFrame,
    ids: DataFrame,
    space: Workspace,
    settings: AuditOptions,
    clusters: int,
) -> None:
    """Write ``report.html``, which shows a sample of so many *clusters*; nothing if there are none.

    *grouped* is `GROUPED`, *read* has the packed ``text`` of each ``id``, *ids* the ``id`` of each ``row``.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    led = grouped.where("size is not null").select("row", "url", "rank", *_COUNTS)
    chosen = led.orderBy(F.desc("size"), "rank").limit(SAMPLE)
    if clusters > SAMPLE:
        chosen = chosen.unionByName(led.orderBy(F.xxhash64("url"), "rank").limit(SAMPLE)).distinct()
    leaders = sorted(chosen.collect(), key=lambda row: (-row["size"], row["rank"]))
    if not leaders:
        return
    by = Window.partitionBy("leader").orderBy(F.expr("row <> leader"), "rank")
    members = grouped.where(_among("leader", (row["row"] for row in leaders)))
    members = members.withColumn("place", F.row_number().over(by)).where(f"place <= {MEMBERS}")
    pages = sorted(members.drop("members").collect(), key=lambda page: page["row"])
    rows = [page["row"] for page in pages]
    inside = f"{_among('a', rows)} and {_among('b', rows)}"
    between = pairs.where(inside).orderBy("a", "b").limit(_PAIRS).collect()
    with_text = [page["row"] for page in pages if page["place"] <= WITH_TEXT]
    ids_of = {row["row"]: row["id"] for row in ids.where(_among("row", with_text)).collect()}
    texts = read.where(_among("id", ids_of.values())).select("id", "text").collect()
    packed = {row["id"]: row["text"] for row in texts}
    stored = {number: packed.get(ids_of.get(row)) for number, row in enumerate(rows)}
    tables = _tables(pages, leaders, between)
    sample = f"{len(leaders):,} of {clusters:,} clusters, up to {MEMBERS} pages of each"
    audit = Audit(
        *tables,
        settings=settings,
        inputs=((Input(f"{sample}: a sample of {space.folder}", "audit on Spark"), len(pages)),),
        problems=(),
        skipped={},
        boilerplate=(),
        started="new",
        _store=_Texts(stored),  # type: ignore[arg-type]
        _ids=np.arange(len(pages)),
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, REPORT)
        said = f"{sample}. All figures are of these; summary.json has those of the crawl."
        write_report(path, audit, sample=said)
        space.write_text(REPORT, path.read_text(encoding="utf-8"))


def _among(column: str, numbers: Iterable[int]) -> str:
    listed = ",".join(f"{number}L" for number in numbers)
    return f"{column} in ({listed})" if listed else "false"


def _tables(
    pages: list[Any], leaders: list[Any], pairs: list[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the tables of `Audit` for these rows of Spark's, which are sorted."""
    place = {page["row"]: number for number, page in enumerate(pages)}
    cluster = {row["row"]: number for number, row in enumerate(leaders)}
    listed = np.zeros(len(pages), PAGES)
    for name in ("url", "title", "verdict", "rank", "tokens", "noindex", "renamed"):
        listed[name] = [page[name] for page in pages]
    for name, other in (("declared", "declared"), ("alternates", "hreflang"), ("handled", "handled")):
        listed[name] = [page[other] or "" for page in pages]
    for name, none in (("distance", NO_DISTANCE), ("similarity", np.nan), ("fetched", np.nan)):
        listed[name] = [none if page[name] is None else page[name] for page in pages]
    listed["cluster"] = [cluster[page["leader"]] for page in pages]
    listed["canonical"] = [place[page["leader"]] for page in pages]
    groups = np.zeros(len(leaders), CLUSTERS)
    groups["canonical"] = [place[row["row"]] for row in leaders]
    for name in _COUNTS:
        groups[name] = [row[name] for row in leaders]
    both = np.zeros(len(pairs), PAIRS)
    for name, side in (("first", "a"), ("second", "b")):
        both[name] = [place[pair[side]] for pair in pairs]
    for name in ("kind", "distance", "similarity", "containment"):
        both[name] = [pair[name] for pair in pairs]
    return listed, groups, both
