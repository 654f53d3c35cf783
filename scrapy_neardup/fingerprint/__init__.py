"""Text to signature: from the hashes of its tokens come fingerprint, sketch and keys to file it under."""

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
