"""The time as records hold it: four bytes, whatever the clock of the machine says."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

SECONDS_PER_DAY = 86_400
#: A time before all that `time.monotonic` may say, which may be negative: what is due from it on is due now.
LONG_AGO = -math.inf
_LAST = (1 << 32) - 1


def now(clock: Callable[[], float] = time.time) -> int:
    """Return the seconds since 1970, from 0 to 2³² - 1: a clock that says less or more stands still there."""
    return min(max(math.floor(clock()), 0), _LAST)
