"""The stored documents that one document may repeat, and what speaks for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import mmh3
import numpy as np

from .fingerprint import BINS, similarity, verify

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from .fingerprint import Signature
    from .index import Index

#: The families of tables: SimHash, lower half of the digest, hash of the URL.
FINGERPRINT, DIGEST, URL = range(3)
#: What is stored of a document beside its keys and its URL.
RECORD = (
    ("digest", "<u8"),  # upper half
    ("scope", "<u8"),
    ("time", "<u4"),  # seconds since 1970
    ("tokens", "<u4"),
    ("shingles", "<u4"),
    ("sketch", f"({BINS},)u1"),
)


def filed_url(url: str) -> str:
    """Return *url* as it is filed: without its fragment, which no server sees."""
    return url.partition("#")[0]


def url_keys(urls: Sequence[str], seed: int) -> NDArray[np.uint64]:
    """Hash filed URLs for their table: uint64[n]."""
    data = (url.encode("utf-8", "surrogatepass") for url in urls)
    return np.array([mmh3.hash64(each, seed, signed=False)[0] for each in data], np.uint64)


def find_urls(index: Index, urls: Iterable[str]) -> list[int]:
    """Return the numbers of all documents filed under *urls*."""
    wanted = sorted({filed_url(url) for url in urls})
    with index.lock:
        found = index.search(URL, url_keys(wanted, index.header.seed))
        stored = index.fetch(found.document)
    pairs = zip(found.document.tolist(), found.query.tolist(), stored.urls, strict=True)
    return [number for number, query, url in pairs if url == wanted[query]]


class Entry(NamedTuple):
    """A document as it is filed."""

    #: One key a family: uint64[3].
    keys: NDArray[np.uint64]
    #: A `RECORD`, shape ().
    record: NDArray[Any]
    url: str


class Candidates(NamedTuple):
    """Stored documents of the same scope and within the window: arrays of n."""

    #: Numbers in the index: int64.
    documents: NDArray[np.int64]
    urls: list[str]
    #: Filed under the same URL: bool.
    own: NDArray[np.bool_]
    #: With equal normalised text: bool.
    exact: NDArray[np.bool_]
    #: Near-duplicates by fingerprint and sketch; exact ones are, too: bool.
    near: NDArray[np.bool_]
    #: Bits in which the fingerprints differ: uint8.
    distance: NDArray[np.uint8]
    #: Estimated Jaccard similarity: float32.
    similarity: NDArray[np.float32]
    #: When it was stored, seconds since 1970: uint32.
    time: NDArray[np.uint32]

    def best(self, among: NDArray[np.bool_], index: Index) -> int | None:
        """Return the row of the strongest of *among*: settled, exact, similar, close, old; None of none."""
        rows = np.flatnonzero(among).tolist()
        if not rows:
            return None
        return min(
            rows,
            key=lambda row: (
                index.holder(int(self.documents[row])) is not None,
                not self.exact[row],
                -self.similarity[row],
                self.distance[row],
                self.time[row],
                self.urls[row],
            ),
        )


def find_candidates(
    index: Index, signature: Signature, entry: Entry, distance: int, oldest: float
) -> Candidates | None:
    """Search the index for *entry*: by URL, by digest, and by fingerprint within *distance* bits.

    What was stored before *oldest* (seconds since 1970) or in another scope does not count. Returns None if there
    is nothing at all, as for most pages.
    """
    keys = entry.keys[:, np.newaxis]
    found = (
        index.search(URL, keys[URL]),
        index.search(DIGEST, keys[DIGEST]),
        index.search(FINGERPRINT, keys[FINGERPRINT], distance),
    )
    numbers = {number for matches in found for number in matches.document.tolist()}
    if not numbers:
        return None
    documents = np.array(sorted(numbers), np.int64)
    stored = index.fetch(documents)
    records = stored.records
    counts = (records["scope"] == entry.record["scope"]) & (records["time"] >= oldest)
    if not counts.all():
        rows = np.flatnonzero(counts)
        documents, records, stored = documents[rows], records[rows], stored.take(rows)
    own = np.array([url == entry.url for url in stored.urls], bool)
    exact = (stored.keys[DIGEST] == entry.keys[DIGEST]) & (records["digest"] == entry.record["digest"])
    bits = np.bitwise_count(stored.keys[FINGERPRINT] ^ entry.keys[FINGERPRINT])
    jaccard, containment = similarity(
        signature.sketch, signature.shingles, records["sketch"], records["shingles"]
    )
    verified = verify(bits, jaccard, containment, signature.tokens, records["tokens"])
    jaccard = np.where(exact, np.float32(1), jaccard)
    near = exact | ((bits <= distance) & verified)
    return Candidates(documents, stored.urls, own, exact, near, bits, jaccard, records["time"])
