"""Near-duplicate detection for Scrapy crawls.

`Addon` is for Scrapy's settings; `Detector` and the rest need no Scrapy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .dependencies import importing_late
from .errors import (
    ConfigurationError,
    DependencyUnavailable,
    ExtractorUnavailable,
    IndexCorrupted,
    IndexMismatch,
    IndexUnavailable,
    NearDupError,
)
from .verdict import Verdict

if TYPE_CHECKING:
    from .detector import Detector
    from .fingerprint import Features, Fingerprinter, Signature, hamming, simhash
    from .index import FingerprintIndex

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

# The core needs no Scrapy, processes that extract need no index, and a command line that is interrupted at
# once has not begun to import the rest.
__getattr__ = importing_late(
    __name__,
    {
        "Addon": ".addon",
        "Detector": ".detector",
        "FingerprintIndex": ".index",
        **dict.fromkeys(("Features", "Fingerprinter", "Signature", "hamming", "simhash"), ".fingerprint"),
    },
)
