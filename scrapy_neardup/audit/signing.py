"""Work on many documents, such as signing them, done on all cores."""

from __future__ import annotations

import sys
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeVar

from scrapy_neardup.processors import processors

from .signing_worker import SigningProcesses

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from concurrent.futures import Future

    from scrapy_neardup.fingerprint import Fingerprinter, Signature
    from scrapy_neardup.fingerprint.main_text import MainText

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

#: How many texts, and about how many characters, a process gets at a time. Fewer texts than `ALONE` are
#: signed in this process, because starting others takes longer.
CHUNK, CHARACTERS = 64, 1 << 20
ALONE = 512


def sign(
    texts: Iterable[str | MainText], fingerprinter: Fingerprinter, *, processes: int = 0
) -> Generator[Signature, None, None]:
    """Yield the signature of each of *texts*, in their order, see `spread`."""
    return spread(texts, partial(_signatures, fingerprinter), characters, processes)


def characters(text: str | MainText) -> int:
    """Return the length of all parts of *text*."""
    return len(text) if isinstance(text, str) else sum(map(len, text))


def _signatures(fingerprinter: Fingerprinter, texts: list[str | MainText]) -> list[Signature]:
    return [*fingerprinter.signatures(texts)]


def spread(
    items: Iterable[_Item],
    work: Callable[[list[_Item]], list[_Result]],
    size: Callable[[_Item], int],
    processes: int = 0,
) -> Generator[_Result, None, None]:
    """Yield what *work* makes of each of *items*, in their order, holding few of them at a time.

    *work* and *items* go to other processes, some items at a time, by their *size* in characters. *processes*
    is 0 for one a core. Closing the generator ends them. Raises `SignerDied` if one of them ends itself.
    """
    rest = iter(items)
    first = list(islice(rest, ALONE))
    count = processes or processors()
    # A program that was frozen into an executable would start itself.
    alone = len(first) < ALONE or count == 1 or getattr(sys, "frozen", False)
    parts = _parts(chain(first, rest), size)
    del first  # which may be large
    if alone:
        for part in parts:
            yield from work(part)
        return
    waiting: deque[Future[list[_Result]]] = deque()
    threads = ThreadPoolExecutor(count, "neardup-sign")
    workers = SigningProcesses(work)
    try:
        for part in parts:
            waiting.append(threads.submit(workers.do, part))
            if len(waiting) >= 4 * count:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    finally:
        workers.close()
        threads.shutdown(cancel_futures=True)


def _parts(items: Iterable[_Item], size: Callable[[_Item], int]) -> Iterator[list[_Item]]:
    part: list[_Item] = []
    total = 0
    for item in items:
        part.append(item)
        total += size(item)
        if len(part) == CHUNK or total >= CHARACTERS:
            yield part
            part, total = [], 0
    if part:
        yield part
