"""What reads like a paragraph of a text: it is long, or not short and ends like a sentence."""

from __future__ import annotations

import regex

#: Letters of the shortest paragraph that ends like a sentence, and of the shortest that need not. See
#: `paragraphs.length`.
SENTENCE = 60
LONG = 200
_END = regex.compile(r"[\p{Sentence_Terminal}:…][\p{Pe}\p{Pf}\p{Pi}\"'\)\]]*+\s*+$", regex.V1)
_TAIL = 20  # characters that the end of a sentence is looked for in


def ends_sentence(line: str) -> bool:
    """Tell whether *line* ends like a sentence."""
    return _END.search(line[-_TAIL:]) is not None


def is_paragraph(line: str, letters: int, least: int = SENTENCE) -> bool:
    """Tell whether *line*, of so many *letters*, is a paragraph of *least* letters or more."""
    return letters >= least and (letters >= LONG or ends_sentence(line))
