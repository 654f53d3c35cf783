"""The documents of one index on a server, and the calls that file and settle them."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import islice, repeat
from typing import Any, NamedTuple

from scrapy_neardup.errors import IndexMismatch, IndexUnavailable
from scrapy_neardup.index.header import Header
from scrapy_neardup.index.pending import Lease
from scrapy_neardup.index.protocol import Documents
from scrapy_neardup.index.search import Matches

from .jobs import Job, Steps, question
from .layout import EQUAL_BYTES, GONE, NEAR_BYTES, Generation, Layout, Place, before, compared
from .opening import first_number, make_part
from .scripts import Call, packed
from .server import Addressed, IndexGone, Server

#: Documents sent or asked for at a time.
BATCH = 512
#: Steps in one run of the script: the server does nothing else meanwhile.
STEPS = 16
#: Seconds after which a document lapses that was filed to be kept, and whose confirmation has not come.
FILING_SECONDS = 60.0
#: Seconds until a failed write is tried again.
RETRY_SECONDS = 1.0
#: Documents that an error names.
NAMED = 5
#: No generation has so many documents.
MOST_NUMBERS = 1 << 32
#: Family, key and distance of what is looked for.
Wanted = tuple[int, int, int]
#: Strings on the server, by name.
Contents = dict[bytes, bytes | None]
#: Keys that tell a document from others as far as is needed.
_FIRST_KEYS = 2


class Waiting:
    """A thread that waits until all of some *jobs* are done, or have failed."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.jobs, self.over = jobs, all(each.done for each in jobs)
        self.failure: Exception | None = None
        #: Set once that is over, or this is the first of all who wait.
        self.told = threading.Event()

    def look(self) -> None:
        """See whether it is over, after a round trip."""
        left = [each.failure for each in self.jobs if not each.done]
        if all(left):
            self.failure, self.over = next(iter(left), None), True
            self.told.set()


class Known(NamedTuple):
    """Documents as the server has them, by number."""

    numbers: list[int]
    documents: Documents
    leases: list[Lease]

    def each(self) -> Iterator[tuple[int, Documents]]:
        """Yield the number of each, and its one row."""
        return ((number, self.documents.take(slice(row, row + 1))) for row, number in enumerate(self.numbers))


class Read(NamedTuple):
    """What was read to see what is met, perhaps after a document was filed."""

    #: Where something is looked for, with its position among what is wanted.
    probes: list[tuple[int, Place]]
    #: What stands there, of buckets the last *most* bytes, 0: all.
    contents: Contents
    most: int
    #: The entry of the document in some of the buckets: what came later meets that one.
    own: dict[bytes, bytes]
    #: The number of the document, 0 if it has none; why it is not filed, and why not all was read.
    number: int = 0
    failure: Exception | None = None
    unread: Exception | None = None


def raised(answers: list[Any]) -> list[Any]:
    """Return *answers*, unless one is an error, which is raised."""
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer
    return answers


@lru_cache(16)
def parsed(known: tuple[bytes, ...]) -> list[Generation]:
    """Return the generations that parts know, each once."""
    return sorted({each for data in known for each in Generation.parse(data)})


