"""What is kept of a text: enough to find its near-duplicates and to judge them, nothing to read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Signature:
    """The fingerprint of one text and the sketch that verifies a match.

    Signatures compare only if they were made with the same features and seed.
    """

    #: 64-bit SimHash.
    fingerprint: int
    #: 128-bit hash of the normalised text: equal for equal texts (16 bytes).
    digest: bytes
    #: Tokens that the fingerprint was made of; two characters of a script without spaces count as one.
    tokens: int
    #: Distinct shingles that the sketch was made of; one with a number counts `Features.number_weight` times.
    shingles: int
    #: One-permutation MinHash of the shingles, one byte a bin (128 bytes).
    sketch: bytes
