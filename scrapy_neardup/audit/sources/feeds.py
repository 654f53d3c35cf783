"""The feeds that Scrapy exports, and tables: JSON lines, JSON, Parquet; which fields are of a page."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from scrapy_neardup.arguments import escaped
from scrapy_neardup.audit.options import AuditOptions
from scrapy_neardup.matching.items import ItemNotes, pack

from .records import (
    MAX_RECORD,
    BrokenRecord,
    Origin,
    PageRecord,
    Record,
    Stream,
    clean,
    seconds,
    too_long,
)  # fmt: skip
from .responses import looks_like_html

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


#: Names of fields by purpose, in the order of preference; case, hyphens and underscores do not matter.
_NAMES = {
    "text": "text body content articlebody maintext fulltext articletext extractedtext plaintext bodytext "
    "textcontent cleantext story article",
    "html": "html rawhtml bodyhtml htmlbody contenthtml htmlcontent pagehtml browserhtml pagesource",
    "url": "url pageurl responseurl finalurl articleurl link href uri permalink sourceurl requesturl "
    "canonicalurl id",
    "fetched": "fetched fetchedat fetchtime crawledat crawltime crawled scrapedat scraped downloadedat "
    "datedownload retrievedat timestamp",
    "published": "published publishedat datepublished publishdate publicationdate pubdate date",
    "title": "title headline name",
}
_START = re.compile(
    r"\s*(?:<!--.*?-->\s*)?<(?:!doctype\s+html|\?xml|html|head|body|p|div|span|section|article|main|h[1-6]|table"
    r"|ul|ol)\b",
    re.IGNORECASE | re.DOTALL,
)
_END_TAG = re.compile(r"</[a-z]{1,9}[1-6]?\s*>", re.IGNORECASE)
_SAMPLE = 20_000  # characters
#: A text with markup in it has more than two end tags, and one in as many characters.
_FEW, _PER_TAG = 2, 500
#: Brackets and commas of one JSON record: an empty list takes 2 bytes there, and 56 in memory. Records that
#: are smaller than so many bytes have not too many.
MAX_ELEMENTS, _LARGE = 2_000_000, 1 << 20
#: Rows of a Parquet file read at a time; values of one column in a row group.
_BATCH, _MOST_VALUES = 64, 100_000_000
#: Characters of an object in an array, at most.
MAX_OBJECT = 1 << 24
_TOO_MANY = f"more than {MAX_ELEMENTS} elements"
#: What stands between the objects of an array.
_GAP = re.compile(r"[\s,\[\]\ufeff]*")
#: What decoding puts in the place of bytes that are not UTF-8.
_NOT_UTF8 = re.compile("[\udc80-\udcff]")


#: Names of fields that say where or when an item was found, not what it says.
_PLACES = re.compile(
    r"(?:^|[\W_]|(?<=[a-z])(?=[A-Z]))(?:u?u?id|guid|key|url|uri|link|href|hash|digest|md5|sha1|sha256|checksum"
    r"|etag|position|pos|index|row|line|offset|timestamp)$|crawl|fetch|scrap|download|retriev|extracted",
    re.IGNORECASE,
)
_NOTES = ItemNotes()

#: Items of a feed, numbered; a str tells what is wrong with one.
Items: TypeAlias = "Iterator[tuple[int, dict[str, Any] | str]]"


def note_of(item: Mapping[str, Any], without: Collection[str] = ()) -> bytes:
    """Return the note of an item, without the fields *without* and those named like identifiers or places."""
    said = {name: item[name] for name in item if name not in without and not _PLACES.search(name)}
    return pack([_NOTES.describe(said)])


class Fields:
    """Turns items into pages. The guesses are made for each set of field names anew."""

    def __init__(self, settings: AuditOptions) -> None:
        self._text_field = settings.text_field
        self._url_field = settings.url_field
        self._plan = lru_cache(maxsize=1000)(self._planned)

    def page(self, item: Mapping[str, Any] | str, origin: Origin) -> PageRecord | BrokenRecord:
        """Make a page of *item*; its URL may be its origin. A str tells what is wrong with a broken one."""
        if isinstance(item, str):
            return BrokenRecord(origin, item)
        plan = self._plan(tuple(item))
        if self._url_field is not None and _get(item, self._url_field) is None:
            why = f"no field {self._url_field} (--url-field); the fields are {_listed(item)}"
            return BrokenRecord(origin, why)
        names = plan["text"] + plan["html"]
        found = {name: text for name in names if (text := _content(_get(item, name))) is not None}
        if not found:
            return BrokenRecord(origin, self.no_text(item))
        name = next((name for name in found if found[name].strip()), next(iter(found)))
        content = found[name]
        url = next((url for name in plan["url"] if (url := _url(_get(item, name)))), escaped(str(origin)))
        times = (seconds(_get(item, name)) for name in plan["fetched"] + plan["published"])
        fetched = next((time for time in times if time is not None), None)
        without, kind = {*names, *plan["url"], *plan["fetched"]}, None
        if isinstance(content, str) and (name in plan["html"] or is_html(content)):
            content, kind = content.encode(), "text/html; charset=utf-8"
        if isinstance(content, bytes):
            return PageRecord(url, None, content, kind, fetched, origin, note=note_of(item, without))
        titles = (_content(_get(item, name)) for name in plan["title"])
        title = next((title for title in titles if isinstance(title, str)), "")
        note = note_of(item, without | {*plan["title"]})  # titles are compared by the rules of names
        return PageRecord(url, content, None, None, fetched, origin, title=title, note=note)

    def any_text(self, names: Iterable[str]) -> bool:
        """Tell whether a field of these *names* may hold text."""
        names = tuple(names)
        plan = self._plan(names)
        return any(name in names or name.partition(".")[0] in names for name in plan["text"] + plan["html"])

    def no_text(self, names: Iterable[str]) -> str:
        """Say that fields called *names* hold no text, and what to do."""
        if self._text_field is not None:
            return f"no text in the field {self._text_field} (--text-field); the fields are {_listed(names)}"
        return (
            "no field that is known to hold text or HTML: name one with --text-field; the fields are "
            f"{_listed(names)}"
        )

    def _planned(self, names: tuple[str, ...]) -> dict[str, list[str]]:
        own = {name.lower().replace("_", "").replace("-", ""): name for name in reversed(names)}
        plan = {purpose: [own[key] for key in keys.split() if key in own] for purpose, keys in _NAMES.items()}
        if self._text_field is not None:
            plan |= {"text": [self._text_field], "html": []}
        if self._url_field is not None:
            plan["url"] = [self._url_field]
        return plan


def is_html(content: str) -> bool:
    """Whether *content* is HTML, a document or a part of one, and no text that mentions a tag or two."""
    sample = content[:_SAMPLE]
    if "<" not in sample or "</" not in sample:  # to look for one character is quick
        return False
    return bool(_START.match(sample)) or len(_END_TAG.findall(sample)) > max(_FEW, len(sample) / _PER_TAG)


def _listed(names: Iterable[str]) -> str:
    return ", ".join([name[:40] for name in names][:12]) or "none"


def _get(item: Mapping[str, Any], name: str) -> Any:
    if name in item:
        return "" if item[name] is None else item[name]
    top, dot, rest = name.partition(".")
    inner = item.get(top) if dot else None
    return _get(inner, rest) if isinstance(inner, Mapping) else None


def _content(value: Any) -> str | bytes | None:
    """Return the text of a field, which item loaders may have put into a list, or bytes that are HTML."""
    if isinstance(value, bytes):
        return value if looks_like_html(value) else value.decode("utf-8", "replace")
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        value = "\n".join(value)
    return clean(value) if isinstance(value, str) else None


def _url(value: Any) -> str | None:
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return clean(value).strip() if isinstance(value, str) else None


def _read(
    place: str, split: Callable[[Stream], Items], path: Path, settings: AuditOptions
) -> Iterator[Record]:
    """Yield the records of a feed, which *split* cuts into items."""
    stream, fields = Stream(path), Fields(settings)
    for number, found in split(stream):
        page = fields.page(found, Origin(str(path), f"{place} {number}"))
        if isinstance(page, PageRecord):
            stream.barren = 0
        yield page


def _split_lines(stream: Stream) -> Items:
    return ((number, too_long() if line is None else json_object(line)) for number, line in stream.lines())


def open_table(path: Path) -> pq.ParquetFile:
    """Open a table, whose row groups are to be read one by one: values of a nested field are not joined."""
    import pyarrow.parquet as pq

    # A value that is repeated stays once in memory: a small file can repeat a large one a million times.
    schema = pq.read_metadata(path).schema
    leaves = [schema.column(number).path for number in range(len(schema))]
    return pq.ParquetFile(path, read_dictionary=leaves)


def batches_of(table: pq.ParquetFile, group: int, rows: int) -> Iterator[pa.RecordBatch]:
    """Yield so many rows at a time of a row group. Raises ValueError if it has too many values."""
    columns = map(table.metadata.row_group(group).column, range(table.metadata.num_columns))
    if max(column.num_values for column in columns) > _MOST_VALUES:
        raise ValueError(f"more than {_MOST_VALUES} values in a column")
    yield from table.iter_batches(rows, [group], use_threads=False)


def read_parquet(path: Path, settings: AuditOptions) -> Iterator[Record]:
    """Yield the rows of a table, row group by row group."""
    import pyarrow as pa

    fields, table, first = Fields(settings), open_table(path), 1
    if not fields.any_text(names := table.schema_arrow.names):
        yield BrokenRecord(Origin(str(path)), fields.no_text(names))
        return
    for group in range(table.num_row_groups):
        number = first
        try:
            for batch in batches_of(table, group, _BATCH):
                for row in range(batch.num_rows):
                    yield _row(fields, batch, row, Origin(str(path), f"row {number}"))
                    number += 1
        except (pa.ArrowException, OSError, ValueError) as error:
            yield BrokenRecord(Origin(str(path), f"row {number} and the rest of its row group"), str(error))
        first += table.metadata.row_group(group).num_rows


def _row(fields: Fields, batch: pa.RecordBatch, row: int, origin: Origin) -> Record:
    try:
        if sum(map(_elements, batch.slice(row, 1).columns)) > MAX_ELEMENTS:
            return BrokenRecord(origin, _TOO_MANY)
        item = {name: batch.column(name)[row].as_py() for name in batch.schema.names}
    except ValueError as error:  # such as bytes that are not UTF-8
        return BrokenRecord(origin, str(error))
    if any(isinstance(value, (str, bytes)) and len(value) > MAX_RECORD for value in item.values()):
        return BrokenRecord(origin, too_long())
    return fields.page(item, origin)


def _elements(values: pa.Array) -> int:
    """Count what is within nested *values*; a run of equal ones takes a few bytes of a file."""
    import pyarrow as pa

    if isinstance(values, (pa.ListArray, pa.LargeListArray)):  # or a map
        within = values.values[values.offsets[0].as_py() : values.offsets[-1].as_py()]
    elif isinstance(values, pa.FixedSizeListArray):
        within = values.flatten()
    else:
        return sum(map(_elements, values.flatten())) if isinstance(values, pa.StructArray) else 0
    return len(within) + _elements(within)


def json_object(content: bytes) -> dict[str, Any] | str:
    """Return a JSON object; a str tells what is wrong with *content*."""
    try:
        if len(content) > _LARGE and sum(map(content.count, (b"[", b"{", b","))) > MAX_ELEMENTS:
            raise ValueError(_TOO_MANY)
        item = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return f"not a JSON object: {error}"
    return item if isinstance(item, dict) else "not a JSON object: it is another value"


def split_objects(chunks: Iterable[bytes]) -> Items:
    """Yield the outermost objects of *chunks* of JSON, numbered from 1; a str tells what is wrong with one.

    Arrays around them may be open, closed and many. What follows a broken object is left out.
    """
    decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
    parse = json.JSONDecoder().raw_decode
    text, wanted, number, last = "", 0, 0, ""
    for chunk in chain(map(decode, chunks), [None]):
        text += chunk or ""
        if chunk is not None and len(text) < wanted:
            continue
        at, wanted = 0, 0
        while True:
            gap = _GAP.match(text, at)
            assert gap
            last, at = gap[0].rstrip(" \t\r\n\f\v,\ufeff")[-1:] or last, gap.end()
            size, start = len(text) - at, at
            if not size:
                break
            try:
                item, at = parse(text, at)
            except (ValueError, RecursionError) as error:
                many = size > _LARGE and sum(text.count(each, at) for each in "[{,") > MAX_ELEMENTS
                if chunk is not None and size <= MAX_OBJECT and not many:
                    wanted = 2 * size  # it may only be cut
                    break
                problem = _TOO_MANY if many else too_long(MAX_OBJECT) if size > MAX_OBJECT else error
                yield number + 1, f"not a JSON object: {problem}; the rest is left out"
                return
            number += 1
            if _NOT_UTF8.search(text, start, at):
                yield number, "not UTF-8"
            else:
                yield number, item if isinstance(item, dict) else "not a JSON object: it is another value"
        text = text[at:]
    if last == "[" or not (last or number):
        yield number + 1, "the file ends without the end of its array"


#: Feeds with one JSON object a line; one JSON array, or several, or objects without one.
read_json_lines = partial(_read, "line", _split_lines)
read_json = partial(_read, "item", split_objects)
