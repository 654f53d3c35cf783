"""Signatures of many documents, made on all cores."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from typing import TYPE_CHECKING

from scrapy_neardup.fingerprint.main_text import main_text
from scrapy_neardup.options import processors

from .signing_worker import Signers

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator
    from concurrent.futures import Future

    from scrapy_neardup.fingerprint import Fingerprinter, Signature
    from scrapy_neardup.fingerprint.main_text import MainText

#: How many texts, and about how many characters, a process gets at a time. Fewer texts than `ALONE` are
#: signed in this process, because starting others takes longer.
CHUNK, CHARACTERS = 64, 1 << 20
ALONE = 512


def sign(
    texts: Iterable[str | MainText], fingerprinter: Fingerprinter, *, processes: int = 0
) -> Generator[Signature, None, None]:
    """Yield the signature of each of *texts*, in their order, holding few of them at a time.

    *processes* is 0 for one a core. Closing the generator ends them. Raises `SignerDied` if one of them ends
    itself.
    """
    rest = iter(texts)
    first = list(islice(rest, ALONE))
    count = processes or processors()
    if len(first) < ALONE or count == 1:
        yield from fingerprinter.signatures(chain(first, rest))
        return
    waiting: deque[Future[list[Signature]]] = deque()
    threads = ThreadPoolExecutor(count, "neardup-sign")
    signers = Signers(fingerprinter)
    try:
        for part in _parts(chain(first, rest)):
            waiting.append(threads.submit(signers.sign, part))
            if len(waiting) >= 4 * count:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    finally:
        signers.close()
        threads.shutdown(cancel_futures=True)


def _parts(texts: Iterable[str | MainText]) -> Iterator[list[str | MainText]]:
    part: list[str | MainText] = []
    size = 0
    for text in texts:
        part.append(text)
        size += sum(map(len, main_text(text)))
        if len(part) == CHUNK or size >= CHARACTERS:
            yield part
            part, size = [], 0
    if part:
        yield part
