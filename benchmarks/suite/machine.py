"""What was measured on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from scrapy_neardup.options import processors

PACKAGES = (
    "scrapy-neardup", "numpy", "scrapy", "lmdb", "trafilatura", "resiliparse", "simhash", "datasketch",
    "rensa", "faiss-cpu",
)  # fmt: skip


def describe(folder: Path) -> list[str]:
    """Return lines about the machine, the file system of *folder*, the versions of packages."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    system = f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    packages = ", ".join(f"{name} {installed(name)}" for name in PACKAGES)
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    return [
        f"{processor()}, {processors()} cores, {memory:.0f} GB of memory; {system}",
        f"index on {file_system(folder)}; load before: {load}",
        packages,
    ]


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
