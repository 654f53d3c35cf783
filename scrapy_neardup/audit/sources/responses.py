"""HTTP responses as crawlers keep them: in WARC files and Scrapy's HTTP cache; and the heads of pages."""

from __future__ import annotations

import ast
import io
import json
import mmap
import os
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urljoin

from lxml import etree
from w3lib.http import headers_raw_to_dict

from scrapy_neardup.audit.options import AuditOptions
from scrapy_neardup.extraction.decoding import decode_as_declared, is_binary, is_html_type
from scrapy_neardup.extraction.parsing import parsed, titles
from scrapy_neardup.matching.sites import split_url

from .records import (
    DAMAGE,
    MAX_HEADERS,
    MAX_RECORD,
    MAX_URL,
    BrokenRecord,
    Origin,
    PageRecord,
    Record,
    Skipped,
    Unreadable,
    clean,
    open_regular,
    seconds,
    too_long,
    unlisted,
)  # fmt: skip

if TYPE_CHECKING:
    from fastwarc import WarcRecord


#: Bytes of a page in which its head is looked for, characters kept of a title, elements that are looked at.
_HEAD_BYTES, _TITLE, _MOST = 1 << 17, 200, 400
#: Links below it may be what readers have written.
_END = re.compile("</head|<body", re.IGNORECASE)
#: All search engines, and the one that pages are written for.
_AGENTS = ("robots", "googlebot")
_FORBIDDING = frozenset({"noindex", "none"})
#: Places behind a broken record that are tried in turn, until one is a sound record.
_TRIES = 1000
_FINGERPRINT = re.compile(r"[0-9a-f]{16,128}")
#: A dictionary of strings and numbers, without nesting, which could exhaust the stack of Python's parser.
_STRING = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_META = re.compile(rf"\{{(?:{_STRING}: (?:{_STRING}|None|-?[0-9][0-9.e+-]{{0,30}})(?:, |(?=\}})))*\}}")
#: Folders within each other in which entries of a cache are looked for, and how many of each tell what it is.
_DEPTH, _PROBES = 6, 20
#: No control character stands before it: in other files such bytes come by chance.
_TAG = re.compile(
    rb"[^\x01-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]*?<(!doctype\s+html|html|head|body|title|meta|table|div|p|h1)\b",
    re.IGNORECASE,
)
#: XML has elements of the same names: a feed has a title. A page in XML has a first tag that is HTML's.
_XML = re.compile(
    rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?\s*<(?:\?xml|rss|feed|urlset)\b(?:(?!<html\b).)*",
    re.IGNORECASE | re.DOTALL,
)
_CODINGS = 4  # at most, one over the other


