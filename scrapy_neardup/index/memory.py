"""The index in the memory of a process, where a lock makes "find, decide, file" one step."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import chain, compress
from operator import not_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import IndexCorrupted

from .header import Header
from .pending import Reservation
from .protocol import Documents, Filing, Found, Lookup, Stored
from .search import Matches, Met, closest, most_shared, put_together, search_all
from .tables import NO_KEY

_NO_KEY = int(NO_KEY)


class Filed:
    """A document in memory: its keys, one after another, and its record, both as bytes; URL and note."""

    __slots__ = ("keys", "note", "number", "record", "url")

    def __init__(self, number: int, keys: bytes, record: bytes, url: str, note: bytes) -> None:
        #: None once it is removed.
        self.number: int | None = number
        self.keys, self.record, self.url, self.note = keys, record, url, note


class _Part:
    """The keys of up to so many documents, in columns. Those that are removed stay."""

    def __init__(self, header: Header, rows: int) -> None:
        self.filed: list[Filed] = []
        self.keys = np.empty((header.keys, rows), np.uint64)  # memory is taken as rows are filled
        #: By family of equal keys, the document that has a key, or several.
        self.having: list[dict[int, Filed | list[Filed]]] = [{} for _ in header.families]
        kinds = zip(self.having, header.rows, header.families, strict=True)
        self._equal = [(having, places) for having, places, family in kinds if family.equal]

    def append(self, new: Sequence[Filed]) -> None:
        start, keys = len(self.filed), _keys_of(new, len(self.keys))
        self.filed += new
        self.keys[:, start : len(self.filed)] = keys.T
        for filed, some in zip(new, keys.tolist(), strict=True):
            for having, places in self._equal:
                for key in some[places]:
                    others = having.setdefault(key, filed)
                    if isinstance(others, list):
                        others.append(filed)
                    elif others is not filed:
                        having[key] = [others, filed]


def _keys_of(filed: Sequence[Filed], each: int) -> NDArray[np.uint64]:
    """Return the keys of documents that have so many *each*: uint64[n, each]."""
    return np.ndarray((len(filed), each), np.uint64, bytearray().join([one.keys for one in filed]))


class Columns:
    """Documents in memory, looked for in parts of so many *rows*: few are moved if many go."""

    def __init__(self, header: Header, rows: int = 1 << 14) -> None:
        self._header, self._size, self._rows = header, header.keys, rows
        #: The documents by their numbers.
        self.filed: dict[int, Filed] = {}
        self._parts = [_Part(header, rows)]
        #: Documents that are in no part, since nothing was looked for yet.
        self._new: list[Filed] = []

    def append(self, numbers: Sequence[int], documents: Documents) -> None:
        """Add *documents* under *numbers*."""
        keys, records = documents.keys.T.tobytes(), documents.records.tobytes()
        width, size, one, other = 8 * self._size, documents.records.itemsize, 0, 0
        for number, url, note in zip(numbers, documents.urls, documents.notes, strict=True):
            filed = Filed(number, keys[one : one + width], records[other : other + size], url, note)
            self.filed[number] = filed
            self._new.append(filed)
            one, other = one + width, other + size

    def near(self, family: int, keys: NDArray[np.uint64], distance: int) -> Iterator[Matches]:
        """Yield the documents of a *family* within *distance* bits of one of *keys* (uint64[n])."""
        self._learn()
        for part in filter(lambda each: each.filed, self._parts):
            for stored in part.keys[self._header.rows[family], : len(part.filed)]:
                for query, key in enumerate(keys):
                    bits = np.bitwise_count(stored ^ key)
                    rows = (bits <= distance).nonzero()[0].tolist()
                    if alive := [row for row in rows if part.filed[row].number is not None]:
                        numbers = np.array([part.filed[row].number for row in alive], np.int64)
                        yield Matches(np.full(len(alive), query), numbers, bits[alive])

    def with_key(self, family: int, key: int) -> set[int]:
        """Return the documents that have *key* in a *family* of equal keys."""
        self._learn()
        having = [some for part in self._parts if (some := part.having[family].get(key))]
        if not having:
            return set()
        every = chain.from_iterable([some] if isinstance(some, Filed) else some for some in having)
        return {filed.number for filed in every if filed.number is not None}

    def _learn(self) -> None:
        """Put new documents into parts."""
        while self._new:
            if (room := self._rows - len(self._parts[-1].filed)) == 0:
                self._parts.append(_Part(self._header, self._rows))
                continue
            self._parts[-1].append(self._new[:room])
            del self._new[:room]

    def documents(self, filed: Sequence[Filed]) -> Documents:
        """Return copies of documents, in order."""
        return Documents(_keys_of(filed, self._size).T, *self._stored(filed))

    def stored(self, numbers: Iterable[int]) -> Stored:
        """Return what `documents` does, without the keys. Raises KeyError for one that is not here."""
        return self._stored([self.filed[number] for number in numbers])

    def _stored(self, filed: Sequence[Filed]) -> Stored:
        records = bytearray().join([one.record for one in filed])
        whole: NDArray[Any] = np.ndarray(len(filed), self._header.dtype, records)
        return Stored(whole, [one.url for one in filed], [one.note for one in filed])

    def remove(self, numbers: Iterable[int]) -> None:
        """Remove the documents *numbers*; those that are not here are passed over."""
        for number in numbers:
            if filed := self.filed.pop(number, None):
                filed.number = None
        half = self._rows // 2
        if len(self.filed) < max(half * (len(self._parts) - 1), len(self._new) - 4 * half):
            # What is left of a part of which less is left than that is moved.
            left = [[filed for filed in part.filed if filed.number is not None] for part in self._parts]
            few = [len(some) < half for some in left]
            self._parts = [*compress(self._parts, map(not_, few)), _Part(self._header, self._rows)]
            self._new = [filed for filed in self._new if filed.number is not None]
            self._new += chain.from_iterable(compress(left, few))


class MemoryIndex:
    """The `Index` for tests and small crawls. Methods with an underscore are called under the lock."""

    remote = False

    def __init__(self, header: Header) -> None:
        self.header = header
        #: The newest documents, and what holds the reservations of those of them that are pending.
        self._columns = Columns(header)
        self._pending: dict[int, Reservation] = {}
        #: Held by whatever has to see or change several things at once.
        self.lock = threading.RLock()
        self._next = 0
        self._nothing = Stored(np.empty(0, header.dtype), [], [])

    def _newest(self) -> AbstractContextManager[object]:
        """Return a block that holds the lock, and in which all that others have filed is seen."""
        return self.lock

    def search(self, family: int, keys: NDArray[np.uint64], distance: int = 0) -> Matches:
        with self._newest():
            kind = self.header.families[family]
            if not kind.equal:
                return search_all(partial(self._near, family, distance), keys)
            found = [
                (query, document)
                for query in np.flatnonzero(kind.has(keys)).tolist()
                for document in sorted(self._with_key(family, int(keys[query]), 0))
            ]
        pairs = np.array(found, np.int64).reshape(-1, 2)
        return Matches(pairs[:, 0], pairs[:, 1], np.zeros(len(pairs), np.uint8))

    def find(self, document: Documents, lookups: Sequence[Lookup]) -> Found:
        with self._newest():
            return self._find(document, lookups)

    def retrieve(self, family: int, keys: NDArray[np.uint64]) -> tuple[Matches, Stored]:
        with self._newest():
            matches = self.search(family, keys)
            return matches, self.fetch(matches.document)

    def reserve_if(
        self, document: Documents, lookups: Sequence[Lookup], decide: Callable[[Found], Filing | None]
    ) -> Reservation | None:
        with self._newest():
            filing = decide(self._find(document, lookups))
            return None if filing is None else self._file(filing)

    def fetch(self, documents: NDArray[np.int64]) -> Stored:
        with self.lock:
            try:
                return self._columns.stored(documents.tolist())
            except KeyError as error:
                raise IndexCorrupted(
                    f"Document {error} is missing: ask for those that a search finds."
                ) from None

    def add(self, documents: Documents) -> NDArray[np.int64]:
        with self.lock:
            numbers = range(self._next, self._next + len(documents.urls))
            self._next += len(numbers)
            self._columns.append(numbers, documents)
            return np.array(numbers, np.int64)

    def discard(self, documents: Sequence[int]) -> None:
        with self.lock:
            for document in documents:
                self._pending.pop(document, None)
            self._columns.remove(documents)

    def flush(self) -> None:
        """Do nothing: there is no disk."""

    def gauges(self) -> dict[str, int]:
        with self.lock:
            pending = len(self._pending)
            return {"documents": len(self._columns.filed) - pending, "pending": pending}

    def close(self) -> None:
        """Do nothing: it goes with the last reference."""

    def _file(self, filing: Filing) -> Reservation:
        def settle(reservation: Reservation) -> None:
            with self.lock:
                if self._pending.pop(number, None) is None:  # somebody has removed it meanwhile
                    return
                if reservation.confirmed:
                    self._columns.filed[number].note = reservation.note
                    self._confirmed(number, filing.replaces)
                else:
                    self._columns.remove([number])

        reservation = Reservation(filing.document.urls[0], settle)
        number = self._number()
        self._columns.append([number], filing.document)
        self._pending[number] = reservation
        return reservation

    def _find(self, document: Documents, lookups: Sequence[Lookup]) -> Found:
        found = [self._meet(lookup, document) for lookup in lookups]
        numbers, shared, crowded, narrowed = put_together(found)
        if not len(numbers):
            return Found(numbers, shared, self._nothing, [], crowded, narrowed)
        pending = [self._pending.get(number) for number in numbers.tolist()]
        return Found(numbers, shared, self.fetch(numbers), [*pending], crowded, narrowed)

    def _meet(self, lookup: Lookup, document: Documents) -> Met:
        """Look up the keys of one document."""
        family, _, most, nearest, _ = lookup
        kind, keys = self.header.families[family], document.keys[self.header.rows[family], 0]
        if not kind.equal:
            return self._closest(lookup, keys)
        # Only all keys together tell which documents share the most of them.
        limit = most + 1 if most else nearest + 1 if nearest and len(keys) == 1 else 0
        counts: dict[int, int] = {}
        for key in keys.tolist():
            having = self._with_key(family, key, limit) if kind.keys == 1 or key != _NO_KEY else ()
            for number in having if not most or len(having) <= most else ():
                counts[number] = counts.get(number, 0) + 1
        return most_shared(counts, nearest)

    def _near(self, family: int, distance: int, keys: NDArray[np.uint64]) -> Iterator[Matches]:
        """Yield the documents whose keys differ in at most *distance* bits, perhaps several times."""
        return self._columns.near(family, keys, distance)

    def _with_key(self, family: int, key: int, limit: int) -> set[int]:
        """Find the documents that have *key*, at least the *limit* of them that were filed first; 0: all."""
        return self._columns.with_key(family, key)

    def _closest(self, lookup: Lookup, key: NDArray[np.uint64]) -> Met:
        """Look up one key (uint64[1]) within the bounds of *lookup*."""
        return closest([*self._columns.near(lookup.family, key, lookup.distance)], lookup.nearest)

    def _number(self) -> int:
        """Return the number of a document that is to be pending."""
        self._next += 1
        return self._next - 1

    def _confirmed(self, document: int, replaces: Sequence[int]) -> None:
        """Keep a document that is no longer pending, in the place of those that it *replaces*."""
        self._columns.remove(replaces)
