"""From a downloaded page to the signature of its main text, in worker processes that can be killed."""

from __future__ import annotations

from .base import Extraction, Extractor, Page, Reason
from .libraries import EXTRACTORS, load_extractor
from .parsing import ContentArea
from .workers import Workers

__all__ = [
    "EXTRACTORS",
    "ContentArea",
    "Extraction",
    "Extractor",
    "Page",
    "Reason",
    "Workers",
    "load_extractor",
]
