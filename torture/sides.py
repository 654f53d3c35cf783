"""A process that uses a store and does what it is told, and the same in a fork."""

from __future__ import annotations

import os
from multiprocessing import Pipe
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.index.lmdb.commands import check
from scrapy_neardup.index.memory import MemoryIndex
from scrapy_neardup.index.protocol import Filing, Found, Lookup
from tests.index.conformance import reserve

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    from scrapy_neardup.index import Documents, Index
    from scrapy_neardup.index.reservation import Reservation

#: The family of the keys of URLs.
URL = 1


class Wrong(Exception):
    """The store has answered otherwise than the dictionary."""


def record_of(url: str, like: Any) -> Any:
    """Return a record of the dtype of *like* that only the document of *url* has."""
    return np.frombuffer((url.encode() * like.dtype.itemsize)[: like.dtype.itemsize], like.dtype)[0]


class Side:
    """One process that uses the store: it does what it is told, and answers."""

    def __init__(self, opened: Callable[[], Index]) -> None:
        self._opened = opened
        self.index = opened()
        self._held: dict[int, Reservation] = {}
        #: Under which numbers documents were handed out when they were filed.
        self._filed: dict[int, int] = {}

    def __call__(self, name: str, *arguments: Any) -> Any:
        return getattr(self, name)(*arguments)

    def reserve(self, documents: Documents, number: int) -> None:
        self._held[number] = reserve(self.index, documents)
        self._filed[number] = int(self.index.search(URL, np.array([number], np.uint64)).document[0])

    def decide(self, documents: Documents, lookups: list[Lookup], number: int) -> list[str]:
        """File a document if it meets no other; returns what it has met."""
        met: list[str] = []

        def decide(found: Found) -> Filing | None:
            met[:] = found.stored.urls
            return None if met else Filing(documents)

        reservation = self.index.reserve_if(documents, lookups, decide)
        if reservation is not None:
            self._held[number] = reservation
        return sorted(met)

    def settle(self, number: int, confirm: bool) -> None:
        reservation = self._held.pop(number)
        if confirm:
            reservation.confirm(note=reservation.url.encode())
        else:
            reservation.release()

    def add(self, documents: Documents) -> None:
        self.index.add(documents)

    def discard(self, numbers: list[int]) -> None:
        found = self.index.search(URL, np.array(numbers, np.uint64))
        known = self._filed if isinstance(self.index, MemoryIndex) else {}
        places = zip(found.query.tolist(), found.document.tolist(), strict=True)
        self.index.discard([known.get(numbers[query], document) for query, document in places])

    def search(self, family: int, keys: list[int], distance: int) -> list[tuple[int, str, int]]:
        found = self.index.search(family, np.array(keys, np.uint64), distance)
        records, urls, notes = self.index.fetch(found.document)
        for record, url, note in zip(records, urls, notes, strict=True):
            if note != url.encode() or (
                isinstance(self.index, MemoryIndex) and record != record_of(url, record)
            ):
                raise Wrong(f"the record or the note of {url} is of another document")
        return sorted(zip(found.query.tolist(), urls, found.distance.tolist(), strict=True))

    def count(self) -> int:
        return self.index.gauges()["documents"]

    def flush(self) -> None:
        self.index.flush()

    def compact(self) -> None:
        self.index.compact()  # type: ignore[attr-defined]

    def reopen(self) -> None:
        self.index.close()
        self._held.clear()
        self._filed.clear()
        self.index = self._opened()

    def check(self) -> list[str]:
        return [f"{each.where}: {each.what}" for each in check(self.index)]  # type: ignore[arg-type]

    def close(self) -> None:
        self.index.close()


class Peer:
    """A `Side` in a fork of this process."""

    def __init__(self, opened: Callable[[], Index]) -> None:
        self._there, here = Pipe()
        if not os.fork():
            self._there.close()
            _be_peer(opened, here)
        here.close()

    def __call__(self, *command: Any) -> Any:
        self._there.send(command)
        done, answer = self._there.recv()
        if not done:
            raise Wrong(f"{command[0]} in another process: {answer}")
        return answer


def _be_peer(opened: Callable[[], Index], commands: Connection) -> None:
    side: Side | None = None
    while True:
        try:
            command = commands.recv()
        except EOFError:
            os._exit(0)
        try:
            side = side or Side(opened)
            answer = True, side(*command)
        except BaseException as error:  # noqa: BLE001
            answer = False, repr(error)
        commands.send(answer)
