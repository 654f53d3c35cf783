"""The audit on Spark, from pages to tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy_neardup.audit.settings import AuditOptions
from scrapy_neardup.audit.sources import Options
from scrapy_neardup.errors import ConfigurationError

from .candidates import candidates, firsts
from .components import ALONE, connected
from .frames import Workspace
from .grouping import grouped
from .judging import REPEATS, judged
from .kept import SIGNATURES, signatures_of, with_seed_of, write_settings
from .output import SUMMARY, summarise, write_clusters, write_dropped, write_pages, write_pairs
from .pages import in_order
from .ranks import ranked
from .reading import read_frame, read_paths
from .report import write_sample
from .session import require_spark, start_session
from .sources import find_paths
from .titles import named

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession


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
