"""The feeds that Scrapy exports, and tables: JSON lines, JSON, CSV and Parquet."""

from __future__ import annotations

import codecs
import csv
import json
import re
from typing import TYPE_CHECKING, Any

from .fields import Fields
from .records import MAX_ELEMENTS, MAX_RECORD, BrokenRecord, CrawledPage, Origin, Unreadable, megabytes
from .streams import Stream

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import pyarrow as pa

    from .records import Options, Record

_LARGE = 1 << 20  # bytes; nothing smaller can have too many elements to matter
#: Bytes that each line of a row counts at least.
_LINE = 64
#: Rows of a Parquet file read at a time.
_BATCH = 64
#: Characters of an object in an array, at most.
MAX_OBJECT = 1 << 24
_TOO_LONG = f"longer than {megabytes(MAX_RECORD)}"
_TOO_MANY = f"more than {MAX_ELEMENTS} elements"
#: What stands between the objects of an array; where the object after a broken one may begin.
_GAP = re.compile(r"[\s,\[\]\ufeff]*")
_NEXT, _NEXT_LINE = re.compile(r"\n|\}\s*,\s*(?=\{)"), re.compile(r"\n")
#: What decoding puts in the place of bytes that are not UTF-8.
_NOT_UTF8 = re.compile("[\udc80-\udcff]")
#: Characters before the end in which a number or a word may have been cut.
_END = 16


def read_json_lines(path: Path, label: str, options: Options) -> Iterator[Record]:
    """Yield the items of a feed with one JSON object a line."""
    stream = Stream(path)
    fields = Fields(options)
    for number, line in stream.lines():
        origin = Origin(label, f"line {number}")
        if line is None:
            yield BrokenRecord(origin, _TOO_LONG)
        else:
            yield _rewarded(stream, item_of(fields, line, origin))


def read_json(path: Path, label: str, options: Options) -> Iterator[Record]:
    """Yield the items of a feed that is one JSON array, or several, or objects without one."""
    stream = Stream(path)
    fields = Fields(options)
    for number, found in split_objects(stream):
        origin = Origin(label, f"item {number}")
        yield (
            BrokenRecord(origin, found)
            if isinstance(found, str)
            else _rewarded(stream, fields.page(found, origin))
        )


def read_csv(path: Path, label: str, options: Options) -> Iterator[Record]:
    """Yield the rows of a table with a line of field names."""
    stream = Stream(path)
    fields = Fields(options)
    lines = _Lines(stream)
    first = next(lines, "")  # Scrapy writes nothing at all if there are no items
    delimiter = max(",;\t|", key=first.count)
    names = next(csv.reader([first], delimiter=delimiter))
    rows = csv.reader(lines, delimiter=delimiter, strict=True)
    whole = first.endswith("\r\n")
    while True:
        origin = Origin(label, f"line {lines.number + 1}")
        try:
            row = _next_row(rows, lines)
        except StopIteration:
            break
        except (csv.Error, Unreadable, UnicodeDecodeError) as error:
            yield BrokenRecord(origin, str(error))
            continue
        if len(row) == len(names):
            yield _rewarded(stream, fields.page(dict(zip(names, row, strict=True)), origin))
        elif row:
            yield BrokenRecord(origin, f"{len(row)} fields instead of {len(names)}")
    if whole and lines.last and not lines.last.endswith("\r\n"):
        # Python's writer, which is Scrapy's, ends each line so; other programs may leave it out at the end.
        yield BrokenRecord(origin, "the line before has no end: the file may have been cut there")


