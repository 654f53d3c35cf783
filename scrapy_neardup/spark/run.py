"""The audit on Spark, from pages to tables."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.audit.settings import AuditOptions
from scrapy_neardup.audit.sources import Options
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.extraction import load_extractor
from scrapy_neardup.index import Documents
from scrapy_neardup.index.stores import open_index
from scrapy_neardup.matching.records import filed_url, header_for

from .candidates import REPEATS, candidates, firsts, judged
from .frames import Workspace, keys_of, numbers, records_of, texts
from .grouping import ALONE, connected, grouped, ranked
from .output import SUMMARY, summarise, write_clusters, write_dropped, write_pages, write_pairs, write_sample
from .pages import in_order, named
from .reading import find_paths, read_frame, read_paths
from .session import require_spark, start_session

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession


#: The names of what is kept, in the folder of an audit.
SIGNATURES, SETTINGS = "signatures.parquet", "settings.json"
#: Documents that are added to an index at a time.
_ROWS = 1 << 14


def write_settings(space: Workspace, settings: AuditOptions) -> None:
    """Keep *settings*, with what signatures depend on."""
    content = {"settings": settings.to_json(), "identity": settings.identity()}
    space.write_text(SETTINGS, json.dumps(content) + "\n")


def with_seed_of(space: Workspace, earlier: Sequence[str], given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings *given* with the seed of *earlier* audits, whose signatures are to be used.

    Raises `ConfigurationError` if the signatures could not be compared.
    """
    identities = [
        json.loads(space.read_text(f"{folder.rstrip('/')}/{SETTINGS}"))["identity"] for folder in earlier
    ]
    if not identities:
        return given
    if given.get("seed") is None:
        given = {**given, "seed": identities[0]["seed"]}
    own = json.loads(json.dumps(AuditOptions(**given).identity()))
    for folder, identity in zip(earlier, identities, strict=True):
        if others := sorted(name for name, value in own.items() if identity.get(name) != value):
            raise ConfigurationError(
                f"The signatures in {folder} were made with other settings ({', '.join(others)}): use the "
                "same, or name the sources of that audit in place of it."
            )
    return given


def signatures_of(space: Workspace, folder: str, like: DataFrame) -> DataFrame:
    """Return the signed pages of the audit in *folder*."""
    columns = [name for name in like.columns if name != "id"]
    earlier = space.spark.read.parquet(f"{folder.rstrip('/')}/{SIGNATURES}").select(*columns)
    return earlier.where("kind = 'page'")


def make_index(folder: str | os.PathLike[str], where: str) -> int:
    """File the pages of the audit in *folder*, on this machine, in a new index; return how many.

    A crawl whose ``NEARDUP_DIR`` or ``NEARDUP_STORE`` is *where*, a directory or a URL, knows these pages
    from the start. Walls and short texts are left out. Raises `ConfigurationError` and what the index raises.
    """
    import pyarrow.dataset

    content = json.loads(Path(folder, SETTINGS).read_text(encoding="utf-8"))
    settings = AuditOptions.from_json(content["settings"])
    extractor = settings.area.identity(load_extractor(settings.extractor).identity)
    header = header_for(settings.fingerprinter, extractor)
    count = 0
    index = open_index(where, header)
    try:
        if index.header.seed != header.seed:
            raise ConfigurationError(f"{where} is an index with another seed: name a new one.")
        table = pyarrow.dataset.dataset(str(Path(folder, SIGNATURES)), format="parquet")
        columns = ["url", "fetched", "keys", "record", "wall"]
        signed = pyarrow.dataset.field("record").is_valid()
        for batch in table.to_batches(columns=columns, filter=signed, batch_size=_ROWS):
            if not batch.num_rows:
                continue
            records = records_of(batch, header)
            fetched = [0 if time is None else int(time) for time in texts(batch, "fetched")]
            records["time"] = np.clip(fetched, 0, 2**32 - 1)
            urls = [filed_url(url) for url in texts(batch, "url")]
            fit = (records["tokens"] >= max(settings.min_tokens, 1)) & ~numbers(batch, "wall")
            documents = Documents(keys_of(batch, header), records, urls, [b""] * len(urls))
            documents = documents.take(np.flatnonzero(fit))
            index.add(documents)
            count += len(documents.urls)
    finally:
        index.close()
    return count


@dataclass(frozen=True)
class SparkAudit:
    """What an audit has written."""

    spark: SparkSession
    #: The folder of the results.
    out: str
    #: The content of ``summary.json``.
    summary: dict[str, Any]

    @property
    def pages(self) -> DataFrame:
        """The table of pages; it is written by URL, but Spark reads its files in any order."""
        return self.spark.read.parquet(f"{self.out}/pages.parquet")

    @property
    def clusters(self) -> DataFrame:
        """The table of clusters."""
        return self.spark.read.parquet(f"{self.out}/clusters.parquet")

    @property
    def pairs(self) -> DataFrame:
        """The table of pairs."""
        return self.spark.read.parquet(f"{self.out}/pairs.parquet")


