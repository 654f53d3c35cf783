"""The audit on Spark: its steps, its tables, drop list and summary, and what later crawls make of it."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from scrapy_neardup import __version__
from scrapy_neardup.audit.model import HANDLED, VERDICTS
from scrapy_neardup.audit.options import AuditOptions
from scrapy_neardup.audit.output.files import LARGEST, numbers_in, settings_of
from scrapy_neardup.audit.store import unpacked
from scrapy_neardup.errors import ConfigurationError, DependencyUnavailable
from scrapy_neardup.index.stores import open_index
from scrapy_neardup.matching.records import header_for

from . import clusters
from .clusters import LED, SHOWN, TOGETHER, clustered, compare, connected, ranked
from .earlier import COLUMNS, FEW, FILED, filed_of, repeating
from .frames import Workspace, batch_of, column_names, in_groups, mapped, texts
from .pages import READ, SIGNATURES, SIGNED, find_paths, named, read_frame, read_paths
from .pairs import PAIRED, REPEATS, judged

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import DataFrame


#: The file that says that an audit has come to its end.
SUMMARY = "summary.json"
SETTINGS = "settings.json"
#: Variables that say that Spark is set up here: by spark-submit, or by an installation of its own.
_SET_UP = {"PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR", "SPARK_HOME"}
#: Documents that are added to an index at a time, pages that a part has.
_ROWS = 1 << 14
#: Into how many parts rows are sent. Settings for few pages: to plan and compile takes longer than they.
_PARTS, _ASKED = "spark.sql.shuffle.partitions", "spark.sql.parquet.pushdown.inFilterThreshold"
_BRIEF = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}

#: What is counted of each table as it is written.
_SUMS = {
    "pages": {name: f"count_if(verdict = '{name}')" for name in VERDICTS}
    | {name: f"count_if(verdict in ('exact', 'near') and handled = '{name}')" for name in HANDLED}
    | {"to_fix": "count_if(verdict in ('exact', 'near') and handled is null)"},
    "clusters": {
        "clusters": "count(*)",
        "largest": f"collect_list(if(cluster < {LARGEST}, struct(cluster, size, canonical), null))",
    },
    "pairs": {f"{kind} pairs": f"count_if(kind = '{kind}')" for kind in PAIRED},
}


def write_tables(grouped: DataFrame, pairs: DataFrame, space: Workspace) -> None:
    """Write the tables: clusters, the largest first; pages by their URLs; pairs by their pages."""
    if not space.alone:
        # Numbers without gaps are given by one task, which has a few bytes of each cluster.
        number = "row_number() over (order by size desc, rank) - 1 cluster"
        numbered = grouped.where("size is not null").selectExpr("row leader", number)
        pairs = pairs.join(grouped.selectExpr("row a", "url url1"), "a")
        pairs = pairs.join(grouped.selectExpr("row b", "url url2"), "b")
        # As in the table of pages.
        rounded = (f"float(bround(double({name}), 4)) {name}" for name in ("similarity", "containment"))
        pairs = pairs.selectExpr("struct(a, b) row", "url1", "url2", "kind", "distance", *rounded)
        grouped = grouped.join(space.held(space.keep(numbered, "work/clusters")), "leader", "left")
    url, verdict, *others = column_names(SHOWN)
    tables = {
        "clusters": (
            grouped.where("size is not null"),
            "cluster",
            ["cluster", "canonical", *column_names(LED)],
        ),
        "pages": (grouped, "row", [url, verdict, "cluster", *others]),
        "pairs": (pairs, "row", ["url1", "url2", "kind", "distance", "similarity", "containment"]),
    }
    for name, (table, by, columns) in tables.items():
        space.keep(space.ordered(table, by).select(*columns), f"{name}.parquet", **_SUMS[name])


def write_dropped(grouped: DataFrame, signed: DataFrame, space: Workspace) -> None:
    """Write what can be dropped, a name a line: `output.files.dropped` says what that is."""
    series = grouped.where("drop and series and verdict <> 'exact'")
    sides = series.selectExpr("row", "explode(array(id, kept)) id")
    stored = signed.where("text is not null").select("id", "text").join(space.held(sides), "id")
    said = mapped(stored, numbers_said, "row long, said string")
    others = said.groupBy("row").agg(F.expr("min(said) <> max(said) other")).where("other")
    pages = grouped.select("row", "name", "drop").join(others, "row", "left")
    wanted = pages.groupBy("name").agg(F.expr("bool_and(drop and other is null) wanted")).where("wanted")
    space.ordered(wanted.select("name"), "name").write.mode("overwrite").text(space.path("drop.txt"))


def numbers_said(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the numbers in texts, which are equal if `output.files.numbers_in` finds them so."""
    found = (numbers_in(unpacked(each).shown) for each in texts(batch, "text"))
    said = [" ".join(sorted(each.elements())) for each in found]
    return batch_of({"row": batch.column("row"), "said": said}, "row long, said string")


