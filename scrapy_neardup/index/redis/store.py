"""The documents of one index on a server, and the calls that file and settle them."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import islice, repeat
from typing import Any, NamedTuple

from scrapy_neardup.errors import IndexMismatch, IndexUnavailable
from scrapy_neardup.index.header import Header
from scrapy_neardup.index.pending import Lease
from scrapy_neardup.index.protocol import Documents

from .layout import EQUAL_BYTES, GONE, Generation, Layout, Place
from .opening import first_number, make_part
from .scripts import DIGEST, Call, packed
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
#: Keys that tell a document from others as far as is needed.
_FIRST_KEYS = 2


class Replaced(IndexUnavailable):
    """Another index is in the place of the one that was opened, so waiting does not help."""


Steps = Generator[Sequence[Call], list[Any], Any]


class Write:
    """An operation of several steps, such as to settle a document; each step may be made twice."""

    def __init__(self, steps: Steps, kept: Documents | None = None, number: int = 0) -> None:
        self.steps = steps
        #: The calls of the step that is next, and at the end what has come of all.
        self.calls, self.result = next(steps), None
        #: The document, one row, None if it lapses by itself; its number while this is to confirm it, else 0.
        self.kept, self.number = kept, number

    def goes_on(self, answers: list[Any]) -> bool:
        """Take the *answers* to the last calls; return whether there are others."""
        self.number = 0
        try:
            self.calls = self.steps.send(answers)
        except StopIteration as end:
            self.result = end.value
            return False
        return True


class Known(NamedTuple):
    """Documents as the server has them, by number."""

    numbers: list[int]
    documents: Documents
    leases: list[Lease]

    def each(self) -> Iterator[tuple[int, Documents]]:
        """Yield the number of each, and its one row."""
        return ((number, self.documents.take(slice(row, row + 1))) for row, number in enumerate(self.numbers))


class Reading(NamedTuple):
    """What is read of an index, and with that known, when a document is filed there."""

    #: The generations of each part, as they stand there.
    known: tuple[bytes, ...]
    #: Buckets, with the part that each is in.
    buckets: Mapping[bytes, int] = {}
    #: Those of which only the last *most* bytes are read.
    long: Collection[bytes] = ()
    most: int = 0


class Asked(NamedTuple):
    """What a thread asks for; without calls, that all is written that was settled."""

    calls: Sequence[Call]
    answers: list[Any]
    #: Set once the answers are there, or it has the turn.
    told: threading.Event


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

    def __init__(self, server: Server, header: Header, prefixes: Sequence[bytes], window: float) -> None:
        self.server = server
        self.header = header
        self.prefixes = prefixes
        self.layout = Layout(header, prefixes)
        self._window = round(window * 1000)
        self._lock = threading.Lock()
        #: What threads ask for. The first of them makes the calls: it has the turn.
        self._waiting: list[Asked] = []
        #: What was confirmed or released and is not yet written.
        self.settled: list[Write] = []
        #: Milliseconds that the server's clock is ahead of `time.monotonic`.
        self._ahead = 0.0
        #: Documents that were to be kept and were given up.
        self.lost = 0
        #: As far as is known: the generations of each part. The next document is of the last.
        self.known: tuple[bytes, ...] = (b"0:0",) * len(prefixes)
        self.learn(range(len(prefixes)), self.ask(self.everywhere("MGET", b"g")))

    # Making calls

    def everywhere(self, command: str, *names: bytes, more: Sequence[bytes | str | int] = ()) -> list[Call]:
        """Return a command for each part, with keys that have these names there, then *more*."""
        every = enumerate(self.prefixes)
        return [Call(part, command, [prefix + name for name in names], more) for part, prefix in every]

    def run(self, *every: Steps) -> list[Any]:
        """Take all steps of *every* operation, those of all at once; return what each returns."""
        going = writes = [Write(steps) for steps in every]
        while going:
            try:
                answers = iter(self.ask([call for each in going for call in each.calls]))
            except IndexUnavailable as error:
                for each in going:
                    with suppress(IndexUnavailable):
                        each.steps.throw(error)
                raise
            going = [each for each in going if each.goes_on([*islice(answers, len(each.calls))])]
        return [each.result for each in writes]

    def ask(self, calls: Sequence[Call]) -> list[Any]:
        """Make *calls*, and return their answers."""
        return raised(self.answers(calls)) if calls else []

    def answers(self, calls: Sequence[Call]) -> list[Any]:
        """Return the answers to *calls*, or errors: whoever has the turn asks for all who wait."""
        mine = Asked(calls, [], threading.Event())
        try:
            with self._lock:
                self._waiting.append(mine)
                first = self._waiting[0]
            if first is not mine:
                mine.told.wait()
            if not mine.answers:
                self._ask_for_all()
        finally:
            with self._lock:
                self._waiting = [each for each in self._waiting if not each.answers and each is not mine]
                for first in self._waiting[:1]:
                    first.told.set()
        return mine.answers

    def _ask_for_all(self) -> None:
        """Ask for what threads wait for, in one round trip. Needs the turn."""
        every, failure = [*self._waiting], None
        calls = [call for each in every for call in each.calls]
        # A removal from several parts takes several rounds, which end before anything else is asked.
        while not failure and (
            (self.settled and not all(each.calls for each in every))
            or (len(self.prefixes) > 1 and not all(write.number for write in self.settled))
        ):
            failure = self._round(())[1]
        answers = iter(self._round(calls)[0] if calls else [])
        with self._lock:  # who has none by then asks
            for each in every:
                each.answers.extend(islice(answers, len(each.calls)) if each.calls else [failure])
        for each in every:
            each.told.set()

    def settle(self, *writes: Write) -> None:
        """Have *writes* made, in their order, before what is asked later; do not wait for that."""
        with self._lock:
            self.settled = [*self.settled, *writes]

    def write(self) -> Exception | None:
        """Write what was settled; return why something of it is not written, and waits."""
        return self.answers(())[0]  # type: ignore[no-any-return]

    def close(self, seconds: float) -> None:
        """Write what was settled, tried for so many *seconds*. Raises an error that names what is not."""
        ends, self.server.anyway = time.monotonic() + seconds, True
        while self.settled:
            failure = self.write()
            # What was released lapses by itself.
            left = [*{write.kept.urls[0]: 1 for write in self.settled if write.kept is not None}]
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

    def _round(self, calls: Sequence[Call]) -> tuple[list[Any], Exception | None]:
        """Make settled writes and *calls*, all in one round trip. Needs the turn.

        Confirmations do not go along with what only reads: `_stored` knows of them. Returns the answers, and
        the error of a write that is made again later.
        """
        writes = self.settled
        if calls and all(call.step.isupper() for call in calls) and all(write.number for write in writes):
            writes = []
        every = [*(call for write in writes for call in write.calls), *calls]
        try:
            answers = iter(self._send(every))
        except Exception as error:  # noqa: BLE001  # the writes wait; who asks is told
            answers = iter([error] * len(every))
        failure, left = None, list[Write]()
        for write in writes:
            mine = [*islice(answers, len(write.calls))]
            errors = [each for each in mine if isinstance(each, Exception)]
            failure = errors[0] if errors else failure
            if errors or write.goes_on(mine):
                left.append(write)
        with self._lock:
            self.settled = [*left, *self.settled[len(writes) :]]
        return [*answers], failure

    def _send(self, calls: Sequence[Call], *, again: bool = True) -> list[Any]:
        """Make *calls*, in each part first those that write; return their answers, or errors.

        Raises `IndexGone`.
        """
        asks = any(call.step.isupper() or call.step == "file" for call in calls)
        sent: list[Addressed] = [(self.prefixes[0], ("TIME",))] if asks else []
        kinds: dict[tuple[int, bool], list[int]] = {}
        for row, call in enumerate(calls):
            kinds.setdefault((call.part, call.step.isupper()), []).append(row)
        runs = [
            (part, rows[start : start + STEPS])
            for (part, _), rows in sorted(kinds.items())
            for start in range(0, len(rows), STEPS)
        ]
        for part, rows in runs:
            prefix, some = self.prefixes[part], [calls[row] for row in rows]
            if some[0].step.isupper():
                sent.append((prefix, ("GET", prefix + b"id")))
                sent += [(prefix, (call.step, *call.keys, *call.arguments)) for call in some]
            else:
                sent.append((prefix, ("EVALSHA", DIGEST, *packed(self.header.uuid, self.prefixes, some))))
        got = iter(self.server.send(sent))
        if asks and isinstance(clock := next(got), tuple):
            now = time.monotonic()  # by a time before, a slow answer would end leases of others early
            self._ahead = clock[0] * 1000 + clock[1] / 1000 - now * 1000
        answers: list[Any] = [None] * len(calls)
        gone: dict[int, list[int]] = {}
        for part, rows in runs:
            made = first = next(got)
            if calls[rows[0]].step.isupper():
                made = [*islice(got, len(rows))]
                if isinstance(first, bytes | None) and first != self.header.uuid.encode():
                    shown = self.server.address.shown
                    first = IndexGone(f"The index {shown} is gone, or another one is there.")
            if isinstance(first, IndexGone):
                if not again:
                    raise first
                gone.setdefault(part, []).extend(rows)
            for row, answer in zip(rows, made if isinstance(made, list) else repeat(made), strict=False):
                answers[row] = answer
        for part, rows in gone.items():
            self._restore(part)
            for row, answer in zip(rows, self._send([calls[row] for row in rows], again=False), strict=True):
                answers[row] = answer
        return answers

    def _restore(self, part: int) -> None:
        """Begin an empty part: the server has lost this one. Raises `Replaced` if another one is there."""
        with suppress(IndexMismatch):  # it has another layout
            first = first_number(self.server, self.generations[-1].start + MOST_NUMBERS)
            there, parts = make_part(self.server, self.header, self.prefixes[part], len(self.prefixes), first)
            if (there.uuid, parts) == (self.header.uuid, len(self.prefixes)):
                return
        raise Replaced(
            f"Another index is in {self.server.address.shown} now: start this crawl anew to use that one."
        )

    # Generations

    @property
    def generations(self) -> list[Generation]:
        """All generations that are known of any part."""
        return parsed(self.known)

    def learn(self, parts: Sequence[int], said: Sequence[Sequence[object]]) -> bool:
        """Take in the generations that *parts* know if answers begin with them; return whether any does."""
        new = {part: one for part, (one, *_) in zip(parts, said, strict=True) if isinstance(one, bytes)}
        self.known = tuple(new.get(part, old) for part, old in enumerate(self.known))
        return bool(new)

    def filed(self, number: int, document: Documents) -> list[Place]:
        """Return where *document*, one row, that has or had a *number* is filed."""
        there = [each for each in self.generations if each.start <= number]
        return self.layout.filed(document, there[-1] if there else self.generations[0])

    # What is called

    def call(
        self,
        part: int,
        document: Documents,
        number: int,
        reading: Reading,
        crowded: Collection[tuple[int, int]] = (),
        anyway: bool = True,
        lease_seconds: float = FILING_SECONDS,
        after: int = 0,
    ) -> Call:
        """Return the call that files *document*, one row, in a *part*, but for its keys that are *crowded*.

        If its *number* is 0 the part at home gives it one, *after* another; other parts are only read.
        It is pending for *lease_seconds*, and only looked up for 0. Unless it is filed *anyway* it is given
        no number if another one there has a key in common that has to be equal.
        """
        generation, home = parsed(reading.known)[-1], part == self.layout.home(document)
        places = self.layout.filed(document, generation, crowded)
        slots = [(place.bucket, place.entry) for place in places if place.part == part]
        now, reads = self.now(), (0, 0, 0)
        if reading.buckets:
            named = {bucket for bucket, _ in slots}
            slots += ((each, b"") for each, of in reading.buckets.items() if of == part and each not in named)
            slots.sort(key=lambda slot: slot[0] in reading.long)
            reads = len(slots), sum(bucket in reading.long for bucket, _ in slots), reading.most
        value = self.layout.pack(document) if home and not number and lease_seconds else b""
        stops = -1 if anyway or number else EQUAL_BYTES - 4
        ends, entries = now + round(lease_seconds * 1000), (entry for _, entry in slots)
        arguments = value, ends, now, self._window, reading.known[part], number, after, *generation, stops
        return Call(part, "file", [bucket for bucket, _ in slots], (*arguments, *reads, *entries))

    def filing(self, document: Documents, after: int = 0) -> Steps:
        """File *document*, one row, beside others, and confirm it; return its number, *after* another.

        It lapses if that fails.
        """
        home = self.layout.home(document)
        while True:
            number, is_kept, reading = 0, 0, Reading(self.known)
            try:
                said = yield [self.call(home, document, 0, reading, after=after)]
                if not self.learn([home], said):
                    number = said[0][0]
                    others = [*{place.part for place in self.filed(number, document)} - {home}]
                    said = yield [self.call(part, document, number, reading) for part in others]
                    if not self.learn(others, said):
                        (is_kept,) = yield [self._confirming(number, document, b"")]
            finally:
                if number and not is_kept:
                    self.settle(Write(self.removal(number, document)))
            if is_kept:
                return number

    def confirmation(self, number: int, document: Documents) -> Write:
        """Return the write that keeps a pending *document*, one row with its note."""

        def steps() -> Steps:
            too_old = self.now() + (self._window or math.inf)
            value = self.layout.pack(document) if document.notes[0] else b""
            (filed,) = yield [self._confirming(number, document, value)]
            if not filed and self.now() < too_old:  # it has gone, and is filed again beside others
                yield from self.filing(document)

        return Write(steps(), document, number)

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
                    self.settle(Write(self.removal(number, lapsed, if_lapsed=True)))
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
        settled = {write.number: write.kept for write in self.settled if write.kept}
        answers = self.ask([*ends, *lists])
        values = (None if value == GONE else value for value in answers[len(numbers) :])
        found = []
        for number, end, value in zip(numbers, answers, values, strict=False):
            if number in settled:
                value, end = value and self.layout.pack(settled[number]), None
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
