"""What was measured on."""

from __future__ import annotations

import os
import platform
import time
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from scrapy_neardup.fingerprint import kernel
from scrapy_neardup.processors import processors

if TYPE_CHECKING:
    from collections.abc import Sequence

PACKAGES = (
    "scrapy-neardup", "numpy", "scrapy", "lmdb", "trafilatura", "resiliparse", "simhash", "datasketch",
    "rensa", "gaoya",
    "faiss-cpu",
)  # fmt: skip

#: Turns of the loop of `speed`, which take a quarter of a second or more.
LOOPS = 50


def describe(folder: Path) -> list[str]:
    """Return lines about the machine, the file system of *folder*, the versions of packages."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    system = f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    packages = ", ".join(f"{name} {installed(name)}" for name in PACKAGES)
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    return [
        f"{processor()}, {processors()} cores, {memory:.0f} GB of memory; {system}",
        f"index on {file_system(folder)}; load before: {load}",
        f"{packages}; signatures by {'the compiled kernel' if kernel.AVAILABLE else 'NumPy'}",
    ]


def speed() -> tuple[float, float]:
    """Return the milliseconds that a loop of Python takes, alone and on all cores at once."""
    cores = processors()
    with ProcessPoolExecutor(cores) as pool:
        alone = pool.submit(_loop).result()
        futures = [pool.submit(_loop) for _ in range(cores)]
        return alone, median(future.result() for future in futures)


def _loop() -> float:
    start = time.perf_counter()
    for _ in range(LOOPS):
        sum(number * number for number in range(100_000))
    return (time.perf_counter() - start) / LOOPS * 1000


def steadiness(speeds: Sequence[tuple[float, float]]) -> str:
    """Say how `speed` varied: cores of a virtual machine may share one with each other and with others."""
    alone, together = (f"{min(each):.1f} to {max(each):.1f} ms" for each in zip(*speeds, strict=True))
    return (
        f"one loop of Python, before each part and at the end: {alone} alone, {together} on all cores at once"
    )


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(": ")[2]
    return platform.processor() or platform.machine()


def file_system(folder: Path) -> str:
    """Return the type of the file system and the device of *folder*."""
    best = ("", "", "")
    for line in Path("/proc/mounts").read_text("utf-8").splitlines():
        device, point, kind, *_ = line.split()
        if folder.resolve().is_relative_to(point) and len(point) >= len(best[1]):
            best = (device, point, kind)
    return f"{best[2]} ({best[0]})"


def installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"