def summarise(counted: Mapping[str, Any], settings: AuditOptions) -> dict[str, Any]:
    """Return the content of ``summary.json``, by what was *counted*."""
    skipped = Counter[str]()
    for reason, count in counted["skipped"]:
        skipped[reason] += count
    return {
        "version": __version__,
        "settings": settings_of(settings),
        "pages": counted["pages"],
        "verdicts": {name: counted[name] for name in VERDICTS},
        "handled": {name: counted[name] for name in (*HANDLED, "to_fix")},
        "clusters": counted["clusters"],
        "pairs": {kind: count for kind in PAIRED if (count := counted[f"{kind} pairs"])},
        "skipped": dict(sorted(skipped.items())),
        "problems": counted["problems"],
        "largest_clusters": [row.asDict() for row in sorted(counted["largest"])],
    }


def start_session(master: str | None) -> SparkSession:
    """Return a session on *master*; the one that this process has stays as it is.

    None: the one that Spark is set up for, or all processors here. Raises `DependencyUnavailable`.
    """
    builder = SparkSession.builder.appName("scrapy-neardup audit")
    if master is None and not _SET_UP & {*os.environ}:
        master = "local[*]"
    if master is not None:
        builder = builder.master(master)
        if master.startswith("local"):
            # Tasks run this interpreter, not whichever is found first.
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            builder = builder.config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
            builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
            # Java is half of the work on some thousand pages, and most of that is to compile.
            builder = builder.config("spark.driver.defaultJavaOptions", "-XX:TieredStopAtLevel=1")
    try:
        return builder.getOrCreate()
    except Exception as error:  # what PySpark raises without Java is no class of its own in all releases
        if "JAVA_GATEWAY_EXITED" in str(error):
            raise DependencyUnavailable(
                "Spark needs Java 17 or newer: install it, and set JAVA_HOME."
            ) from error
        raise


def fitted(spark: SparkSession, count: int, settings: dict[str, str]) -> SparkSession:
    """Return a session like *spark* with other *settings*, and no more parts than so many pages need."""
    session = spark.newSession()
    given = dict(spark.conf.getAll.items() - session.conf.getAll.items())
    most, parts = str(spark.conf.get(_PARTS)), 1 + count // _ROWS
    parts = min(parts, int(most)) if most.isdigit() else parts  # some say "auto"
    for name, value in (given | settings | {_PARTS: str(parts), _ASKED: str(FEW)}).items():
        session.conf.set(name, value)
    return session


