"""Operations on arrays that the steps of an audit have in common."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, AnyStr

import numpy as np
from numpy.typing import NDArray


def begins(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which of *values* (n) differ from the one before: of sorted ones the first of each; bool[n]."""
    return np.append(True, values[1:] != values[:-1])[: len(values)]


def places(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the place of each of sorted *values* (n) among those equal to it, from 0; int64[n]."""
    starts = np.flatnonzero(begins(values))
    return np.arange(len(values)) - np.repeat(starts, np.diff(starts, append=len(values)))


def ranges(starts: NDArray[np.int64], lengths: NDArray[np.integer]) -> NDArray[np.int64]:
    """Concatenate the ranges that start and are as long as given; int64[sum of lengths]."""
    before = np.cumsum(lengths) - lengths
    numbers: NDArray[np.int64] = np.arange(lengths.sum()) + np.repeat(starts - before, lengths)
    return numbers


def text_places(*lists: Sequence[AnyStr]) -> list[NDArray[np.int64]]:
    """Return the place of each text of *lists* among all their different ones, sorted; int64[n] each."""
    numbers = {text: place for place, text in enumerate(sorted(dict.fromkeys(chain.from_iterable(lists))))}
    return [np.array([numbers[text] for text in texts], np.int64) for texts in lists]
