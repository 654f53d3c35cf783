"""The documents of one index on a server: which calls file, fetch, confirm and remove them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_neardup.errors import IndexMismatch, IndexUnavailable
from scrapy_neardup.index.leases import Lease

from .calls import Calls
from .layout import Layout, epoch_of
from .opening import write_header
from .scripts import SCRIPT, Call, packed
from .server import IndexGone
from .settling import Write

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy_neardup.index.header import Header
    from scrapy_neardup.index.protocol import Documents

    from .address import Address
    from .buckets import Bucket
    from .layout import Place
    from .probes import Probe
    from .server import Server

#: Documents sent or asked for in one round trip.
BATCH = 512
#: Documents of a group, see script_parts.py.
GROUP = 1024
#: Steps in one run of the script: the server does nothing else meanwhile.
STEPS = 32
#: What the step ``file`` is told of an entry, see script_filing.py: that it is filed, or not; none is met.
_NOT_MET = 255
_FILED, _NEITHER = bytes((_NOT_MET, 1)), bytes((_NOT_MET, 0))


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
        self.calls = Calls(self._send)
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

    def _send(self, calls: Sequence[Call]) -> list[Any]:
        """Make *calls* in one round trip, see `Calls`."""
        groups = [calls[start : start + STEPS] for start in range(0, len(calls), STEPS)]
        runs = [packed(self.header.uuid, self.address.prefix, group) for group in groups]
        answers = self.server.run(SCRIPT, runs)
        gone = [row for row, answer in enumerate(answers) if isinstance(answer, IndexGone)]
        if gone:
            self._restore()
            for row, answer in zip(gone, self.server.run(SCRIPT, [runs[row] for row in gone]), strict=True):
                answers[row] = answer
        return [
            each
            for group, answer in zip(groups, answers, strict=True)
            for each in (answer if isinstance(answer, list) else [answer] * len(group))
        ]

    def _restore(self) -> None:
        """Begin an empty index with the header of this one: the server has lost it.

        Raises `IndexUnavailable` if there is another one now.
        """
        with suppress(IndexMismatch):  # it has another layout
            if write_header(self.server, self.header, self.epochs[-1]).uuid == self.header.uuid:
                return
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
        """Return the call that reads buckets.

        *equal* has, for each key that has to be equal, the bucket and the tag to look for in it. *near* are
        the buckets of fingerprints, and *known* is what is known of each already; of each at most
        *most_bytes* are read.
        """
        arguments: list[bytes | str | int] = [len(equal), *(tag for _, tag in equal), most_bytes]
        for bucket in known:
            arguments += (bucket.length, bucket.last)
        return Call("look", [*(name for name, _ in equal), *near], arguments)

    def filing(
        self,
        document: Documents,
        epoch: int,
        places: Sequence[Place],
        probes: Sequence[Probe] = (),
        newest: int = 0,
        lease_seconds: float = 0,
    ) -> Call:
        """Return the call that files *document*, one row, in *places* of an *epoch*.

        It does so unless *probes* meet what was filed after the document *newest*.
        """
        marks = {(place.bucket, place.entry): _FILED for place in places}
        for probe in probes:
            place = probe.name, probe.entry
            distance, is_filed = marks.get(place, _NEITHER)
            if distance == _NOT_MET or distance < probe.distance:
                marks[place] = bytes((probe.distance, is_filed))
        arguments: list[bytes | str | int] = [
            self.layout.values.pack(document),
            round(lease_seconds * 1000),
            self._window,
            epoch,
            newest,
        ]
        arguments += [mark + entry for (_, entry), mark in marks.items()]
        return Call("file", [bucket for bucket, _ in marks], arguments)

    def file(self, documents: Sequence[Documents]) -> list[int]:
        """File some documents, one row each, in one round trip; return their numbers."""
        epoch = self.epochs[-1]
        numbers = self.calls.run_all(
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
        return Call("remove", keys, [filed.number, filed.start, int(if_lapsed), *entries])

    def fetch(self, numbers: Sequence[int]) -> Known:
        """Return those of the documents *numbers*, ascending, that are there, with all that is stored."""
        there: list[int] = []
        values: list[bytes] = []
        leases: list[Lease] = []
        for start in range(0, len(numbers), BATCH):
            some = numbers[start : start + BATCH]
            for number, (value, lease) in zip(some, self.calls.run(Call("fetch", (), some)), strict=True):
                if value is None:
                    continue
                if lease == 0:
                    removal = self.removal(self._filed_as(number, value), if_lapsed=True)
                    self.calls.settling.put([Write(removal)])
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

    def settlement(self, filed: Filed, kept: Documents | None) -> list[Write]:
        """Return the writes that settle a pending document, which is *filed*.

        *kept* is the document with its note, one row, or None if it is released.
        """
        if kept is None:
            return [Write(self.removal(filed))]
        value = self.layout.values.pack(kept) if kept.notes[0] else b""
        confirmation = Call("confirm", (), (filed.number, filed.start, value))
        return [Write(confirmation, lambda there: () if there else [self._filed_again(kept)])]

    def _filed_again(self, document: Documents) -> Write:
        """Return what files *document*, one row, beside whatever is there."""

        def done(number: int) -> Sequence[Write]:
            if number > 0:
                return ()
            self.learn_epochs()
            return [self._filed_again(document)]

        epoch = self.epochs[-1]
        return Write(self.filing(document, epoch, self.layout.places(document, epoch)), done)

    def renew(self, numbers: Sequence[int], seconds: float) -> None:
        """Have the leases of pending documents end so many *seconds* from now."""
        self.calls.run(Call("renew", (), (round(seconds * 1000), *numbers)))

    def leases(self, numbers: Sequence[int]) -> list[Lease]:
        """Return the lease of each of the documents *numbers*; that of one that is kept says so."""
        return [_lease(each) for each in self.calls.run(Call("leases", (), numbers))]


def _lease(milliseconds: int) -> Lease:
    """Return what the scripts say of a lease."""
    return Lease(None, milliseconds / 1000) if milliseconds > 0 else Lease(milliseconds == -1)
