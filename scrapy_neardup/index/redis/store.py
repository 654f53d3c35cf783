"""The documents of one index on a server: which calls file, fetch, confirm and remove them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scrapy_neardup.errors import IndexUnavailable
from scrapy_neardup.index.leases import Lease

from .layout import Layout, epoch_of
from .looked import NOTHING_LOOKED
from .opening import write_header
from .scripts import CONFIRM, FETCH, FILE, LEASES, LOOK, REMOVE, RENEW
from .server import Call, IndexGone
from .settling import Settling, Write

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy_neardup.index.header import Header
    from scrapy_neardup.index.protocol import Documents

    from .address import Address
    from .buckets import Bucket
    from .layout import Place
    from .looked import Looked
    from .server import Server

#: Documents sent or asked for in one round trip.
BATCH = 512
#: Documents of a group, see scripts.py.
GROUP = 1024


class Known(NamedTuple):
    """Documents as the server has them, by number."""

    numbers: list[int]
    documents: Documents
    leases: list[Lease]


class Filed(NamedTuple):
    """A document that was filed."""

    number: int
    #: How its value begins. A replica that takes over may have given its number to another one.
    start: bytes
    places: Sequence[Place]


class Store:
    """The documents of the index at *address*, which *server* has.

    Those older than *window* seconds vanish, unless it is 0. All methods but those that only return a `Call`
    take as long as the network does, and raise `IndexUnavailable`.
    """

    def __init__(self, address: Address, server: Server, header: Header, window: float) -> None:
        self.address = address
        self.server = server
        self.header = header
        self.layout = Layout(header, address.prefix)
        self.settling = Settling(self.run_all)
        self.nothing = Known([], self.layout.values.unpack([]), [])
        self._window = round(window * 1000)
        #: The epochs whose documents may be there; the next one that is filed is of the last.
        self.epochs = range(1)
        self.learn_epochs()

    def learn_epochs(self) -> None:
        """Ask the server which epochs there are."""
        prefix = self.address.prefix
        groups = self.server.call("ZRANGE", prefix + b"t", 0, 0)
        newest = self.server.call("GET", prefix + b"n")
        if newest is None:
            return  # the index has gone: the next call of a script says so
        last = epoch_of(int(newest) + 1)
        self.epochs = range(epoch_of(int(groups[0]) * GROUP) if groups else last, last + 1)

    def call(self, script: str, keys: Sequence[bytes], arguments: Sequence[bytes | str | int]) -> Call:
        """Return the call of a script of scripts.py on this index."""
        prefix = self.address.prefix
        return Call(script, [prefix + b"id", *keys], [self.header.uuid, prefix, *arguments])

    def run(self, call: Call) -> Any:
        """Make a call; return its answer."""
        try:
            return self.server.run(call)
        except IndexGone:
            self._restore()
            return self.server.run(call)

    def run_all(self, calls: Sequence[Call]) -> list[Any]:
        """Make some calls in one round trip; return their answers."""
        try:
            return self.server.run_all(calls)
        except IndexGone:
            self._restore()
            return self.server.run_all(calls)

    def _restore(self) -> None:
        """Begin an empty index with the header of this one: the server has lost it.

        Raises `IndexUnavailable` if there is another one now.
        """
        if write_header(self.server, self.header, self.epochs[-1]).uuid != self.header.uuid:
            raise IndexUnavailable(
                f"Another index is in {self.address.shown} now: start this crawl anew to use that one."
            )

    def looking(
        self,
        equal: Sequence[tuple[bytes, bytes]],
        near: Iterable[bytes],
        known: Sequence[Bucket],
        most_bytes: int,
    ) -> Call:
        """Return the call that reads buckets: of each key in *equal* its bucket and tag are given.

        Of those *near*, so much is *known*; of each at most so many bytes are read.
        """
        arguments: list[bytes | str | int] = [len(equal), *(tag for _, tag in equal), most_bytes]
        for bucket in known:
            arguments += (bucket.length, bucket.last)
        return self.call(LOOK, [*(name for name, _ in equal), *near], arguments)

    def filing(
        self,
        document: Documents,
        epoch: int,
        places: Sequence[Place],
        looked: Looked = NOTHING_LOOKED,
        lease_seconds: float = 0,
    ) -> Call:
        """Return the call that files *document*, one row, in *places* of an *epoch*.

        It does so unless others are filed where it was *looked* for them.
        """
        entries = [place.entry for place in places]
        arguments: list[bytes | str | int] = [
            self.layout.values.pack(document),
            round(lease_seconds * 1000),
            self._window,
            epoch,
            looked.newest,
            len(looked.numbers),
            len(looked.buckets),
        ]
        keys = [*(name for name, _ in looked.numbers), *looked.buckets, *(place.bucket for place in places)]
        return self.call(FILE, keys, [*arguments, *(tag for _, tag in looked.numbers), *entries])

    def file(self, documents: Sequence[Documents]) -> list[int]:
        """File some documents, one row each, in one round trip; return their numbers."""
        epoch = self.epochs[-1]
        numbers = self.run_all(
            [self.filing(each, epoch, self.layout.places(each, epoch)) for each in documents]
        )
        filed = [number for number in numbers if number > 0]
        if len(filed) == len(documents):
            return filed
        # The epoch has ended meanwhile: those left over are the last ones.
        self.learn_epochs()
        return filed + self.file(documents[len(filed) :])

    def removal(self, filed: Filed, *, if_lapsed: bool = False) -> Call:
        """Return the call that removes a document."""
        keys, entries = [place.bucket for place in filed.places], [place.entry for place in filed.places]
        return self.call(REMOVE, keys, [filed.number, filed.start, int(if_lapsed), *entries])

    def fetch(self, numbers: Sequence[int]) -> Known:
        """Return those of the documents *numbers*, ascending, that are there, with all that is stored."""
        there: list[int] = []
        values: list[bytes] = []
        leases: list[Lease] = []
        for start in range(0, len(numbers), BATCH):
            some = numbers[start : start + BATCH]
            for number, (value, lease) in zip(some, self.run(self.call(FETCH, (), some)), strict=True):
                if value is None:
                    continue
                if lease == 0:
                    removal = self.removal(self._filed_as(number, value), if_lapsed=True)
                    self.settling.put([Write(removal)])
                    continue
                there.append(number)
                values.append(value)
                leases.append(_lease(lease))
        return Known(there, self.layout.values.unpack(values), leases)

    def filed(self, number: int, document: Documents, places: Sequence[Place] | None = None) -> Filed:
        """Return how *document*, one row, is filed: in *places*, or in all that its keys name."""
        if places is None:
            places = self.layout.places(document, epoch_of(number))
        return Filed(number, self.layout.values.start(document), places)

    def filed_of(self, known: Known, number: int) -> Filed:
        """Return how the document *number*, one of *known*, is filed."""
        row = known.numbers.index(number)
        return self.filed(number, known.documents.take(slice(row, row + 1)))

    def _filed_as(self, number: int, value: bytes) -> Filed:
        return self.filed(number, self.layout.values.unpack([value]))

    def settlement(self, filed: Filed, document: Documents, kept: Documents | None) -> list[Write]:
        """Return what makes of a pending *document*, *filed* so, the one that is *kept*, None for none."""

        def file_again(there: int) -> bool:
            if there:
                return False
            assert kept is not None  # else nobody asks
            self.file([kept])
            return True

        if kept is None:
            return [Write(self.removal(filed))]
        if kept is not document and not np.array_equal(kept.keys, document.keys):
            return [Write(self.removal(filed), lambda _: file_again(0))]
        value = b"" if kept is document else self.layout.values.pack(kept)
        return [Write(self.call(CONFIRM, (), (filed.number, filed.start, value)), file_again)]

    def removal_unseen(self, numbers: Sequence[int]) -> Write:
        """Return what removes documents of which only the *numbers* are known: they are fetched first."""

        def remove(answers: Sequence[tuple[bytes | None, int]]) -> bool:
            for number, (value, _) in zip(numbers, answers, strict=True):
                if value is not None:
                    self.run(self.removal(self._filed_as(number, value)))
            return True

        return Write(self.call(FETCH, (), numbers), remove)

    def renew(self, numbers: Sequence[int], seconds: float) -> None:
        """Have the leases of pending documents end so many *seconds* from now."""
        self.run(self.call(RENEW, (), (round(seconds * 1000), *numbers)))

    def leases(self, numbers: Sequence[int]) -> list[Lease]:
        """Return the lease of each of the documents *numbers*; that of one that is kept says so."""
        return [_lease(each) for each in self.run(self.call(LEASES, (), numbers))]


def _lease(milliseconds: int) -> Lease:
    """Return what the scripts say of a lease."""
    return Lease(None, milliseconds / 1000) if milliseconds > 0 else Lease(milliseconds == -1)
