"""All pairs of documents of which one repeats the other, found and judged as a crawl would do it.

Equal documents are compared once. Of more than `MOST` that share a key, and more than `SAME` different texts
with the same fingerprint, which a template makes, only the first is compared with the others: so the work
hardly grows with the square of the documents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scrapy_neardup.audit.arrays import places, ranges
from scrapy_neardup.matching.candidates import Judgement
from scrapy_neardup.matching.records import DIGEST

from .equal import equal_keys
from .joins import near_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.index import Documents

    from .judge import PairJudge

    Rows = NDArray[np.int64]

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
