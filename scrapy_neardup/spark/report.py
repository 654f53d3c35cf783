"""The report of some clusters, written by the driver: no browser would open all of them."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.audit.model import CLUSTERS, NO_DISTANCE, PAGES, PAIRS, Audit, Input
from scrapy_neardup.audit.output.report import ReportData, write_report
from scrapy_neardup.audit.packing import unpacked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

    from scrapy_neardup.audit.settings import AuditOptions

    from .frames import Workspace

REPORT = "report.html"
#: Clusters that are in a sample because they are the largest, and so many drawn by the hash of a URL.
SAMPLE = 200
#: Pages of a cluster that are in it, its canonical page first, and those of them with a text.
MEMBERS, WITH_TEXT = 20, 5
_PAIRS = 100_000
#: What a report says of a whole crawl.
_OF_ALL = {"Repeats", "Left out as boilerplate"}
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
    data = ReportData.of(audit)
    said = {"Sample": f"{sample}. All figures are of these; summary.json has those of the crawl."}
    said |= {name: value for name, value in data.particulars.settings.items() if name not in _OF_ALL}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, REPORT)
        write_report(path, replace(data, particulars=replace(data.particulars, settings=said)))
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
