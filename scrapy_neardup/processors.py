"""How many processors a process may keep busy."""

from __future__ import annotations

import math
import os
from functools import cache
from pathlib import Path

#: Where a container finds the time that it may use in a period, and the period (control groups, version 2).
_LIMIT = Path("/sys/fs/cgroup/cpu.max")


def processors(limit: Path = _LIMIT) -> int:
    """Return how many processors this process may keep busy.

    A container may see all processors of a machine, and get the time of one. If it keeps more of them busy,
    everything in it stands still until the next period begins.
    """
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(count, _granted(limit)))


@cache
def _granted(limit: Path) -> int:
    """Return of how many processors the container gets the time, rounded up."""
    try:
        time, period = map(int, limit.read_text("ascii").split())
        return math.ceil(time / period)
    except (OSError, ValueError, ZeroDivisionError):  # there is no such file, or "max" in it
        return 1 << 16
