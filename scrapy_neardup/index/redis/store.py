"""The documents of one index on a server: which calls file, fetch, settle and remove them; who makes them."""

from __future__ import annotations

import threading
import time
from collections import deque
from contextlib import suppress
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_neardup.errors import IndexMismatch, IndexUnavailable
from scrapy_neardup.index.leases import Lease

from .layout import Layout, epoch_of
from .scripts import Call, packed
from .server import IndexGone, write_header

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from scrapy_neardup.index.header import Header
    from scrapy_neardup.index.protocol import Documents

    from .layout import Place
    from .server import Server

#: Documents sent or asked for at a time.
BATCH = 512
#: Documents of a group, see scripts.py.
GROUP = 1024
#: Steps in one run of the script: the server does nothing else meanwhile.
STEPS = 32
#: What the step ``file`` is told of an entry, see scripts.py: that it is filed, or not; none is met.
_NOT_MET = 255
_FILED, _NEITHER = bytes((_NOT_MET, 1)), bytes((_NOT_MET, 0))
#: At most so many writes wait while the server is away; the oldest goes then, and its document lapses.
WAITING = 10_000
#: Seconds that a write waits for something that is asked, along with which it goes.
GROUP_SECONDS = 0.02
#: Seconds until a failed write is tried again.
RETRY_SECONDS = 1.0
#: Documents that an error names.
NAMED = 5


class Replaced(IndexUnavailable):
    """Another index is in the place of the one that was opened, so waiting does not help."""


class Write(NamedTuple):
    """A call that settles a document. It may be made twice."""

    call: Call
    #: The document that is to be kept, one row; None if it goes.
    kept: Documents | None = None


class _Asked:
    """What a thread asks for."""

    __slots__ = ("answers", "calls", "failure", "leads", "reads", "turn")

    def __init__(self, calls: Sequence[Call], *, reads: bool) -> None:
        self.calls = calls
        #: Whether the answers have to show all that was settled before.
        self.reads = reads
        self.answers: list[Any] | None = None
        #: Why something that was settled before could not be written; None if all was.
        self.failure: Exception | None = None
        #: Whether its thread is to make the calls of all that wait.
        self.leads = False
        #: Held until its thread has something to do.
        self.turn = threading.Lock()
        self.turn.acquire()


