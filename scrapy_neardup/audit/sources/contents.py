"""Whether a downloaded response is a page, and its body without content encodings."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy_neardup.extraction.guards import is_binary, is_html_type

from .indexing import headers_indexing
from .limits import MAX_RECORD, MAX_URL, Unreadable, megabytes
from .records import BrokenRecord, CrawledPage, Skipped

if TYPE_CHECKING:
    from collections.abc import Callable

    from .records import Omission, Origin, Record

_TAG = re.compile(rb"<(!doctype\s+html|html|head|body|title|meta|table|div|p|h1)\b", re.IGNORECASE)
#: XML has elements of the same names: a feed has a title.
_XML = re.compile(rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?\s*<\?xml\s")
_FEED = re.compile(rb"<(rss|feed|rdf:rdf|urlset|sitemapindex|opml)\b", re.IGNORECASE)
_CODINGS = 4  # at most, one over the other
_CHUNK = 1 << 16  # bytes


def page_of_response(
    url: str,
    status: int,
    headers: dict[str, str],
    body: bytes,
    fetched: float | None,
    origin: Origin,
    digest: str | None = None,
) -> Record:
    """Make a page of an HTTP response whose *headers* have lower-case names, or tell why it is none."""
    if reason := omission(url, status, headers.get("content-type")):
        return Skipped(origin, reason)
    if not body:
        return Skipped(origin, "empty")
    try:
        body = decode_body(body, headers.get("content-encoding", ""))
    except (ValueError, OSError, EOFError, zlib.error, Unreadable) as error:
        return BrokenRecord(origin, f"the body cannot be decoded: {error}")
    if is_binary(body) or not ("content-type" in headers or looks_like_html(body)):
        return Skipped(origin, "not_html")
    if len(url) > MAX_URL:
        return BrokenRecord(origin, f"the URL has {len(url)} characters")
    indexing = headers_indexing(headers, url)
    return CrawledPage(url, None, body, headers.get("content-type"), fetched, origin, digest, indexing)


def omission(url: str, status: int, content_type: str | None) -> Omission | None:
    """Return why such a response is no page; None if it may be one."""
    if not 200 <= status < 300:
        return "redirect" if 300 <= status < 400 else "error"
    if is_robots(url):
        return "robots"
    if content_type is not None and not is_html_type(content_type):
        return "not_html"
    return None


def is_robots(url: str) -> bool:
    """Whether *url* is that of a robots.txt."""
    try:
        return urlsplit(url).path == "/robots.txt"
    except ValueError:
        return False


def looks_like_html(body: bytes) -> bool:
    """Whether one of the tags that pages begin with is near the beginning, in ASCII or UTF-16.

    A feed has some of them, too, and so may any XML: there it is the first tag that counts.
    """
    start = body[:4096].replace(b"\x00", b"")
    found = _TAG.search(start)
    if found is None:
        return False
    first = _first_tag(start)
    return found.start() <= first if _XML.match(start) else not _FEED.match(start, first)


def _first_tag(markup: bytes) -> int:
    """Return where the first tag begins, behind comments, declarations and instructions, or else the end."""
    place = 0
    while (place := markup.find(b"<", place)) >= 0:
        if markup.startswith(b"<!--", place):
            end = markup.find(b"-->", place)
        elif markup.startswith((b"<!", b"<?"), place):
            end = markup.find(b">", place)
        else:
            return place
        if end < 0:
            break
        place = end
    return len(markup)


def decode_body(body: bytes, content_encoding: str, limit: int = MAX_RECORD) -> bytes:
    """Undo content encodings; raises `Unreadable` beyond *limit* bytes, and what the codecs raise.

    A body that never was encoded, or no longer is, stays as it is, whatever the header says.
    """
    codings = [coding.strip().lower() for coding in content_encoding.split(",")]
    codings = [coding for coding in codings if coding not in ("", "identity", "none", "utf-8")]
    if len(codings) > _CODINGS:
        raise Unreadable(f"{len(codings)} content encodings")
    for coding in reversed(codings):
        if body.lstrip()[:1] == b"<":
            break
        decode = _DECODERS.get(coding)
        if decode is None:
            raise Unreadable(f"unknown content encoding {coding[:40]}")
        body = decode(body, limit)
    if len(body) > limit:
        raise _too_large(limit)
    return body


def _gunzip(body: bytes, limit: int) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(body)) as member:
        content = member.read(limit + 1)
    if len(content) > limit:
        raise _too_large(limit)
    return content


def _inflate(body: bytes, limit: int) -> bytes:
    """Decode "deflate", which some servers take for deflate without the zlib format."""
    try:
        decoder = zlib.decompressobj()
        content = decoder.decompress(body, limit + 1)
    except zlib.error:
        decoder = zlib.decompressobj(-zlib.MAX_WBITS)
        content = decoder.decompress(body, limit + 1)
    if len(content) > limit:
        raise _too_large(limit)
    if not decoder.eof:
        raise EOFError("it ends in the middle")
    return content


def _unbrotli(body: bytes, limit: int) -> bytes:
    try:
        import brotli
    except ImportError:
        raise Unreadable("reading Brotli needs `pip install brotli`") from None
    decoder, parts, size, waiting = brotli.Decompressor(), [], 0, body
    while not decoder.is_finished():
        try:
            part = decoder.process(waiting, output_buffer_limit=_CHUNK)
        except brotli.error as error:
            raise ValueError("it is not Brotli") from error
        if not part and not waiting:
            raise EOFError("it ends in the middle")
        waiting = b""
        size += len(part)
        if size > limit:
            raise _too_large(limit)
        parts.append(part)
    return b"".join(parts)


def _unzstd(body: bytes, limit: int) -> bytes:
    try:
        from compression import zstd  # Python 3.14
    except ImportError:
        try:
            from backports import zstd
        except ImportError:
            raise Unreadable("reading Zstandard needs `pip install backports.zstd`") from None
    options = {zstd.DecompressionParameter.window_log_max: 27}
    try:
        with zstd.ZstdFile(io.BytesIO(body), options=options) as file:
            content: bytes = file.read(limit + 1)
    except zstd.ZstdError as error:
        raise ValueError("it is not Zstandard") from error
    if len(content) > limit:
        raise _too_large(limit)
    return content


def _too_large(limit: int) -> Unreadable:
    return Unreadable(f"more than {megabytes(limit)}")


_DECODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _inflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
