"""The processes that extract: a server that has imported everything, and forks a worker when asked.

Only public parts of the standard library are used, not ``multiprocessing.Process``: that would import the
script that runs the crawl once more in every worker, and refuses to start from a daemonic process such as a
Celery worker.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import signal
import socket
import sys
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from .base import Extraction, Page
from .loading import load_extractor
from .task import extract

if TYPE_CHECKING:
    from .base import Extractor, Job, Signer

#: Pages after which a worker is replaced, against what libraries leak.
MAX_PAGES = 5000
#: Seconds after the time limit at which a worker ends itself, in case nobody is left to end it.
ORPHAN_GRACE = 1.0


def main() -> None:
    """Serve until the other end of standard input, a socket, is closed."""
    control = Connection(os.dup(0))
    with Path(os.devnull).open() as null:
        os.dup2(null.fileno(), 0)
    logging.getLogger().addHandler(logging.NullHandler())  # extractors warn of every page they dislike
    try:
        job: Job = control.recv()
    except (EOFError, OSError):  # the crawl has ended already
        return
    extractor = load_extractor(job.extractor)
    _warm_up(extractor, job.fingerprinter)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies
    gc.freeze()  # pages of memory that the collector does not touch stay shared
    requests = socket.socket(fileno=os.dup(control.fileno()))
    while True:
        _, descriptors, _, _ = socket.recv_fds(requests, 1, 1)
        if not descriptors:
            return
        if os.fork() == 0:
            requests.close()
            control.close()
            status = 1
            try:
                serve(Connection(descriptors[0]), extractor, job)
                status = 0
            finally:
                os._exit(status)
        os.close(descriptors[0])


def serve(connection: Connection, extractor: Extractor, job: Job) -> None:
    """Answer each page received with its Extraction and whether this worker is about to end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    idle = data_size()
    _limit_memory(idle + job.memory)
    with contextlib.suppress(EOFError, OSError):  # the crawl has ended
        connection.send(os.getpid())
        for number in range(1, MAX_PAGES + 1):
            extraction = _next(connection, extractor, job)
            # A worker that has grown would fail pages that deserve no blame.
            last = (
                number == MAX_PAGES or extraction.reason == "memory" or data_size() > idle + job.memory // 2
            )
            connection.send((extraction, last))
            if last:
                return


def _next(connection: Connection, extractor: Extractor, job: Job) -> Extraction:
    try:
        url, content_type, body = connection.recv()
        page = Page(body, url, content_type)
    except MemoryError:
        return Extraction(None, "memory", 0.0)
    signal.setitimer(signal.ITIMER_REAL, job.timeout + ORPHAN_GRACE)  # SIGALRM kills, even inside of C code
    extraction = extract(page, extractor, job.fingerprinter, job.keep_text, job.area)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return replace(extraction, digest=page.digest)


def _warm_up(extractor: Extractor, fingerprinter: Signer) -> None:
    """Process a page here, so that not every worker has to set up what the first page needs."""
    paragraph = (
        "<p>The council agreed on Tuesday to a plan for the harbour, to be finished within three years.</p>"
    )
    with contextlib.suppress(Exception):  # a page that fails says so itself
        text = extractor(f"<html><body><article>{paragraph * 5}</article></body></html>", None)
        fingerprinter.signature(text or "")


def data_size() -> int:
    """Return the bytes of this process that RLIMIT_DATA counts; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[5])
    except OSError:  # another system, or one that hides /proc from this process
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _limit_memory(size: int) -> None:
    if sys.platform.startswith("linux"):  # elsewhere the limit exists, but nothing heeds it
        import resource

        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        soft = size if hard == resource.RLIM_INFINITY else min(size, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
