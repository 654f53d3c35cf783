"""What a process takes, measured while it runs: memory, open files, threads."""

from __future__ import annotations

import gc
import os
import threading
from pathlib import Path
from typing import NamedTuple

import numpy as np


class Gauge(NamedTuple):
    """What this process takes after so many pages."""

    pages: int
    #: Bytes that are its own: what it maps of files is not counted, for the system takes that back.
    memory: int
    files: int
    threads: int
    #: How many calls the event loop had done.
    calls: int


def gauge(pages: int, calls: int) -> Gauge:
    """Measure this process."""
    gc.collect()
    folder = Path("/proc/self/fd")
    files = len(list(folder.iterdir())) if folder.exists() else 0
    return Gauge(pages, own_memory(), files, threading.active_count(), calls)


def own_memory() -> int:
    """Return the bytes of this process that are no pages of files; 0 if that cannot be known."""
    try:
        resident, shared = map(int, Path("/proc/self/statm").read_text("ascii").split()[1:3])
    except OSError:
        return 0
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


def slope(gauges: list[Gauge]) -> float:
    """Return by how many bytes memory grows with each page, by least squares."""
    pages = np.array([each.pages for each in gauges], float)
    memory = np.array([each.memory for each in gauges], float)
    return float(np.polyfit(pages, memory, 1)[0]) if len(gauges) > 1 else 0.0
