"""Bottom-k: the k least shingle hashes of a text, a fair sample of its shingles made with one hash function.

Broder, "On the resemblance and containment of documents" (1997); Cohen and Kaplan, "Summarizing data using
bottom-k sketches" (PODC 2007). The hashes of the shingles serve as the hash function, so they must be
uniform, as those of hashing.py are. A sketch of fewer than k shingles is the whole set, and so is exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .hashing import unique
from .minhash import EMPTY

if TYPE_CHECKING:
    from numpy.typing import NDArray


def bottom_k(hashes: NDArray[np.uint64], k: int) -> NDArray[np.uint64]:
    """Return the *k* least distinct *hashes* (uint64[n]), ascending; uint64[k], filled up with `EMPTY`."""
    least = unique(hashes)[:k]
    return np.concatenate((least, np.full(k - len(least), EMPTY)))


def size(sketch: NDArray[np.uint64]) -> float:
    """Estimate how many shingles the text has, from its sketch (uint64[k]).

    The k-th least of n uniform values in [0, 1] lies near k / n, and (k - 1) / value is an unbiased estimate
    of n. Its relative standard error is 1/√(k - 2) (Beyer et al., "On Synopses for Distinct-Value Estimation
    Under Multiset Operations", SIGMOD 2007).
    """
    if sketch[-1] == EMPTY:
        return float(np.count_nonzero(sketch != EMPTY))
    return (len(sketch) - 1) * 2.0**64 / (float(sketch[-1]) + 1)


def jaccard(sketch: NDArray[np.uint64], sketches: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Estimate the Jaccard similarity of one text (uint64[k]) with m others (uint64[m, k]); float64[m].

    Given uint64[m, k] twice, it compares pair by pair. Texts without shingles have similarity 0. The k least
    values of both sketches together are a fair sample of the union, and the share of them that is in both
    counts. The standard error is √(J(1 - J) / k) at most.
    """
    _, new, again = _merged(sketch, sketches)
    rank = np.cumsum(new, axis=1)
    complete = (sketches[:, -1] == EMPTY) & (sketch[..., -1] == EMPTY)
    sampled = (rank <= sketch.shape[-1]) | complete[:, np.newaxis]
    union = np.count_nonzero(new & sampled, axis=1)
    share: NDArray[np.float64] = np.count_nonzero(again & sampled, axis=1) / np.maximum(union, 1)
    return share


def containment(sketch: NDArray[np.uint64], sketches: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Estimate what share of one text (uint64[k]) is in each of m others (uint64[m, k]); float64[m].

    Up to the lesser of their largest values, both sketches have every shingle of their texts. What the text
    has there is a fair sample of it: of about k shingles if the other is no longer, of k |text| / |other| if
    it is. Where the sample is empty the answer is 0.
    """
    bound = np.minimum(sketches[:, -1:], sketch[-1])
    own = np.count_nonzero((sketch <= bound) & (sketch != EMPTY), axis=1)
    both, _, again = _merged(sketch, sketches)
    share: NDArray[np.float64] = np.count_nonzero(again & (both <= bound), axis=1) / np.maximum(own, 1)
    return share


def _merged(
    sketch: NDArray[np.uint64], sketches: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the values of both sketches, ascending, which are new, and which repeated; [m, 2k] each."""
    both = np.sort(np.concatenate((np.broadcast_to(sketch, sketches.shape), sketches), axis=1), axis=1)
    again = np.zeros(both.shape, np.bool_)
    np.equal(both[:, 1:], both[:, :-1], out=again[:, 1:])
    filled = both != EMPTY
    return both, ~again & filled, again & filled
