"""Revisits of web archives as copies of the pages that they refer to: the rule of `audit.revisits`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.matching.sites import site_key

from .columns import texts
from .frames import mapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from scrapy_neardup.audit.settings import AuditOptions

    from .frames import Workspace

_IS_REVISIT = "refers_digest is not null or refers_url is not null"
#: What tells the older of two pages.
_AGE = "struct(time, url, keys, id)"


def resolved(pages: DataFrame, space: Workspace, settings: AuditOptions) -> tuple[DataFrame, int]:
    """Return *pages* with each revisit as a copy of what it refers to, under its own URL and time.

    The ``id`` of the copy is that of the page, so that its text is found. Returned besides: how many revisits
    refer to none of *pages*.
    """
    from pyspark.sql import functions as F  # noqa: N812

    revisits = pages.where(_IS_REVISIT)
    if revisits.isEmpty():
        return pages, 0
    others = pages.where(f"not ({_IS_REVISIT})")
    known = others.selectExpr(
        "body_digest", "substring_index(url, '#', 1) filed",
        "coalesce(nanvl(fetched, 0), 0) time", "url", "keys", "id",
    )  # fmt: skip
    own = revisits.selectExpr(
        "id own", "refers_digest", "substring_index(coalesce(refers_url, ''), '#', 1) filed",
        "nanvl(fetched, cast(null as double)) at",
    )  # fmt: skip
    by_digest = known.groupBy("body_digest").agg(F.expr(f"min({_AGE}).id same"))
    found = own.join(by_digest, own["refers_digest"] == by_digest["body_digest"], "left")
    found = found.select("own", "filed", "at", "same")
    of_url = found.where("same is null").join(known, "filed").groupBy("own")
    of_url = of_url.agg(
        F.expr(f"max({_AGE}) filter (where at is null or time <= at).id last"),
        F.expr(f"min({_AGE}).id first"),
    )
    targets = found.select("own", "same").join(of_url, "own", "left")
    targets = targets.selectExpr("own", "coalesce(same, last, first) target")
    targets = space.keep(targets, "work/revisits")
    moved = revisits.selectExpr("id own", "url own_url", "fetched own_fetched").join(targets, "own")
    moved = moved.join(others, moved["target"] == others["id"])
    moved = moved.withColumns({"url": F.col("own_url"), "fetched": F.col("own_fetched")})
    moved = mapped(moved.select(*pages.columns), under_own_site, _schema_of(pages), settings)
    return others.unionByName(moved), targets.where("target is null").count()


def under_own_site(batches: Iterable[pa.RecordBatch], settings: AuditOptions) -> Iterator[pa.RecordBatch]:
    """Give pages with a signature the site of their URL."""
    import pyarrow as pa

    for batch in batches:
        signed = np.flatnonzero(batch.column("record").is_valid().to_numpy(zero_copy_only=False))
        values, urls = texts(batch, "record"), texts(batch, "url")
        for row in signed.tolist():
            record = np.frombuffer(bytearray(values[row]), settings.header.dtype)
            record["site"] = site_key(urls[row])
            values[row] = record.tobytes()
        place = batch.schema.get_field_index("record")
        yield batch.set_column(place, "record", pa.array(values, pa.binary()))


def _schema_of(frame: DataFrame) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in frame.dtypes)
