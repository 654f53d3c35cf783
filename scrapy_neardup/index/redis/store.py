"""The store of one index on a server: its header, the documents, and the calls that file and settle them."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_neardup.errors import IndexCorrupted, IndexMismatch, IndexUnavailable
from scrapy_neardup.index.header import Header
from scrapy_neardup.index.pending import Lease

from .layout import FIRST_MORE, GROUP, VERSION, Generation, Layout
from .scripts import DIGEST, Call, packed
from .server import IndexGone, require_fit

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from scrapy_neardup.index.protocol import Documents

    from .server import Command, Server

#: Documents sent or asked for at a time.
BATCH = 512
#: Steps in one run of the script: the server does nothing else meanwhile.
STEPS = 16
#: Seconds until a failed write is tried again.
RETRY_SECONDS = 1.0
#: Seconds until the server is asked again what time it is.
CLOCK_SECONDS = 1.0
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
    if server.call("MSETNX", *values, prefix + b"n", first - 1, prefix + b"g", f"{first}:{FIRST_MORE}"):
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
    #: The number that it has, 0 if it has none yet.
    number: int = 0


class Known(NamedTuple):
    """Documents as the server has them, by number."""

    numbers: list[int]
    documents: Documents
    leases: list[Lease]

    def document(self, number: int) -> Documents:
        """Return one of them, one row."""
        row = self.numbers.index(number)
        return self.documents.take(slice(row, row + 1))


class Looked(NamedTuple):
    """How the server was when a document was looked up."""

    generations: list[Generation]
    #: The last number that was given to a document, 0 if none was looked up.
    newest: int = 0
    #: The buckets where others may file what would be met.
    buckets: frozenset[bytes] = frozenset()


class Store:
    """The documents of an index; those older than *window* seconds vanish, unless it is 0.

    What threads ask for at a time goes in one round trip. All but `settle` raise `IndexUnavailable`.
    """

    def __init__(self, server: Server, header: Header, window: float) -> None:
        self.server = server
        self.header = header
        self.prefix = server.address.prefix
        self.layout = Layout(header, self.prefix)
        self._window = round(window * 1000)
        #: Held for a moment, and held by the thread that makes calls.
        self._lock, self._turn = threading.Lock(), threading.Lock()
        #: What threads ask for, each with a list for the answers.
        self._waiting: deque[tuple[Sequence[Call], Sequence[Command], list[Any]]] = deque()
        #: What was confirmed or released and is not yet written.
        self.settled: list[Write] = []
        #: Milliseconds that the server's clock is ahead of `time.monotonic`, and when it is asked again.
        self._ahead = self._asked_at = 0.0
        #: Documents that were to be kept and were given up.
        self.lost = 0
        #: As far as is known: the next document is of the last.
        self.generations = [Generation(0, 0)]
        self.generations = Generation.parse(*self.read(("GET", self.prefix + b"g")))

    # Making calls

    def run(self, *calls: Call) -> list[Any]:
        """Make *calls*; return their answers."""
        return self._ask(calls, ())

    def read(self, *commands: Command) -> list[Any]:
        """Send *commands* that only read; return their answers."""
        return self._ask((), commands)

    def _ask(self, calls: Sequence[Call], commands: Sequence[Command]) -> list[Any]:
        """Wait for a turn; whoever has it asks for all who wait."""
        mine: list[Any] = []
        self._waiting.append((calls, commands, mine))
        with self._turn:
            if not mine:
                every = [self._waiting.popleft() for _ in range(len(self._waiting))]
                calls = [call for some, _, _ in every for call in some]
                answers, _ = self._round(calls, [command for _, some, _ in every for command in some])
                made, read = iter(answers), iter(answers[len(calls) :])
                for their_calls, theirs, got in every:
                    got += [*islice(made, len(their_calls)), *islice(read, len(theirs))]
        for answer in mine:
            if isinstance(answer, Exception):
                raise answer
        return mine

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
        ends, self.server.anyway = time.monotonic() + seconds, True
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
    ) -> tuple[list[Any], Exception | None]:
        """Make settled writes and *calls*, and send *commands*, all in one round trip. Needs the turn.

        Confirmations do not go along with what only reads: `_stored` knows of them. Returns the answers, and
        the error of a write that is made again later.
        """
        writes = self.settled
        if commands and not calls and all(write.kept and write.number for write in writes):
            writes = []
        try:
            answers = self._send([*(write.call for write in writes), *calls], commands)
        except Exception as error:  # noqa: BLE001  # the writes wait; who asks is told
            answers = [error] * (len(writes) + len(calls) + len(commands))
        failure = None
        left: list[Write] = []
        for write, answer in zip(writes, answers, strict=False):
            if isinstance(answer, Exception):
                failure = answer
                left.append(write)
            elif write.kept is not None and answer <= 0:  # it has gone, and is filed again beside others
                with suppress(IndexUnavailable):
                    self.learn_generations()
                left.append(Write(self.filing(write.kept), write.kept))
        with self._lock:
            self.settled = [*left, *self.settled[len(writes) :]]
        return answers[len(writes) :], failure

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
            last = answers[-1]
            if len(answers) < len(calls) and isinstance(last, Exception) and answers[start] is last:
                return answers + [last] * (len(calls) + len(commands) - len(answers))
        return answers

    def _send_some(self, calls: Sequence[Call], commands: Sequence[Command]) -> list[Any]:
        """Send what goes at once. Raises `IndexGone`."""
        sent: list[Command] = [("GET", self.prefix + b"id"), *commands] if commands else []
        now = time.monotonic()
        if asks := bool(commands) and now >= self._asked_at:
            sent.append(("TIME",))
        if calls:
            sent.insert(0, ("EVALSHA", DIGEST, *packed(self.header.uuid, self.prefix, calls)))
        got = self.server.send(sent)
        made = got.pop(0) if calls else []
        if asks and isinstance(clock := got.pop(), tuple):
            now = time.monotonic()  # by a time before, a slow answer would end leases of others early
            self._ahead = clock[0] * 1000 + clock[1] / 1000 - now * 1000
            # A clock that leaps must not date documents that go by their age.
            self._asked_at = now + CLOCK_SECONDS * (not self._window)
        if commands:
            identity, *got = got
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

    def learn_generations(self) -> None:
        """Ask the server which generations there are."""
        if known := self.server.call("GET", self.prefix + b"g"):
            self.generations = Generation.parse(known)

    def generation_of(self, number: int) -> Generation:
        """Return the generation that has or had the document with a *number*."""
        return max([each for each in self.generations if each.start <= number], default=self.generations[0])

    # What is called

    def filing(
        self,
        document: Documents,
        looked: Looked | None = None,
        crowded: Collection[tuple[int, int]] = (),
        lease_seconds: float = 0,
    ) -> Call:
        """Return the call that files *document*, one row, but for its keys that are *crowded*.

        It does not if others were filed there, or in buckets where it was *looked* up, since then.
        """
        looked = looked or Looked(self.generations)
        places = self.layout.filed(document, looked.generations[-1], crowded)
        buckets = [place.bucket for place in places]
        known = b" ".join(b"%d:%d" % each for each in looked.generations)
        now = self.now()
        ends = now + round(lease_seconds * 1000) if lease_seconds else 0
        arguments: list[bytes | str | int] = [self.layout.pack(document), ends, now, self._window]
        arguments += [known, looked.newest, *(place.entry for place in places)]
        return Call("file", [*buckets, *looked.buckets.difference(buckets)], arguments)

    def file(self, documents: Sequence[Documents]) -> list[int]:
        """File some documents, one row each, in one round trip; return their numbers."""
        filed: list[int] = []
        while left := documents[len(filed) :]:
            filed += [number for number in self.run(*map(self.filing, left)) if number > 0]
            if len(filed) < len(documents):  # another generation has begun meanwhile
                self.learn_generations()
        return filed

    def confirmation(self, number: int, document: Documents) -> Write:
        """Return the write that keeps a pending *document*, one row with its note."""
        value = self.layout.pack(document) if document.notes[0] else b""
        group, slot = self._place(number)
        return Write(Call("confirm", (group,), (number, slot, _start(document), value)), document, number)

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
        settled = {write.number: write.kept for write in self.settled if write.kept}
        ends, *values = self.read(("ZMSCORE", self.prefix + b"p", *numbers), *lists)
        found = []
        for number, value, end in zip(numbers, values, ends, strict=True):
            if number in settled:
                value, end = value and self.layout.pack(settled[number]), None
            seconds = 0.0 if end is None else (end - self.now()) / 1000
            lease = Lease(bool(value) if end is None else None if seconds > 0 else False, seconds)
            found.append((value, lease))
        return found

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
