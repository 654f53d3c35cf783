"""Records of web archives as pages: responses, revisits, resources, and the texts of WET files."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from .contents import is_robots, omission, page_of_response
from .fields import clean, seconds
from .limits import MAX_RECORD, MAX_URL, Unreadable, megabytes
from .records import BrokenRecord, CrawledPage, Revisit, Skipped

if TYPE_CHECKING:
    from fastwarc import WarcRecord

    from .records import Origin, Record

_CHUNK_SIZE = re.compile(rb"[0-9a-fA-F]{1,8}[ \t]*(?:;[^\n]*)?\r\n")


def page_of_record(record: WarcRecord, origin: Origin) -> Record | None:
    """Make a page of a record; None for one of another type. Raises `Unreadable` if its end is not there."""
    from fastwarc import WarcRecordType

    if "Content-Length" not in record.headers:
        raise Unreadable("the file ends in its headers")
    length = record.content_length
    kind = record.record_type
    wanted = kind in (WarcRecordType.resource, WarcRecordType.conversion) or (
        kind in (WarcRecordType.response, WarcRecordType.revisit) and record.is_http
    )
    if not wanted or length > MAX_RECORD:
        if record.consume() < length:
            raise Unreadable("the file ends in the middle of it")
        return BrokenRecord(origin, f"more than {megabytes(MAX_RECORD)}") if wanted else None
    block = record.reader.read(length)
    if len(block) < length:
        raise Unreadable("the file ends in the middle of it")
    url = clean(record.headers.get("WARC-Target-URI") or "").strip("<>")
    if not url or len(url) > MAX_URL:
        return BrokenRecord(origin, f"its URL has {len(url)} characters")
    fetched = seconds(record.headers.get("WARC-Date"))
    digest = record.headers.get("WARC-Payload-Digest")
    if kind == WarcRecordType.conversion:
        return CrawledPage(url, block.decode("utf-8", "replace"), None, None, fetched, origin)
    if kind == WarcRecordType.resource:
        headers = {"content-type": record.headers.get("Content-Type") or ""}
        return page_of_response(url, 200, headers, block, fetched, origin, digest)
    if kind == WarcRecordType.revisit:
        return _revisit(record, block, CrawledPage(url, None, None, None, fetched, origin, digest))
    parsed = parse_response(block)
    if parsed is None:
        return BrokenRecord(origin, "its HTTP headers cannot be parsed")
    status, headers, body = parsed
    if not omission(url, status, headers.get("content-type")):
        body = dechunked(headers, body)
    return page_of_response(url, status, headers, body, fetched, origin, digest)


def _revisit(record: WarcRecord, block: bytes, page: CrawledPage) -> Record:
    """Make a page of a revisit, whose headers need not be there, and whose status may be 304."""
    refers_to = record.headers.get("WARC-Refers-To-Target-URI")
    if refers_to is None and "not-modified" in (record.headers.get("WARC-Profile") or ""):
        refers_to = page.url
    url = None if refers_to is None else clean(refers_to).strip("<>")
    if url is None and page.digest is None:
        return BrokenRecord(page.origin, "it does not say what it is a revisit of")
    parsed = parse_response(block)
    status, headers, _ = parsed or (200, {}, b"")
    reason = omission(page.url, 200 if status == 304 else status, headers.get("content-type"))
    if reason or is_robots(page.url):
        return Skipped(page.origin, reason or "robots")
    content_type = headers.get("content-type")
    return CrawledPage(
        page.url, None, None, content_type, page.fetched, page.origin, page.digest,
        revisit_of=Revisit(page.digest, url),
    )  # fmt: skip


def parse_response(block: bytes) -> tuple[int, dict[str, str], bytes] | None:
    """Split an HTTP response into status, headers with names in lower case, and body."""
    from fastwarc.warc import HeaderMap

    parsed = HeaderMap()
    try:
        length = parsed.parse(io.BytesIO(block))
    except (OSError, ValueError):
        return None
    if parsed.status_code is None:
        return None
    return parsed.status_code, {name.lower(): value for name, value in parsed.items()}, block[length:]


def dechunked(headers: dict[str, str], body: bytes) -> bytes:
    """Undo the chunks of a body, which many archives store undone under the header that announces them."""
    from fastwarc.stream_io import ChunkedReader

    if "chunked" not in headers.get("transfer-encoding", "").lower() or not _CHUNK_SIZE.match(body):
        return body
    try:
        return ChunkedReader(io.BytesIO(body)).read()
    except OSError:
        return body
