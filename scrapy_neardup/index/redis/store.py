"""The documents of one index on a server: its header, who makes calls, what files and settles documents."""

from __future__ import annotations

import json
import threading
import time
from bisect import bisect_right
from collections import deque
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_neardup.errors import ConfigurationError, IndexCorrupted, IndexMismatch, IndexUnavailable
from scrapy_neardup.index.header import Header
from scrapy_neardup.index.reservation import Lease

from .layout import GROUP, NEAR_BITS, VERSION, Generation, Layout
from .scripts import DIGEST, Call, packed
from .server import IndexGone, require_fit

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from scrapy_neardup.index.protocol import Documents

    from .layout import Place
    from .server import Command, Server

#: Documents sent or asked for at a time.
BATCH = 512
#: Steps in one run of the script: the server does nothing else meanwhile.
STEPS = 16
#: Seconds until a failed write is tried again.
RETRY_SECONDS = 1.0
#: Documents that an error names.
NAMED = 5
#: No generation has so many documents.
MOST_NUMBERS = 1 << 32
#: Keys that tell a document from others as far as is needed.
_FIRST_KEYS = 2
_ANEW = "use another name, or start anew with NEARDUP_RESET or reset=True."


class Replaced(IndexUnavailable):
    """Another index is in the place of the one that was opened, so waiting does not help."""


def open_header(
    server: Server, wanted: Header | None, ignore: Collection[str], *, window: float, reset: bool
) -> Header:
    """Return the header of the index; a new one gets the header *wanted*. Raises what `open_index` does."""
    require_fit(server, window)
    if reset:
        _erase(server)
    header = read_header(server)
    if header is None:
        if wanted is None:
            raise IndexUnavailable(f"There is no index in {server.address.shown}: name one that is there.")
        header = write_header(server, wanted)
    if wanted is not None:
        header.require(wanted, server.address.shown, ignore)
    for family in header.families:
        if not family.equal and min(family.tables.prefix_bits) < NEAR_BITS:
            raise ConfigurationError(
                f"An index on a server needs tables whose prefixes have {NEAR_BITS} bits, "
                f"not {min(family.tables.prefix_bits)}: use 4, 10 or 20 tables."
            )
    return header


def read_header(server: Server) -> Header | None:
    """Return the header of the index, None if there is no index."""
    data, shown = server.call("GET", server.address.prefix + b"header"), server.address.shown
    if data is None:
        return None
    try:
        version, header = json.loads(data)
        text = json.dumps(header).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise IndexCorrupted(
            f"The header of the index in {shown} cannot be read ({error}): {_ANEW}"
        ) from error
    if version != VERSION:
        raise IndexMismatch(
            f"The index in {shown} has the layout {version}, this version of scrapy-neardup knows {VERSION}: "
            f"use the version that made it, {_ANEW}"
        )
    return Header.from_json(text)


def write_header(server: Server, header: Header, after: int = 0) -> Header:
    """Make an index with *header*, unless somebody was faster; return the header that it has now."""
    prefix = server.address.prefix
    # The clock runs ahead of all numbers given: no server is given a million documents in a second.
    seconds, microseconds = server.call("TIME")
    first = max(seconds * 1_000_000 + microseconds, after)
    data = json.dumps([VERSION, json.loads(header.to_json())])
    values: list[bytes | str | int] = [prefix + b"header", data, prefix + b"id", header.uuid]
    if server.call("MSETNX", *values, prefix + b"n", first - 1, prefix + b"g", f"{first}:0"):
        return header
    stored = read_header(server)
    if stored is None:
        raise IndexCorrupted(f"The index in {server.address.shown} has lost its header: {_ANEW}")
    return stored


def _erase(server: Server) -> None:
    """Delete all keys of the index: first those that others know it by."""
    prefix = server.address.prefix
    server.call("DEL", prefix + b"id", prefix + b"header", prefix + b"n", prefix + b"g")
    cursor = 0
    while True:
        # A name has none of the signs that patterns have, and the braces are none.
        cursor, keys = server.call("SCAN", cursor, "MATCH", prefix + b"*", "COUNT", 1000)
        if keys:
            server.call("UNLINK", *keys)
        if not cursor:
            return


