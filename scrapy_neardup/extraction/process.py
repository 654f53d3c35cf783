"""The crawl's side of the extracting processes: start, ask, kill."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
from multiprocessing import Pipe
from threading import Lock
from time import perf_counter
from typing import TYPE_CHECKING

from scrapy_neardup.errors import ConfigurationError

from .base import Extraction
from .channel import Channel

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from .base import Job, Page

#: Seconds that the server may take to import the extractor.
START_TIMEOUT = 60.0

_COMMAND = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    "from scrapy_neardup.extraction.server import main; main()"
)


class StartError(RuntimeError):
    """No worker process could be started."""

    def __init__(self, cause: object) -> None:
        super().__init__(f"no extracting process could be started ({cause}); standard error may tell more")


class Worker:
    """A process that extracts one page at a time. One thread uses it; any thread may kill it."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._answers = select.poll()
        self._answers.register(channel.fileno(), select.POLLIN)
        self._lock = Lock()
        self.pid: int | None
        try:
            if not self._answers.poll(START_TIMEOUT * 1000):
                raise StartError("timeout")
            self.pid, _ = channel.receive()
        except StartError:
            channel.close()
            raise
        except Exception as error:
            channel.close()
            raise StartError(repr(error)) from error

    @property
    def alive(self) -> bool:
        """Whether it waits for a page. An idle process sends nothing until it ends."""
        return self.pid is not None and not self._answers.poll(0)

    def extract(self, page: Page, timeout: float) -> Extraction:
        """Return the extraction; a worker that is too slow is killed, one that died is a ``crash``."""
        started = perf_counter()
        try:
            with contextlib.suppress(OSError):  # it ended while reading; its answer, or none, says why
                self._channel.send((page.url, page.content_type), page.body)
            if not self._answers.poll(timeout * 1000):
                self.kill()
                return Extraction(None, "timeout", perf_counter() - started)
            (extraction, last), _ = self._channel.receive()
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
        self._channel.close()

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
                ours, theirs = socket.socketpair()
                with theirs, socket.socket(fileno=os.dup(control.fileno())) as requests:
                    socket.send_fds(requests, [b"f"], [theirs.fileno()])
                process = self._process
            except Exception as error:
                self._stop()
                raise StartError(repr(error)) from error
        try:
            worker = Worker(Channel(ours))
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
