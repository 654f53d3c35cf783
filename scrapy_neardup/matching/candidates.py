"""The stored documents that one document may repeat, and what speaks for each."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import mmh3
import numpy as np

from scrapy_neardup.fingerprint import Features, Fingerprinter, Scheme
from scrapy_neardup.fingerprint.numbers import SIZE as NUMBERS_SIZE
from scrapy_neardup.fingerprint.numbers import substituted
from scrapy_neardup.fingerprint.schemes import Pairs, load_scheme
from scrapy_neardup.fingerprint.sketch import SIZE as SKETCH_SIZE
from scrapy_neardup.fingerprint.sketch import similarity
from scrapy_neardup.index import Documents, Header
from scrapy_neardup.index.tables import EQUAL, NO_KEY, TABLES, Family
from scrapy_neardup.options import DetectionOptions

from .rules import Evidence, varied, verify
from .sites import UNKNOWN, site_key

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
    ("numbers", f"({NUMBERS_SIZE},)u1"),
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


def find_urls(index: Index, urls: Iterable[str]) -> list[int]:
    """Return the numbers of all documents filed under *urls*."""
    wanted = sorted({filed_url(url) for url in urls})
    with index.lock:
        found = index.search(URL, url_keys(wanted, index.header.seed))
        stored = index.fetch(found.document)
    pairs = zip(found.document.tolist(), found.query.tolist(), stored.urls, strict=True)
    return [number for number, query, url in pairs if url == wanted[query]]


def entries(
    signatures: Sequence[Signature], urls: Sequence[str], header: Header, *, scope: str = "", time: int = 0
) -> Documents:
    """Return documents as they are filed in an index with *header*; *time* in seconds since 1970."""
    urls = [filed_url(url) for url in urls]
    scope_key = mmh3.hash64(scope.encode("utf-8", "surrogatepass"), signed=False)[0] if scope else 0
    filed = 8 * (OWN if header.families[OWN].equal else OWN + 1)  # not all schemes file the fingerprint
    records, keys = bytearray(), bytearray()
    # Field by field, arrays of one document would take four times as long.
    for each, url in zip(signatures, urls, strict=True):
        numbers = (each.fingerprint, scope_key, time, each.tokens, each.shingles, site_key(url), False)
        records += b"".join((each.digest[8:], _NUMBERS.pack(*numbers), each.sketch, each.numbers, each.extra))
        first = each.digest[:8] + _KEYS.pack(url_key(url, header.seed), each.fingerprint)
        keys += first[:filed] + each.keys
    filed_keys = np.frombuffer(keys, "<u8").reshape(-1, header.keys).T.astype(np.uint64, order="C")
    return Documents(filed_keys, np.frombuffer(records, header.dtype), urls)


def file_as_template(entry: Documents, scheme: Scheme) -> None:
    """File *entry*, one document, as a page of a template, of which only the first is filed under all its keys.

    The others are found by their digest and their URL alone: nothing else repeats them, and a lookup that met
    thousands of them would be dear.
    """
    flags(entry.records)[:] |= TEMPLATE
    entry.keys[OWN:] = NO_KEY
    if scheme.simhash:  # every document has one; a hash of all of the text is near no fingerprint
        entry.keys[OWN] = entry.keys[DIGEST]


@dataclass(frozen=True)
class Rules:
    """What makes two documents near-duplicates: candidates of *scheme*, and unless *verified* is off, much alike."""

    scheme: Scheme
    verified: bool = DetectionOptions.verified


class Judgement(NamedTuple):
    """What speaks for n pairs of documents: arrays of n."""

    #: With equal normalised text: bool.
    exact: NDArray[np.bool_]
    #: Near-duplicates; exact ones are, too: bool.
    near: NDArray[np.bool_]
    #: The new one has most of the stored one, and more: bool.
    fuller: NDArray[np.bool_]
    #: Pages of one template, filled with other numbers: bool.
    template: NDArray[np.bool_]
    #: Bits in which the fingerprints differ: uint8.
    distance: NDArray[np.uint8]
    #: Estimated Jaccard similarity: float32.
    similarity: NDArray[np.float32]
    #: Estimated share of the shorter text that is in the longer: float32.
    containment: NDArray[np.float32]


def judge(
    rules: Rules,
    a: NDArray[Any],
    b: NDArray[Any],
    exact: NDArray[np.bool_],
    shared: NDArray[np.integer],
) -> Judgement:
    """Compare documents pair by pair by their records: [n], or [] for one document in all pairs.

    Of each pair *b* is the one that is stored, and *a* the new one. *exact* (bool[n]) are those with equal digest, *shared* (int[n]) is
    how many of the scheme's further keys are equal.
    """
    if exact.all():  # as for most copies: nothing needs to be estimated
        ones = np.ones(len(exact), np.float32)
        return Judgement(exact, exact, ~exact, ~exact, np.zeros(len(exact), np.uint8), ones, ones)
    distance = np.bitwise_count(a["fingerprint"] ^ b["fingerprint"])
    jaccard, containment = similarity(a["sketch"], a["shingles"], b["sketch"], b["shingles"])
    missing, numbers = substituted(a["numbers"], b["numbers"])
    known = (a["site"] != UNKNOWN) & (b["site"] != UNKNOWN)
    same = a["site"] == b["site"]
    near = rules.scheme.agrees(Pairs(distance, shared, a, b)) & (flags(b) & TEMPLATE == 0)
    fuller = template = np.zeros_like(near)
    if rules.verified:
        tokens = np.minimum(a["tokens"], b["tokens"])
        new, stored = np.maximum(a["shingles"], 1.0), np.maximum(b["shingles"], 1.0)
        found = verify(
            Evidence(
                jaccard,
                containment,
                missing,
                numbers,
                tokens,
                known=containment * np.minimum(stored / new, 1),
                length=new / stored,
                varied=varied(a["tokens"], a["shingles"]) & varied(b["tokens"], b["shingles"]),
                one_site=known & same,
                two_sites=known & ~same,
            )
        )
        fuller, template = near & found.fuller & ~exact, near & found.template & ~exact
        near = near & found.near
    one = np.float32(1)
    return Judgement(
        exact,
        exact | near,
        fuller,
        template,
        distance,
        np.where(exact, one, jaccard),
        np.where(exact, one, containment),
    )


class Candidates(NamedTuple):
    """Stored documents of the scopes asked for and within the window: arrays of n."""

    #: Numbers in the index: int64.
    documents: NDArray[np.int64]
    urls: list[str]
    #: Filed under the same URL: bool.
    own: NDArray[np.bool_]
    #: Its page has stored no item: bool.
    weak: NDArray[np.bool_]
    #: When it was stored, seconds since 1970: uint32.
    time: NDArray[np.uint32]
    judgement: Judgement

    def best(self, among: NDArray[np.bool_], index: Index) -> int | None:
        """Return the row of the best of *among*: settled, with items, exact, similar, close, old; None of none."""
        rows = np.flatnonzero(among).tolist()
        if not rows:
            return None
        return min(
            rows,
            key=lambda row: (
                index.holder(int(self.documents[row])) is not None,
                self.weak[row],
                not self.judgement.exact[row],
                -self.judgement.similarity[row],
                self.judgement.distance[row],
                self.time[row],
                self.urls[row],
            ),
        )


def find_candidates(
    index: Index, entry: Documents, rules: Rules, oldest: float, *, all_scopes: bool = False
) -> Candidates | None:
    """Search the index for *entry*, one document: by URL, by digest, and by the keys of the scheme.

    What was stored before *oldest* (seconds since 1970) does not count, nor what is in another scope, unless
    *all_scopes* do. Returns None if there is nothing at all, as for most pages.
    """
    scheme = rules.scheme
    digest = index.search(DIGEST, entry.keys[DIGEST]).document
    further = np.empty(0, np.int64)
    found = [digest, index.search(URL, entry.keys[URL]).document]
    if scheme.simhash:
        found.append(index.search(OWN, entry.keys[OWN], scheme.distance).document)
    if scheme.keys:
        keys = entry.keys[-scheme.keys :, 0]
        further = index.search(
            len(index.header.families) - 1, keys[keys != NO_KEY], most=scheme.most
        ).document
        found.append(further)
    if not any(map(len, found)):
        return None
    documents = np.array(sorted({number for numbers in found for number in numbers.tolist()}), np.int64)
    exact = np.zeros(len(documents), bool)
    exact[documents.searchsorted(digest)] = True
    shared = np.bincount(documents.searchsorted(further), minlength=len(documents))
    stored = index.fetch(documents)
    own_record = entry.records[0]
    counts = stored.records["time"] >= oldest
    if not all_scopes:
        counts &= stored.records["scope"] == own_record["scope"]
    if not counts.all():
        rows = np.flatnonzero(counts)
        documents, exact, shared, stored = documents[rows], exact[rows], shared[rows], stored.take(rows)
    exact &= stored.records["digest"] == own_record["digest"]
    own = np.array([url == entry.urls[0] for url in stored.urls], bool)
    judgement = judge(rules, own_record, stored.records, exact, shared)
    weak = flags(stored.records) & WEAK != 0
    return Candidates(documents, stored.urls, own, weak, stored.records["time"], judgement)
