"""What NumPy does with arrays, done with single numbers and truths of Python as well.

So one text of a rule judges many pairs and one pair, for which NumPy takes ten times as long. In it the
opposite of a truth is ``truth ^ True``: ``~True`` is -2.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

_SINGLE = struct.Struct("f")


def chosen(which: Any, one: Any, other: Any) -> Any:
    """Return *one* where *which* is true, and *other* elsewhere."""
    if isinstance(which, np.ndarray):
        return np.where(which, one, other)
    return one if which else other


def least(one: Any, other: Any) -> Any:
    """Return the lesser of two values, or of each pair of values."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.minimum(one, other)
    return min(one, other)


def greatest(one: Any, other: Any) -> Any:
    """Return the greater of two values, or of each pair of values."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.maximum(one, other)
    return max(one, other)


def single(value: Any) -> Any:
    """Round to 32 bits, in which similarities are kept: float32[n], or a float."""
    if isinstance(value, np.ndarray):
        return value.astype(np.float32)
    return _SINGLE.unpack(_SINGLE.pack(value))[0]


def bit_count(value: Any) -> Any:
    """Count the bits that are set: uint8[n], or an int."""
    return value.bit_count() if isinstance(value, int) else np.bitwise_count(value)