def _with_seed_of(space: Workspace, earlier: Sequence[str], given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings *given* with the seed of *earlier* audits, whose signatures are to be used.

    Raises `ConfigurationError` if the signatures could not be compared.
    """
    for folder in earlier:
        identity = json.loads(space.read_text(f"{folder}/{SETTINGS}"))["identity"]
        if given.get("seed") is None:
            given = {**given, "seed": identity["seed"]}
        own = _identity(AuditOptions(**given))
        if others := sorted(name for name, value in own.items() if identity.get(name) != value):
            raise ConfigurationError(
                f"The signatures in {folder} were made with other settings or by another version of this "
                f"package ({', '.join(others)}): use the same, or name the sources of it in its place."
            )
    return given


def _identity(settings: AuditOptions) -> dict[str, Any]:
    """Return all that the rows of signatures depend on."""
    return settings.identity() | {"columns": SIGNED}


def make_index(folder: str | os.PathLike[str], where: str) -> int:
    """File the pages of the audit in *folder*, on this machine, in a new index; return how many.

    A crawl whose ``NEARDUP_DIR`` or ``NEARDUP_STORE`` is *where*, a directory or a URL, knows these pages
    from the start, but for repeats, walls and short texts. Raises `ConfigurationError` and what the index
    raises.
    """
    audited = json.loads(Path(folder, SETTINGS).read_text("utf-8"))
    settings = AuditOptions(**audited["settings"])
    if not settings.identity().items() <= audited["identity"].items():
        raise ConfigurationError(f"{folder} is of another version of this package: audit its sources anew.")
    header = header_for(settings.fingerprinter, settings.extractor_identity)
    count = 0
    with closing(open_index(where, header)) as index:
        if index.header.seed != header.seed:
            raise ConfigurationError(f"{where} is an index with another seed: name a new one.")
        # It imports pandas, which takes longer than all else.
        import pyarrow.dataset

        table = pyarrow.dataset.dataset(str(Path(folder, FILED)), format="parquet")
        for batch in table.to_batches(batch_size=_ROWS):
            count += len(index.add(filed_of(batch, settings)))
    return count


@dataclass(frozen=True)
class SparkAudit:
    """What an audit has written."""

    spark: SparkSession
    #: The folder of the results.
    out: str
    #: The content of ``summary.json``.
    summary: dict[str, Any]

    def table(self, name: str) -> DataFrame:
        """Return the table of ``pages``, ``clusters`` or ``pairs``; Spark reads its files in any order."""
        return self.spark.read.parquet(f"{self.out}/{name}.parquet")


def audit(frame: DataFrame, out: str, **options: Any) -> SparkAudit:
    """Find the duplicates among the pages of a data frame; write the results to the folder *out*.

    *frame* has a column with a text or HTML, one with the URL, and perhaps a title and a time; which ones is
    guessed from their names, or given as *text_field* and *url_field*. *out* is a path of any file system
    that the executors write to. *options* are those of `audit_paths`.
    """
    return _audit(frame.sparkSession, lambda settings: read_frame(frame, settings), out, **options)


def audit_paths(paths: Sequence[str], out: str, *, master: str | None = None, **options: Any) -> SparkAudit:
    """Find the duplicates among the pages of files; write the results to the folder *out*.

    Starts a session on *master* unless there is one. *options* are the settings of `AuditOptions`, and
    besides *earlier*, folders of audits of which new pages are repeats, too; *overwrite*, whether results
    that are in *out* are replaced; and *watch*, a function that is told each step. Raises
    `ConfigurationError`, `DependencyUnavailable` and `SourceUnavailable`.
    """
    sources = find_paths(paths)  # a wrong path is said before Spark starts
    spark = start_session(master)
    again = [folder for folder, _, name in (t.rpartition("/") for t in sources.tables) if name == SIGNATURES]
    return _audit(spark, lambda settings: read_paths(spark, sources, settings), out, again=again, **options)


def _audit(
    spark: SparkSession,
    read: Callable[[AuditOptions], DataFrame],
    out: str,
    *,
    again: Sequence[str] = (),
    earlier: Sequence[str] = (),
    overwrite: bool = False,
    watch: Callable[[str], None] = lambda step: None,
    **options: Any,
) -> SparkAudit:
    space = Workspace(spark, out)
    if not overwrite and space.exists(SUMMARY):
        raise ConfigurationError(f"There are results in {out}: name another folder, or overwrite them.")
    earlier = [folder.rstrip("/") for folder in earlier]
    settings = AuditOptions(**_with_seed_of(space, [*again, *earlier], options))
    space.remove(SUMMARY)  # without it what an audit that fails leaves is not taken for results
    watch("signing")
    signed = space.keep(read(settings).withColumn("id", F.monotonically_increasing_id()), SIGNATURES, **READ)
    content = {"settings": asdict(settings), "identity": _identity(settings)}
    space.write_text(SETTINGS, json.dumps(content) + "\n")
    count = space.counted["pages"]
    if not count:
        raise ConfigurationError("No pages: name what was crawled.")
    space.alone = count <= clusters.ALONE
    space.spark = fitted(spark, count, _BRIEF if space.alone else {})
    signed = space.spark.read.schema(signed.schema).parquet(space.path(SIGNATURES))
    known = None
    if earlier:
        watch("earlier pages")
        known = repeating(signed, earlier, space, settings)
        signed = signed.join(known.select("id"), "id", "left_anti")
    watch("boilerplate")
    documents = named(signed, count, space, settings)
    if space.alone:
        watch("comparing")
        every = in_groups(documents, [], 0, compare, TOGETHER, settings)
        every = space.keep(every, "work/grouped")
        found, pairs = every.where("kind is null"), every.where("kind is not null")
    else:
        watch("candidates")
        # Pages are joined by their rows in each step. They are sent around for that once.
        parts = int(str(space.spark.conf.get(_PARTS)))
        documents = documents.repartition(parts, "row").persist(StorageLevel.DISK_ONLY)
        try:
            pairs = judged(documents, count, space, settings)
            watch("components")
            components = connected(pairs.where(REPEATS), space)
            watch("canonical pages")
            ranks = ranked(documents, count, pairs, components, space, settings)
            watch("clusters")
            found = clustered(documents, count, pairs, components, ranks, space, settings)
        finally:
            documents.unpersist()
    watch("writing")
    fit = found.where("verdict in ('unique', 'template')")  # as the canonical page of a cluster is
    space.keep(signed.select(*COLUMNS).join(space.held(fit.select("id")), "id"), FILED)
    if known is not None:
        found = found.unionByName(known, allowMissingColumns=True)
    write_tables(found, pairs, space)
    write_dropped(found, signed, space)
    summary = summarise(space.counted, settings)
    space.write_text(SUMMARY, json.dumps(summary, indent=2, ensure_ascii=False) + "\n")
    space.remove("work")
    return SparkAudit(spark, space.folder, summary)
