"""Pages: read and signed on the executors, in an order that does not depend on the run, with names.

Rules that look at the pages of a site have these in one task, without their texts.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from scrapy_neardup.arguments import escaped
from scrapy_neardup.audit.crawl import of_sites, rest_of
from scrapy_neardup.audit.model import Input
from scrapy_neardup.audit.reading import Reader
from scrapy_neardup.audit.sources import find_sources, read_sources
from scrapy_neardup.audit.sources.feeds import Fields, json_object
from scrapy_neardup.audit.sources.records import BrokenRecord, Origin, PageRecord
from scrapy_neardup.audit.store import unpacked
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.matching.records import entries

from .frames import batch_of, column_names, in_groups, mapped, numbers, records_of, texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from scrapy_neardup.audit.options import AuditOptions
    from scrapy_neardup.audit.sources.records import Record
    from scrapy_neardup.audit.store import Row
    from scrapy_neardup.index import Header

    from .frames import Workspace


#: What an audit has read, signed: another one takes it as it is.
SIGNATURES = "signatures.parquet"


class Sources(NamedTuple):
    """What is to be read, by who reads it."""

    #: Files of JSON lines, for Spark.
    lines: list[str]
    #: Folders and URLs of Parquet, for Spark.
    tables: list[str]
    #: All else, for the audit's own readers.
    others: list[Input]


#: What only the audit's own readers read, and only from paths.
_FOREIGN = {".warc", ".wet", ".arc", ".html", ".htm", ".xhtml", ".xz"}


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
    for each in find_sources(here) if here else ():
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
    "alternates string, title string, noindex boolean, reason string, wall boolean, keys binary, "
    "record binary, headline string, paragraphs binary, text binary, note binary, count long, site long"
)
_COLUMNS = column_names(SIGNED)
#: Rows that an executor hands over at a time.
_ROWS = 500


def read_frame(frame: DataFrame, settings: AuditOptions) -> DataFrame:
    """Return the signed pages of *frame*, whose columns are found as those of a table are: see `Fields`."""
    fields = Fields(settings)
    if not fields.any_text(frame.columns):
        raise ConfigurationError(f"Nothing can be read: {fields.no_text(frame.columns)}")
    return signed(frame, in_rows, settings)


def read_paths(spark: SparkSession, sources: Sources, settings: AuditOptions) -> DataFrame:
    """Return the signed pages of *sources*."""
    found: list[DataFrame] = []
    if sources.lines:
        content = spark.read.text(sources.lines)
        content = content.selectExpr("cast(value as binary) line", "input_file_name() source")
        found.append(signed(content, in_lines, settings))
    for table in sources.tables:
        frame = spark.read.parquet(table)
        is_signed = table.endswith(f"/{SIGNATURES}")
        found.append(frame.where("kind = 'page'").drop("id") if is_signed else read_frame(frame, settings))
    if others := sources.others:
        rows = spark.createDataFrame([tuple(each) for each in others], "name string, kind string")
        found.append(signed(rows.repartitionByRange(len(others), "name"), in_files, settings))
    return reduce(lambda one, other: one.unionByName(other), found)


def signed(
    frame: DataFrame, read: Callable[..., Iterator[tuple[str, Record]]], settings: AuditOptions
) -> DataFrame:
    """Return what is signed of all that *read* finds, by one process a task: Spark runs one a processor."""
    alone = dataclasses.replace(settings, workers=1)
    return frame.mapInArrow(lambda batches: sign(read(batches, alone), alone), SIGNED)


class _Rows:
    """Where a `Reader` puts pages: they become rows of `SIGNED`."""

    def __init__(self, header: Header) -> None:
        self._header = header
        self._rows: list[dict[str, Any]] = []
        self._revisits = Counter[str]()

    def __len__(self) -> int:
        return len(self._rows)

    def has(self, origin: Origin, stamp: str) -> bool:
        return False

    def add(self, row: Row) -> None:
        if row["refers_digest"] or row["refers_url"]:
            self._revisits["revisit"] += 1
            return
        row = {name: escaped(value) if isinstance(value, str) else value for name, value in row.items()}
        if "headline" in row:
            row["headline"] = row["headline"].decode("utf-8", "backslashreplace")
        self._rows.append(row | {"kind": "page"})

    def add_problem(self, origin: Origin, reason: str) -> None:
        row = {"source": origin.path, "place": origin.place, "reason": reason}
        self._rows.append({name: escaped(text) for name, text in row.items()} | {"kind": "problem"})

    def add_skipped(self, counts: Counter[str]) -> None:
        for reason, count in (counts + self._revisits).items():
            self._rows.append({"kind": "skipped", "reason": reason, "count": count})

    def take(self) -> pa.RecordBatch:
        """Return the rows so far, and forget them."""
        rows, self._rows = self._rows, []
        columns: dict[str, Any] = {name: [row.get(name) for row in rows] for name in _COLUMNS}
        for name in ("noindex", "wall"):
            columns[name] = [value and bool(value) for value in columns[name]]
        records = records_of(pa.table({"record": columns["record"]}), self._header)
        return batch_of(columns | {"site": records["site"]}, SIGNED)


def sign(records: Iterable[tuple[str, Record]], settings: AuditOptions) -> Iterator[pa.RecordBatch]:
    """Sign *records*, which come with the names of their sources."""
    sink = _Rows(settings.header)
    for _ in Reader(sink, settings).read(records):
        if len(sink) >= _ROWS:
            yield sink.take()
    yield sink.take()


def in_rows(batches: Iterable[pa.RecordBatch], settings: AuditOptions) -> Iterator[tuple[str, Record]]:
    """Yield the pages in the rows of a table, which have no place that is the same in every run."""
    fields = Fields(settings)
    for item in (item for batch in batches for item in batch.to_pylist()):
        yield "", _with_url(fields.page(item, Origin("", "")))


def in_lines(batches: Iterable[pa.RecordBatch], settings: AuditOptions) -> Iterator[tuple[str, Record]]:
    """Yield the pages in lines of JSON, with the file of each."""
    fields = Fields(settings)
    for row in (row for batch in batches for row in batch.to_pylist() if row["line"].strip()):
        yield "", _with_url(fields.page(json_object(row["line"]), Origin(row["source"])))


def _with_url(page: PageRecord | BrokenRecord) -> PageRecord | BrokenRecord:
    """Return *page*, or a problem in its place if it has no URL of its own."""
    if isinstance(page, PageRecord) and page.url == str(page.origin):
        reason = "no URL, which tells pages apart: name its field with --url-field"
        return BrokenRecord(page.origin, reason)
    return page


def in_files(batches: Iterable[pa.RecordBatch], settings: AuditOptions) -> Iterator[tuple[str, Record]]:
    """Yield the pages in files, with the kind of each."""
    files = (Input(**row) for batch in batches for row in batch.to_pylist())
    return read_sources([*files], settings)


#: What is kept of a page when its place is known; the text stays with what was read.
_KEPT = (
    "id", "url", "title", "declared", "alternates", "noindex", "coalesce(fetched, double('NaN')) fetched",
    "keys", "record", "wall", "headline", "paragraphs", "note", "site",
)  # fmt: skip
#: The order of `audit.crawl`: what is the same in all of these is the same page.
_ORDER = ("url", "keys", "fetched", "title", "declared", "noindex", "alternates", "record", "note")
#: Which of what was signed are pages.
PAGE = "kind = 'page' and (reason is null or reason = 'no_text')"
#: What is counted of what was signed.
READ = {
    "pages": f"count_if({PAGE})", "problems": f"count_if(kind <> 'skipped' and not ({PAGE}))",
    "skipped": "collect_list(if(kind = 'skipped', struct(reason, count), null))",
}  # fmt: skip


#: A page as it is compared, and besides what is shown of it.
COMPARED = (
    "row long, keys binary, record binary, wall boolean, own string, head string, page string, note binary"
)
SHOWN = (
    "url string, title string, declared string, alternates string, noindex boolean, fetched double, id long, "
    "site long"
)
#: The title to sign in place of its own, and the boilerplate to leave out, if there are any.
_CHANGES = "instead string, left_out array<long>"


def named(signed: DataFrame, count: int, space: Workspace, settings: AuditOptions) -> DataFrame:
    """Keep the pages among what was *signed*, so many, as they are compared: in the order of URLs.

    They have names, and signatures without the boilerplate of sites. No page is written twice.
    """
    pages = space.numbered(signed.where(PAGE).selectExpr(*_KEPT), _ORDER, "work/pages")
    by = [] if space.alone else ["site"]
    by_site = in_groups(pages, by, count, name_rows, f"{COMPARED}, {SHOWN}, {_CHANGES}")
    by_site = space.keep(by_site, "work/named")
    is_changed = "instead is not null or left_out is not null"
    same = by_site.where(f"not ({is_changed})").drop(*column_names(_CHANGES))
    changed = by_site.where(is_changed)
    read = signed.where("text is not null").select("id", "text")
    needed = read.join(space.held(changed.select("id")), "id", "left_semi")  # most texts are not sent around
    signed_anew = mapped(changed.join(needed, "id"), sign_rest, f"{COMPARED}, {SHOWN}", settings)
    return same.unionByName(space.again(signed_anew, "work/changed"))


def name_rows(table: pa.Table) -> pa.RecordBatch:
    """Name the pages of whole sites, and say what of their texts is the site's."""
    sites, urls, heads = (texts(table, name) for name in ("site", "url", "title"))
    headlines = [each or "" for each in texts(table, "headline")]
    paragraphs = [each or b"" for each in texts(table, "paragraphs")]
    names, titled, left_out = of_sites(sites, urls, heads, headlines, paragraphs)
    found = {row: np.array([*keys], np.uint64).view(np.int64).tolist() for row, keys in left_out.items()}
    columns: dict[str, Any] = {name: table.column(name) for name in table.schema.names}
    columns |= names._asdict() | {
        "instead": [titled.get(row) for row in range(len(sites))],
        "left_out": [found.get(row) for row in range(len(sites))],
    }
    return batch_of(columns, f"{COMPARED}, {SHOWN}, {_CHANGES}")


def sign_rest(batch: pa.RecordBatch, settings: AuditOptions) -> pa.RecordBatch:
    """Sign what is left of texts without boilerplate, under the titles that are compared."""
    rest = []
    columns = (texts(batch, name) for name in ("text", "left_out", "instead"))
    for packed, left_out, instead in zip(*columns, strict=True):
        text = unpacked(packed)
        keys = np.array(left_out or (), np.int64).view(np.uint64).tolist()
        rest.append(rest_of(text, {*keys}, text.title if instead is None else instead))
    signatures = [*settings.fingerprinter.signatures(rest)]
    documents = entries(signatures, texts(batch, "url"), settings.header)
    documents.records["site"] = numbers(batch, "site")
    known: dict[str, Any] = {name: batch.column(name) for name in batch.schema.names}
    known |= {"keys": documents.keys.T, "record": documents.records}
    known["wall"] = [signature.wall for signature in signatures]
    return batch_of(known, f"{COMPARED}, {SHOWN}")
