"""The process that reads a damaged index for ``scrapy-neardup index repair``: what it reads may crash it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_neardup.errors import IndexMismatch
from scrapy_neardup.index.lmdb.repair import main
from scrapy_neardup.matching.records import derived_keys

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from scrapy_neardup.index import Header
    from scrapy_neardup.index.protocol import Stored


def derive(header: Header) -> Callable[[Stored], dict[int, NDArray[np.uint64]]]:
    """Return what makes keys again of what is stored.

    Raises `IndexMismatch` for bare fingerprints, which are known by their numbers alone: these would change.
    """
    if len(header.families) == 1:
        raise IndexMismatch("it holds bare fingerprints, whose numbers would change: add them anew")
    if "features" not in header.parameters:
        return lambda stored: {}
    return lambda stored: derived_keys(stored, header)


if __name__ == "__main__":
    main(derive)
