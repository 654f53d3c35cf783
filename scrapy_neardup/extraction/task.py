"""The processes that extract: a server that has imported everything, and forks a worker when asked.

``multiprocessing.Process`` would import the script that runs the crawl once more in every worker, and refuses
to start from a daemonic process such as a Celery worker.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import mmap
import os
import pickle
import signal
import socket
import sys
import traceback
from pathlib import Path
from time import perf_counter
from typing import BinaryIO

from lxml.etree import _Element

from scrapy_neardup.fingerprint import Fingerprinter
from scrapy_neardup.fingerprint.main_text import MainText, length, main_text

from .base import Extraction, Extractor, Job, Page, Reason, send
from .decoding import decode, is_binary, is_noise
from .libraries import load_extractor, visible_text
from .parsing import (
    ContentArea,
    canonical_of,
    in_one_document,
    parsed,
    parsed_whole,
    remove_hidden,
    template_of,
    titles,
    written,
)
from .segment import Segment

#: Pages after which a worker is replaced, against what libraries leak.
MAX_PAGES = 5000
#: Seconds after the time limit at which a worker ends itself, in case nobody is left to end it.
ORPHAN_GRACE = 1.0
#: With fewer letters nothing was hidden but the text itself, which scripts are to show.
_LITTLE = 200
#: Processed by the server, so that each worker finds all set up.
_FIRST = Page(b"<p>The council agreed to a plan for the harbour, to be done in 3 years.</p>" * 9, "", None)


def main(name: str) -> None:
    """Serve workers with the extractor *name* until the other end of standard input, a socket, is closed."""
    requests = socket.socket(fileno=os.dup(0))
    with Path(os.devnull).open() as null:
        os.dup2(null.fileno(), 0)
    logging.getLogger().addHandler(logging.NullHandler())  # extractors warn of every page they dislike
    extractor = load_extractor(name)
    extract(_FIRST, extractor, Fingerprinter())
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies
    gc.freeze()  # pages of memory that the collector does not touch stay shared
    gc.enable()
    while True:
        _, descriptors, _, _ = socket.recv_fds(requests, 1, 1)
        if not descriptors:
            return
        if os.fork() == 0:
            requests.close()
            status = 1
            try:
                serve(socket.socket(fileno=descriptors[0]), extractor)
                status = 0
            finally:
                os._exit(status)
        os.close(descriptors[0])


def serve(connection: socket.socket, extractor: Extractor) -> None:
    """Receive a `Job`, then answer each page with its Extraction and whether this worker is about to end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    with contextlib.suppress(EOFError, OSError), connection.makefile("rb") as asked:  # the crawl has ended
        job: Job = pickle.load(asked)  # noqa: S301 - of the crawl
        idle = data_size()
        if sys.platform.startswith("linux"):  # elsewhere the limit exists, but nothing heeds it
            import resource

            hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
            soft = min(idle + job.memory, sys.maxsize if hard == resource.RLIM_INFINITY else hard)
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
        send(connection, os.getpid())
        for left in reversed(range(MAX_PAGES)):
            extraction = _next(asked, extractor, job)
            # A worker that has grown would fail pages that deserve no blame.
            last = not left or extraction.reason == "memory" or data_size() > idle + job.memory // 2
            send(connection, (extraction, last))
            if last:
                return


def _next(asked: BinaryIO, extractor: Extractor, job: Job) -> Extraction:
    try:
        size, *about = pickle.load(asked)  # noqa: S301 - of the crawl
        page = Page(asked.read(size), *about)
    except MemoryError:
        return Extraction(None, "memory", 0.0)
    signal.setitimer(signal.ITIMER_REAL, job.timeout + ORPHAN_GRACE)  # SIGALRM kills, even inside of C code
    extraction = extract(page, extractor, job.fingerprinter, job.keep_text, job.area)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return extraction._replace(digest=page.digest)


def data_size() -> int:
    """Return the bytes of this process that RLIMIT_DATA counts; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:  # noqa: PTH123 - a path takes six times as long
            return int(file.read(99).split()[5]) * mmap.PAGESIZE
    except OSError:  # another system, or one that hides /proc from this process
        return 0


def extract(
    page: Page,
    extractor: Extractor,
    fingerprinter: Fingerprinter | None,
    keep_text: bool = False,
    area: ContentArea = ContentArea(),  # noqa: B008 - a value
) -> Extraction:
    """Return the signature of the page's main text, or the reason why there is none; raises nothing."""
    started = perf_counter()

    def none(reason: Reason, detail: str | None = None, fallback: bool = False) -> Extraction:
        return Extraction(None, reason, perf_counter() - started, fallback, detail)

    html, canonical, fallback, hidden = "", "", False, False
    try:
        if page.is_text:
            text = main_text(page.body.decode("utf-8", "replace"))
        elif is_binary(page.body) or is_noise(html := in_one_document(decode(page.body, page.content_type))):
            return none("not_text")
        else:
            text, canonical, fallback, hidden = _text(extractor, html, page.url, area)
        if not text.text.strip():
            return none("no_text", fallback=fallback)
        signature = None if fingerprinter is None else fingerprinter.signature(text)
        site = 0 if page.url.startswith(("http://", "https://")) else template_of(html)
        if signature is not None and (hidden or site):
            signature = signature._replace(hidden=hidden, site=site)
    except MemoryError:
        return none("memory")
    except Exception as error:  # noqa: BLE001 - whatever the extractor raises, the page goes on
        return none("failed", _one_line(error))
    kept = text if keep_text else None
    return Extraction(signature, None, perf_counter() - started, fallback, None, kept, canonical)


def _text(extractor: Extractor, html: str, url: str, area: ContentArea) -> tuple[MainText, str, bool, bool]:
    """Extract the text of what *area* shows; of all that it holds, if next to nothing else is left.

    Also returns its canonical link, whether it nests too deeply for that, and whether the text may be hidden.
    """
    root, is_whole = parsed_whole(html)
    if not is_whole:
        if area and (root := parsed(html, huge_tree=True)) is not None:
            area.cut(root)
            html = written(root)
        return MainText(visible_text(html), " ".join(titles(html))), "", True, True
    if root is None:
        return main_text(extractor(html, url) or ""), "", False, False
    canonical = canonical_of(root)
    hides = remove_hidden(root)
    text = _extracted(extractor, html, root, url, area, changed=hides)
    if hides and length(text.text) < _LITTLE and (root := parsed(html)) is not None:
        return _extracted(extractor, html, root, url, area), canonical, False, True
    return text, canonical, False, False


def _extracted(
    extractor: Extractor, html: str, root: _Element, url: str, area: ContentArea, *, changed: bool = False
) -> MainText:
    """Extract the text of *area* in the tree of a page, which is *html* if it was not *changed*."""
    if area:
        area.cut(root)
    if isinstance(extractor, Segment):  # which needs no second tree
        return extractor.text_of(root, html) or MainText("")
    return main_text(extractor(written(root) if changed or area else html, url) or "")


def _one_line(error: Exception) -> str:
    """Name the error and where it came from."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    message = " ".join("".join(traceback.format_exception_only(error)).split())
    return f"{message[:500]} ({frame.filename}:{frame.lineno})"
