"""The crawl's side of the extracting processes: a pool of them behind futures."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
from collections import OrderedDict
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Lock, Thread
from time import perf_counter
from typing import Any
from weakref import WeakSet

from scrapy_neardup.arguments import require_number, require_type, require_whole
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprint import Fingerprinter

from .base import Extraction, Job, Page, send
from .parsing import ContentArea

#: Seconds that the server may take to import the extractor.
START_TIMEOUT = 60.0
#: No time limit is longer: the system waits for an answer for 24 days at most. These are eleven.
LONGEST_SECONDS = 1e6
#: Results kept for bodies that come again, and characters of the longest text that is kept with one.
MAX_RESULTS, MAX_CHARACTERS = 10_000, 10_000
#: Processes that may end, one after the other, before a page is sent to them.
_TRIES = 3
#: Each slow page of a source halves what the next may take, down to this part of the time limit. Slow is what
#: takes longer than that, and so many seconds more a megabyte. A quick page makes up for this part of one.
_QUICK, _PER_MEGABYTE, _FORGIVEN = 0.1, 0.25, 0.1

#: Nothing that is imported is garbage, so there is no need to look for any.
_COMMAND = (
    "import gc, json, sys; gc.disable(); sys.path[:] = json.loads(sys.argv[1]);"
    "from scrapy_neardup.extraction.task import main; main(sys.argv[2])"
)


class StartError(RuntimeError):
    """No worker process could be started."""

    def __init__(self, cause: object) -> None:
        super().__init__(f"no extracting process could be started ({cause}); standard error may tell more")


class Worker:
    """A process that extracts one page at a time. One thread uses it; any thread may kill it."""

    def __init__(self, connection: socket.socket, job: Job) -> None:
        self._connection = connection
        self._limit(START_TIMEOUT)
        send(connection, job)
        self.pid: int | None = self._answer()

    def extract(self, page: Page, timeout: float) -> Extraction | None:
        """Return the extraction; None if the process had ended before. One that is too slow is killed."""
        started = perf_counter()
        try:
            self._limit(timeout)
            about = len(page.body), page.url, page.content_type, page.is_text
            if not send(self._connection, about, page.body):
                self.pid = None
                return None
            extraction, last = self._answer()
        except BlockingIOError:
            self.kill()
            return Extraction(None, "timeout", perf_counter() - started)
        except (EOFError, OSError):
            self.pid = None
            return Extraction(None, "crash", perf_counter() - started, detail="the worker process died")
        except Exception as error:  # noqa: BLE001  # such as a lack of memory here; the thread must go on
            self.kill()
            return Extraction(None, "crash", perf_counter() - started, detail=repr(error))
        if last:
            self.pid = None
        return extraction  # type: ignore[no-any-return]

    def _answer(self) -> Any:
        """Return what the process says. Raises EOFError if it ends, BlockingIOError if it takes too long."""
        told = bytearray()  # bytes would be copied for each part of a long text
        while more := self._connection.recv(1 << 16):  # which holds any answer without a text
            told += more
            with contextlib.suppress(EOFError, pickle.UnpicklingError):  # that was not all of it
                return pickle.loads(told)  # noqa: S301
        raise EOFError

    def _limit(self, seconds: float) -> None:
        """Let each call of the connection take so many *seconds*: the system looks after that by itself."""
        limit = struct.pack("@ll", *divmod(max(1, int(seconds * 1e6)), 1_000_000))
        for each in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            self._connection.setsockopt(socket.SOL_SOCKET, each, limit)

    def kill(self) -> None:
        """End the process at once. The number of one that has ended may be another's by now: it is None."""
        pid, self.pid = self.pid, None
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def close(self) -> None:
        """Let the process end, if it has not; only the thread that uses the worker may."""
        self.pid = None
        self._connection.close()


class ForkServer:
    """A process that has imported the *extractor* and forks workers; started again if it dies. Thread-safe.

    Raises `ConfigurationError` where none can ever be started.
    """

    def __init__(self, extractor: str) -> None:
        if getattr(sys, "frozen", False):  # what it starts would crawl as well, and start the next one
            raise ConfigurationError(
                "A program that was frozen into an executable cannot start the processes that extract: "
                "run it with a Python interpreter, or switch detection off by NEARDUP_ENABLED = False."
            )
        self._extractor = extractor
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._closed = False

    def start(self) -> None:
        """Have the process import the extractor before a worker is needed, which tells what went wrong."""
        with self._lock, contextlib.suppress(Exception):
            self._running()

    def fork(self, job: Job) -> Worker:
        """Return a worker that is ready for its first page and does a *job*. Raises StartError."""
        with self._lock:
            if self._closed:
                raise StartError("closed")
            try:
                control = self._running()
                ours, theirs = socket.socketpair()
                with theirs:
                    socket.send_fds(control, [b"f"], [theirs.fileno()])
                process = self._process
            except Exception as error:
                self._stop()
                raise StartError(repr(error)) from error
        try:
            return Worker(ours, job)
        except Exception as error:
            ours.close()
            with self._lock:
                if self._process is process:
                    self._stop()
            raise StartError(repr(error)) from error

    def close(self) -> None:
        """End the server; its workers are on their own."""
        with self._lock:
            self._closed = True
            self._stop()

    def _running(self) -> socket.socket:
        if self._control is not None and self._process is not None and self._process.poll() is None:
            return self._control
        self._stop()
        control, theirs = socket.socketpair()
        path = json.dumps([str(each) for each in sys.path])
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter, our command
                [sys.executable, "-c", _COMMAND, path, self._extractor],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,  # may be the feed of the crawl
                env={**os.environ, "OMP_NUM_THREADS": "1"},  # a process with threads must not fork
                start_new_session=True,  # out of reach of Ctrl-C, which is for the crawl to handle
            )
        self._control = control
        return control

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._control is not None:
            self._control.close()
        self._process = self._control = None