def audit(frame: DataFrame, out: str, **options: Any) -> SparkAudit:
    """Find the duplicates among the pages of a data frame; write the results to the folder *out*.

    *frame* has a column with a text or HTML, one with the URL, and perhaps a title and a time; which ones is
    guessed from their names, or given as *text_field* and *url_field*. *out* is a path of any file system
    that the executors write to. *options* are those of `audit_paths`.
    """
    require_spark()
    return _audit(frame.sparkSession, lambda settings: read_frame(frame, settings), out, **options)


def audit_paths(
    paths: Sequence[str],
    out: str,
    *,
    master: str | None = None,
    spark_settings: dict[str, str] | None = None,
    **options: Any,
) -> SparkAudit:
    """Find the duplicates among the pages of files; write the results to the folder *out*.

    Starts a session on *master* with *spark_settings* unless there is one. *options* are the settings of
    `AuditOptions`, and besides:

    - *partitions*: how many parts the data is cut into; unless given, as many as its size asks for, and
      ``spark.sql.shuffle.partitions`` at the most.
    - *alone*: how many edges between pages one task may join to components; more are joined in rounds.
    - *earlier*: folders of audits whose pages count, too. They are not read or signed again.
    - *overwrite*: whether results that are in *out* are replaced.
    - *watch*: a function that is told each step.

    Raises `ConfigurationError`, `DependencyUnavailable` and `SourceUnavailable`.
    """
    require_spark()
    fields = Options(options.get("text_field"), options.get("url_field"))
    sources = find_paths(paths, fields)  # a wrong path is said before Spark starts
    spark = start_session(master, spark_settings)
    return _audit(spark, lambda settings: read_paths(spark, sources, settings), out, **options)


def _audit(
    spark: SparkSession,
    read: Callable[[AuditOptions], DataFrame],
    out: str,
    *,
    partitions: int | None = None,
    alone: int = ALONE,
    earlier: Sequence[str] = (),
    overwrite: bool = False,
    watch: Callable[[str], None] = lambda step: None,
    **options: Any,
) -> SparkAudit:
    space = Workspace(spark, out, partitions)
    if not overwrite and space.exists(SUMMARY):
        raise ConfigurationError(f"There are results in {out}: name another folder, or overwrite them.")
    settings = AuditOptions(**with_seed_of(space, earlier, options))
    space.remove(SUMMARY)  # without it what an audit that fails leaves is not taken for results
    signed = _signed(space, settings, read, earlier, watch)
    with space.parts(space.size(SIGNATURES)):
        summary = _run(space, settings, signed, alone, watch)
    space.remove("work")
    return SparkAudit(spark, space.folder, summary)


def _signed(
    space: Workspace,
    settings: AuditOptions,
    read: Callable[[AuditOptions], DataFrame],
    earlier: Sequence[str],
    watch: Callable[[str], None],
) -> DataFrame:
    """Keep what is read, and what *earlier* audits have read."""
    from pyspark.sql import functions as F  # noqa: N812

    watch("signing")
    signed = read(settings)
    for folder in earlier:
        signed = signed.unionByName(signatures_of(space, folder, signed))
    signed = space.keep(signed.withColumn("id", F.monotonically_increasing_id()), SIGNATURES)
    write_settings(space, settings)
    return signed


def _run(
    space: Workspace,
    settings: AuditOptions,
    signed: DataFrame,
    alone: int,
    watch: Callable[[str], None],
) -> dict[str, Any]:
    """Write the results; return the summary."""
    watch("sorting")
    pages, left_out = in_order(signed, space, settings)
    if pages.isEmpty():
        raise ConfigurationError("No pages: name what was crawled.")
    texts = signed.where("text is not null").select("id", "text")
    watch("boilerplate")
    documents = named(pages, texts, space, settings)
    watch("candidates")
    alike = firsts(documents, space, settings)
    pairs = judged(alike, candidates(alike, space, settings), documents, space, settings)
    watch("components")
    edges = pairs.where(REPEATS)
    components = connected(edges, space, alone)
    watch("canonical pages")
    listed = pairs.where("kind <> 'rejected'")
    involved = listed.selectExpr("a row").unionByName(listed.selectExpr("b row")).distinct()
    ranks = ranked(documents, components, involved, space, settings)
    watch("clusters")
    found = grouped(documents, pairs, components, ranks, space, settings)
    watch("writing")
    clusters = write_clusters(found, space)
    write_pages(found, clusters, pairs, space)
    write_pairs(found, pairs, space)
    ids = documents.select("row", "id")
    write_dropped(found, texts, ids, space, settings)
    summary = summarise(found, pairs, signed, left_out, space, settings)
    write_sample(found, pairs, texts, ids, space, settings, summary["clusters"])
    return summary
