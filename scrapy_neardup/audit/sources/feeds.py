"""The feeds that Scrapy exports: JSON lines, JSON and CSV."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

from .fields import Fields
from .limits import MAX_ELEMENTS, MAX_RECORD, Unreadable, megabytes
from .objects import split_objects
from .records import BrokenRecord, CrawledPage, Origin
from .streams import Stream

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .records import Options, Record

_LARGE = 1 << 20  # bytes; nothing smaller can have too many elements to matter
#: Blank lines in a row that a cell of a table may have, and the bytes that each of its lines counts at least.
_BLANK, _LINE = 16, 64
_TOO_LONG = f"longer than {megabytes(MAX_RECORD)}"


def read_json_lines(path: Path, label: str, options: Options) -> Iterator[Record]:
    """Yield the items of a feed with one JSON object a line."""
    stream = Stream(path)
    fields = Fields(options)
    for number, line in stream.lines():
        yield _page(stream, fields, line, Origin(label, f"line {number}"))


def read_json(path: Path, label: str, options: Options) -> Iterator[Record]:
    """Yield the items of a feed that is one JSON array, or several, or objects without one."""
    stream = Stream(path)
    fields = Fields(options)
    for number, content in split_objects(stream):
        origin = Origin(label, f"item {number}")
        yield (
            BrokenRecord(origin, content)
            if isinstance(content, str)
            else _page(stream, fields, content, origin)
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
            page = fields.page(dict(zip(names, row, strict=True)), origin)
            if isinstance(page, CrawledPage):
                stream.rewarded()
            yield page
        elif row:
            yield BrokenRecord(origin, f"{len(row)} fields instead of {len(names)}")
    if whole and lines.last and not lines.last.endswith("\r\n"):
        # Python's writer, which is Scrapy's, ends each line so; other programs may leave it out at the end.
        yield BrokenRecord(origin, "the line before has no end: the file may have been cut there")


def _page(stream: Stream, fields: Fields, content: bytes | None, origin: Origin) -> Record:
    if content is None:
        return BrokenRecord(origin, _TOO_LONG)
    page = item_of(fields, content, origin)
    if isinstance(page, CrawledPage):
        stream.rewarded()
    return page


def item_of(fields: Fields, content: bytes, origin: Origin) -> CrawledPage | BrokenRecord:
    """Return the page in the JSON object *content*."""
    try:
        item = _parse(content)
    except (ValueError, RecursionError, Unreadable) as error:
        return BrokenRecord(origin, f"not a JSON object: {error}")
    return fields.page(item, origin)


def _parse(content: bytes) -> dict[str, Any]:
    if len(content) > _LARGE and sum(map(content.count, (b"[", b"{", b","))) > MAX_ELEMENTS:
        raise Unreadable(f"more than {MAX_ELEMENTS} elements")
    item = json.loads(content.decode("utf-8-sig"))
    if not isinstance(item, dict):
        raise Unreadable("it is another value")
    return item


class _Lines:
    """Decoded lines for `csv.reader`; a row may consist of several."""

    def __init__(self, stream: Stream) -> None:
        self._lines = stream.lines(_BLANK)
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
