"""The crawl's side of the extracting processes: a pool of them behind futures."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
from collections import OrderedDict
from concurrent.futures import Future
from dataclasses import dataclass, replace
from multiprocessing import Pipe
from queue import SimpleQueue
from threading import Lock, Thread
from time import perf_counter
from typing import TYPE_CHECKING

from scrapy_neardup.arguments import require_number, require_type, require_whole
from scrapy_neardup.errors import ConfigurationError

from .areas import WHOLE_PAGE, ContentArea
from .base import Extraction, Job, Page

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from .base import Signer

#: Seconds that the server may take to import the extractor.
START_TIMEOUT = 60.0

_COMMAND = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    "from scrapy_neardup.extraction.server import main; main()"
)
#: Results kept for bodies that come again.
MAX_RESULTS = 10_000
#: Characters of all texts that are kept with results.
MAX_CHARACTERS = 1 << 26
#: No time limit is longer: the system waits for an answer for 24 days at most. These are eleven.
LONGEST_SECONDS = 1e6
#: A worker that has ended so long after the time limit was not too slow: all processes stood still, as in a
#: container that is paused. Its page is extracted once more.
STOPPED_SECONDS = 2.0
_ENDED = ("timeout", "crash")

_CLOSED = Extraction(None, "crash", 0.0, detail="the workers were closed")


class StartError(RuntimeError):
    """No worker process could be started."""

    def __init__(self, cause: object) -> None:
        super().__init__(f"no extracting process could be started ({cause}); standard error may tell more")


class Worker:
    """A process that extracts one page at a time. One thread uses it; any thread may kill it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = Lock()
        self.pid: int | None
        try:
            if not connection.poll(START_TIMEOUT):
                raise StartError("timeout")
            self.pid = connection.recv()
        except StartError:
            connection.close()
            raise
        except Exception as error:
            connection.close()
            raise StartError(repr(error)) from error

    @property
    def alive(self) -> bool:
        """Whether it waits for a page. An idle process sends nothing until it ends."""
        return self.pid is not None and not self._connection.poll(0)

    def extract(self, page: Page, timeout: float) -> Extraction:
        """Return the extraction; a worker that is too slow is killed, one that died is a ``crash``."""
        started = perf_counter()
        try:
            with contextlib.suppress(OSError):  # it ended while reading; its answer, or none, says why
                self._connection.send((page.url, page.content_type, page.body))
            if not self._connection.poll(timeout):
                self.kill()
                return Extraction(None, "timeout", perf_counter() - started)
            extraction, last = self._connection.recv()
        except (EOFError, OSError):
            self._forget()
            return Extraction(None, "crash", perf_counter() - started, detail="the worker process died")
        except Exception as error:  # noqa: BLE001  # such as a lack of memory here; the thread must go on
            self.kill()
            return Extraction(None, "crash", perf_counter() - started, detail=repr(error))
        if last:
            self._forget()
        return extraction  # type: ignore[no-any-return]

    def kill(self) -> None:
        """End the process at once."""
        with self._lock:
            if self.pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.pid, signal.SIGKILL)
            self.pid = None

    def close(self) -> None:
        """Let the process end, if it has not; only the thread that uses the worker may."""
        self._forget()
        self._connection.close()

    def _forget(self) -> None:
        # The number of a process that has ended may be another's by now: never kill it.
        with self._lock:
            self.pid = None


