"""A process that uses a store and does what it is told, and the same in a fork."""

from __future__ import annotations

import os
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.index.lmdb.commands import check
from scrapy_neardup.index.protocol import Filing, Found, Lookup
from tests.index.conformance import reserve

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_neardup.index import Documents, Index
    from scrapy_neardup.index.reservation import Reservation

#: The family of the keys of URLs.
URL = 1


class Wrong(Exception):
    """The store has answered otherwise than the dictionary."""


class Side:
    """One process that uses the store: it does what it is told, and answers."""

    def __init__(self, opened: Callable[[], Index]) -> None:
        self._opened = opened
        self.index = opened()
        self._held: dict[int, Reservation] = {}

    def __call__(self, name: str, *arguments: Any) -> Any:
        return getattr(self, name)(*arguments)

    def reserve(self, documents: Documents, number: int) -> None:
        self._held[number] = reserve(self.index, documents)

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
            reservation.confirm()
        else:
            reservation.release()

    def add(self, documents: Documents) -> None:
        self.index.add(documents)

    def discard(self, numbers: list[int]) -> None:
        self.index.discard(self.index.search(URL, np.array(numbers, np.uint64)).document.tolist())

    def search(self, family: int, keys: list[int], distance: int) -> list[tuple[int, str, int]]:
        found = self.index.search(family, np.array(keys, np.uint64), distance)
        urls = self.index.fetch(found.document).urls
        return sorted(zip(found.query.tolist(), urls, found.distance.tolist(), strict=True))

    def flush(self) -> None:
        self.index.flush()

    def compact(self) -> None:
        self.index.compact()  # type: ignore[attr-defined]

    def reopen(self) -> None:
        self.index.close()
        self._held.clear()
        self.index = self._opened()

    def check(self) -> list[str]:
        return [f"{each.where}: {each.what}" for each in check(self.index)]  # type: ignore[arg-type]

    def close(self) -> None:
        self.index.close()


class Peer:
    """A `Side` in a fork of this process."""

    def __init__(self, opened: Callable[[], Index]) -> None:
        there, answer = os.pipe(), os.pipe()
        if not os.fork():
            os.close(there[1])
            os.close(answer[0])
            _be_peer(opened, there[0], answer[1])
        os.close(there[0])
        os.close(answer[1])
        self._to, self._from = os.fdopen(there[1], "wb"), os.fdopen(answer[0], "rb")

    def __call__(self, *command: Any) -> Any:
        pickle.dump(command, self._to)
        self._to.flush()
        done, answer = pickle.load(self._from)
        if not done:
            raise Wrong(f"{command[0]} in another process: {answer}")
        return answer


def _be_peer(opened: Callable[[], Index], commands: int, answers: int) -> None:
    side: Side | None = None
    with os.fdopen(commands, "rb") as reading, os.fdopen(answers, "wb") as writing:
        while True:
            try:
                command = pickle.load(reading)
            except EOFError:
                os._exit(0)
            try:
                side = side or Side(opened)
                answer = True, side(*command)
            except BaseException as error:  # noqa: BLE001
                answer = False, repr(error)
            pickle.dump(answer, writing)
            writing.flush()