class Workers:
    """Extract pages in *processes* worker processes, each page within *timeout* seconds and *memory* bytes.

    A thread drives each process, one page at a time: what ends a process costs one page, and the next page
    gets a new process. Where a limit on threads allows fewer of them, there are fewer. A body
    seen before, byte for byte with the same Content-Type, is answered from memory. *server* forks workers of
    the same extractor, and is closed with them.
    """

    def __init__(
        self,
        fingerprinter: Fingerprinter | None,
        extractor: str,
        *,
        processes: int,
        timeout: float,
        memory: int,
        keep_text: bool = False,
        area: ContentArea = ContentArea(),  # noqa: B008 - a value
        server: ForkServer | None = None,
    ) -> None:
        require_whole("processes", processes, 1)
        require_number("timeout", timeout)
        if timeout <= 0:
            raise ConfigurationError(f"timeout is {timeout}: use seconds above 0.")
        require_whole("memory", memory, 1)
        self._timeout = timeout = min(timeout, LONGEST_SECONDS)
        self._job = Job(fingerprinter, timeout, memory, keep_text, area)
        self._server = server or ForkServer(extractor)
        self._processes = processes
        self._tasks: SimpleQueue[tuple[Page, object, str, Future[Extraction]] | None] = SimpleQueue()
        self._lock = Lock()  # guards all below
        self._threads: list[Thread] = []
        self._closed = False
        self._workers: WeakSet[Worker] = WeakSet()
        self._results: OrderedDict[object, Extraction] = OrderedDict()  # by the glances of pages
        self._slow: dict[str, float] = {}  # pages of each source, less those forgiven

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

    def submit(self, page: Page, source: str = "") -> Future[Extraction]:
        """Return the future of the page's extraction, which never holds an exception. Thread-safe.

        A *source*, such as an archive, whose pages take long gets less and less time for each. Callbacks run
        in a thread of the pool, or at once. After ``close`` the extraction is a ``crash``.
        """
        require_type("A page", page, Page, "a Page")
        future: Future[Extraction] = Future()
        try:
            self.start()
        except StartError as error:
            future.set_result(_crash(str(error)))
            return future
        glance = page.glance
        with self._lock:
            result = self._results.get(glance)
            if result is not None and result.digest == page.digest:
                self._results.move_to_end(glance)
            elif not self._closed:
                self._tasks.put((page, glance, source, future))
                return future
            else:
                result = _CLOSED
        future.set_result(result._replace(seconds=0.0))
        return future

    def close(self) -> None:
        """End all processes now; pages that are not done are answered as a ``crash``."""
        with self._lock:
            self._closed = True
            workers = list(self._workers)
        self._server.close()
        for worker in workers:
            worker.kill()
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            thread.join()

    def _drive(self) -> None:
        """Extract pages until the pool is closed."""
        worker: Worker | None = None
        with contextlib.suppress(StartError):
            worker = self._ready(None)
        while (task := self._tasks.get()) is not None:
            page, glance, source, future = task
            extraction = None
            try:
                for _ in range(_TRIES):
                    worker = self._ready(worker)
                    if (extraction := self._extract(worker, page, source)) is not None:
                        break
            except StartError as error:
                extraction = _crash(str(error))
            extraction = extraction or _crash("each process ended before it was sent the page")
            if self._closed and extraction.reason == "crash":  # not the page's doing
                extraction = _CLOSED
            elif extraction.seconds:  # a process has had the page
                self._keep(page, glance, extraction)
            if future.set_running_or_notify_cancel():
                future.set_result(extraction)
        if worker is not None:
            worker.close()

    def _extract(self, worker: Worker, page: Page, source: str) -> Extraction | None:
        limit = self._timeout * max(_QUICK, 0.5 ** self._slow.get(source, 0.0))
        extraction = worker.extract(page, limit)
        if source and extraction is not None:
            quick = min(limit, _QUICK * self._timeout + _PER_MEGABYTE * len(page.body) / 2**20)
            more = extraction.seconds / limit if extraction.seconds >= quick else -_FORGIVEN
            with self._lock:
                self._slow[source] = max(0.0, self._slow.get(source, 0.0) + more)
        return extraction

    def _ready(self, worker: Worker | None) -> Worker:
        """Return *worker* if it still runs, or else a new one. Raises StartError."""
        if worker is not None:
            if worker.pid is not None:
                return worker
            worker.close()
        worker = self._server.fork(self._job)
        with self._lock:
            self._workers.add(worker)
            if self._closed:
                worker.kill()
        return worker

    def _keep(self, page: Page, glance: object, extraction: Extraction) -> None:
        if sum(map(len, extraction.text or ())) <= MAX_CHARACTERS:
            kept = extraction if extraction.digest else extraction._replace(digest=page.digest)
            with self._lock:
                self._results[glance] = kept
                if len(self._results) > MAX_RESULTS:
                    self._results.popitem(last=False)


def _crash(detail: str) -> Extraction:
    return Extraction(None, "crash", 0.0, detail=detail)


_CLOSED = _crash("the workers were closed")
