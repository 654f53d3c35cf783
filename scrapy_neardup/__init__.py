"""Near-duplicate detection for Scrapy crawls.

`Addon` is for Scrapy's settings; `Detector` and the rest need no Scrapy.
"""

from __future__ import annotations

from typing import Any

from .detector import Detector
from .errors import (
    ConfigurationError,
    DependencyUnavailable,
    ExtractorUnavailable,
    IndexCorrupted,
    IndexMismatch,
    IndexUnavailable,
    NearDupError,
)
from .fingerprint import Features, Fingerprinter, Signature, hamming, simhash
from .index import FingerprintIndex
from .verdict import Verdict

__version__ = "0.1.0"

__all__ = [
    "Addon",
    "ConfigurationError",
    "DependencyUnavailable",
    "Detector",
    "ExtractorUnavailable",
    "Features",
    "FingerprintIndex",
    "Fingerprinter",
    "IndexCorrupted",
    "IndexMismatch",
    "IndexUnavailable",
    "NearDupError",
    "Signature",
    "Verdict",
    "hamming",
    "simhash",
]


def __getattr__(name: str) -> Any:
    if name == "Addon":  # the core does not import Scrapy
        from .addon import Addon

        return Addon
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
