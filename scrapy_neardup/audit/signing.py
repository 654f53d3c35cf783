"""Signatures of many documents, made on all cores."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ProcessPoolExecutor
from itertools import chain, islice
from multiprocessing import get_context
from typing import TYPE_CHECKING

from scrapy_neardup.processors import processors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

    from scrapy_neardup.fingerprint import Fingerprinter, Signature

#: Texts that a process gets at a time, and with fewer than this altogether starting processes takes longer.
CHUNK = 64
ALONE = 512

_fingerprinter: Fingerprinter


def sign(texts: Iterable[str], fingerprinter: Fingerprinter, *, processes: int = 0) -> Iterator[Signature]:
    """Yield the signature of each of *texts*, in their order, holding few of them at a time.

    *processes* is 0 for one a core.
    """
    rest = iter(texts)
    first = list(islice(rest, ALONE))
    count = processes or processors()
    if len(first) < ALONE or count == 1:
        yield from fingerprinter.signatures(chain(first, rest))
        return
    with ProcessPoolExecutor(count, get_context("spawn"), _start, (fingerprinter,)) as pool:
        chunks = iter(lambda: list(islice(rest, CHUNK)), [])
        yield from _in_order(lambda part: pool.submit(_sign, part), _parts(first), chunks, limit=4 * count)


def _parts(texts: list[str]) -> Iterator[list[str]]:
    return (texts[start : start + CHUNK] for start in range(0, len(texts), CHUNK))


def _in_order(
    submit: Callable[[list[str]], Future[list[Signature]]], *sources: Iterable[list[str]], limit: int
) -> Iterator[Signature]:
    waiting: deque[Future[list[Signature]]] = deque()
    for source in sources:
        for part in source:
            waiting.append(submit(part))
            if len(waiting) >= limit:
                yield from waiting.popleft().result()
    while waiting:
        yield from waiting.popleft().result()


def _start(fingerprinter: Fingerprinter) -> None:
    global _fingerprinter
    _fingerprinter = fingerprinter


def _sign(texts: list[str]) -> list[Signature]:
    return list(_fingerprinter.signatures(texts))
