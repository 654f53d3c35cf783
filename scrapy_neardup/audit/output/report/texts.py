"""The main texts that a report holds: of pairs to review and of clusters, as many as a file can bear."""

from __future__ import annotations

from collections import deque
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.audit.arrays import places

from .embed import column_block, json_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from .data import ReportData

#: Characters kept of a text.
LONGEST_TEXT = 20_000
#: Characters in a block before it is packed. Similar texts side by side shrink to little.
BLOCK = 256_000
#: Texts kept of a cluster.
MOST_OF_CLUSTER = 100


def by_cluster(data: ReportData) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pages of clusters and the place of each in its own; int64[members] each.

    The largest clusters come first; of a cluster the canonical page, then the others by rank.
    """
    pages = data.pages
    members = np.flatnonzero(pages["cluster"] >= 0)
    numbers = pages["cluster"][members]
    sizes = np.bincount(numbers, minlength=len(data.clusters))
    leads = data.clusters["canonical"][numbers] == members
    order = np.lexsort((members, pages["rank"][members], ~leads, numbers, -sizes[numbers]))
    return members[order], places(numbers[order])


def wanted_texts(data: ReportData, review: NDArray[np.integer]) -> Iterator[int]:
    """Yield the pages whose texts matter, once each: of the pairs *review*, then of clusters by size."""
    pairs = data.pairs
    first = np.stack((pairs["first"][review], pairs["second"][review]), 1).ravel().tolist()
    members, place = by_cluster(data)
    yield from dict.fromkeys([*first, *members[place < MOST_OF_CLUSTER].tolist()])


def text_blocks(wanted: Iterable[int], text: Callable[[int], str | None], room: int) -> Iterator[str]:
    """Yield the blocks of texts, then the columns that say which page's text is where.

    Equal texts in a row are kept once. The blocks of texts take about *room* characters at most.
    """
    slots: deque[list[tuple[int, int]]] = deque()  # of the blocks that are being packed

    def contents() -> Iterator[list[str]]:
        for texts, own in _filled(wanted, text):
            slots.append(own)
            yield texts

    where: list[tuple[int, int, int]] = []
    packed = 0
    with closing(json_blocks("texts", contents())) as blocks:
        for number, content in enumerate(blocks):
            yield content
            where += ((page, number, slot) for page, slot in slots.popleft())
            packed += len(content)
            if packed >= room:
                break
    columns = np.array(where, np.int64).reshape(-1, 3)
    for name, values in zip(("page", "block", "slot"), columns.T, strict=True):
        yield column_block(f"text-{name}", values, "<u4")


def _filled(
    wanted: Iterable[int], text: Callable[[int], str | None]
) -> Iterator[tuple[list[str], list[tuple[int, int]]]]:
    """Yield the texts of each block, and the pages that have them, each with the place of its text."""
    texts: dict[str, int] = {}
    own: list[tuple[int, int]] = []
    length = 0
    for page in wanted:
        found = text(page)
        if not found:
            continue
        found = found[:LONGEST_TEXT]
        if found not in texts:
            length += len(found)
        own.append((page, texts.setdefault(found, len(texts))))
        if length >= BLOCK:
            yield list(texts), own
            texts, own, length = {}, [], 0
    if texts:
        yield list(texts), own
