"""All pairs of documents of which one repeats the other: tables joined with themselves, and judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.fingerprint import hamming
from scrapy_neardup.fingerprint.sketch import similarity
from scrapy_neardup.index import Documents
from scrapy_neardup.index.tables import BITS, DISTANCE, NO_KEY, PermutedTables
from scrapy_neardup.matching.matcher import Judgement, Matcher
from scrapy_neardup.matching.records import DIGEST
from scrapy_neardup.matching.rules import LEAST_CONTAINED

from .arrays import begins, places, ranges

Keys = NDArray[np.uint64]
Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Up to so many documents with the same key, or with the same fingerprint, are all compared with each other.
MOST, SAME = 64, 8
#: How many pairs of a page with others of its template are kept: those that are most alike.
SIBLINGS = 8
#: How many pairs are made, and how many are judged, at a time; how many keys are compared at a time; how many
#: pairs wait until those of templates that are not kept go.
_MADE, _JUDGED, _COMPARED, _WAITING = 1 << 17, 1 << 14, 1 << 15, 1 << 19
#: Seconds to permute, sort and scan one key; to compare two. On one core of a server of 2021.
_KEY, _COMPARISON = 50e-9, 4e-9
_SAMPLE = 1 << 14


def equal_keys(keys: Keys, documents: NDArray[np.integer], most: int = MOST) -> Iterator[Rows]:
    """Yield the pairs of *documents* with equal *keys* (uint64), each once, in chunks of int64[m, 2].

    The lower number is first. Of more than *most* with one key only the least is paired with each other one.
    """
    order = np.lexsort((documents, keys))
    keys, documents = keys[order], documents[order].astype(np.int64)
    first = begins(keys)
    once = (first | begins(documents)) & (keys != NO_KEY)
    documents, first = documents[once], first[once]
    starts = np.flatnonzero(first)
    sizes = np.diff(starts, append=len(first))
    behind = np.repeat(starts + sizes, sizes) - np.arange(len(first)) - 1
    partners = np.where(np.repeat(sizes > most, sizes) & ~first, 0, behind)
    # All pairs of a document are made together, so that each comes once.
    entries = np.argsort(documents, kind="stable")
    entries = entries[partners[entries] > 0]
    heads = np.flatnonzero(begins(documents[entries]))
    before = np.cumsum(partners[entries]) - partners[entries]
    span = int(documents.max(initial=0)) + 1
    for part in np.split(entries, heads[begins(before[heads] // _MADE)][1:]):
        a = np.repeat(documents[part], partners[part])
        b = documents[ranges(part + 1, partners[part])]
        if len(a):
            # Asked for counts, NumPy sorts; else it hashes, which takes twenty times as long.
            yield np.stack(np.divmod(np.unique(a * span + b, return_counts=True)[0], span), axis=1)


def near_pairs(
    values: Keys, distance: int = DISTANCE, *, layout: PermutedTables | None = None
) -> Iterator[Rows]:
    """Yield all pairs of *values* (uint64[n], ascending, all different) within *distance* bits, each once.

    They come in chunks of int64[m, 2]: two positions, the lower one first.
    """
    layout = layout or choose_layout(values, distance)
    for table, bits in enumerate(layout.prefix_bits):
        for found in neighbours(_table(values, layout, table), bits, distance):
            a, b = found_first(layout, table, *found)
            if len(a):
                yield np.sort(np.searchsorted(values, np.stack((a, b), axis=1)), axis=1)


def choose_layout(
    values: Keys, distance: int, count: int | None = None, key_seconds: float = _KEY
) -> PermutedTables:
    """Return the layout that joins *values* (uint64[n]; or *count* like them) fastest, by a sample."""
    count = count or len(values)
    sample = values
    if len(sample) > _SAMPLE:
        sample = np.unique(sample[np.random.default_rng(0).integers(0, len(values), _SAMPLE)])
    scale = (count / max(1, len(sample))) ** 2
    best, least = PermutedTables(distance + 1, distance), np.inf
    for blocks in range(distance + 1, BITS + 1):
        cost = comb(blocks, distance) * count * key_seconds
        if cost >= least:
            break
        layout = PermutedTables(blocks, distance)
        for table, bits in enumerate(layout.prefix_bits):
            if cost < least:
                prefixes = _table(sample, layout, table) >> np.uint64(BITS - bits)
                sizes = np.diff(np.flatnonzero(begins(prefixes)), append=len(prefixes))
                cost += int((sizes * (sizes - 1)).sum()) / 2 * scale * _COMPARISON
        if cost < least:
            best, least = layout, cost
    return best


def _table(values: Keys, layout: PermutedTables, table: int) -> Keys:
    """Return *values* permuted for *table*, sorted."""
    return np.sort(layout.keys(values, slice(table, table + 1))[0])


def neighbours(keys: Keys, bits: int, distance: int) -> Iterator[tuple[Keys, Keys]]:
    """Yield the pairs of *keys* (sorted) that share the first *bits* and differ in at most *distance*."""
    starts = np.flatnonzero(begins(keys >> np.uint64(BITS - bits)))
    sizes = np.diff(starts, append=len(keys))
    ends = np.repeat(starts + sizes, sizes)
    for low in range(0, len(keys), _COMPARED):
        places = np.arange(low, min(low + _COMPARED, len(keys)))
        left_behind = places + 1 - ends[low : low + _COMPARED]  # negative
        # Those with the most keys behind them come first, so that the ones left at each shift are a slice.
        order = np.argsort(left_behind.astype(np.min_scalar_type(left_behind.min())), kind="stable")
        places, left_behind = places[order], left_behind[order]
        left, found, size = keys[places], list[Any](), 0
        most = -int(left_behind[0])
        active = np.searchsorted(left_behind, -np.arange(1, most + 1), side="right").tolist()
        for shift, count in enumerate(active, 1):
            right = keys[places[:count] + shift]
            hits = np.flatnonzero(np.bitwise_count(left[:count] ^ right) <= distance)
            found.append((left[hits], right[hits]))
            size += len(hits)
            if size and (size >= _MADE or shift == most):
                yield np.concatenate([a for a, _ in found]), np.concatenate([b for _, b in found])
                found, size = [], 0


def found_first(layout: PermutedTables, table: int, a: Keys, b: Keys) -> tuple[Keys, Keys]:
    """Restore the keys *a* and *b* (uint64[m] each) of pairs that *table* has found, and no earlier one."""
    a, b = layout.restore(table, a), layout.restore(table, b)
    # Tables come in the lexicographic order of their leading blocks. So an earlier one has found the pair
    # already if, and only if, it agrees in some block that comes before the last of these and is not one.
    leading = layout.orders[table][: layout.blocks - layout.distance]
    for block in set(range(leading[-1])) - set(leading):
        low = BITS - sum(layout.widths[: block + 1])
        new = (a ^ b) & np.uint64(((1 << layout.widths[block]) - 1) << low) != 0
        a, b = a[new], b[new]
    return a, b


_FLAGS = ("exact", "near", "fuller", "template", "text_only")


@dataclass(frozen=True)
class PairJudge:
    """Judges pairs of *documents* by *matcher*; those too short, and walls, are not *fit* (bool[n])."""

    documents: Documents
    fit: Flags
    matcher: Matcher

    def judge(self, a: Rows, b: Rows) -> Judgement:
        """Judge each pair of rows (int64[m] each) as the detector would with only *b* stored."""
        parts, records = [], self.documents.records
        for start in range(0, max(len(a), 1), _JUDGED):
            one, other = a[start : start + _JUDGED], b[start : start + _JUDGED]
            equal, shared = self.equal(one, other), self.shared(one, other)
            fit = self.fit[one] & self.fit[other]
            found = self.matcher.judge(records[one], records[other], equal, shared)
            parts.append(found._replace(**{name: getattr(found, name) & fit for name in _FLAGS}))
        return Judgement(*map(np.concatenate, zip(*parts, strict=True)))

    def by_length(self, a: Rows, b: Rows) -> tuple[Rows, Rows]:
        """Return the shorter and the longer one of each pair of rows; int64[m] each."""
        shingles = self.documents.records["shingles"]
        longer = shingles[a] > shingles[b]
        return np.where(longer, b, a), np.where(longer, a, b)

    def either(self, a: Rows, b: Rows) -> Judgement:
        """Judge each pair of rows with the longer one stored: near if any of both repeats the other."""
        return self.judge(*self.by_length(a, b))

    def likely(self, a: Rows, b: Rows) -> Flags:
        """Tell which pairs of rows (int64[m] each) may be alike, as far as their sketches tell; bool[m]."""
        sketches, shingles = self.documents.records["sketch"], self.documents.records["shingles"]
        _, contained, _ = similarity(sketches[a], shingles[a], sketches[b], shingles[b])
        return np.asarray(contained >= LEAST_CONTAINED, bool) | (not self.matcher.verified)

    def shared(self, a: Rows, b: Rows) -> Rows:
        """Count the further keys of the scheme that each pair of rows (int64[m]) has in common; int64[m]."""
        keys = self.documents.keys[len(self.documents.keys) - self.matcher.scheme.keys :]
        shared = np.zeros(len(a), np.int64)
        for own in keys:
            mine = own[a]
            shared += (mine == keys[:, b]).any(axis=0) & (mine != NO_KEY)
        return shared

    def told(self, a: int, b: int) -> dict[str, Any]:
        """Return what `Matcher.explain` says of rows *a* and *b*, *b* stored; {} of no candidates."""
        records, scheme = self.documents.records, self.matcher.scheme
        shared = [int(self.equal(np.array([a]), np.array([b]))[0]), 0]
        if scheme.simhash:
            shared.append(int(hamming(*records["fingerprint"][[a, b]]) <= scheme.distance))
        if scheme.keys:
            shared += self.shared(np.array([a]), np.array([b])).tolist()
        return self.matcher.explain(records[a], records[b : b + 1], shared) if any(shared) else {}

    def decided_by(self, a: int, b: int) -> str:
        """Say which rule, or step, has decided about rows *a* and *b*, *b* stored."""
        if not (self.fit[a] and self.fit[b]):
            return "too short, or a wall"
        told = self.told(a, b)
        return str(told.get("decided_by") or told.get("step") or "no candidate")

    def equal(self, a: Rows, b: Rows) -> Flags:
        """Tell which pairs of rows (int64[m] each) have equal texts; bool[m]."""
        keys, digests = self.documents.keys[DIGEST], self.documents.records["digest"]
        found: Flags = (keys[a] == keys[b]) & (digests[a] == digests[b])
        return found


class Compared(NamedTuple):
    """Pairs of rows, the lower first, in ascending order: arrays of m."""

    a: Rows
    b: Rows
    judgement: Judgement

    def take(self, rows: NDArray[np.integer] | Flags) -> Compared:
        """Return some of the pairs."""
        columns: Any = (column[rows] for column in self.judgement)
        return Compared(self.a[rows], self.b[rows], Judgement(*columns))

    def listed(self) -> Compared:
        """Return those of which one repeats the other, or both are of one template."""
        return self.take(np.flatnonzero(self.judgement.near | self.judgement.template))


class Groups(NamedTuple):
    """For each of n documents the first row that is the same; int64[n] each."""

    #: By text; by text and note; by text, note, fingerprint and site: then both are alike to all others.
    same_text: Rows
    same_note: Rows
    alike: Rows

    @classmethod
    def of(
        cls, text: tuple[NDArray[Any], NDArray[Any]], notes: Sequence[bytes], *others: NDArray[Any]
    ) -> Groups:
        """Group by both halves of the digest of each *text*, its note, its fingerprint and site: *others*."""
        numbers: dict[bytes, int] = {}
        note = np.array([numbers.setdefault(each, len(numbers)) for each in notes], np.int64)
        return cls(_firsts(*text), _firsts(*text, note), _firsts(*text, note, *others))


def compare_all(judge: PairJudge, *, advance: Callable[[int], None] = lambda pairs: None) -> Compared:
    """Return all pairs of fit documents that are duplicates, and those `most_alike` of templates.

    A pair is judged with the longer document stored. Of g documents with equal texts, g - 1 pairs with the
    first are returned, and only that is compared with others. *advance* is told how many pairs are compared.
    """
    rows, documents, total = np.flatnonzero(judge.fit), judge.documents, 0
    records = documents.records
    digests = documents.keys[DIGEST], records["digest"]
    groups = Groups.of(digests, documents.notes, records["fingerprint"], records["site"])
    text, note, alike = (first[rows] for first in groups)
    copy, again = text != rows, (note != rows) & (note != text)
    a, b = np.concatenate((text[copy], note[again])), np.concatenate((rows[copy], rows[again]))
    parts = [Compared(a, b, judge.either(a, b)).listed()]
    for a, b in _candidates(judge, rows[alike == rows]):
        a, b = np.minimum(a, b), np.maximum(a, b)
        unlike = ~judge.equal(a, b) & judge.likely(a, b)
        parts.append(Compared(a[unlike], b[unlike], judge.either(a[unlike], b[unlike])).listed())
        total += len(a)
        advance(total)
        if sum(len(part.a) for part in parts[1:]) > _WAITING:
            parts = [_merged(parts, len(judge.fit))]
    return _merged(parts, len(judge.fit))


def _merged(parts: list[Compared], count: int) -> Compared:
    """Put parts together, sorted, each pair once, of those of a template the most similar ones."""
    a, b, *columns = map(
        np.concatenate, zip(*((part.a, part.b, *part.judgement) for part in parts), strict=True)
    )
    _, once = np.unique(a * count + b, return_index=True)
    found = Compared(a, b, Judgement(*columns)).take(once)
    judgement = found.judgement
    kept = np.ones(len(found.a), bool)
    template = np.flatnonzero(judgement.template & ~judgement.near)
    kept[template] = most_alike(found.a[template], found.b[template], judgement.similarity[template])
    return found.take(np.flatnonzero(kept))


def most_alike(a: Rows, b: Rows, similarity: NDArray[np.float32]) -> Flags:
    """Tell which of m pairs are among the `SIBLINGS` most similar ones of one of their pages; bool[m]."""
    page, other = np.concatenate((a, b)), np.concatenate((b, a))
    order = np.lexsort((other, -np.tile(similarity, 2), page))
    found = np.zeros(len(a), bool)
    found[order[places(page[order]) < SIBLINGS] % max(len(a), 1)] = True
    return found


def _candidates(judge: PairJudge, rows: Rows) -> Iterator[tuple[Rows, Rows]]:
    """Yield the pairs of *rows* that the scheme may take for candidates, in chunks; some come twice."""
    scheme, documents = judge.matcher.scheme, judge.documents
    if scheme.simhash:
        fingerprints = documents.records["fingerprint"][rows]
        for pairs in equal_keys(fingerprints, np.arange(len(rows)), SAME):
            yield rows[pairs[:, 0]], rows[pairs[:, 1]]
        if scheme.distance:
            values, group, sizes = np.unique(fingerprints, return_inverse=True, return_counts=True)
            members, starts = rows[np.argsort(group, kind="stable")], np.cumsum(sizes) - sizes
            for pairs in near_pairs(values, scheme.distance):
                yield from pairs_of_values(members, starts, sizes, *pairs.T)
    if scheme.keys:
        own = documents.keys[len(documents.keys) - scheme.keys :, rows]
        numbers = np.tile(np.arange(len(rows), dtype=np.int32), scheme.keys)
        for pairs in equal_keys(own.ravel(), numbers, scheme.most or MOST):
            yield rows[pairs[:, 0]], rows[pairs[:, 1]]


def pairs_of_values(
    members: Rows, starts: Rows, sizes: Rows, a: Rows, b: Rows
) -> Iterator[tuple[Rows, Rows]]:
    """Yield the pairs of documents of which one has value *a*, the other value *b*: int64[m] twice.

    The documents of value v are *members* from ``starts[v]`` on, ``sizes[v]`` of them: of many the first.
    """
    counts = sizes[a] * sizes[b]
    counts[counts > SAME * SAME] = 1  # the first of each
    cuts = np.searchsorted(np.cumsum(counts), np.arange(_MADE, counts.sum(), _MADE))
    for part in np.split(np.arange(len(a)), cuts):
        which = np.repeat(part, counts[part])
        place = ranges(np.zeros(len(part), np.int64), counts[part])
        row, column = np.divmod(place, sizes[b[which]])
        yield members[starts[a[which]] + row], members[starts[b[which]] + column]


def _firsts(*columns: NDArray[np.generic]) -> Rows:
    """Return for each row the first row that is equal in all *columns*; int64[n]."""
    order = np.lexsort(columns)
    new = np.any([begins(column[order]) for column in columns], axis=0)
    firsts = np.empty(len(order), np.int64)
    firsts[order] = order[np.flatnonzero(new)][np.cumsum(new) - 1]
    return firsts
