"""Text to signature.

A text is normalised, its long paragraphs are split into tokens, and these are hashed. From the hashes come
the fingerprint (SimHash), the keys that the text is filed under, and the sketch.
"""

from __future__ import annotations

from .fingerprinter import Fingerprinter, simhash
from .main_text import MainText
from .schemes import SCHEMES, Pairs, Scheme, load_scheme
from .signature import Features, Signature, Weight
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
