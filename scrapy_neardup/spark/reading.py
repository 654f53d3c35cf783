"""Reads pages on the executors and signs them there: what the audit's own reader makes, as rows."""

from __future__ import annotations

import dataclasses
from contextlib import closing
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_neardup.audit.model import Input
from scrapy_neardup.audit.reading import Reader
from scrapy_neardup.audit.run import find_inputs
from scrapy_neardup.audit.sources import BrokenRecord, CrawledPage, Options, Origin
from scrapy_neardup.audit.sources.feeds import Fields, item_of
from scrapy_neardup.audit.store import COLUMNS, encodable, row_of
from scrapy_neardup.errors import ConfigurationError

from .frames import batch_of, column_names, mapped

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from scrapy_neardup.audit.settings import AuditOptions
    from scrapy_neardup.audit.store import StoredPage


class Sources(NamedTuple):
    """What is to be read, by who reads it."""

    #: Files of JSON lines, for Spark.
    lines: list[str]
    #: Folders and URLs of Parquet, for Spark.
    tables: list[str]
    #: All else, for the audit's own readers.
    others: list[Input]


#: What only the audit's own readers read, and only from paths.
_FOREIGN = {".warc", ".wet", ".wacz", ".arc", ".html", ".htm", ".xhtml", ".csv", ".tsv", ".xz"}


def find_paths(paths: Sequence[str]) -> Sources:
    """Return what *paths* name, each once. Raises `SourceUnavailable` and `ConfigurationError`.

    JSON lines, folders of Parquet and URLs are read by Spark, from any file system that it knows, in parts.
    All else is read by the audit's own readers, a file in one piece, from a path that all executors see.
    """
    found = Sources([], [], [])
    here: list[str] = []
    for path in dict.fromkeys(paths):
        if "://" in path:
            name = path.rpartition("/")[2]
            if {*Path(name).suffixes} & _FOREIGN:
                raise ConfigurationError(
                    f"{path} is not read from there: copy it to a path that all executors see, and name that."
                )
            (found.tables if "parquet" in name else found.lines).append(path)
        elif _is_table(Path(path)):
            found.tables.append(_url(path))
        else:
            here.append(path)
    for each in find_inputs(here) if here else ():
        if each.kind == "json lines" and _is_plain(each.name):
            found.lines.append(_url(each.name))
        else:
            found.others.append(Input(str(Path(each.name).resolve()), each.kind))
    return found


def _is_table(path: Path) -> bool:
    """Tell whether *path* is a folder of Parquet alone, as Spark writes one."""
    names = [each.name for each in path.iterdir() if each.name[0] not in "._"] if path.is_dir() else []
    return bool(names) and all(name.endswith(".parquet") for name in names)


def _is_plain(path: str) -> bool:
    """Tell whether Spark takes *path* for the name of one file, and can read it."""
    where = Path(path).resolve()
    return where.name[:1] not in "._" and where.suffix != ".xz" and not set("*?[]{}\\") & {*str(where)}


def _url(path: str) -> str:
    return f"file://{Path(path).resolve()}"  # Hadoop's paths have no escapes


#: What is kept of each page, of each problem and of each kind of record that is no page.
SIGNED = (
    "kind string, source string, place string, url string, fetched double, declared string, "
    "alternates string, title string, noindex boolean, body_digest string, refers_digest string, "
    "refers_url string, reason string, wall boolean, keys binary, record binary, headline string, "
    "paragraphs binary, text binary, note binary, count long"
)
_COLUMNS = column_names(SIGNED)
#: Rows that an executor hands over at a time.
_ROWS = 500


def read_frame(frame: DataFrame, settings: AuditOptions) -> DataFrame:
    """Return the signed pages of *frame*, whose columns are found as those of a table are: see `Fields`."""
    fields = Fields(Options(settings.text_field, settings.url_field))
    wanted = fields.columns(frame.columns)
    if not wanted:
        raise ConfigurationError(f"Nothing can be read: {fields.no_text(frame.columns)}")
    return mapped(frame.select(*(f"`{name}`" for name in wanted)), sign_rows, SIGNED, _alone(settings))


