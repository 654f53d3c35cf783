"""The order of texts, so that nothing depends on which page was read first."""

from __future__ import annotations

from operator import ne
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def text_places(texts: Sequence[str] | Sequence[bytes]) -> NDArray[np.int64]:
    """Return the place of each text among all different ones, sorted; int64[n]."""
    order = sorted(range(len(texts)), key=texts.__getitem__)
    ordered = [texts[row] for row in order]
    new = np.fromiter(map(ne, ordered[1:], ordered), bool, max(len(order) - 1, 0))
    found = np.zeros(len(texts), np.int64)
    found[order[1:]] = np.cumsum(new)
    return found
