"""The signature of a text: enough to find and judge its near-duplicates, and nothing to read."""

from __future__ import annotations

from dataclasses import dataclass

from .values import FIGURES, TITLE, WORDS


@dataclass(frozen=True, slots=True)
class Signature:
    """The keys of one text and what verifies a match.

    Signatures compare only if they were made with the same features, scheme and seed.
    """

    #: 64-bit SimHash.
    fingerprint: int
    #: 128-bit hash of the normalised text, short lines and title, which is equal if all of them are: 16
    #: bytes.
    digest: bytes
    #: Tokens that the fingerprint was made of; of a script without spaces two characters count
    #: as one, or four letters.
    tokens: int
    #: Distinct shingles that the sketch was made of.
    shingles: int
    #: One-permutation MinHash of the shingles, see `sketch.sketch`.
    sketch: bytes
    #: The numbers in the text, packed, see values.py.
    numbers: bytes
    #: The words of the title; all zero if the title is not known.
    title: bytes = bytes(2 * TITLE)
    #: The figures and the words in short lines.
    figures: bytes = bytes(2 * FIGURES)
    words: bytes = bytes(2 * WORDS)
    #: The text reads like a captcha, a cookie notice, a log-in form or an error page.
    wall: bool = False
    #: How many characters are a token in most of the text: 1 where words are tokens, else 2 or 4.
    characters: int = 1
    #: Further keys of the scheme, of 8 bytes each, little-endian.
    keys: bytes = b""
    #: What else the scheme keeps.
    extra: bytes = b""

    def __reduce__(self) -> tuple[type[Signature], tuple[object, ...]]:
        # What dataclasses have for this takes ten times as long.
        return Signature, tuple(getattr(self, name) for name in self.__slots__)
