"""Which candidates are near-duplicates: first form, from what two signatures say of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Length of the shorter text, in tokens, and the Jaccard similarity asked of it; in between, straight lines. A copy
#: on another site brings some of that site's boilerplate along, so a threshold that finds copies is low. Pages of
#: one template with other values are short, and as similar as copies are: there it is high.
LENGTHS = (100, 200, 600)
JACCARDS = (0.9, 0.85, 0.6)

#: Or so much of the shorter text is in the other, as when a paragraph was cut or added ...
CONTAINMENT = 0.95
#: ... provided that it is at least this much of the other's length.
LENGTH_RATIO = 0.5


def verify(
    distance: NDArray[np.integer],
    jaccard: NDArray[np.floating],
    containment: NDArray[np.floating],
    tokens: int | NDArray[np.integer],
    stored_tokens: NDArray[np.integer],
) -> NDArray[np.bool_]:
    """Judge candidates, an array element each (*tokens* may be one for all); bool[n], True for a near-duplicate.

    The thresholds hold for the distances 3 to 7, see docs/fingerprint.md.
    """
    shorter = np.minimum(tokens, stored_tokens)
    alike = jaccard >= np.interp(shorter, LENGTHS, JACCARDS)
    contained = (containment >= CONTAINMENT) & (shorter >= LENGTH_RATIO * np.maximum(tokens, stored_tokens))
    verified: NDArray[np.bool_] = alike | contained
    return verified
