"""The index in the memory of a process, where a lock makes "find, decide, file" one step."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import IndexCorrupted

from .header import Header
from .pending import Reservation
from .protocol import Documents, Filing, Found, Lookup, Stored
from .search import Matches, Met, closest, most_shared, put_together, search_all
from .tables import NO_KEY

_NO_KEY = int(NO_KEY)


class Columns:
    """Documents in columns that grow, known by their numbers; removed ones keep their rows for a while.

    A fingerprint is compared with all others: some 20 µs for 16,384 of them.
    """

    def __init__(self, header: Header) -> None:
        self._header = header
        self._clear(1 << 15)  # memory is taken as rows are filled

    def _clear(self, size: int) -> None:
        """Forget all; have room for *size* documents."""
        self._keys = np.empty((self._header.keys, size), np.uint64)
        # As bytes: NumPy copies records field by field.
        self._width = self._header.dtype.itemsize
        self._bytes = np.empty(size * self._width, np.uint8).data
        self._records: NDArray[np.void] = np.ndarray(size, f"V{self._width}", self._bytes)
        #: The number of the document in each row; None if it was removed.
        self._numbers: list[int | None] = []
        self._urls: list[str] = []
        self._notes: list[bytes] = []
        self._rows: dict[int, int] = {}
        #: By family, the row of each key, or several; and how many rows are in there.
        self._rows_of: list[dict[int, int | list[int]]] = [{} for _ in self._header.families]
        self._known = 0

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, number: int) -> bool:
        return number in self._rows

    def append(self, numbers: Sequence[int], documents: Documents) -> None:
        """Add *documents* under *numbers*."""
        needed = len(self._urls) + len(numbers)
        if needed > self._keys.shape[1]:
            self._keep(self.numbers(), 2 * needed)
        start, stop = len(self._urls), len(self._urls) + len(numbers)
        self._keys[:, start:stop] = documents.keys
        self._bytes[start * self._width : stop * self._width] = documents.records.tobytes()
        self._numbers += numbers
        self._urls += documents.urls
        self._notes += documents.notes
        self._rows.update(zip(numbers, range(start, stop), strict=True))

    def annotate(self, number: int, note: bytes) -> None:
        """Replace the note of a document. Raises KeyError if it is not here."""
        self._notes[self._rows[number]] = note

    def near(self, family: int, keys: NDArray[np.uint64], distance: int) -> Iterator[Matches]:
        """Yield the documents of a *family* within *distance* bits of one of *keys* (uint64[n])."""
        for stored in self._keys[self._header.rows[family], : len(self._urls)] if self._urls else ():
            for query, key in enumerate(keys):
                bits = np.bitwise_count(stored ^ key)
                rows = (bits <= distance).nonzero()[0].tolist()
                if alive := [row for row in rows if self._numbers[row] is not None]:
                    numbers = np.array([self._numbers[row] for row in alive], np.int64)
                    yield Matches(np.full(len(alive), query), numbers, bits[alive])

    def with_key(self, family: int, key: int) -> set[int]:
        """Return the documents that have *key* in a *family* of equal keys."""
        if self._known < len(self._urls):
            self._learn()
        known = self._rows_of[family].get(key, ())
        rows = (known,) if isinstance(known, int) else known
        return {number for row in rows if (number := self._numbers[row]) is not None} if rows else set()

    def _learn(self) -> None:
        """Take in the keys of new rows."""
        new = self._keys[:, self._known : len(self._urls)].T.tolist()
        equal = [family.equal for family in self._header.families]
        for rows_of, places in compress(zip(self._rows_of, self._header.rows, strict=True), equal):
            for row, keys in enumerate(new, self._known):
                for key in keys[places]:
                    known = rows_of.setdefault(key, row)
                    if isinstance(known, list):
                        known.append(row)
                    elif known != row:
                        rows_of[key] = [known, row]
        self._known = len(self._urls)

    def documents(self, numbers: Iterable[int]) -> Documents:
        """Return copies of the documents *numbers*, in order. Raises KeyError for one that is not here."""
        rows = [self._rows[number] for number in numbers]
        return Documents(self._keys[:, rows], *self._stored(rows))

    def stored(self, numbers: Iterable[int]) -> Stored:
        """Return what `documents` does, without the keys."""
        return self._stored([self._rows[number] for number in numbers])

    def _stored(self, rows: list[int]) -> Stored:
        records = self._records.take(np.array(rows, np.int64)).view(self._header.dtype)
        return Stored(records, [self._urls[row] for row in rows], [self._notes[row] for row in rows])

    def numbers(self) -> list[int]:
        """Return the numbers of all documents, in the order in which they were added."""
        return [number for number in self._numbers if number is not None]

    def renumber(self, old: Iterable[int], new: Iterable[int]) -> None:
        """Give each document of *old* its number of *new*; those that are not here are passed over."""
        for before, after in zip(old, new, strict=True):
            row = self._rows.pop(before, None)
            if row is not None:
                self._numbers[row] = after
                self._rows[after] = row

    def remove(self, numbers: Iterable[int]) -> None:
        """Remove the documents *numbers*; those that are not here are passed over."""
        for number in numbers:
            row = self._rows.pop(number, None)
            if row is not None:
                self._numbers[row] = None
        if len(self._urls) > 64 and len(self._rows) < len(self._urls) // 2:
            self._keep(self.numbers(), self._keys.shape[1])

    def remove_before(self, number: int) -> None:
        """Remove the documents whose numbers are at least 0 and less than *number*."""
        self._keep([each for each in self.numbers() if not 0 <= each < number], self._keys.shape[1])

    def _keep(self, numbers: list[int], size: int) -> None:
        """Forget all documents but these; have room for *size* of them."""
        kept = self.documents(numbers)
        self._clear(size)
        self.append(numbers, kept)


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
            return {"documents": len(self._columns) - pending, "pending": pending}

    def close(self) -> None:
        """Do nothing: it goes with the last reference."""

    def _file(self, filing: Filing) -> Reservation:
        def settle(reservation: Reservation) -> None:
            with self.lock:
                if self._pending.pop(number, None) is None:  # somebody has removed it meanwhile
                    return
                if reservation.confirmed:
                    self._columns.annotate(number, reservation.note)
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
