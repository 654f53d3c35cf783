"""What NumPy does with arrays, done with single numbers and truths of Python as well.

So one text of a rule judges many pairs and one pair, for which NumPy takes ten times as long. In it the
opposite of a truth is ``truth ^ True``: ``~True`` is -2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def chosen(which: Any, one: Any, other: Any) -> Any:
    """Return *one* where *which* is true, and *other* elsewhere."""
    return np.where(which, one, other) if isinstance(which, np.ndarray) else one if which else other


def single(value: Any) -> Any:
    """Round to 32 bits, in which similarities are kept: float32[n], or a float."""
    return value.astype(np.float32) if isinstance(value, np.ndarray) else float(np.float32(value))


def _of_two(arrays: Callable[..., Any], numbers: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    def function(one: Any, other: Any) -> Any:
        some = isinstance(one, np.ndarray) or isinstance(other, np.ndarray)
        return arrays(one, other) if some else numbers(one, other)

    return function


#: Return the lesser or the greater of two values, or of each pair of values.
least, greatest = _of_two(np.minimum, min), _of_two(np.maximum, max)
