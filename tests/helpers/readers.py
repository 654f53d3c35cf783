"""Everything in the package that reads bytes which others have written, each as one function of bytes.

`tests/test_corpus.py` calls them with inputs that once broke something, `torture/exercises/fuzz.py` with
millions of mutants of these. A reader returns what can be compared with another answer. It may raise the
errors of the package, and nothing else: what its caller handles beyond these is handled in the reader as it
is there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from scrapy_neardup import Detector, Features, Fingerprinter
from scrapy_neardup.audit.sources import mirror_url
from scrapy_neardup.audit.sources.responses import read_head
from scrapy_neardup.audit.url_rules import find_rules
from scrapy_neardup.extraction import Page, load_extractor
from scrapy_neardup.extraction.parsing import ContentArea, parsed
from scrapy_neardup.extraction.task import extract
from scrapy_neardup.fingerprint.schemes import SCHEMES, load_scheme
from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.header import Header
from scrapy_neardup.index.lmdb.directory import check_data_file
from scrapy_neardup.index.lmdb.layout import decode_block, decode_partition, decode_state
from scrapy_neardup.index.redis.layout import EQUAL_BYTES, NEAR_BYTES, Generation, Layout, Place, compared
from scrapy_neardup.index.redis.opening import read_header
from scrapy_neardup.index.redis.server import Address
from scrapy_neardup.matching.records import entries, fingerprinter_of, header_for, scheme_of, url_key
from scrapy_neardup.matching.sites import host_of, is_domain, site_key, split_url
from scrapy_neardup.plugin.settings import read_rules, rule_for
from tests.audit.sources.archives import open_sources, record

#: The inputs that once broke something, in a folder for each kind.
CORPUS = Path(__file__).parents[1] / "corpus"
#: Readers of one kind see inputs of these kinds, too.
RELATED = {"page": ("response",), "text": ("url", "page"), "url": ("text",)}


@dataclass(frozen=True)
class Reader:
    """Reads one kind of input."""

    name: str
    #: The folder of the corpus with its inputs.
    kind: str
    #: Takes the bytes and an empty folder.
    read: Callable[[bytes, Path], Any]
    #: How many inputs it reads in a second on a busy machine, roughly.
    speed: int


_readers: list[Reader] = []


def readers() -> dict[str, Reader]:
    """Return all readers by name."""
    return {each.name: each for each in _readers}


def inputs(kind: str) -> list[Path]:
    """Return the inputs of a kind and of those that are read alike."""
    folders = [CORPUS / each for each in (kind, *RELATED.get(kind, ()))]
    return [path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir())]


def _reader(kind: str, speed: int, name: str = "") -> Callable[[Any], Any]:
    def note(read: Any) -> Any:
        _readers.append(Reader(name or read.__name__.replace("_", " "), kind, read, speed))
        return read

    return note


@cache
def small_fingerprinter() -> Fingerprinter:
    return Fingerprinter(Features(), 7)


# Pages.


def _extract(name: str, area: ContentArea = ContentArea()) -> Callable[[bytes, Path], Any]:  # noqa: B008
    extractor = cache(lambda: load_extractor(name))

    def read(data: bytes, folder: Path) -> Any:
        page = Page(data, "https://a.example/b", "text/html")
        found = extract(page, extractor(), small_fingerprinter(), keep_text=True, area=area)
        assert found.reason != "failed", found.detail
        return found.reason, found.fallback, found.text, found.signature

    return read


for _name, _speed in (("segment", 60), ("plain", 80), ("resiliparse", 90)):
    _reader("page", _speed, f"page by {_name}")(_extract(_name))
_reader("page", 100, "area of a page")(_extract("plain", ContentArea(("article", ".post"), ("nav", "p.x"))))


@_reader("page", 30)
def page_by_trafilatura(data: bytes, folder: Path) -> Any:
    # What Trafilatura raises is its own business: it is counted, and the page passes.
    page = Page(_without_spans(data), "https://a.example/b", None)
    extract(page, load_extractor("trafilatura"), small_fingerprinter())


def _without_spans(page: bytes) -> bytes:
    """Return *page* without cells that span others: Trafilatura takes minutes over many that span thousands.

    Then the worker process that it runs in is ended: tests/extraction/test_workers.py.
    """
    return re.sub(rb"(row|col)span", rb"\1spam", page, flags=re.IGNORECASE)


@_reader("page", 400)
def head_of_page(data: bytes, folder: Path) -> Any:
    return read_head(data, None, "https://a.example/")


@_reader("response", 1200)
def response(data: bytes, folder: Path) -> Any:
    """Answers of servers as archives have them: a line with the status, headers, a body."""
    (folder / "a.warc").write_bytes(record("response", "https://a.example/b", data))
    return list(open_sources([folder / "a.warc"]))


# Texts.


@cache
def _fingerprinters() -> list[Fingerprinter]:
    features = [Features(units="characters", shingle=5), Features(stop_words="en")]
    others = [Fingerprinter(each, 7) for each in features]
    return others + [Fingerprinter(Features(), 7, load_scheme(name)) for name in SCHEMES]


@_reader("text", 15)
def text(data: bytes, folder: Path) -> Any:
    words = _decoded(data)
    return [each.signature(words) for each in _fingerprinters()]


@_reader("text", 12)
def text_in_detector(data: bytes, folder: Path) -> Any:
    words = _decoded(data)
    with Detector.open() as detector:
        kinds = [detector.add(words, f"https://{n}.example/{words[:50]}").kind for n in range(2)]
        detector.check(words[:-20], "https://c.example/")
    return kinds


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


# Addresses and what the user's settings say of them.


@_reader("url", 300)
def url(data: bytes, folder: Path) -> Any:
    first, _, second = _decoded(data).partition("\n")
    split = [split_url(each) for each in (first, second, first)]
    plain = {"verdict": "near", "cluster": 0, "canonical": first, "title": "", "declared": "", "tokens": 0}
    for rule in find_rules([{**plain, "url": each} for each in (first, second, first)], 0.1):
        rule.facts()
    return (
        [(site_key(each), host_of(each), is_domain(each), url_key(each, 7)) for each in (first, second)],
        split,
        mirror_url(Path(f"a/{first}/b.html"), Path("a"), None),
    )


@_reader("url", 1500)
def url_of_a_store(data: bytes, folder: Path) -> Any:
    return Address.parse(data.decode("utf-8", "replace"))


@_reader("selector", 20)
def selector(data: bytes, folder: Path) -> Any:
    chosen = data.decode("utf-8", "replace")
    root = parsed("<body><p id=a class=b>x<b>y</b></p><div><p>z</div>")
    assert root is not None
    ContentArea((chosen,)).cut(root)
    return "".join(root.itertext())


@_reader("rules", 1000)
def rules(data: bytes, folder: Path) -> Any:
    found = read_rules("NEARDUP_RULES", data.decode("utf-8", "replace"))
    try:
        rule = rule_for("https://a.example/" + "a" * 30, found)
    except TimeoutError:  # the page passes; which pattern takes too long depends on the machine
        return None
    return None if rule is None else (rule.pattern.pattern, rule.policy)


# Sources of an audit: whatever is in a file, a record comes out.


def _source(name: str) -> Callable[[bytes, Path], Any]:
    def read(data: bytes, folder: Path) -> Any:
        path = folder / name
        path.write_bytes(data)
        found = list(open_sources([path]))
        for each in found:
            if getattr(each, "text", None):
                each.text.encode()  # type: ignore[union-attr]
            str(each).encode("utf-8", "backslashreplace")
        return found

    return read


for _kind, _name, _speed in (
    ("jl", "a.jl", 200),
    ("json", "a.json", 280),
    ("parquet", "a.parquet", 250),
    ("warc", "a.warc", 240),
    ("page", "a.html", 380),
):
    _reader(_kind, _speed, f"source {_name}")(_source(_name))


@_reader("packed", 75)
def packed_feed(data: bytes, folder: Path) -> Any:
    return [_source(f"a.jl.{suffix}")(data, folder) for suffix in ("gz", "bz2")]


@_reader("cache", 250)
def cache_entry(data: bytes, folder: Path) -> Any:
    """Read an entry of Scrapy's HTTP cache: its meta, headers and body, separated by a line of dashes."""
    entry = folder / "spider" / "00" / f"00{'0' * 38}"
    entry.mkdir(parents=True, exist_ok=True)
    names = ("meta", "response_headers", "response_body", "request_body")
    for name, part in zip(names, [*data.split(b"\n----\n", 2), b"", b"", b""], strict=False):
        (entry / name).write_bytes(part)
    return list(open_sources([folder]))


