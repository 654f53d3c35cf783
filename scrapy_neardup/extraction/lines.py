"""Lines of a text that was wrapped by hand: which of them go on in the next one."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from scrapy_neardup.fingerprint.prose import ends_sentence
from scrapy_neardup.fingerprint.wrapping import full_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Lines of such a text have more than so many words; and what may be quoted begins so.
_WORDS, _QUOTED = 4, ">"


def wrapped(lines: Sequence[str]) -> list[bool]:
    """Tell which *lines*, but the last one, go on in the next one, as in letters and old pages.

    None do where most end like sentences, or have few words: those are paragraphs, or entries of a list. What
    is quoted stays apart from what is not.
    """
    said = [line for line in lines if line]
    if (
        len(said) < 2
        or 2 * sum(map(ends_sentence, said)) > len(said)
        or sum(line.count(" ") for line in said) < _WORDS * len(said)
    ):
        return [False] * (len(lines) - 1)
    full = full_lines(lines)
    return [
        joined and not line.startswith(_QUOTED) and not after.startswith(_QUOTED)
        for joined, (line, after) in zip(full, itertools.pairwise(lines), strict=True)
    ]
