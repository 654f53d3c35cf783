"""What is filed of a document: its keys and its record, and how an index of them is made."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import mmh3
import numpy as np

from scrapy_neardup.fingerprint import Features, Fingerprinter, Scheme
from scrapy_neardup.fingerprint.filters import FIGURES, NUMBERS, TITLE, WORDS
from scrapy_neardup.fingerprint.schemes import load_scheme
from scrapy_neardup.fingerprint.sketch import SIZE as SKETCH_SIZE
from scrapy_neardup.index import Documents, Header
from scrapy_neardup.index.tables import EQUAL, NO_KEY, TABLES, Family

from .sites import site_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.fingerprint import Signature
    from scrapy_neardup.index import Index

#: The families of tables: lower half of the digest, hash of the URL; after them those of the scheme.
DIGEST, URL, OWN = range(3)
#: What is stored of a document beside its URL; after it what the scheme keeps.
RECORD = (
    ("digest", "<u8"),  # upper half
    ("fingerprint", "<u8"),
    ("scope", "<u8"),
    ("time", "<u4"),  # seconds since 1970
    ("tokens", "<u4"),
    ("shingles", "<u4"),
    ("site", "<u4"),
    ("template", "?"),  # eight flags, see flags(); its name and type are older than the second of them
    ("sketch", f"({SKETCH_SIZE},)u1"),
    ("numbers", f"({NUMBERS.size},)u1"),
    ("title", f"({TITLE.size},)u1"),
    ("figures", f"({FIGURES.size},)u1"),
    ("words", f"({WORDS.size},)u1"),
)
#: Flags of a record. One of the pages of a template: only equal texts repeat it. Its page has stored no item.
TEMPLATE, WEAK = 1, 2
#: The numbers among these, from the fingerprint on, as bytes; and the keys of the URL and the fingerprint.
_NUMBERS = struct.Struct("<QQIIII?")
_KEYS = struct.Struct("<QQ")


def families(scheme: Scheme) -> tuple[Family, ...]:
    """Return the tables of an index of *scheme*."""
    return (Family(EQUAL), Family(EQUAL), *scheme.families)


def record(scheme: Scheme) -> tuple[tuple[str, str], ...]:
    """Return the type of the records of an index of *scheme*."""
    return (*RECORD, *scheme.record)


def scheme_of(
    header: Header, *, distance: int = Scheme.distance, threshold: float = Scheme.threshold
) -> Scheme:
    """Return the scheme that an index was made with. Raises `ConfigurationError` for a *distance* beyond it."""
    tables = [len(family.tables) for family in header.families[OWN:] if family.tables != EQUAL]
    return load_scheme(
        header.parameters["scheme"],
        tables=tables[0] if tables else TABLES,
        distance=distance,
        threshold=threshold,
    )


def fingerprinter_of(header: Header, scheme: Scheme) -> Fingerprinter:
    """Return what makes the signatures of an index made with *scheme*.

    Raises `IndexMismatch` if its segmenter is another release now.
    """
    fingerprinter = Fingerprinter(Features(**header.parameters["features"]), header.seed, scheme)
    if "segmenter" in header.parameters:
        now = {**header.parameters, "segmenter": fingerprinter.segmenter}
        header.require(replace(header, parameters=now), "use")
    return fingerprinter


def flags(records: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the flags of *records*, [n] or []: uint8[n]. Writing to it sets them.

    NumPy does not say what a bool does that is neither 0 nor 1, so the field is never read as one.
    """
    return np.asarray(records)["template"].view(np.uint8)


def filed_url(url: str) -> str:
    """Return *url* as it is filed: without its fragment, which no server sees."""
    return url.partition("#")[0]


def url_key(url: str, seed: int) -> int:
    """Hash a filed URL for its table: 64 bits."""
    return mmh3.hash64(url.encode("utf-8", "surrogatepass"), seed, signed=False)[0]


def url_keys(urls: Iterable[str], seed: int) -> NDArray[np.uint64]:
    """Hash filed URLs for their table: uint64[n]."""
    return np.array([url_key(url, seed) for url in urls], np.uint64)


def find_urls(index: Index, urls: Iterable[str]) -> tuple[list[int], set[str]]:
    """Return the numbers of all documents filed under *urls*, and those of the filed URLs that have any.

    A URL with a fragment is filed with it or without; both are looked for.
    """
    wanted = sorted({filed for url in urls for filed in (url, filed_url(url))})
    found, stored = index.retrieve(URL, url_keys(wanted, index.header.seed))
    # Another URL may have the same hash.
    rows = [row for row, query in enumerate(found.query.tolist()) if stored.urls[row] == wanted[query]]
    return found.document[rows].tolist(), {stored.urls[row] for row in rows}


def entries(
    signatures: Sequence[Signature],
    urls: Sequence[str],
    header: Header,
    *,
    scope: str = "",
    time: int = 0,
    keep_fragments: bool = False,
) -> Documents:
    """Return documents as they are filed in an index with *header*; *time* in seconds since 1970.

    With *keep_fragments* the URLs are filed as they are.
    """
    urls = [*urls] if keep_fragments else [filed_url(url) for url in urls]
    scope_key = mmh3.hash64(scope.encode("utf-8", "surrogatepass"), signed=False)[0] if scope else 0
    filed = 8 * (OWN if header.families[OWN].equal else OWN + 1)  # not all schemes file the fingerprint
    records, keys = bytearray(), bytearray()
    # Field by field, arrays of one document would take four times as long.
    for each, url in zip(signatures, urls, strict=True):
        numbers = (each.fingerprint, scope_key, time, each.tokens, each.shingles, site_key(url), False)
        filters = (each.numbers, each.title, each.figures, each.words)
        records += b"".join((each.digest[8:], _NUMBERS.pack(*numbers), each.sketch, *filters, each.extra))
        first = each.digest[:8] + _KEYS.pack(url_key(url, header.seed), each.fingerprint)
        keys += first[:filed] + each.keys
    filed_keys = np.frombuffer(keys, "<u8").reshape(-1, header.keys).T.astype(np.uint64, order="C")
    return Documents(filed_keys, np.frombuffer(records, header.dtype), urls)


def with_flags(document: Documents, flag: int) -> Documents:
    """Return a copy of *document*, one row, with a flag set."""
    records = document.records.copy()
    flags(records)[:] |= flag
    return document._replace(records=records)


def as_template(document: Documents, scheme: Scheme, *, keyed: bool = False) -> Documents:
    """Return *document*, one row, as a page of a template is filed, of which only the first has all its keys.

    The others are found by their digest and their URL alone, unless they are *keyed*: nothing else repeats them, and a
    lookup that met thousands of them would be dear.
    """
    if keyed:
        return with_flags(document, TEMPLATE)
    keys = document.keys.copy()
    keys[OWN:] = NO_KEY
    if scheme.simhash:  # every document has one; a hash of all of the text is near no fingerprint
        keys[OWN] = keys[DIGEST]
    return with_flags(document, TEMPLATE)._replace(keys=keys)
