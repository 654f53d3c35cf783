"""Whether a downloaded response is a page, and its body without content encodings."""

from __future__ import annotations

import io
import re
import zlib
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy_neardup.extraction.decoding import is_binary, is_html_type

from .head import headers_indexing
from .records import MAX_RECORD, MAX_URL, BrokenRecord, CrawledPage, Skipped, Unreadable, megabytes
from .streams import DAMAGE

if TYPE_CHECKING:
    from collections.abc import Callable

    from .records import Omission, Origin, Record

_TAG = re.compile(rb"<(!doctype\s+html|html|head|body|title|meta|table|div|p|h1)\b", re.IGNORECASE)
#: XML has elements of the same names: a feed has a title.
_XML = re.compile(rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?\s*<\?xml\s")
_FEED = re.compile(rb"<(rss|feed|rdf:rdf|urlset|sitemapindex|opml)\b", re.IGNORECASE)
_CODINGS = 4  # at most, one over the other


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
    except DAMAGE as error:
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
        body = decode(body, limit + 1)
        if len(body) > limit:
            break
    if len(body) > limit:
        raise Unreadable(f"more than {megabytes(limit)}")
    return body


# Each decoder returns the content; of one that is longer than *most* bytes as many, or a few more.


def _gunzip(body: bytes, most: int, wbits: int = 16 + zlib.MAX_WBITS) -> bytes:
    decoder = zlib.decompressobj(wbits)
    content = decoder.decompress(body, most)
    if not decoder.eof and len(content) < most:
        raise EOFError("it ends in the middle")
    return content


def _inflate(body: bytes, most: int) -> bytes:
    """Decode "deflate", which some servers take for deflate without the zlib format."""
    try:
        return _gunzip(body, most, zlib.MAX_WBITS)
    except zlib.error:
        return _gunzip(body, most, -zlib.MAX_WBITS)


def _unbrotli(body: bytes, most: int) -> bytes:
    try:
        import brotli
    except ImportError:
        raise Unreadable("reading Brotli needs `pip install brotli`") from None
    decoder = brotli.Decompressor()
    try:
        content: bytes = decoder.process(body, output_buffer_limit=most)
    except brotli.error as error:
        raise ValueError("it is not Brotli") from error
    if not decoder.is_finished() and len(content) < most:
        raise EOFError("it ends in the middle")
    return content


def _unzstd(body: bytes, most: int) -> bytes:
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
            content: bytes = file.read(most)
    except zstd.ZstdError as error:
        raise ValueError("it is not Zstandard") from error
    return content


_DECODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gunzip, "x-gzip": _gunzip, "deflate": _inflate, "br": _unbrotli, "zstd": _unzstd,
}  # fmt: skip
