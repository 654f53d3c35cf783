"""Text to signature: normalise, keep the long paragraphs, tokenise, hash; then vote (SimHash), file and sketch."""

from __future__ import annotations

from .features import Features, Weight
from .fingerprinter import Fingerprinter, simhash
from .main_text import MainText
from .schemes import SCHEMES, Pairs, Scheme, load_scheme
from .signature import Signature
from .simhash import hamming, vote

__all__ = [
    "SCHEMES",
    "Features",
    "Fingerprinter",
    "MainText",
    "Pairs",
    "Scheme",
    "Signature",
    "Weight",
    "hamming",
    "load_scheme",
    "simhash",
    "vote",
]