class ForkServer:
    """A process that has imported the extractor and forks workers; started again if it dies. Thread-safe.

    Raises `ConfigurationError` where none can ever be started.
    """

    def __init__(self, job: Job) -> None:
        if getattr(sys, "frozen", False):  # what it starts would crawl as well, and start the next one
            raise ConfigurationError(
                "A program that was frozen into an executable cannot start the processes that extract: "
                "run it with a Python interpreter, or switch detection off by NEARDUP_ENABLED = False."
            )
        self._job = pickle.dumps(job)
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: Connection | None = None
        #: Whether the process has forked a worker.
        self._has_forked = False
        self._closed = False

    def fork(self) -> Worker:
        """Return a worker that is ready for its first page. Raises StartError."""
        with self._lock:
            if self._closed:
                raise StartError("closed")
            try:
                control = self._running()
                ours, theirs = Pipe()
                with theirs, socket.socket(fileno=os.dup(control.fileno())) as requests:
                    socket.send_fds(requests, [b"f"], [theirs.fileno()])
                process = self._process
            except Exception as error:
                self._stop()
                raise StartError(repr(error)) from error
        try:
            worker = Worker(ours)
        except StartError:
            with self._lock:
                # One that still imports the extractor is left alone: it would not come further the next time.
                if self._process is process and self._has_forked:
                    self._stop()
            raise
        with self._lock:
            self._has_forked = self._has_forked or self._process is process
        return worker

    def close(self) -> None:
        """End the server; its workers are on their own."""
        with self._lock:
            self._closed = True
            self._stop()

    def _running(self) -> Connection:
        if self._control is not None and self._process is not None and self._process.poll() is None:
            return self._control
        self._stop()
        control, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter, our command
                [
                    sys.executable,
                    "-c",
                    _COMMAND,
                    json.dumps([str(path) for path in sys.path]),
                ],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,  # may be the feed of the crawl
                env={**os.environ, "OMP_NUM_THREADS": "1"},  # a process with threads must not fork
                start_new_session=True,  # out of reach of Ctrl-C, which is for the crawl to handle
            )
        self._control = control
        control.send_bytes(self._job)
        return control

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._control is not None:
            self._control.close()
        self._process = self._control = None
        self._has_forked = False