class Calls:
    """Makes the calls of any threads, in one of these at a time: those of several go together.

    What is asked while some calls are under way is asked in the next round, along with what was settled. If
    nothing is asked, a thread writes that. *send* makes some calls, in their order; it returns their answers,
    with an `IndexUnavailable` in place of that of one that has failed. Its second argument says whether to
    ask a server that does not answer. *following* returns what has to be written after a write, given its
    answer. At most so many writes wait for a server that is away. All methods but `settle` raise
    `IndexUnavailable`.
    """

    def __init__(
        self,
        send: Callable[[Sequence[Call], bool], Sequence[Any]],
        following: Callable[[Write, Any], Write | None],
        waiting: int = WAITING,
    ) -> None:
        self._send = send
        self._following = following
        self._most = waiting
        self._lock = threading.Lock()
        self._waiting: list[_Asked] = []
        self._under_way = False
        #: What was confirmed or released and is not yet written.
        self._settled: deque[Write] = deque()
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        #: Documents that were to be kept and were given up.
        self.lost = 0

    @property
    def backlog(self) -> int:
        """How many writes wait."""
        return len(self._settled)

    def run(self, call: Call) -> Any:
        """Make a call; return its answer."""
        (answer,) = self.run_all([call])
        return answer

    def run_all(self, calls: Sequence[Call], *, reads: bool = False) -> list[Any]:
        """Make some calls; return their answers. Raises if one of them fails.

        With *reads* the answers show all that was settled before.
        """
        answers = self._ask(calls, reads=reads).answers or []
        for answer in answers:
            if isinstance(answer, Exception):
                raise copy(answer) from answer  # each thread adds a traceback of its own
        return answers

    def settle(self, writes: Sequence[Write]) -> None:
        """Have *writes* made soon."""
        with self._lock:
            self._put(writes)
            if self._thread is None and not self._closing.is_set():
                self._thread = threading.Thread(target=self._write, name="neardup-settling", daemon=True)
                self._thread.start()
        if not self._wake.is_set():
            self._wake.set()

    def drain(self) -> None:
        """Return once all that was settled is written. Raises if it cannot be."""
        while self._settled:
            failure = self._ask((), reads=True).failure
            if failure is not None:
                raise failure

    def close(self, seconds: float) -> None:
        """Write what was settled, which is tried for so many *seconds*.

        Raises `IndexUnavailable` with the number and URLs of the documents that are not written.
        """
        ends = time.monotonic() + seconds
        self._closing.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        while self._settled:
            failure = self._ask((), reads=True).failure
            # What was released lapses by itself.
            left = [write.kept for write in self._settled if write.kept is not None]
            if failure is None:
                continue
            if left and not isinstance(failure, Replaced) and time.monotonic() < ends:
                time.sleep(min(RETRY_SECONDS, seconds / 10))
                continue
            self._settled.clear()
            self.lost += len(left)
            if left:
                urls = ", ".join(document.urls[0] for document in left[:NAMED])
                more = f" and {len(left) - NAMED} more" if len(left) > NAMED else ""
                raise IndexUnavailable(
                    f"{len(left)} documents were not written before the index was closed, so copies of them "
                    f"will pass: {urls}{more}. {failure}"
                ) from failure

    def _put(self, writes: Sequence[Write]) -> None:
        self._settled.extend(writes)
        while len(self._settled) > self._most:
            self.lost += self._settled.popleft().kept is not None

    def _write(self) -> None:
        """Have what was settled written, until this is closed."""
        while not self._closing.is_set():
            self._wake.wait()
            # Most writes go along with what is asked meanwhile.
            self._closing.wait(GROUP_SECONDS)
            self._wake.clear()
            if self._settled and not self._closing.is_set() and self._ask((), reads=True).failure:
                self._closing.wait(RETRY_SECONDS)
            if self._settled:
                self._wake.set()

    def _ask(self, calls: Sequence[Call], *, reads: bool) -> _Asked:
        """Return what was asked with its answers, after at most one other round as a rule."""
        asked = _Asked(calls, reads=reads)
        with self._lock:
            self._waiting.append(asked)
            if not self._under_way:
                self._hand_over()
        try:
            while asked.answers is None:
                asked.turn.acquire()
                if asked.leads:
                    self._lead()
        except BaseException:  # a signal: others must not wait for this thread
            with self._lock:
                if asked in self._waiting:
                    self._waiting.remove(asked)
                    if asked.leads:
                        self._hand_over()
            raise
        return asked

    def _hand_over(self) -> None:
        """Have the thread that waits longest make the calls of all. Needs the lock."""
        self._under_way = bool(self._waiting)
        if self._waiting:
            self._waiting[0].leads = True
            self._waiting[0].turn.release()

    def _lead(self) -> None:
        """Make what is settled and asked now, and wake the threads that have asked."""
        with self._lock:
            asked, self._waiting = self._waiting, []
            writes = list(self._settled)
        calls = [*(write.call for write in writes), *(call for each in asked for call in each.calls)]
        interrupted = IndexUnavailable("The thread that asked was interrupted: ask again.")
        answers: Sequence[Any] = [interrupted] * len(calls)
        failure, follows = None, False
        try:
            if calls:
                answers = self._send(calls, self._closing.is_set())
            failure, follows = self._written(writes, answers)
        except Exception as error:  # noqa: BLE001  # each thread raises it
            failure, answers = error, [error] * len(calls)
        finally:
            at = len(writes)
            with self._lock:
                for each in asked:
                    each.leads, each.failure = False, failure
                    if follows and each.reads:
                        self._waiting.append(each)  # its answers would lack what follows
                    else:
                        each.answers = list(answers[at : at + len(each.calls)])
                        each.turn.release()
                    at += len(each.calls)
                self._hand_over()

    def _written(self, writes: Sequence[Write], answers: Sequence[Any]) -> tuple[Exception | None, bool]:
        """Take in the *answers* to the first *writes*. Those that have failed are made again, after others.

        Returns the error of one that has failed, else None, and whether more writes follow from these.
        """
        failure: Exception | None = None
        left: list[Write] = []
        follows = False
        for write, answer in zip(writes, answers, strict=False):
            try:
                if isinstance(answer, Exception):
                    raise answer
                more = self._following(write, answer)
            except IndexUnavailable as error:
                failure, more = error, write
            else:
                follows = follows or more is not None
            if more is not None:
                left.append(more)
        with self._lock:
            for write in writes:
                if self._settled and self._settled[0] is write:  # else it was given up meanwhile
                    self._settled.popleft()
            self._put(left)
        return failure, follows


class Known(NamedTuple):
    """Documents as the server has them, by number."""

    numbers: list[int]
    documents: Documents
    leases: list[Lease]

    def document(self, number: int) -> Documents:
        """Return one of them, one row."""
        row = self.numbers.index(number)
        return self.documents.take(slice(row, row + 1))


