"""WARC files for tests, byte by byte, so that they can be wrong in every way."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from scrapy_neardup.audit.options import AuditOptions
from scrapy_neardup.audit.sources import find_sources, read_sources
from scrapy_neardup.audit.sources.records import Record


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