class Workers:
    """Extract pages in *processes* worker processes, each page within *timeout* seconds and *memory* bytes.

    A thread drives each process, one page at a time: whatever happens to a process happens to one page, and
    the next page gets a new process. Where a limit on threads allows fewer of them, there are fewer. Pages
    wait in this process, as they came. A body seen before, byte for byte with the same Content-Type, is
    answered from memory, and so is one that is being extracted just now: the *max_results* last answers are
    kept, with texts of *max_characters* in all. A *server* forks the worker processes.
    """

    def __init__(
        self,
        fingerprinter: Signer,
        extractor: str,
        *,
        processes: int,
        timeout: float,
        memory: int,
        keep_text: bool = False,
        area: ContentArea = WHOLE_PAGE,
        max_results: int = MAX_RESULTS,
        max_characters: int = MAX_CHARACTERS,
        server: type[ForkServer] = ForkServer,
    ) -> None:
        require_whole("processes", processes, 1)
        require_number("timeout", timeout)
        if timeout <= 0:
            raise ConfigurationError(f"timeout is {timeout}: use seconds above 0.")
        require_whole("memory", memory, 1)
        self._timeout = timeout = min(timeout, LONGEST_SECONDS)
        self._max_results, self._max_characters = max_results, max_characters
        self._server = server(Job(extractor, fingerprinter, timeout, memory, keep_text, area))
        self._processes = processes
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._lock = Lock()  # guards all below
        self._threads: list[Thread] = []
        self._closed = False
        self._workers: set[Worker] = set()
        # By the rough digests of pages. Of several pages with the same one, the last is found.
        self._waiting: dict[int, _Task] = {}
        self._results: OrderedDict[int, Extraction] = OrderedDict()
        self._characters = 0

    def start(self) -> None:
        """Start the processes in the background; the first ``submit`` does it otherwise.

        Raises StartError if there can be none now.
        """
        with self._lock:
            if self._threads or self._closed:
                return
            for number in range(self._processes):
                thread = Thread(target=self._drive, name=f"neardup-extract-{number}", daemon=True)
                try:
                    thread.start()
                except RuntimeError as error:  # there is a limit on threads
                    if not self._threads:
                        raise StartError(error) from error
                    return
                self._threads.append(thread)

    def submit(self, page: Page) -> Future[Extraction]:
        """Return the future of the page's extraction, which never holds an exception. Thread-safe.

        Its callbacks run in a thread of the pool, or at once. After ``close`` the extraction is a ``crash``.
        """
        require_type("A page", page, Page, "a Page")
        future: Future[Extraction] = Future()
        try:
            self.start()
        except StartError as error:
            future.set_result(Extraction(None, "crash", 0.0, detail=str(error)))
            return future
        rough = page.rough_digest
        with self._lock:
            result, task = self._results.get(rough), self._waiting.get(rough)
            if result is not None and result.digest == page.digest:
                self._results.move_to_end(rough)
            elif self._closed:
                result = _CLOSED
            else:
                result = None
                if task is not None and task.has(page):
                    task.futures.append(future)
                else:
                    task = self._waiting[rough] = _Task(page, rough, [future])
                    self._tasks.put(task)
        if result is not None:
            future.set_result(replace(result, seconds=0.0))
        return future

    def close(self) -> None:
        """End all processes now; pages that are not done are answered as a ``crash``."""
        with self._lock:
            closed, self._closed = self._closed, True
            workers = list(self._workers)
        if closed:
            return
        self._server.close()
        for worker in workers:
            worker.kill()
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            thread.join()

    def _drive(self) -> None:
        """Extract pages until the pool is closed."""
        worker, _ = self._ready(None)
        while (task := self._tasks.get()) is not None:
            worker, extraction = self._extract(worker, task.page)
            if extraction.reason in _ENDED and extraction.seconds > self._timeout + STOPPED_SECONDS:
                worker, extraction = self._extract(worker, task.page)
            if self._closed and extraction.reason == "crash":
                self._finish(task, _CLOSED, keep=False)  # not the page's doing
            else:
                self._finish(task, extraction, keep=worker is not None)
            worker, _ = self._ready(worker)
        if worker is not None:
            self._discard(worker)

    def _extract(self, worker: Worker | None, page: Page) -> tuple[Worker | None, Extraction]:
        """Have *worker*, or a new one if it has ended, extract *page*; return which one it was, too."""
        worker, problem = self._ready(worker)
        if worker is None:
            return None, Extraction(None, "crash", 0.0, detail=problem)
        return worker, worker.extract(page, self._timeout)

    def _ready(self, worker: Worker | None) -> tuple[Worker | None, str | None]:
        """Return *worker* if it still runs or else a new one, or None and why there is none."""
        if worker is not None:
            if worker.alive:
                return worker, None
            self._discard(worker)
        try:
            worker = self._server.fork()
        except StartError as error:
            return None, str(error)
        with self._lock:
            self._workers.add(worker)
            closed = self._closed
        if closed:
            worker.kill()
        return worker, None

    def _discard(self, worker: Worker) -> None:
        with self._lock:
            self._workers.discard(worker)
        worker.close()

    def _finish(self, task: _Task, extraction: Extraction, *, keep: bool) -> None:
        if not extraction.digest:
            extraction = replace(extraction, digest=task.page.digest)
        with self._lock:
            if self._waiting.get(task.rough_digest) is task:
                del self._waiting[task.rough_digest]
            if keep:
                self._keep(task.rough_digest, extraction)
        for future in task.futures:
            if future.set_running_or_notify_cancel():
                future.set_result(extraction)
                if len(task.futures) > 1:
                    extraction = replace(extraction, seconds=0.0)

    def _keep(self, rough_digest: int, extraction: Extraction) -> None:
        """Remember a result, and forget the oldest ones that are too many or too long. Needs the lock."""
        self._characters += _characters(extraction) - _characters(self._results.pop(rough_digest, None))
        self._results[rough_digest] = extraction
        while len(self._results) > self._max_results or self._characters > self._max_characters:
            _, oldest = self._results.popitem(last=False)
            self._characters -= _characters(oldest)


def _characters(extraction: Extraction | None) -> int:
    """Return the length of the text that is kept with a result."""
    return 0 if extraction is None or extraction.text is None else sum(map(len, extraction.text))


@dataclass(eq=False, slots=True)
class _Task:
    """A page that waits, or is being extracted, and whoever waits for it."""

    page: Page
    rough_digest: int
    futures: list[Future[Extraction]]

    def has(self, page: Page) -> bool:
        """Whether the extraction of *page* depends on the same things."""
        return page.body == self.page.body and page.content_type == self.page.content_type