# An index on this disk, and one on a server.


@cache
def small_header() -> Header:
    made = header_for(small_fingerprinter(), "plain 1")
    return Header(made.families, made.record, made.parameters, 7, "u", "2024-01-01T00:00:00+00:00")


def _used(header: Header) -> Any:
    """Use a header as commands do that are given an index."""
    scheme = scheme_of(header)
    fingerprinter = fingerprinter_of(header, scheme)
    header.require(small_header(), "a")
    documents = entries([fingerprinter.signature("a b c " * 30)], ["https://a.example/"], header)
    return documents.keys.tolist()


@_reader("header", 1500)
def header(data: bytes, folder: Path) -> Any:
    return _used(Header.from_json(data))


@_reader("state", 4700)
def state(data: bytes, folder: Path) -> Any:
    found = decode_state(data)
    return found, [run.cut(family) for run in found.runs for family in small_header().families]


@_reader("block", 1300)
def block(data: bytes, folder: Path) -> Any:
    found = [decode_block(data, small_header(), rows) for rows in (None, np.array([0, 1, 40]))]
    return [(each.records.tobytes(), each.urls) for each in found]


@_reader("logged", 3700)
def logged(data: bytes, folder: Path) -> Any:
    found = decode_block(data, small_header(), keys=small_header().keys)
    return found.keys.tobytes(), found.records.tobytes(), found.urls


