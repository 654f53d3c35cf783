"""Near-duplicate detection for Scrapy crawls.

`Addon` is for Scrapy's settings; `Detector` and the rest need no Scrapy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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


#: Public names that are imported when they are first used: the core needs no Scrapy, processes that extract
#: need no index, and a command line that is interrupted at once has not begun to import the rest.
_IMPORTED_LATE = {
    "Addon": ".addon",
    "Detector": ".detector",
    "FingerprintIndex": ".index",
    **dict.fromkeys(("Features", "Fingerprinter", "Signature", "hamming", "simhash"), ".fingerprint"),
}


def __getattr__(name: str) -> Any:
    if name in _IMPORTED_LATE:
        value = getattr(import_module(_IMPORTED_LATE[name], __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