class Store:
    """The documents of an index; those older than *window* seconds vanish, unless it is 0.

    What threads ask for at a time goes in one round trip. All but `settle` raise `IndexUnavailable`.
    """

    def __init__(self, server: Server, header: Header, window: float) -> None:
        self.server = server
        self.header = header
        self.prefixes = prefixes = server.address.prefixes
        self.layout = Layout(header, prefixes)
        self._window = round(window * 1000)
        self._turn = threading.Lock()
        #: Threads that wait. The first one makes the round trips.
        self._waiting: list[Waiting] = []
        #: What is asked for, and what was confirmed or released and is not yet written.
        self.queue: list[Job] = []
        #: Names of buckets that were longer: they are read by themselves, so that only a part need be read.
        self.long = set[bytes]()
        #: Keys, with their families, that so many have that no more are filed under them.
        self.crowded = set[tuple[int, int]]()
        #: Milliseconds that the server's clock is ahead of `time.monotonic`.
        self._ahead = 0.0
        #: Documents that were to be kept and were given up.
        self.lost = 0
        #: As far as is known: the generations of each part. The next document is of the last.
        self.known: tuple[bytes, ...] = (b"0:0",) * len(prefixes)
        self.known = (*self.ask(self.everywhere("GET", b"g")),)

    # Making calls

    def everywhere(self, command: str, *names: bytes, more: Sequence[bytes | str | int] = ()) -> list[Call]:
        """Return a command for each part, with keys that have these names there, then *more*."""
        every = enumerate(self.prefixes)
        return [Call(part, command, [prefix + name for name in names], more) for part, prefix in every]

    def ask(self, calls: Sequence[Call]) -> list[Any]:
        """Make *calls*, and return their answers."""
        return raised(self.do(question(calls), once=True)[0]) if calls else []

    def settle(self, *jobs: Job) -> None:
        """Have *jobs* done, in their order, with what is asked next; do not wait for that."""
        with self._turn:
            self.queue += jobs

    def do(self, *every: Steps, once: bool = False) -> list[Any]:
        """Do operations at once; return what each returns. One that fails is given up, or told if *once*."""
        jobs = [Job(each, once=once) for each in every]
        self.settle(*jobs)
        try:
            if failure := self._wait(jobs):
                raise failure
        finally:
            with self._turn:
                self.queue = [each for each in self.queue if each not in jobs]
        return [each.result for each in jobs]

    def write(self) -> Exception | None:
        """Write what was settled; return why something of it is not written, and waits."""
        return self._wait([*self.queue])

    def _wait(self, jobs: Sequence[Job]) -> Exception | None:
        """Wait until *jobs* are done, or have failed, for which the error is returned.

        Of all threads that wait one makes the round trips.
        """
        with self._turn:
            mine = Waiting(jobs)
            self._waiting.append(mine)
            first = self._waiting[0]
        try:
            if first is not mine and not mine.over:
                mine.told.wait()
            while not mine.over:
                self._round()
        finally:
            with self._turn:
                self._waiting.remove(mine)
                for first in self._waiting[:1]:
                    first.told.set()
        return mine.failure

    def _round(self) -> None:
        """Make the next step of all in the queue, in one round trip. Needs the turn."""
        every = [*self.queue]
        calls = [call for each in every for call in each.calls]
        try:
            answers = iter(self._send(calls))
        except Exception as error:  # noqa: BLE001  # what was settled waits; who asks is told
            answers = iter([error] * len(calls))
        for each in every:
            each.take([*islice(answers, len(each.calls))])
        with self._turn:
            self.queue = [each for each in self.queue if not each.done]
            for waiting in self._waiting:
                waiting.look()

    def close(self, seconds: float) -> None:
        """Write what was settled, tried for so many *seconds*. Raises an error that names what is not."""
        ends, self.server.anyway = time.monotonic() + seconds, True
        while self.queue:
            failure = self.write()
            # What was released lapses by itself.
            left = [*{each.kept.urls[0]: 1 for each in self.queue if each.kept is not None}]
            if failure and left and time.monotonic() < ends:
                time.sleep(min(RETRY_SECONDS, seconds / 10))
            elif failure:
                self.queue = []
                self.lost += len(left)
                if not left:
                    return
                more = f" and {len(left) - NAMED} more" if len(left) > NAMED else ""
                raise IndexUnavailable(
                    f"{len(left)} documents were not written before the index was closed, so copies of them "
                    f"will pass: {', '.join(left[:NAMED])}{more}. {failure}"
                ) from failure

    def _send(self, calls: Sequence[Call]) -> list[Any]:
        """Make *calls*, in each part first those that write; return their answers, or errors.

        A part that is gone begins anew.
        """
        kinds: dict[tuple[int, bool], list[int]] = {}
        for row, call in enumerate(calls):
            kinds.setdefault((call.part, call.step.isupper()), []).append(row)
        runs = [
            (part, reads, rows[start : start + STEPS])
            for (part, reads), rows in sorted(kinds.items())
            for start in range(0, len(rows), STEPS)
        ]
        sent: list[Addressed] = [(self.prefixes[0], ("TIME",))]
        for part, reads, rows in runs:
            prefix, some = self.prefixes[part], [calls[row] for row in rows]
            if reads:
                sent.append((prefix, ("GET", prefix + b"id")))
                sent += [(prefix, (call.step, *call.keys, *call.arguments)) for call in some]
            else:
                sent.append((prefix, (*self.server.runs, *packed(self.header.uuid, self.prefixes, some))))
        got = iter(self.server.send(sent))
        if isinstance(clock := next(got), tuple):
            now = time.monotonic()  # by a time before, a slow answer would end leases of others early
            self._ahead = clock[0] * 1000 + clock[1] / 1000 - now * 1000
        answers, gone = dict[int, Any](), set[int]()
        for part, reads, rows in runs:
            first = next(got)
            made = [*islice(got, len(rows))] if reads else first
            if reads and isinstance(first, bytes | None) and first != self.header.uuid.encode():
                made = IndexGone(f"The index {self.server.address.shown} is gone, or another one is there.")
            gone.update([part] if isinstance(made, IndexGone) else [])
            answers |= zip(rows, made if isinstance(made, list) else repeat(made), strict=False)
        for part in gone:
            self._restore(part)
        return [answers[row] for row in range(len(calls))]

    def _restore(self, part: int) -> None:
        """Begin an empty part: the server has lost this one. Raises an error if another one is there."""
        with suppress(IndexMismatch):  # it has another layout
            first = first_number(self.server, self.generations[-1].start + MOST_NUMBERS)
            there, parts = make_part(self.server, self.header, self.prefixes[part], first)
            if (there.uuid, parts) == (self.header.uuid, len(self.prefixes)):
                return
        raise IndexUnavailable(
            f"Another index is in {self.server.address.shown} now: start this crawl anew to use that one."
        )

    # Generations

    @property
    def generations(self) -> list[Generation]:
        """All generations that are known of any part."""
        return parsed(self.known)

    def learn(self, part: int, known: bytes) -> None:
        """Take in the generations that a *part* knows."""
        self.known = (*self.known[:part], known, *self.known[part + 1 :])

    # What is called

    def read(self, wanted: Sequence[Wanted], most: int = 0) -> tuple[Matches, set[int]]:
        """Return what `compared` does of the last *most* bytes of the buckets of what is *wanted*, 0: all."""
        known = None
        while known != self.known:
            known = self.known
            probes, reads = self._reads(wanted, known, most)
            contents = Contents()
            for call, answer in zip(reads, self.ask(reads), strict=True):
                contents |= self._contents(call, answer)
        return self.compared(Read(probes, contents, most, {}))

    def _reads(
        self, wanted: Sequence[Wanted], known: tuple[bytes, ...], most: int
    ) -> tuple[list[tuple[int, Place]], list[Call]]:
        """Return where what is *wanted* is looked for, see `Read`, and the calls that read that."""
        if not wanted:
            return [], []
        probes = [
            (row, place)
            for row, (family, key, distance) in enumerate(wanted)
            for generation in parsed(known)
            for place in self.layout.places(family, key, distance, generation)
        ]
        heads, ends = self.everywhere("MGET", b"g", b"o"), list[Call]()
        for bucket, part in {place.bucket: place.part for _, place in probes}.items():
            if most and bucket in self.long:
                ends.append(Call(part, "GETRANGE", [bucket], (-most, -1)))
            else:
                heads[part].keys.append(bucket)
        return probes, heads + ends

    def _contents(self, call: Call, answer: Any) -> Contents:
        """Return what a *call* has read, and take in the generations."""
        if call.step == "GETRANGE":
            return {call.keys[0]: answer}
        self.learn(call.part, answer[0])
        return dict(zip(call.keys, answer, strict=True))

    def compared(self, read: Read) -> tuple[Matches, set[int]]:
        """Return what is met, by position of what was wanted, and positions of which not all was compared."""
        probes, contents, most, own, *_ = read
        data = {place.bucket: (contents.get(place.bucket) or b"")[-most:] for _, place in probes}
        cut = {bucket for bucket, content in data.items() if 0 < most == len(content)}
        self.long.update(cut)
        data |= {bucket: before(data[bucket], entry) for bucket, entry in own.items() if bucket in data}
        since = [int(contents.get(prefix + b"o") or 0) for prefix in self.prefixes]
        met = [compared(probes, data, width, since) for width in (NEAR_BYTES, EQUAL_BYTES)]
        return Matches.gather(met), {row for row, place in probes if place.bucket in cut}

    def filing(
        self,
        document: Documents,
        wanted: Sequence[Wanted] = (),
        most: int = 0,
        *,
        anyway: bool = True,
        seconds: float = FILING_SECONDS,
        after: int = 0,
    ) -> Steps:
        """File *document*, one row, for so many *seconds*, then read the buckets of what is *wanted*.

        Returns a `Read`. The number is *after* another one, and 0 if it could not be filed; or, unless it is
        filed *anyway*, if another document has the first of its keys and that has to be equal: its digest.
        """
        home, now = self.layout.home(document), self.now()
        others = [part for part in range(len(self.prefixes)) if part != home]
        while True:
            known, number, refused, contents, own = self.known, 0, False, Contents(), dict[bytes, bytes]()
            generation, errors = parsed(known)[-1], dict[bool, Exception]()
            places = self.layout.filed(document, generation, self.crowded)
            probes, reads = self._reads(wanted, known, most)
            # Other parts come later: who meets it there has to find it in the one that gives the number.
            for parts in filter(None, ([home], others)):
                calls = [call for call in reads if call.part in parts]
                for part in parts if number else {home}.intersection(parts):
                    mine = [place for place in places if place.part == part]
                    stops = not (anyway or number) and len(places[0].entry) == EQUAL_BYTES - 4
                    value, ends = b"" if number else self.layout.pack(document), now + round(seconds * 1000)
                    told = value, ends, now, self._window, known[part], number, after, *generation, int(stops)
                    entries = (place.entry for place in mine)
                    calls.append(Call(part, "file", [place.bucket for place in mine], (*told, *entries)))
                for call, answer in zip(calls, (yield calls), strict=True):
                    if isinstance(answer, Exception):
                        errors[call.step == "file"] = answer
                    elif call.step != "file":
                        contents |= self._contents(call, answer)
                    elif isinstance(answer, bytes):
                        refused = True
                        self.learn(call.part, answer)
                    else:
                        number = number or answer
                if number and not own:
                    low = (number & 0xFFFFFFFF).to_bytes(4, "little")
                    own = {place.bucket: place.entry + low for place in reversed(places)}
                    # One that is met here may have the same home: it meets this one nowhere else.
                    at_home = Read(probes, contents, most, own)
                    if others and not anyway and len(self.compared(at_home)[0].query):
                        self.settle(Job(self.removal(number, document)))
                        number = 0
            if not refused:
                return Read(probes, contents, most, own, number, errors.get(True), errors.get(False))
            if number:
                self.settle(Job(self.removal(number, document)))

    def keeping(self, document: Documents, after: int = 0) -> Steps:
        """File *document*, one row, beside others, and confirm it; return its number, *after* another."""
        while True:
            number = (yield from self.filing(document, after=after)).number
            (is_kept,) = yield [self._confirming(number, document, b"")]
            if is_kept:
                return number
            self.settle(Job(self.removal(number, document)))

    def filed(self, number: int, document: Documents) -> list[Place]:
        """Return where *document*, one row, that has or had a *number* is filed."""
        there = [each for each in self.generations if each.start <= number]
        return self.layout.filed(document, there[-1] if there else self.generations[0])

    def confirmation(self, number: int, document: Documents) -> Steps:
        """Keep a pending *document*, one row with its note."""
        too_old = self.now() + (self._window or math.inf)
        value = self.layout.pack(document) if document.notes[0] else b""
        (filed,) = yield [self._confirming(number, document, value)]
        if not filed and self.now() < too_old:  # it has gone, and is filed again beside others
            yield from self.keeping(document)

    def _confirming(self, number: int, document: Documents, value: bytes) -> Call:
        part, group, slot = self.layout.place(number)
        return Call(part, "confirm", [group], (number, slot, _start(document), value))

    def removal(self, number: int, document: Documents, *, if_lapsed: bool = False) -> Steps:
        """Remove a *document*, one row, unless its number is another one's by now.

        Its entries in other parts go last: there is nothing that whoever meets them could find.
        """
        places = self.filed(number, document)
        low, now = (number & 0xFFFFFFFF).to_bytes(4, "little"), self.now() if if_lapsed else 0
        home, group, slot = self.layout.place(number)

        def call(part: int, step: str, own: Sequence[bytes] = (), *arguments: bytes | int) -> Call:
            mine = [place for place in places if place.part == part]
            entries = (place.entry + low for place in mine)
            return Call(part, step, [*own, *(place.bucket for place in mine)], [*arguments, *entries])

        (is_gone,) = yield [call(home, "remove", [group], number, slot, _start(document), now)]
        others = {place.part for place in places} - {home}
        if is_gone and others:
            yield [call(part, "take_out") for part in others]

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
                    self.settle(Job(self.removal(number, lapsed, if_lapsed=True)))
                elif value:
                    there.append(number)
                    values.append(value)
                    leases.append(lease)
        return Known(there, self.layout.unpack(values), leases)

    def renew(self, numbers: Sequence[int], seconds: float) -> list[Any]:
        """Have the leases of pending documents end so many *seconds* from now; return an answer to each."""
        ends = self.now() + round(seconds * 1000)
        places = [(it, self.layout.place(it)[0]) for it in numbers]
        return self.ask(
            [Call(part, "ZADD", [self.prefixes[part] + b"p"], ("XX", ends, it)) for it, part in places]
        )

    def leases(self, numbers: Sequence[int]) -> list[Lease]:
        """Return the lease of each of the documents *numbers*; that of one that is kept says so."""
        return [lease for _, lease in self._stored(numbers)]

    def _stored(self, numbers: Sequence[int]) -> list[tuple[bytes | None, Lease]]:
        """Return the value and the lease of each document; of one that is gone neither holds."""
        # What is no longer pending by then, and is there, is kept: so values are read last.
        places = [(number, *self.layout.place(number)) for number in numbers]
        ends = [Call(part, "ZSCORE", [self.prefixes[part] + b"p"], [it]) for it, part, *_ in places]
        lists = [Call(part, "LINDEX", [group], [slot]) for _, part, group, slot in places]
        answers = self.ask([*ends, *lists])
        values = (None if value == GONE else value for value in answers[len(numbers) :])
        found = []
        for end, value in zip(answers, values, strict=False):
            seconds = 0.0 if end is None else (end - self.now()) / 1000
            lease = Lease(bool(value) if end is None else None if seconds > 0 else False, seconds)
            found.append((value, lease))
        return found

    def now(self) -> int:
        """Return the time of the server, in milliseconds."""
        return round(time.monotonic() * 1000 + self._ahead)


def _start(document: Documents) -> bytes:
    """Return how the value of one document, one row, begins: with the first of its keys."""
    keys: bytes = document.keys[:_FIRST_KEYS, 0].astype("<u8").tobytes()
    return keys