@_reader("partition", 7800)
def partition(data: bytes, folder: Path) -> Any:
    found = decode_partition(data, 4)
    return len(found.entries.keys), found.starts.tolist()[:10]


@_reader("data_file", 1700)
def data_file(data: bytes, folder: Path) -> Any:
    """Look at an LMDB file before LMDB sees it, which maps it and would be ended by the system."""
    (folder / "data.mdb").write_bytes(data)
    check_data_file(folder / "data.mdb")


@_reader("redis_header", 1600)
def redis_header(data: bytes, folder: Path) -> Any:
    server: Any = SimpleNamespace(address=Address.parse("redis://h/0"), call=lambda *_, **__: data)
    found = read_header(server, server.address.prefix)
    return None if found is None else _used(found[0])


@_reader("redis_bucket", 2800)
def redis_bucket(data: bytes, folder: Path) -> Any:
    return _met(data, NEAR_BYTES)


@_reader("redis_bucket", 2800)
def redis_equal_bucket(data: bytes, folder: Path) -> Any:
    return _met(data, EQUAL_BYTES)


def _met(data: bytes, width: int) -> Any:
    probe = 0, Place(b"", bytes(width - 4), start=7, within=64)
    return [column.tolist() for column in compared([probe], {b"": data}, width)]


@_reader("redis_generations", 9000)
def redis_generations(data: bytes, folder: Path) -> Any:
    return Generation.parse(data)


@_reader("redis_document", 2200)
def redis_document(data: bytes, folder: Path) -> Any:
    layout = Layout(small_header(), [b"p:"])
    found = layout.unpack([data, data])
    first = found.take(slice(0, 1))
    return layout.filed(first, Generation(7, 0)), layout.pack(first), found.urls


@_reader("redis_document", 30)
def stored_record(data: bytes, folder: Path) -> Any:
    """Compare texts with a document whose record may be damaged: lookups verify no checksum."""
    stored = Layout(small_header(), [b"p:"]).unpack([data])
    found = []
    for words in ("a b c " * 30, " ".join(f"word{number} {number}" for number in range(80))):
        index = LmdbIndex(None, small_header())
        with Detector(index, clock=lambda: 1e9) as detector:
            signature = detector.signature(words)
            own = entries([signature], ["https://a.example/"], index.header)
            index.add(stored._replace(keys=own.keys))
            found.append(detector.check(words, "https://b.example/", scope=words[:1]))
            found.append(detector.check(words, stored.urls[0]))
            found.append(detector.add(words, "https://www.a.example/c"))
    return [(each.kind, each.url, each.distance, each.similarity) for each in found]
