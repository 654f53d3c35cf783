"""Near-duplicate detection for Scrapy crawls.

`Addon` is for Scrapy's settings; `Detector` and the rest need no Scrapy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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

# The core needs no Scrapy, extracting processes need no index, and commands should answer Ctrl-C at once.
_find = importing_late(
    __name__,
    {
        "Addon": ".addon",
        "Detector": ".detector",
        "FingerprintIndex": ".index",
        **dict.fromkeys(("Features", "Fingerprinter", "Signature", "hamming", "simhash"), ".fingerprint"),
    },
)


def __getattr__(name: str) -> Any:
    if name == "__version__":  # of the tag that it was built from
        from importlib.metadata import version

        return version("scrapy-neardup")
    return _find(name)