def read_paths(spark: SparkSession, sources: Sources, settings: AuditOptions) -> DataFrame:
    """Return the signed pages of *sources*."""
    found: list[DataFrame] = []
    if sources.lines:
        content = spark.read.text(sources.lines)
        content = content.selectExpr("cast(value as binary) line", "input_file_name() source")
        found.append(mapped(content, sign_lines, SIGNED, _alone(settings)))
    found += [read_frame(spark.read.parquet(table), settings) for table in sources.tables]
    if others := sources.others:
        rows = spark.createDataFrame([tuple(each) for each in others], "name string, kind string")
        spread = rows.repartitionByRange(len(others), "name")
        found.append(mapped(spread, sign_files, SIGNED, _alone(settings)))
    return reduce(lambda one, other: one.unionByName(other), found)


def _alone(settings: AuditOptions) -> AuditOptions:
    """Return *settings* for a task: Spark runs as many of them as there are processors."""
    return dataclasses.replace(settings, workers=1)


class _Rows:
    """The `Sink` of a reader: what it finds becomes rows of `SIGNED`."""

    directory = None

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def has(self, origin: Origin, stamp: str) -> bool:
        return False

    def add(self, page: StoredPage) -> None:
        row = dict(zip(COLUMNS, row_of(page, 0), strict=True))
        if row["headline"] is not None:
            row["headline"] = row["headline"].decode("utf-8", "backslashreplace")
        self._rows.append(row | {"kind": "page"})

    def add_problem(self, root: str, origin: Origin, reason: str) -> None:
        row = {
            "source": encodable(origin.path),
            "place": encodable(origin.place),
            "reason": encodable(reason),
        }
        self._rows.append(row | {"kind": "problem"})

    def add_skipped(self, root: str, reason: str, count: int) -> None:
        self._rows.append({"kind": "skipped", "reason": reason, "count": count})

    def take(self) -> pa.RecordBatch:
        """Return the rows so far, and forget them."""
        rows, self._rows = self._rows, []
        columns = {name: [row.get(name) for row in rows] for name in _COLUMNS}
        for name in ("noindex", "wall"):
            columns[name] = [value and bool(value) for value in columns[name]]
        return batch_of(columns, SIGNED)


def _sign(
    pages_of: Callable[[Reader], Generator[StoredPage, None, None]], settings: AuditOptions
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the pages that *pages_of* makes a reader sign."""
    sink = _Rows()
    with (
        closing(Reader(sink, settings, lambda origin, done: None)) as reader,
        closing(pages_of(reader)) as pages,
    ):
        for page in pages:
            sink.add(page)
            if len(sink) >= _ROWS:
                yield sink.take()
    yield sink.take()


def sign_rows(batches: Iterable[pa.RecordBatch], settings: AuditOptions) -> Iterator[pa.RecordBatch]:
    """Sign the pages in the rows of a table."""
    fields = Fields(Options(settings.text_field, settings.url_field))
    items = (item for batch in batches for item in batch.to_pylist())
    records = (_with_url(fields.page(item, _NOWHERE)) for item in items)
    yield from _sign(lambda reader: reader.signed_records("", records), settings)


def sign_lines(batches: Iterable[pa.RecordBatch], settings: AuditOptions) -> Iterator[pa.RecordBatch]:
    """Sign the pages in lines of JSON, with the file of each."""
    fields = Fields(Options(settings.text_field, settings.url_field))
    lines = (
        (line, Origin(source))
        for batch in batches
        for line, source in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)
        if line.strip()
    )
    records = (_with_url(item_of(fields, line, origin)) for line, origin in lines)
    yield from _sign(lambda reader: reader.signed_records("", records), settings)


def sign_files(batches: Iterable[pa.RecordBatch], settings: AuditOptions) -> Iterator[pa.RecordBatch]:
    """Sign the pages in files, with the kind of each."""
    for batch in batches:
        for row in batch.to_pylist():
            yield from _sign(partial(Reader.signed, inputs=[Input(**row)]), settings)


#: A row of a table has no place that is the same in every run.
_NOWHERE = Origin("", "")


def _with_url(record: CrawledPage | BrokenRecord) -> CrawledPage | BrokenRecord:
    """Return *record*, or a problem in place of a page that has no URL of its own."""
    if isinstance(record, CrawledPage) and record.url == str(record.origin):
        return BrokenRecord(record.origin, "no URL, which tells pages apart: name its field with --url-field")
    return record
