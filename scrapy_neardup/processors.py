"""How many processors a process may keep busy."""

from __future__ import annotations

import math
import os
from functools import cache
from pathlib import Path

#: Where a process in a container finds the limits of its control group.
_CONTROL_GROUP = Path("/sys/fs/cgroup")
#: The files with the time that a group may use in a period, and the period: of version 2, and of version 1.
_FILES = (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"))


def processors(control_group: Path = _CONTROL_GROUP) -> int:
    """Return how many processors this process may keep busy.

    A container may see all processors of a machine, and get the time of one. If it keeps more of them busy,
    everything in it stands still until the next period begins.
    """
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(count, _granted(control_group)))


@cache
def _granted(control_group: Path) -> int:
    """Return of how many processors the group gets the time, rounded up."""
    for names in _FILES:
        try:
            words = [word for name in names for word in (control_group / name).read_text("ascii").split()]
            time, period = map(int, words)
        except (OSError, ValueError):  # there is no such file, or "max" in it
            continue
        if time > 0 and period > 0:
            return math.ceil(time / period)
    return 1 << 16
