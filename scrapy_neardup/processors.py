"""How many processors a process may keep busy."""

from __future__ import annotations

import math
import os
from pathlib import Path


def processors(limit: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """Return how many processors this process may keep busy.

    A container may see all of a machine, and get the time of one; *limit* has the time that it may use in a
    period, and the period. Whoever keeps more of them busy stands still until the next period begins.
    """
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        time, period = map(int, limit.read_text("ascii").split())
        return max(1, min(count, math.ceil(time / period)))
    except (OSError, ValueError, ZeroDivisionError):  # there is no such file, or "max" in it
        return count