class Write(NamedTuple):
    """A call that settles a document. It may be made twice."""

    call: Call
    #: The document that is to be kept, one row; None if it goes.
    kept: Documents | None = None


class Known(NamedTuple):
    """Documents as the server has them, by number."""

    numbers: list[int]
    documents: Documents
    leases: list[Lease]

    def document(self, number: int) -> Documents:
        """Return one of them, one row."""
        row = self.numbers.index(number)
        return self.documents.take(slice(row, row + 1))


class Asked(NamedTuple):
    """What a thread asks for, and the answers once there are any."""

    calls: Sequence[Call]
    commands: Sequence[Command]
    answers: list[Any]


class Store:
    """The documents of an index; those older than *window* seconds vanish, unless it is 0.

    What threads ask for at a time goes in one round trip, along with what was settled. All but `settle` raise
    `IndexUnavailable`.
    """

    def __init__(self, server: Server, header: Header, window: float) -> None:
        self.server = server
        self.header = header
        self.prefix = server.address.prefix
        self.layout = Layout(header, self.prefix)
        self._window = round(window * 1000)
        #: Held for a moment, and held by the thread that makes calls.
        self._lock, self._turn = threading.Lock(), threading.Lock()
        self._waiting: deque[Asked] = deque()
        #: What was confirmed or released and is not yet written.
        self.settled: list[Write] = []
        #: Whether the server is asked although others have just failed.
        self._anyway = False
        #: Milliseconds that the server's clock is ahead of `time.monotonic`.
        self._ahead = 0.0
        #: Documents that were to be kept and were given up.
        self.lost = 0
        #: The generations as the server has them, and as they are: the next document is of the last.
        self._known = b""
        self.generations = [Generation(0, 0)]
        self.learn(*self.read(("GET", self.prefix + b"g")))

    # Making calls

    def run(self, *calls: Call) -> list[Any]:
        """Make *calls*; return their answers."""
        return self._ask(calls, ())

    def read(self, *commands: Command) -> list[Any]:
        """Send *commands* that only read; return their answers, which show all that was settled before."""
        return self._ask((), commands)

    def _ask(self, calls: Sequence[Call], commands: Sequence[Command]) -> list[Any]:
        """Wait for a turn; whoever has it asks for all who wait."""
        mine = Asked(calls, commands, [])
        self._waiting.append(mine)
        with self._turn:
            if not mine.answers:
                every = [self._waiting.popleft() for _ in range(len(self._waiting))]
                calls = [call for each in every for call in each.calls]
                asked = [command for each in every for command in each.commands]
                answers, _, follows = self._round(calls, asked)
                made, read = iter(answers), answers[len(calls) :]
                while follows and asked:  # the answers lack what had to be written because of a write
                    read, _, follows = self._round((), asked)
                reads = iter(read)
                for each in every:
                    each.answers.extend([*islice(made, len(each.calls)), *islice(reads, len(each.commands))])
        for answer in mine.answers:
            if isinstance(answer, Exception):
                raise answer
        return mine.answers

    def settle(self, *writes: Write) -> None:
        """Have *writes* made, in their order, before what is asked later; do not wait for that."""
        with self._lock:
            self.settled = [*self.settled, *writes]

    def write(self) -> Exception | None:
        """Write what was settled; return why something of it is not written, and waits."""
        with self._turn:
            return self._round((), ())[1]

    def drain(self) -> None:
        """Return once all that was settled is written. Raises if it cannot be."""
        while self.settled:
            if failure := self.write():
                raise failure

    def close(self, seconds: float) -> None:
        """Write what was settled, tried for so many *seconds*. Raises an error that names what is not."""
        ends, self._anyway = time.monotonic() + seconds, True
        while self.settled:
            failure = self.write()
            # What was released lapses by itself.
            left = [write.kept.urls[0] for write in self.settled if write.kept is not None]
            if failure and left and not isinstance(failure, Replaced) and time.monotonic() < ends:
                time.sleep(min(RETRY_SECONDS, seconds / 10))
            elif failure:
                self.settled = []
                self.lost += len(left)
                if not left:
                    return
                more = f" and {len(left) - NAMED} more" if len(left) > NAMED else ""
                raise IndexUnavailable(
                    f"{len(left)} documents were not written before the index was closed, so copies of them "
                    f"will pass: {', '.join(left[:NAMED])}{more}. {failure}"
                ) from failure

    def _round(
        self, calls: Sequence[Call], commands: Sequence[Command]
    ) -> tuple[list[Any], Exception | None, bool]:
        """Make what is settled and *calls*, and send *commands*. Needs the turn.

        Returns the answers, the error of a write that is made again later, and whether more writes follow.
        """
        writes = self.settled
        try:
            answers = self._send([*(write.call for write in writes), *calls], commands)
        except Exception as error:  # noqa: BLE001  # the writes wait; who asks is told
            answers = [error] * (len(writes) + len(calls) + len(commands))
        failure, follows = None, False
        left: list[Write] = []
        for write, answer in zip(writes, answers, strict=False):
            if isinstance(answer, Exception):
                failure = answer
                left.append(write)
            elif write.kept is not None and answer <= 0:  # it has gone, and is filed again beside others
                with suppress(IndexUnavailable):
                    self.learn_generations()
                left.append(Write(self.filing(write.kept), write.kept))
                follows = True
        with self._lock:
            self.settled = [*left, *self.settled[len(writes) :]]
        return answers[len(writes) :], failure, follows

    def _send(self, calls: Sequence[Call], commands: Sequence[Command]) -> list[Any]:
        """Make *calls*, then send *commands*; return their answers, or errors."""
        answers: list[Any] = []
        for start in range(0, len(calls) or len(commands[:1]), STEPS):
            some = calls[start : start + STEPS], commands if start + STEPS >= len(calls) else ()
            try:
                answers += self._send_some(*some)
            except IndexGone:
                self._restore()
                answers += self._send_some(*some)
            # A run that has failed as a whole: what comes later must not be done without it.
            if (
                len(answers) < len(calls)
                and answers[start] is (last := answers[-1])
                and isinstance(last, Exception)
            ):
                return answers + answers[-1:] * (len(calls) + len(commands) - len(answers))
        return answers

    def _send_some(self, calls: Sequence[Call], commands: Sequence[Command]) -> list[Any]:
        """Send what goes at once. Raises `IndexGone`."""
        sent: list[Command] = [("GET", self.prefix + b"id"), ("TIME",), *commands] if commands else []
        if calls:
            sent.insert(0, ("EVALSHA", DIGEST, *packed(self.header.uuid, self.prefix, calls)))
        got = self.server.send(sent, anyway=self._anyway)
        made = got.pop(0) if calls else []
        if commands:
            identity, clock, *got = got
            if isinstance(clock, tuple):
                self._ahead = clock[0] * 1000 + clock[1] / 1000 - time.monotonic() * 1000
            if isinstance(identity, bytes | None) and identity != self.header.uuid.encode():
                made = IndexGone(f"The index {self.server.address.shown} is gone, or another one is there.")
        if isinstance(made, IndexGone):
            raise made
        return [made] * len(calls) + got if isinstance(made, Exception) else made + got

    def _restore(self) -> None:
        """Begin an empty index: the server has lost this one. Raises `Replaced` if another one is there."""
        with suppress(IndexMismatch):  # it has another layout
            after = self.generations[-1].start + MOST_NUMBERS
            if write_header(self.server, self.header, after).uuid == self.header.uuid:
                return
        raise Replaced(
            f"Another index is in {self.server.address.shown} now: start this crawl anew to use that one."
        )

    # Generations

    def learn(self, known: bytes | None) -> bool:
        """Take in which generations the server has; return whether they were *known*."""
        if known is None or known == self._known:  # without any the next call of the script says why
            return True
        self.generations, self._known = Generation.parse(known), known
        return False

    def learn_generations(self) -> None:
        """Ask the server which generations there are."""
        self.learn(self.server.call("GET", self.prefix + b"g"))

    def generation_of(self, number: int) -> Generation:
        """Return the generation that has or had the document with a *number*."""
        place = bisect_right([each.start for each in self.generations], number)
        return self.generations[max(place - 1, 0)]

    # What is called

    def filing(
        self,
        document: Documents,
        places: Sequence[Place] | None = None,
        looked_up: Iterable[bytes] = (),
        newest: int = 0,
        lease_seconds: float = 0,
    ) -> Call:
        """Return the call that files *document*, one row, in *places*: those of all its keys unless given.

        It does not if others were filed there, or in buckets where it was *looked_up*, after the document
        *newest*, unless that is 0.
        """
        if places is None:
            places = self.layout.filed(document, self.generations[-1])
        buckets = [place.bucket for place in places]
        now = self.now()
        ends = now + round(lease_seconds * 1000) if lease_seconds else 0
        arguments: list[bytes | str | int] = [self.layout.pack(document), ends, now, self._window]
        arguments += [self._known, newest, *(place.entry for place in places)]
        return Call("file", [*buckets, *{*looked_up}.difference(buckets)], arguments)

    def file(self, documents: Sequence[Documents]) -> list[int]:
        """File some documents, one row each, in one round trip; return their numbers."""
        filed = [number for number in self.run(*map(self.filing, documents)) if number > 0]
        if len(filed) == len(documents):
            return filed
        # Another generation has begun meanwhile: those left over are the last ones.
        self.learn_generations()
        return filed + self.file(documents[len(filed) :])

    def confirmation(self, number: int, document: Documents) -> Write:
        """Return the write that keeps a pending *document*, one row with its note."""
        value = self.layout.pack(document) if document.notes[0] else b""
        group, slot = self._place(number)
        return Write(Call("confirm", (group,), (number, slot, _start(document), value)), document)

    def removal(self, number: int, document: Documents, *, if_lapsed: bool = False) -> Write:
        """Return the write that removes a *document*, one row, unless its number is another one's by now."""
        places = self.layout.filed(document, self.generation_of(number))
        low, (group, slot) = (number & 0xFFFFFFFF).to_bytes(4, "little"), self._place(number)
        arguments: list[bytes | str | int] = [number, slot, _start(document), self.now() if if_lapsed else 0]
        arguments += [place.entry + low for place in places]
        return Write(Call("remove", [group, *(place.bucket for place in places)], arguments))

    def fetch(self, numbers: Sequence[int]) -> Known:
        """Return those of the documents *numbers*, ascending, that are there, with all that is stored."""
        there: list[int] = []
        values: list[bytes] = []
        leases: list[Lease] = []
        for start in range(0, len(numbers), BATCH):
            some = numbers[start : start + BATCH]
            for number, (value, lease) in zip(some, self._stored(some), strict=True):
                if value and lease.confirmed is False:
                    lapsed = self.layout.unpack([value])
                    self.settle(self.removal(number, lapsed, if_lapsed=True))
                elif value:
                    there.append(number)
                    values.append(value)
                    leases.append(lease)
        return Known(there, self.layout.unpack(values), leases)

    def renew(self, numbers: Sequence[int], seconds: float) -> None:
        """Have the leases of pending documents end so many *seconds* from now."""
        ends = self.now() + round(seconds * 1000)
        scores = (each for number in numbers for each in (ends, number))
        self.server.call("ZADD", self.prefix + b"p", "XX", *scores)

    def leases(self, numbers: Sequence[int]) -> list[Lease]:
        """Return the lease of each of the documents *numbers*; that of one that is kept says so."""
        return [lease for _, lease in self._stored(numbers)]

    def _stored(self, numbers: Sequence[int]) -> list[tuple[bytes | None, Lease]]:
        """Return the value and the lease of each document; of one that is gone neither holds."""
        # What is no longer pending by then, and is there, is kept: so values are read last.
        lists = (("LINDEX", *self._place(number)) for number in numbers)
        ends, *values = self.read(("ZMSCORE", self.prefix + b"p", *numbers), *lists)
        left = [None if end is None else (end - self.now()) / 1000 for end in ends]
        return [
            (value, Lease(bool(value) if seconds is None else None if seconds > 0 else False, seconds or 0))
            for value, seconds in zip(values, left, strict=True)
        ]

    def _place(self, number: int) -> tuple[bytes, int]:
        """Return the group of a document, and its place in it."""
        return self.prefix + b"d%d" % (number // GROUP), number % GROUP

    def now(self) -> int:
        """Return the time of the server, in milliseconds."""
        return round(time.monotonic() * 1000 + self._ahead)


def _start(document: Documents) -> bytes:
    """Return how the value of one document, one row, begins: with the first of its keys."""
    keys: bytes = document.keys[:_FIRST_KEYS, 0].astype("<u8").tobytes()
    return keys
