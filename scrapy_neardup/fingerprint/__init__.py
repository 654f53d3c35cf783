"""Text to signature: normalise, keep the long paragraphs, tokenise, hash, then vote (SimHash) and sketch (MinHash)."""

from __future__ import annotations

from .features import Features, Weight
from .fingerprinter import Fingerprinter, simhash
from .signature import Signature
from .simhash import hamming, vote
from .sketch import BINS, similarity
from .verify import verify

__all__ = [
    "BINS",
    "Features",
    "Fingerprinter",
    "Signature",
    "Weight",
    "hamming",
    "simhash",
    "similarity",
    "verify",
    "vote",
]