def read_warc(path: Path, settings: AuditOptions) -> Iterator[Record]:
    """Yield the pages of a WARC file, see `page_of_record`.

    Behind a broken record reading goes on where one seems to begin, `_TRIES` times in vain at most.
    """
    from fastwarc import ArchiveIterator

    with path.open("rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
        start: int | None = 0
        tries = 0  # since the last sound record
        while start is not None and tries < _TRIES:
            file.seek(start)
            last, problem, tries, number = start, "", tries + 1, 0
            try:
                for record in ArchiveIterator(file, parse_http=False):
                    # Records that are compressed together have one place in the file.
                    number, last = number * (record.stream_pos == last) + 1, record.stream_pos
                    place = f"byte {last}" + f", record {number}" * (number > 1)
                    page = page_of_record(record, Origin(str(path), place))
                    tries = 0
                    if page is not None:
                        yield page
            except (OSError, ValueError, Unreadable) as error:
                problem = f"broken: {error}"
            if problem and tries <= 1:  # one message for a damaged part of the file is enough
                yield BrokenRecord(Origin(str(path), f"byte {last}"), problem)
            mark = b"\x1f\x8b\x08" if compressed else b"\nWARC/"
            start = _next_record(file, last, mark) if problem else None


def _next_record(file: IO[bytes], last: int, mark: bytes) -> int | None:
    """Return where after *last* a record seems to begin: with *mark*, or after the line break of that."""
    line = mark.startswith(b"\n")
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        found = content.find(mark, last + (not line))
    return None if found < 0 else found + line


def page_of_record(record: WarcRecord, origin: Origin) -> Record | None:
    """Make a page of a record; None for one of another type. Raises `Unreadable` if its end is not there."""
    from fastwarc import WarcRecordType as Type
    from fastwarc.stream_io import ChunkedReader

    if "Content-Length" not in record.headers:
        raise Unreadable("the file ends in its headers")
    kind, length = record.record_type, record.content_length
    is_http = kind in (Type.response, Type.revisit) and record.is_http
    wanted = is_http or kind in (Type.resource, Type.conversion)
    status, headers = 200, {"content-type": record.headers.get("Content-Type") or ""}
    if is_http and length <= MAX_RECORD:
        status, headers = _read_headers(record, 0 if kind == Type.response else 200)
    block = record.reader.read(length) if wanted and length <= MAX_RECORD else b""
    if len(block) + record.consume() < record.content_length:
        raise Unreadable("the file ends in the middle of it")
    if not wanted:
        return None
    if length > MAX_RECORD:
        return BrokenRecord(origin, too_long())
    url = clean(record.headers.get("WARC-Target-URI") or "").strip("<>")
    if not url:
        return BrokenRecord(origin, "it has no URL")
    fetched = seconds(record.headers.get("WARC-Date"))
    if kind == Type.conversion:
        return PageRecord(url, block.decode("utf-8", "replace"), None, None, fetched, origin)
    if kind == Type.revisit:
        return _revisit(record, url, status, headers.get("content-type"), fetched, origin)
    if not status:
        return BrokenRecord(origin, "its HTTP headers cannot be parsed")
    if "chunked" in headers.get("transfer-encoding", "").lower():
        with suppress(OSError):  # many archives store it undone under the header that announces it
            block = ChunkedReader(io.BytesIO(block)).read()
    digest = record.headers.get("WARC-Payload-Digest")
    return page_of_response(url, status, headers, block, fetched, origin, digest)


def _read_headers(record: WarcRecord, unknown: int) -> tuple[int, dict[str, str]]:
    """Return the status of an HTTP record, *unknown* for none, and headers with names in lower case."""
    try:
        record.parse_http()
    except (OSError, ValueError):
        return unknown, {}
    headers = record.http_headers
    return headers.status_code or unknown, {name.lower(): value for name, value in headers.items()}


def _revisit(
    record: WarcRecord, url: str, status: int, content_type: str | None, fetched: float | None, origin: Origin
) -> Record:
    """Make a page of a revisit, whose headers need not be there, and whose status may be 304."""
    digest, refers_to = (record.headers.get(f"WARC-{n}") for n in ("Payload-Digest", "Refers-To-Target-URI"))
    if refers_to is None and "not-modified" in (record.headers.get("WARC-Profile") or ""):
        refers_to = url
    if refers_to is None and digest is None:
        return BrokenRecord(origin, "it does not say what it is a revisit of")
    if reason := _omission(url, 200 if status == 304 else status, content_type):
        return Skipped(origin, reason)
    url_of_it = None if refers_to is None else clean(refers_to).strip("<>")
    return PageRecord(
        url, None, None, content_type, fetched, origin, digest, refers_digest=digest, refers_url=url_of_it
    )


def is_cache(path: Path) -> bool:
    """Tell whether *path* is the cache of a spider or contains one, by some of its directories."""
    return next(_entries(path, _DEPTH - 1, [], _PROBES), None) is not None


def read_cache(path: Path, settings: AuditOptions) -> Iterator[Record]:
    """Yield the pages of the caches in *path*, as `FilesystemCacheStorage` has them; no pickle is read."""
    closed: list[OSError] = []
    for entry in _entries(path, _DEPTH, closed):
        origin = Origin(str(path), entry.relative_to(path).as_posix())
        try:
            yield _cached(entry, origin)
        except FileNotFoundError as error:
            yield BrokenRecord(origin, f"{Path(error.filename).name} is missing")
        except DAMAGE as error:
            yield BrokenRecord(origin, str(error))
    yield from map(unlisted, closed)


def _entries(path: Path, depth: int, closed: list[OSError], most: int | None = None) -> Iterator[Path]:
    """Yield the entries of caches in *path*, of *most* directories in each, sorted; note those *closed*."""
    try:
        with os.scandir(path) as inside:
            below = [path / each.name for each in islice(inside, most) if each.is_dir(follow_symlinks=False)]
    except OSError as error:
        closed.append(error)
        return
    for directory in sorted(below):
        if directory.name[:2] == path.name and _FINGERPRINT.fullmatch(directory.name):
            yield directory
        elif depth:
            yield from _entries(directory, depth - 1, closed, most)


def _cached(entry: Path, origin: Origin) -> Record:
    # Whether HTTPCACHE_GZIP was on: bodies may be gzip anyway, as received, so the meta data tell.
    with open_regular(entry / "meta") as file:
        compressed = file.read(2) == b"\x1f\x8b"

    def read(name: str, limit: int) -> bytes:
        with open_regular(entry / name) as file:
            content = file.read(limit + 1)
        content = _decoded(content, "gzip", limit + 1) if compressed else content
        if len(content) > limit:
            raise Unreadable(f"{name} has more than {limit} bytes")
        return content

    meta = parse_meta(read("meta", MAX_HEADERS))
    url, status = meta.get("response_url") or meta.get("url"), meta.get("status")
    if not isinstance(url, str) or not isinstance(status, int):
        raise Unreadable("meta has no URL or no status")
    raw = headers_raw_to_dict(read("response_headers", MAX_HEADERS))
    headers = {
        name.decode("latin-1").lower(): b", ".join(values).decode("latin-1") for name, values in raw.items()
    }
    body = read("response_body", MAX_RECORD)
    if not (entry / "request_body").exists():  # which Scrapy writes last
        raise Unreadable("the crawl ended while it was written")
    stated = headers.get("content-length", "")
    if stated.isdecimal() and len(body) < int(stated[:18]) and not body.rstrip().endswith(b"</html>"):
        raise Unreadable(f"response_body has {len(body)} of {stated[:18]} bytes")
    return page_of_response(clean(url), status, headers, body, seconds(meta.get("timestamp")), origin)


def parse_meta(content: bytes) -> dict[str, Any]:
    """Parse the repr of a flat dictionary; raises `Unreadable`, or ValueError for what is no UTF-8."""
    source = content.decode()
    try:
        if _META.fullmatch(source):
            return dict(ast.literal_eval(source))
    except (SyntaxError, ValueError):
        pass
    raise Unreadable("meta is damaged: it is no dictionary of strings and numbers")


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
    content_type = headers.get("content-type")
    if reason := _omission(url, status, content_type) or ("" if body else "empty"):
        return Skipped(origin, reason)
    try:
        body = decode_body(body, headers.get("content-encoding", ""))
    except Exception as error:  # noqa: BLE001  # codecs raise whatever they like; one may not be installed
        return BrokenRecord(origin, f"the body cannot be decoded: {error}")
    if is_binary(body) or not ("content-type" in headers or looks_like_html(body)):
        return Skipped(origin, "not_html")
    noindex = header_forbids(headers.get("x-robots-tag", ""))
    return PageRecord(url, None, body, content_type, fetched, origin, digest, noindex)


def _omission(url: str, status: int, content_type: str | None) -> str | None:
    """Return why such a response is no page, as `Skipped` says it; None if it may be one."""
    if not 200 <= status < 300:
        return "redirect" if 300 <= status < 400 else "error"
    if split_url(url).path == "/robots.txt":
        return "robots"
    return None if content_type is None or is_html_type(content_type) else "not_html"


def looks_like_html(body: bytes) -> bool:
    """Whether one of the tags that pages begin with is near the beginning, in ASCII or UTF-16."""
    start = body[:4096].replace(b"\x00", b"")
    xml = _XML.match(start)
    return bool(_TAG.match(start, xml.end() if xml else 0))


def decode_body(body: bytes, content_encoding: str, limit: int = MAX_RECORD) -> bytes:
    """Undo content encodings; raises `Unreadable` beyond *limit* bytes, and what the codecs raise.

    A body that never was encoded, or no longer is, stays as it is, whatever the header says.
    """
    codings = [coding.strip().lower() for coding in content_encoding.split(",")]
    codings = [coding for coding in codings if coding not in ("", "identity", "none", "utf-8")]
    if len(codings) > _CODINGS:
        raise Unreadable(f"{len(codings)} content encodings")
    for coding in reversed(codings):
        if body.lstrip()[:1] == b"<" or len(body) > limit:
            break
        body = _decoded(body, coding, limit + 1)
    if len(body) > limit:
        raise Unreadable(too_long(limit))
    return body


def _decoded(body: bytes, coding: str, most: int) -> bytes:
    """Undo one encoding; of content that is longer than *most* bytes as many are returned, or a few more."""
    if coding in ("gzip", "x-gzip", "deflate"):
        # Some servers take "deflate" for deflate without the zlib format.
        is_zlib = bool(body) and body[0] & 15 == zlib.DEFLATED
        wbits = zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS
        inflater = zlib.decompressobj(wbits if coding == "deflate" else 16 + zlib.MAX_WBITS)
        content = inflater.decompress(body, most)
        ended = inflater.eof
    elif coding == "br":
        import brotli

        decoder = brotli.Decompressor()
        content = bytes(decoder.process(body, output_buffer_limit=most))
        ended = decoder.is_finished()
    elif coding == "zstd":
        zstd = import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
        options = {zstd.DecompressionParameter.window_log_max: 27}
        with zstd.ZstdFile(io.BytesIO(body), options=options) as file:
            content, ended = bytes(file.read(most)), True  # it raises where the end is missing
    else:
        raise Unreadable(f"unknown content encoding {coding[:40]}")
    if not ended and len(content) < most:
        raise EOFError("it ends in the middle")
    return content


def read_head(body: bytes, content_type: str | None, url: str) -> dict[str, Any]:
    """Read the head of the page at *url*: ``title``, and whether it asks search engines for ``noindex``.

    ``declared`` is the URL that it names as canonical, or else its ``og:url``, ``alternates`` JSON of its
    versions, ``hreflang`` to URL: both absolute, "" for none.
    """
    # The charset of a page that does not declare one takes long to guess, and URLs are ASCII.
    _, text = decode_as_declared(body[:_HEAD_BYTES], content_type, lambda _: "utf-8")
    text = _END.split(text, maxsplit=1)[0]
    title = next(iter(titles(text)), "")[:_TITLE]
    try:
        tree = parsed(text)
    except etree.LxmlError:  # of what no browser would make sense of
        tree = None
    noindex, declared, shared, alternates = False, "", "", dict[str, str]()
    for each in () if tree is None else islice(tree.iter("link", "meta"), _MOST):
        said = each.get("content", "")
        noindex |= each.get("name", "").strip().lower() in _AGENTS and header_forbids(said)
        if each.get("property") == "og:url":
            shared = shared or _absolute(url, said)
        if not (linked := _absolute(url, each.get("href", ""))):
            continue
        rel, language = each.get("rel", "").lower().split(), each.get("hreflang", "").strip().lower()
        if "canonical" in rel:
            declared = declared or linked
        elif "alternate" in rel and language:
            alternates.setdefault(language, linked)
    versions = json.dumps(alternates) if alternates else ""
    return {"title": title, "noindex": noindex, "declared": declared or shared, "alternates": versions}


def _absolute(base: str, href: str) -> str:
    """Return the URL that a link on the page at *base* leads to; "" if it is none of a site."""
    try:
        url = urljoin(base, href.strip()) if href.strip() else ""
    except ValueError:  # such as an address in brackets that is none
        return ""
    return url if url.startswith(("http://", "https://")) and len(url) <= MAX_URL else ""


def header_forbids(value: str) -> bool:
    """Tell whether ``X-Robots-Tag`` headers, joined by commas, forbid indexing, as ``googlebot: none``."""
    agent = _AGENTS[0]
    for part in value.lower().split(","):
        name, colon, directive = part.partition(":")
        if colon:
            agent, part = name.strip(), directive
        if agent in _AGENTS and part.strip() in _FORBIDDING:
            return True
    return False