class Store:
    """The documents of the index that *server* has.

    Those older than *window* seconds vanish, unless it is 0. All methods but those that only return a `Call`
    take as long as the network does, and raise `IndexUnavailable`.
    """

    def __init__(self, server: Server, header: Header, window: float) -> None:
        self.server = server
        self.header = header
        self.layout = Layout(header, server.address.prefix)
        self.calls = Calls(self._send, self._following)
        self.nothing = Known([], self.layout.values.unpack([]), [])
        self._window = round(window * 1000)
        #: The epochs whose documents may be there; the next one that is filed is of the last.
        self.epochs = range(1)
        self.learn_epochs()

    def learn_epochs(self) -> None:
        """Ask the server which epochs there are."""
        prefix = self.server.address.prefix
        groups = self.server.call("ZRANGE", prefix + b"t", 0, 0)
        newest = self.server.call("GET", prefix + b"n")
        if newest is None:
            return  # the index has gone: the next call of a script says so
        last = epoch_of(int(newest) + 1)
        self.epochs = range(epoch_of(int(groups[0]) * GROUP) if groups else last, last + 1)

    def _send(self, calls: Sequence[Call], anyway: bool) -> list[Any]:
        """Make *calls*, see `Calls`."""
        answers: list[Any] = []
        for start in range(0, len(calls), STEPS):
            some = calls[start : start + STEPS]
            run = packed(self.header.uuid, self.server.address.prefix, some)
            try:
                try:
                    answers += self.server.run(*run, anyway=anyway)
                except IndexGone:
                    self._restore()
                    answers += self.server.run(*run, anyway=anyway)
            except IndexUnavailable as error:
                return answers + [error] * (len(calls) - start)
        return answers

    def _restore(self) -> None:
        """Begin an empty index with the header of this one: the server has lost it.

        Raises `Replaced` if there is another one now.
        """
        with suppress(IndexMismatch):  # it has another layout
            if write_header(self.server, self.header, self.epochs[-1]).uuid == self.header.uuid:
                return
        raise Replaced(
            f"Another index is in {self.server.address.shown} now: start this crawl anew to use that one."
        )

    def _following(self, write: Write, answer: int) -> Write | None:
        """Return what has to be written after a *write*: a document that has gone meanwhile is filed again.

        That is beside whatever is there. The *answer* is that of ``confirm`` or of ``file``.
        """
        if write.kept is None or answer > 0:
            return None
        if answer < 0:
            self.learn_epochs()
        epoch = self.epochs[-1]
        return Write(self.filing(write.kept, epoch, self.layout.places(write.kept, epoch)), write.kept)

    def looking(
        self,
        equal: Sequence[tuple[bytes, bytes]],
        near: Iterable[bytes],
        known: Iterable[tuple[int, bytes]],
        most_bytes: int,
    ) -> Call:
        """Return the call that reads buckets.

        *equal* has, for each key that has to be equal, the bucket and the tag to look for in it. *near* are
        the buckets of fingerprints; *known* says how many bytes of each are known already, and the last entry
        of these. At most *most_bytes* of each are read.
        """
        arguments: list[bytes | str | int] = [len(equal), *(tag for _, tag in equal), most_bytes]
        for each in known:
            arguments += each
        return Call("look", [*(name for name, _ in equal), *near], arguments)

    def filing(
        self,
        document: Documents,
        epoch: int,
        places: Sequence[Place],
        looked_up: Iterable[tuple[bytes, bytes, int]] = (),
        newest: int = 0,
        lease_seconds: float = 0,
    ) -> Call:
        """Return the call that files *document*, one row, in *places* of an *epoch*.

        It does so unless it meets what was filed after the document *newest*: *looked_up* has buckets, what
        the entries in each are compared with, and in how many bits they may differ.
        """
        marks = {(place.bucket, place.entry): _FILED for place in places}
        for bucket, entry, within in looked_up:
            place = bucket, entry
            distance, is_filed = marks.get(place, _NEITHER)
            if distance == _NOT_MET or distance < within:
                marks[place] = bytes((within, is_filed))
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

    def confirmation(self, number: int, document: Documents) -> Write:
        """Return the write that keeps a pending *document*, one row with its note."""
        value = self.layout.values.pack(document) if document.notes[0] else b""
        start = self.layout.values.start(document)
        return Write(Call("confirm", (), (number, start, value)), document)

    def removal(self, number: int, document: Documents, *, if_lapsed: bool = False) -> Write:
        """Return the write that removes a *document*, one row.

        The server compares how its value begins: a replica that has taken over may have given its number to
        another one.
        """
        places = self.layout.places(document, epoch_of(number))
        entries = [place.entry for place in places]
        start = self.layout.values.start(document)
        keys = [place.bucket for place in places]
        return Write(Call("remove", keys, [number, start, int(if_lapsed), *entries]))

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
                    lapsed = self.layout.values.unpack([value])
                    self.calls.settle([self.removal(number, lapsed, if_lapsed=True)])
                    continue
                there.append(number)
                values.append(value)
                leases.append(_lease(lease))
        return Known(there, self.layout.values.unpack(values), leases)

    def renew(self, numbers: Sequence[int], seconds: float) -> None:
        """Have the leases of pending documents end so many *seconds* from now."""
        self.calls.run(Call("renew", (), (round(seconds * 1000), *numbers)))

    def leases(self, numbers: Sequence[int]) -> list[Lease]:
        """Return the lease of each of the documents *numbers*; that of one that is kept says so."""
        return [_lease(each) for _, each in self.calls.run(Call("fetch", (), numbers))]


def _lease(milliseconds: int) -> Lease:
    """Return what the scripts say of a lease."""
    return Lease(None, milliseconds / 1000) if milliseconds > 0 else Lease(milliseconds == -1)
