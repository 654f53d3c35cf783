"""Texts that are made to force a verdict on a page of another site."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup import hamming

if TYPE_CHECKING:
    import random

    from scrapy_neardup import Fingerprinter

#: Letters that look like others.
HOMOGLYPHS = str.maketrans("aceopxyiAEKMHOPCTX", "асеорхуіАЕКМНОРСТХ")
#: How markup hides an element: what the package reads, and what takes a browser or more of CSS to know.
HIDING = (
    "<div hidden>{}</div>",
    '<div style="display:none">{}</div>',
    '<section style="color:red; display : none !important">{}</section>',
    "<div style='visibility:hidden'>{}</div>",
    '<div aria-hidden="true">{}</div>',
    "<template>{}</template>",
    "<noscript>{}</noscript>",
    "<div hidden><div><div>{}</div></div></div>",
    "<!-- {} -->",
    '<script type="text/template">{}</script>',
    "<style>{}</style>",
    "<textarea hidden>{}</textarea>",
)
UNSEEN_HIDING = (
    '<div style="font-size:0">{}</div>',
    '<div style="position:absolute;left:-9999px">{}</div>',
    '<div style="opacity:0">{}</div>',
    '<div style="color:#fff;background:#fff">{}</div>',
    "<style>.x9{{display:none}}</style><div class=x9>{}</div>",
)


def collide(fingerprinter: Fingerprinter, victim: str, words: list[str], count: int) -> tuple[str, int]:
    """Make a text of *count* other *words* with the fingerprint of *victim*, knowing the key.

    Returns the text and how many bits its fingerprint is away. Each word in turn is the one whose hash does
    most for the bits that are furthest from those of the victim. Words of one length weigh the same.
    """
    target = fingerprinter.signature(victim).fingerprint
    words = [word for word in words if len(word) == 9][:1500]
    # The fingerprint of a single word is its hash.
    hashes = [each.fingerprint for each in fingerprinter.signatures([f"{word} {word}" for word in words])]
    bits = np.unpackbits(np.array(hashes, "<u8").view(np.uint8), bitorder="little").reshape(-1, 64)
    wanted = np.unpackbits(np.array([target], "<u8").view(np.uint8), bitorder="little")
    agreement = np.where(bits == wanted, 1.0, -1.0)
    margins = np.zeros(64)
    chosen: list[int] = []
    for _ in range(count):
        scores = agreement @ np.exp(-margins / 2)
        scores[chosen] = -np.inf
        best = int(scores.argmax())
        margins += agreement[best]
        chosen.append(best)
    text = " ".join(words[number] for number in chosen)
    return text, hamming(fingerprinter.signature(text).fingerprint, target)


def quoting(victim: str, dice: random.Random, words: list[str], share: float) -> str:
    """Make a text of which a *share* of the victim's is quoted, in runs of 14 words among others."""
    theirs = victim.split()
    parts = []
    for start in range(0, len(theirs) - 14, int(14 / share)):
        parts += theirs[start : start + 14]
        parts += dice.choices(words, k=20)
    return " ".join(parts)
