"""From a downloaded page to the signature of its main text, in worker processes that can be killed."""

from __future__ import annotations

from .base import Extraction, Page
from .libraries import load_extractor
from .parsing import ContentArea
from .workers import Workers

__all__ = ["ContentArea", "Extraction", "Page", "Workers", "load_extractor"]