def read_parquet(path: Path, label: str, options: Options) -> Iterator[Record]:
    """Yield the rows of a table, row group by row group; of columns with lists only those that are needed."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = Fields(options)
    schema = pq.read_schema(path)
    needed = fields.columns(schema.names)
    if not needed:
        yield BrokenRecord(Origin(label), fields.no_text(schema.names))
        return
    if not fields.has_url(schema.names):
        yield BrokenRecord(Origin(label), fields.no_url(schema.names))
        return
    columns = [each.name for each in schema if each.name in needed or not pa.types.is_nested(each.type)]
    # A value that is repeated stays once in memory: a small file can repeat a large one a million times.
    strings = [name for name in columns if schema.field(name).type in (pa.string(), pa.binary())]
    table = pq.ParquetFile(path, read_dictionary=strings)
    first = 1
    for group in range(table.num_row_groups):
        number = first
        try:
            for batch in table.iter_batches(_BATCH, [group], columns, use_threads=False):
                for row in range(batch.num_rows):
                    yield _row(fields, batch, row, Origin(label, f"row {number}"))
                    number += 1
        except (pa.ArrowException, OSError, ValueError) as error:
            yield BrokenRecord(Origin(label, f"row {number} and the rest of its row group"), str(error))
        first += table.metadata.row_group(group).num_rows


def _row(fields: Fields, batch: pa.RecordBatch, row: int, origin: Origin) -> Record:
    try:
        item = {name: batch.column(name)[row].as_py() for name in batch.schema.names}
    except ValueError as error:  # such as bytes that are not UTF-8
        return BrokenRecord(origin, str(error))
    if any(isinstance(value, (str, bytes)) and len(value) > MAX_RECORD for value in item.values()):
        return BrokenRecord(origin, _TOO_LONG)
    return fields.page(item, origin)


def item_of(fields: Fields, content: bytes, origin: Origin) -> CrawledPage | BrokenRecord:
    """Return the page in the JSON object *content*."""
    try:
        if len(content) > _LARGE and sum(map(content.count, (b"[", b"{", b","))) > MAX_ELEMENTS:
            raise Unreadable(_TOO_MANY)
        item = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError, Unreadable) as error:
        return BrokenRecord(origin, f"not a JSON object: {error}")
    if not isinstance(item, dict):
        return BrokenRecord(origin, "not a JSON object: it is another value")
    return fields.page(item, origin)


def _rewarded(stream: Stream, record: CrawledPage | BrokenRecord) -> Record:
    if isinstance(record, CrawledPage):
        stream.rewarded()
    return record


def split_objects(chunks: Iterable[bytes]) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Yield the outermost objects of *chunks* of JSON, numbered from 1; a str tells what is wrong with one.

    Arrays around them may be open, closed and many, as crawls leave them that were killed and append to a
    feed.
    """
    window = _Window(chunks)
    number = arrays = 0
    junk = False
    while True:
        gap = _GAP.match(window.text, window.at)
        assert gap
        arrays += gap[0].count("[") - gap[0].count("]")
        window.at = gap.end()
        if window.at == len(window.text):
            if not window.extend():
                break
        elif window.text[window.at] == "{":
            number += 1
            found = window.next_object()
            junk = isinstance(found, str)  # what follows a broken object may be the rest of it
            yield number, found
        else:
            brace = window.text.find("{", window.at)
            end = len(window.text) if brace < 0 else brace
            arrays += window.text.count("[", window.at, end) - window.text.count("]", window.at, end)
            window.at = end
            if not junk:
                number += 1
                yield number, "not a JSON object"
            junk = True
    if arrays > 0 or window.empty:
        yield number + 1, "the file ends without the end of its array"


class _Window:
    """The part of a stream of JSON that is looked at: *text*, from the place *at* on."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._parse = json.JSONDecoder().raw_decode
        self.text, self.at = "", 0
        self.empty = True

    def extend(self, least: int = 1) -> bool:
        """Read on by *least* characters or to the end, and forget what was before; False at the end."""
        parts, size = [self.text[self.at :]], 0
        for chunk in self._chunks:
            self.empty = False
            parts.append(self._decoder.decode(chunk))
            size += len(parts[-1])
            if size >= least:
                break
        self.text, self.at = "".join(parts), 0
        return size > 0

    def next_object(self) -> dict[str, Any] | str:
        """Return the object that begins here and go past it.

        Behind a broken one, go to where the next one may begin: past the place where it breaks, so that
        nothing is read twice, or else to the next line.
        """
        while True:
            start, length = self.at, len(self.text) - self.at
            try:
                found, self.at = self._parse(self.text, start)
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated string")  # a string has no line breaks
                if not cut and error.pos < len(self.text) - _END:
                    return self._skipped(_NEXT, error.pos, f"not a JSON object: {error.msg}")
                if length > MAX_OBJECT:
                    return self._skipped(_NEXT_LINE, start, _TOO_LONG)
                if length > _LARGE and sum(self.text.count(c, start) for c in "[{,") > MAX_ELEMENTS:
                    return self._skipped(_NEXT_LINE, start, _TOO_MANY)
                if not self.extend(length):
                    return self._skipped(_NEXT, error.pos, f"not a JSON object: {error.msg}")
            except (ValueError, RecursionError) as error:  # a number of thousands of digits
                return self._skipped(_NEXT_LINE, start, f"not a JSON object: {error}")
            else:
                if _NOT_UTF8.search(self.text, start, self.at):
                    return "not UTF-8"
                return found  # type: ignore[no-any-return]

    def _skipped(self, end: re.Pattern[str], start: int, why: str) -> str:
        while not (found := end.search(self.text, start)):
            self.at = len(self.text)
            if not self.extend():
                return why
            start = 0
        self.at = found.end()
        return why


class _Lines:
    """Decoded lines for `csv.reader`; a row may consist of several."""

    def __init__(self, stream: Stream) -> None:
        self._lines = stream.lines(blank=True)
        self.number = 0
        self.last = ""
        self.room = MAX_RECORD

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        self.number, line = next(self._lines)
        self.room -= MAX_RECORD if line is None else max(len(line), _LINE)
        if line is None or self.room < 0:
            raise Unreadable(_TOO_LONG)
        self.last = line.decode("utf-8-sig" if self.number == 1 else "utf-8")
        return self.last


def _next_row(rows: Iterator[list[str]], lines: _Lines) -> list[str]:
    lines.room = MAX_RECORD
    previous = csv.field_size_limit(MAX_RECORD)  # of the whole process
    try:
        return next(rows)
    finally:
        csv.field_size_limit(previous)
