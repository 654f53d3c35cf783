"""Whether NumPy multiplies matrices rightly on this machine.

Signatures rest on such products. The library that NumPy has for them, OpenBLAS, has code for each kind of
processor, and picks it at the start. On an emulated processor it was seen to leave out half of each sum,
which made fingerprints of zeros.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from scrapy_neardup.errors import DependencyUnavailable

_ROWS, _COLUMNS = 64, 256


@cache
def require_sound_products() -> None:
    """Raise `DependencyUnavailable` if a product of matrices of floats is not that of whole numbers."""
    whole = np.arange(_ROWS * _COLUMNS).reshape(_ROWS, _COLUMNS) % 1009
    floats = whole.astype(np.float64)
    # Products of whole numbers are made by NumPy itself. All of these are exact as floats, too.
    if not np.array_equal(np.matmul(floats, floats[:8].T), whole @ whole[:8].T):
        raise DependencyUnavailable(
            "NumPy multiplies matrices wrongly on this machine: install another build of NumPy, or set "
            "OPENBLAS_CORETYPE in the environment to an older kind of processor, such as ARMV8 or HASWELL."
        )
