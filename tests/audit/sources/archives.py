"""WARC files for tests, byte by byte, so that they can be wrong in every way; what sources have, as lists."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scrapy_neardup.audit.options import AuditOptions
from scrapy_neardup.audit.sources import find_sources, read_sources
from scrapy_neardup.audit.sources.records import BrokenRecord, PageRecord, Record, Skipped
from tests.audit.corpora import text


def record(kind: str, url: str, block: bytes, length: int | None = None, **headers: str) -> bytes:
    fields = {
        "WARC-Type": kind,
        "WARC-Record-ID": f"<urn:uuid:{hashlib.md5(url.encode()).hexdigest()}>",
        "WARC-Date": "2024-05-06T07:08:09Z",
        "WARC-Target-URI": url,
        "Content-Type": "application/http; msgtype=response",
        **{name.replace("_", "-"): value for name, value in headers.items()},
        "Content-Length": str(len(block) if length is None else length),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value)
    return f"WARC/1.0\r\n{head}\r\n".encode() + block + b"\r\n\r\n"


def http(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    fields = {"Content-Type": "text/html"} | given
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value)
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body


def write_warc(path: Path, records: list[bytes]) -> None:
    """Compressed record by record if the name says so."""
    packed = path.suffix == ".gz"
    path.write_bytes(b"".join(gzip.compress(each, mtime=0) if packed else each for each in records))


def open_sources(paths: Sequence[Any], **options: Any) -> Iterator[Record]:
    """Yield the records of all sources; raises at once if one cannot be read."""
    return (record for _, record in read_sources(find_sources(paths), AuditOptions(**options)))


@dataclass
class Contents:
    """What sources gave, by type."""

    records: list[Any]
    pages = property(lambda self: self._of(PageRecord))
    problems = property(lambda self: self._of(BrokenRecord))
    skipped = property(lambda self: self._of(Skipped))
    urls = property(lambda self: [page.url for page in self.pages])
    texts = property(lambda self: [page.text for page in self.pages])

    def _of(self, kind: type) -> list[Any]:
        return [each for each in self.records if isinstance(each, kind)]


def read(*paths: Any, **options: Any) -> Contents:
    """Return what all sources have."""
    return Contents([*open_sources(paths, **options)])


def html(seed: object, count: int = 30) -> bytes:
    """Return a page with a text that no page of another seed has."""
    return f"<html><body><p>{text(seed, count)}</p></body></html>".encode()
