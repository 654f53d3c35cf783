"""All pairs of documents of which one repeats the other, found and judged as a crawl would do it.

Equal documents are compared once. Of more than `MOST` that share a key, and more than `SAME` different texts
with the same fingerprint, which a template makes, only the first is compared with the others: so the work
hardly grows with the square of the documents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scrapy_neardup.audit.arrays import begins, places, ranges
from scrapy_neardup.fingerprint import hamming
from scrapy_neardup.index.tables import NO_KEY
from scrapy_neardup.matching.candidates import Judgement
from scrapy_neardup.matching.records import DIGEST

from .joins import near_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.index import Documents
    from scrapy_neardup.matching.matcher import Matcher

    Keys = NDArray[np.uint64]
    Numbers = NDArray[np.int64]
    Rows = NDArray[np.int64]

#: Pairs that are yielded at a time, and that are made at a time, about.
_PAIRS, _MADE = 1 << 20, 1 << 17


def equal_keys(
    keys: Keys, documents: NDArray[np.integer], most: int = 64
) -> Iterator[tuple[Numbers, Numbers]]:
    """Yield the pairs of *documents* that have *keys* in common, and how many keys.

    They come in chunks of int64[m, 2] and int64[m]. ``keys[i]`` (uint64) is a key of ``documents[i]``: an
    anchor, band or super-shingle; `NO_KEY` is none, and a key that a document has twice counts once. A pair
    has the lower number first and comes once; its count is exact. A key that more than *most* documents share
    (a stock phrase, or many copies of one page) pairs only the least of them with each other one: it costs as
    many pairs as it has documents, not their square, yet a thousand copies stay connected. Memory: pairs of
    about a million, though all those of one document come together.
    """
    table = _Groups(np.asarray(keys, np.uint64), np.asarray(documents), most)
    del keys, documents  # they are large, and perhaps nobody else has them
    by_document = np.argsort(table.documents, kind="stable")
    ordered, partners = table.documents[by_document], table.partners[by_document]
    for part in _chunks(ordered, partners, _PAIRS):
        entries = by_document[part]
        found = [table.pairs(entries[some]) for some in _chunks(ordered[part], partners[part], _MADE)]
        pairs, shared = (np.concatenate(each) for each in zip(*found, strict=True))
        del found
        if len(pairs):
            yield pairs, shared


class _Groups:
    """Documents by their keys: one entry for each key of each document, sorted by key, then by document.

    The entries of one key are a group. It is large if more than *most* documents have the key. Keys that
    stand alone, as most do, pair nothing and are left out.
    """

    def __init__(self, keys: Keys, documents: NDArray[np.integer], most: int) -> None:
        order = np.argsort(keys)
        keys = keys[order]
        again = keys[1:] == keys[:-1]
        common = (np.append(again, False) | np.append(False, again))[: len(keys)] & (keys != NO_KEY)
        keys, numbers = keys[common], documents[order[common]].astype(np.int64)
        del common, again
        order = np.lexsort((numbers, keys))
        keys, numbers = keys[order], numbers[order]
        first = begins(keys)
        once = first | begins(numbers)
        first = first[once]
        #: The document of each of e entries; int64[e].
        self.documents = numbers[once]
        starts = np.flatnonzero(first)
        sizes = np.diff(starts, append=len(first))
        #: The number of each entry's group; int32[e].
        self._group = np.repeat(np.arange(len(starts)), sizes).astype(np.int32)
        #: Whether that group is large; bool[e].
        self.large = (sizes > most)[self._group]
        behind = np.repeat(starts + sizes, sizes) - np.arange(len(first)) - 1
        #: With how many of the entries behind it each is paired: all of its group, but in a large one only by
        #: the first; int32[e].
        self.partners = np.where(self.large & ~first, 0, behind).astype(np.int32)
        #: More than any document's number: ``a * span + b`` stands for a and b.
        self.span = int(self.documents.max(initial=0)) + 1
        # The documents of large groups, as ``group * span + document``; ascending.
        self._in_large = self._group[self.large].astype(np.int64) * self.span + self.documents[self.large]

    def pairs(self, entries: Numbers) -> tuple[Numbers, Numbers]:
        """Return the pairs of some documents with later ones. *entries* are all entries of these documents.

        They are int64[m, 2], sorted, and how many keys each has in common is int64[m].
        """
        partners = self.partners[entries]
        a = np.repeat(self.documents[entries], partners)
        b = self.documents[ranges(entries + 1, partners)]
        counted = np.repeat(~self.large[entries], partners)
        codes, which = np.unique(a * self.span + b, return_inverse=True)
        shared = np.bincount(which, counted, len(codes)).astype(np.int64)
        a, b = np.divmod(codes, self.span)
        return np.stack((a, b), axis=1), shared + self._shared_in_large(a, b, entries)

    def _shared_in_large(self, a: Numbers, b: Numbers, entries: Numbers) -> Numbers:
        """Count the large groups with both documents of each pair of *a* and *b* (int64[m] each); int64[m].

        The pairs of a large group do not show them, for there only the first document is paired. So every
        large group of *a* is looked for among those of *b*. *entries* are all entries of the documents in
        *a*, document by document.
        """
        entries = entries[self.large[entries]]
        owners, starts = np.unique(self.documents[entries], return_index=True)
        if not len(owners):
            return np.zeros(len(a), np.int64)
        sizes = np.diff(starts, append=len(entries))
        owner = np.minimum(np.searchsorted(owners, a), len(owners) - 1)
        groups = np.where(owners[owner] == a, sizes[owner], 0)  # large ones of each a
        wanted = self._group[entries[ranges(starts[owner], groups)]].astype(np.int64)
        wanted = wanted * self.span + np.repeat(b, groups)
        place = np.minimum(np.searchsorted(self._in_large, wanted), len(self._in_large) - 1)
        found = self._in_large[place] == wanted
        return np.bincount(np.repeat(np.arange(len(a)), groups), found, len(a)).astype(np.int64)


def _chunks(documents: Numbers, pairs: NDArray[np.int32], size: int) -> Iterator[slice]:
    """Cut ascending *documents* where they change, so that the *pairs* of a part are about *size*."""
    starts = np.flatnonzero(begins(documents))
    total = np.append(0, np.cumsum(pairs))
    low = 0
    while low < len(documents):
        cut = np.searchsorted(total[starts], total[low] + size, side="right")
        high = int(starts[cut]) if cut < len(starts) else len(documents)
        if high <= low:
            following = np.searchsorted(starts, low, side="right")
            high = int(starts[following]) if following < len(starts) else len(documents)
        yield slice(low, high)
        low = high


#: Pairs that are judged at a time: bounds the memory at some 25 MB.
_AT_ONCE = 1 << 14


@dataclass(frozen=True)
class PairJudge:
    """Judges pairs of *documents* by *matcher*; those too short, and walls, are not *fit* (bool[n])."""

    documents: Documents
    fit: NDArray[np.bool_]
    matcher: Matcher

    def judge(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> Judgement:
        """Judge each pair of rows (int64[m] each) as the detector would with only *b* stored."""
        parts = [
            self._judge(a[start : start + _AT_ONCE], b[start : start + _AT_ONCE])
            for start in range(0, max(len(a), 1), _AT_ONCE)
        ]
        return Judgement(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def either(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> Judgement:
        """Judge each pair of rows with the longer one stored: near if any of both repeats the other."""
        shingles = self.documents.records["shingles"]
        longer = shingles[a] > shingles[b]
        return self.judge(np.where(longer, b, a), np.where(longer, a, b))

    def shared(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count the further keys of the scheme that each pair of rows (int64[m]) has in common; int64[m]."""
        keys = self.documents.keys[len(self.documents.keys) - self.matcher.scheme.keys :]
        shared = np.zeros(len(a), np.int64)
        for own in keys:
            mine = own[a]
            shared += (mine == keys[:, b]).any(axis=0) & (mine != NO_KEY)
        return shared

    def told(self, a: int, b: int) -> dict[str, Any]:
        """Return what `Matcher.explain` says of the rows *a* and *b*, with only *b* stored.

        That is nothing if they are no candidates.
        """
        records, scheme = self.documents.records, self.matcher.scheme
        shared = [0, 0]
        if scheme.simhash:
            shared.append(int(hamming(*records["fingerprint"][[a, b]].tolist()) <= scheme.distance))
        if scheme.keys:
            shared += self.shared(np.array([a]), np.array([b])).tolist()
        return self.matcher.explain(records[a], records[b : b + 1], shared) if any(shared) else {}

    def equal(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which pairs of rows (int64[m] each) have equal texts; bool[m]."""
        keys, digests = self.documents.keys[DIGEST], self.documents.records["digest"]
        found: NDArray[np.bool_] = (keys[a] == keys[b]) & (digests[a] == digests[b])
        return found

    def _judge(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> Judgement:
        records = self.documents.records
        judgement = self.matcher.judge(records[a], records[b], self.equal(a, b), self.shared(a, b))
        fit = self.fit[a] & self.fit[b]
        return judgement._replace(
            exact=judgement.exact & fit,
            near=judgement.near & fit,
            fuller=judgement.fuller & fit,
            template=judgement.template & fit,
            text_only=judgement.text_only & fit,
        )


#: Up to so many documents with the same key, or with the same fingerprint, are all compared with each other.
MOST, SAME = 64, 8
#: How many pairs of a page with others of its template are kept, those that are most alike. Further ones
#: would say nothing new.
SIBLINGS = 8
#: How many pairs are in memory at a time before they are judged, how many are judged at a time, and how many
#: rejected pairs are returned at most.
_CHUNK, _JUDGED, REJECTED = 1 << 18, 1 << 16, 1 << 18


class Compared(NamedTuple):
    """Pairs of rows, the lower first, in ascending order: arrays of m."""

    a: Rows
    b: Rows
    judgement: Judgement

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> Compared:
        """Return some of the pairs."""
        columns: Any = (column[rows] for column in self.judgement)
        return Compared(self.a[rows], self.b[rows], Judgement(*columns))


@dataclass(frozen=True)
class Groups:
    """Groups of n documents that are compared only once. Each is named by its first row; int64[n] each."""

    #: For each row the first row with the same text.
    same_text: Rows
    #: For each row the first row with the same text and note.
    same_note: Rows
    #: For each row the first row with the same text, note, fingerprint and site: compared with any other
    #: document, both give the same result.
    alike: Rows

    @classmethod
    def of(cls, documents: Documents) -> Groups:
        """Group *documents*."""
        records = documents.records
        text = (documents.keys[DIGEST], records["digest"])
        return cls.of_texts(text, documents.notes, records["fingerprint"], records["site"])

    @classmethod
    def of_texts(
        cls,
        text: tuple[NDArray[np.generic], NDArray[np.generic]],
        notes: Sequence[bytes],
        *others: NDArray[np.generic],
    ) -> Groups:
        """Group by both halves of the digest of each *text*, its note, its fingerprint and site: *others*."""
        numbers: dict[bytes, int] = {}
        note = np.array([numbers.setdefault(each, len(numbers)) for each in notes], np.int64)
        return cls(_firsts(*text), _firsts(*text, note), _firsts(*text, note, *others))

    def copies(self, rows: Rows) -> tuple[Rows, Rows]:
        """Return each of *rows* beside the first with its text, and beside the first with its note, too.

        The pairs are int64[m] twice.
        """
        text, note = self.same_text[rows], self.same_note[rows]
        again = (note != rows) & (note != text)
        copy = text != rows
        return np.concatenate((text[copy], note[again])), np.concatenate((rows[copy], rows[again]))


def compare_all(
    judge: PairJudge,
    groups: Groups,
    *,
    least: float = 2.0,
    advance: Callable[[int], None] = lambda pairs: None,
) -> Compared:
    """Return all pairs of fit documents that are duplicates or pages of one template.

    A pair is judged as if the longer document were stored, whichever came first. Of g documents with equal
    texts, g - 1 pairs with the first are returned, and only the first (one for each site) is compared with
    other documents. Of the pairs of a template those `most_alike` are returned. Rejected pairs with a
    similarity of *least* or more are returned too, the most similar ones. *advance* is called with the number
    of pairs compared so far. This takes about 100 MB beside what is returned, and 200 bytes a document.
    """
    rows = np.flatnonzero(judge.fit)
    parts = [_judged(judge, *groups.copies(rows))]
    total = 0
    for chunk in _candidates(judge, rows[groups.alike[rows] == rows]):
        for low in range(0, len(chunk[0]), _JUDGED):
            a, b = (each[low : low + _JUDGED] for each in chunk)
            found = _judged(judge, np.minimum(a, b), np.maximum(a, b))
            judgement = found.judgement
            alike = judgement.template | judgement.near | (judgement.similarity >= least)
            parts.append(found.take(np.flatnonzero(alike & ~judge.equal(found.a, found.b))))
        total += len(chunk[0])
        advance(total)
        if sum(len(part.a) for part in parts[1:]) > 2 * REJECTED:
            parts = [_merged(parts, len(judge.fit))]
    return _merged(parts, len(judge.fit))


def _merged(parts: list[Compared], count: int) -> Compared:
    """Put parts together, sorted, each pair once, without the least similar ones of what is only listed."""
    columns: Any = (np.concatenate(each) for each in zip(*(part.judgement for part in parts), strict=True))
    a, b = (np.concatenate(each) for each in zip(*((part.a, part.b) for part in parts), strict=True))
    found = Compared(a, b, Judgement(*columns))
    _, once = np.unique(a * count + b, return_index=True)
    found = found.take(once)
    judgement = found.judgement
    rejected = np.flatnonzero(~judgement.near & ~judgement.template)
    kept = np.ones(len(found.a), bool)
    template = np.flatnonzero(judgement.template & ~judgement.near)
    kept[template] = most_alike(found.a[template], found.b[template], judgement.similarity[template])
    kept[rejected[np.argsort(-judgement.similarity[rejected], kind="stable")[REJECTED:]]] = False
    return found.take(np.flatnonzero(kept))


def most_alike(a: Rows, b: Rows, similarity: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Tell which of m pairs are among the `SIBLINGS` most similar ones of one of their pages; bool[m].

    Of equally similar pairs of a page those with the first pages count. So it makes no difference in which
    order pairs are found, nor whether some that are not among them have been left out before.
    """
    page, other = np.concatenate((a, b)), np.concatenate((b, a))
    order = np.lexsort((other, -np.tile(similarity, 2), page))
    found = np.zeros(len(a), bool)
    found[order[places(page[order]) < SIBLINGS] % max(len(a), 1)] = True
    return found


def _judged(judge: PairJudge, a: Rows, b: Rows) -> Compared:
    return Compared(a, b, judge.either(a, b))


def _candidates(judge: PairJudge, rows: Rows) -> Iterator[tuple[Rows, Rows]]:
    """Yield the pairs of *rows* that the scheme may take for candidates, in chunks; some come twice."""
    scheme, documents = judge.matcher.scheme, judge.documents
    if scheme.simhash:
        fingerprints = documents.records["fingerprint"][rows]
        for pairs, _ in equal_keys(fingerprints, np.arange(len(rows)), SAME):
            yield rows[pairs[:, 0]], rows[pairs[:, 1]]
        if scheme.distance:
            for a, b in _near(fingerprints, scheme.distance):
                yield rows[a], rows[b]
    if scheme.keys:
        own = range(len(documents.keys) - scheme.keys, len(documents.keys))
        found = equal_keys(
            np.concatenate([documents.keys[number][rows] for number in own]),
            np.tile(np.arange(len(rows), dtype=np.int32), scheme.keys),
            scheme.most or MOST,
        )
        for pairs, _ in found:
            yield rows[pairs[:, 0]], rows[pairs[:, 1]]


def _near(fingerprints: NDArray[np.uint64], distance: int) -> Iterator[tuple[Rows, Rows]]:
    """Yield the pairs whose fingerprints differ, in at most *distance* bits: int64[m] twice."""
    values, group, sizes = np.unique(fingerprints, return_inverse=True, return_counts=True)
    members = np.argsort(group, kind="stable")
    starts = np.cumsum(sizes) - sizes
    for pairs in near_pairs(values, distance):
        yield from pairs_of_values(members, starts, sizes, *pairs.T)


def pairs_of_values(
    members: Rows, starts: Rows, sizes: Rows, a: Rows, b: Rows
) -> Iterator[tuple[Rows, Rows]]:
    """Yield the pairs of documents of which one has value *a*, the other value *b*: int64[m] twice.

    The documents of value v are *members* from ``starts[v]`` on, ``sizes[v]`` of them. Of many only the first
    are paired, and no others are looked at.
    """
    counts = sizes[a] * sizes[b]
    counts[counts > SAME * SAME] = 1  # the first of each
    cuts = np.searchsorted(np.cumsum(counts), np.arange(_CHUNK, counts.sum(), _CHUNK))
    for part in np.split(np.arange(len(a)), cuts):
        which = np.repeat(part, counts[part])
        place = ranges(np.zeros(len(part), np.int64), counts[part])
        row, column = np.divmod(place, sizes[b[which]])
        yield members[starts[a[which]] + row], members[starts[b[which]] + column]


def _firsts(*columns: NDArray[np.generic]) -> Rows:
    """Return for each row the first row that is equal in all *columns*; int64[n]."""
    order = np.lexsort(columns)
    new = np.zeros(len(order), bool)
    new[:1] = True
    for column in columns:
        ordered = column[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    firsts = np.empty(len(order), np.int64)
    firsts[order] = order[np.flatnonzero(new)][np.cumsum(new) - 1]
    return firsts
