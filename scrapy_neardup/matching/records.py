"""What is filed of a document: its keys and its record, and how it is found and removed by its URL."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace

import mmh3
import numpy as np

from scrapy_neardup.errors import IndexMismatch
from scrapy_neardup.fingerprint import Features, Fingerprinter, Scheme, Signature
from scrapy_neardup.fingerprint.schemes import load_scheme
from scrapy_neardup.fingerprint.sketch import SIZE as SKETCH_SIZE
from scrapy_neardup.fingerprint.values import TITLE, UNITS
from scrapy_neardup.index import Documents, Header, Index
from scrapy_neardup.index.tables import EQUAL, NO_KEY, TABLES, Family

from .sites import site_key

#: The families of tables: lower half of the digest, hash of the URL, and from `OWN` on those of the scheme.
DIGEST, URL, OWN = range(3)
#: What is stored of a document beside its URL, and before the fields that the scheme adds.
RECORD = (
    ("digest", "<u8"),  # upper half
    ("fingerprint", "<u8"),
    ("scope", "<u8"),
    ("time", "<u4"),  # seconds since 1970
    ("tokens", "<u4"),
    ("runs", "<u4"),
    ("shingles", "<u4"),
    ("site", "<u4"),
    ("flags", "u1"),
    ("sketch", f"({SKETCH_SIZE},)u1"),
    *((kind, f"({units},)<u2") for kind, units in UNITS.items()),
    ("title", f"({TITLE},)u1"),
)
#: Flags of a record: only equal texts repeat the document; readers do not see the text, so that nothing on
#: another site repeats it.
EQUAL_ONLY, HIDDEN = 1, 2
#: The fields of a record from the fingerprint to the flags, as bytes.
_NUMBERS = struct.Struct("<QQIIIIIB")
_KEY = struct.Struct("<Q")


def header_for(fingerprinter: Fingerprinter, extractor: str) -> Header:
    """Return the header of an index of what *fingerprinter* signs; *extractor* has name and version."""
    scheme = fingerprinter.scheme
    return Header(
        families=(Family(EQUAL), Family(EQUAL), *scheme.families),
        record=(*RECORD, *scheme.record),
        parameters={
            **scheme.parameters,
            "features": asdict(fingerprinter.features),
            "segmenter": fingerprinter.segmenter,
            "extractor": extractor,
        },
        seed=fingerprinter.seed,
    )


def scheme_of(
    header: Header, *, distance: int = Scheme.distance, threshold: float = Scheme.threshold
) -> Scheme:
    """Return the scheme that an index was made with. Raises `ConfigurationError` and `IndexMismatch`."""
    require_pages(header)
    tables = next((len(each.tables) for each in header.families[OWN:] if each.tables != EQUAL), TABLES)
    try:
        name = header.parameters["scheme"]
        return load_scheme(name, tables=tables, distance=distance, threshold=threshold)
    except (KeyError, TypeError) as error:
        raise _unknown("a scheme", error) from error


def fingerprinter_of(header: Header, scheme: Scheme) -> Fingerprinter:
    """Return what makes signatures for an index of *scheme* with *header*. Raises `IndexMismatch`."""
    require_pages(header)
    try:
        features = Features(**header.parameters["features"])
    except TypeError as error:
        raise _unknown("features", error) from error
    fingerprinter = Fingerprinter(features, header.seed, scheme)
    if "segmenter" in header.parameters:
        now = {**header.parameters, "segmenter": fingerprinter.segmenter}
        header.require(replace(header, parameters=now), "use")
    return fingerprinter


def require_pages(header: Header, *fields: str) -> None:
    """Raise `IndexMismatch` for an index of bare fingerprints, or of records without *fields*."""
    if "features" not in header.parameters or not {*fields} <= {*(header.dtype.names or ())}:
        raise IndexMismatch(
            "The index holds bare fingerprints, without URLs and times: use it with FingerprintIndex."
        )


def _unknown(what: str, why: Exception) -> IndexMismatch:
    return IndexMismatch(
        f"The index has {what} that this version of scrapy-neardup does not know ({why}): upgrade "
        "scrapy-neardup, or use another index."
    )


def filed_url(url: str) -> str:
    """Return *url* as it is filed: without its fragment, which no server sees."""
    return url.partition("#")[0]


def url_key(url: str, seed: int) -> int:
    """Hash a filed URL for its table: 64 bits."""
    return mmh3.hash64(url.encode("utf-8", "surrogatepass"), seed, signed=False)[0]


def find_urls(index: Index, urls: Iterable[str]) -> tuple[list[int], set[str]]:
    """Return the numbers of all documents of *urls*, with and without fragment, and the filed URLs found."""
    wanted = sorted({filed for url in urls for filed in (url, filed_url(url))})
    keys = np.array([url_key(url, index.header.seed) for url in wanted], np.uint64)
    found, stored = index.retrieve(URL, keys)
    # Another URL may have the same hash, so the stored URL decides.
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
    """Return documents as they are filed in an index with *header*; *time* is in seconds since 1970."""
    urls = [*urls] if keep_fragments else [filed_url(url) for url in urls]
    scope_key = mmh3.hash64(scope.encode("utf-8", "surrogatepass"), signed=False)[0] if scope else 0
    fingerprint = not header.families[OWN].equal  # some schemes have no tables of it
    records, keys = bytearray(), bytearray()
    # Packed as bytes, because NumPy takes four times as long to set the fields of one document.
    for each, url in zip(signatures, urls, strict=True):
        own = _KEY.pack(each.fingerprint) if fingerprint else b""
        keys += each.digest[:8] + _KEY.pack(url_key(url, header.seed)) + own + each.keys
        counts, site = (each.tokens, each.runs, each.shingles), site_key(url) or each.site
        records += each.digest[8:]
        records += _NUMBERS.pack(each.fingerprint, scope_key, time, *counts, site, HIDDEN * each.hidden)
        records += each.sketch + each.numbers + each.figures + each.words + each.title + each.extra
    filed_keys = np.frombuffer(keys, "<u8").reshape(-1, header.keys).T.astype(np.uint64, order="C")
    return Documents(filed_keys, np.frombuffer(records, header.dtype), urls, [b""] * len(urls))


def equal_only(document: Documents, scheme: Scheme, *, keyed: bool = False) -> Documents:
    """Return *document*, one row, so that only equal texts repeat it: boilerplate, or a page of a template.

    It has no keys of its text unless it is *keyed*: each lookup would meet thousands of such documents.
    """
    # As bytes: NumPy copies records field by field.
    records = np.frombuffer(bytearray(document.records.tobytes()), document.records.dtype)
    keys = document.keys.copy()
    records["flags"] |= EQUAL_ONLY
    if not keyed:
        keys[OWN:] = NO_KEY
        if scheme.simhash:  # each document needs a key there: the digest is near no fingerprint
            keys[OWN] = keys[DIGEST]
    return document._replace(records=records, keys=keys)
