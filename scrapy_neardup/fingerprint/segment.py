"""Joins the characters of Chinese text to words, by a segmenter that the user can choose."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np
import regex

from scrapy_neardup.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .tokens import Tokens

# The characters that are tokens of class Han, see `tokens`.
_HAN = regex.compile(r"[\p{Han}&&[\p{L}\p{Nl}]]", regex.V1)
_HAN_RUN = regex.compile(r"(?:[\p{Han}&&[\p{L}\p{Nl}]]\p{M}*)+", regex.V1)


class Segmenter(Protocol):
    """Cuts Chinese text into words."""

    #: Name and version. Another dictionary makes other words, so that fingerprints do not compare.
    identity: str

    def cut(self, text: str) -> Sequence[str]:
        """Return the words of *text*, which has Han characters and newlines alone.

        The words are in order, leave out no character, and do not cross newlines.
        """


class RjiebaSegmenter:
    """The segmenter jieba, as ported to Rust. Raises `ConfigurationError` without it."""

    def __init__(self) -> None:
        try:
            import rjieba
        except ImportError as error:
            raise ConfigurationError(
                "Segmenting Chinese needs: pip install 'scrapy-neardup[chinese]'."
            ) from error
        self.identity = f"rjieba {version('rjieba')}"
        self._jieba = rjieba.Jieba()

    def cut(self, text: str) -> Sequence[str]:
        words: list[str] = self._jieba.cut(text)
        return words


def load_segmenter(name: str) -> Segmenter:
    """Return the segmenter *name*: "rjieba", or the import path of an object or a class.

    Raises `ConfigurationError` if it cannot be had.
    """
    if name == "rjieba":
        return RjiebaSegmenter()
    try:
        found = resolve_name(name)
        segmenter = found() if isinstance(found, type) else found
    except Exception as error:  # it is the user's code
        raise ConfigurationError(
            f"The segmenter {name!r} of NEARDUP_FEATURES cannot be imported ({error!r}): use 'rjieba' or the "
            "path of an importable object."
        ) from error
    if not callable(getattr(segmenter, "cut", None)) or not isinstance(
        getattr(segmenter, "identity", None), str
    ):
        raise ConfigurationError(
            f"The segmenter {name!r} of NEARDUP_FEATURES needs a method cut and a text identity."
        )
    return cast("Segmenter", segmenter)


def segment(text: str, tokens: Tokens, segmenter: Segmenter) -> Tokens:
    """Join the Han characters among *tokens* to the words that *segmenter* finds.

    *text* is the normalised text that the tokens were made of. A word counts as one token of a script with
    spaces, and as a number if all its characters do. Raises `ConfigurationError` if the segmenter fails or
    changes the text.
    """
    han = tokens.unspaced & ~tokens.syllables
    if not han.any():
        return tokens
    runs = "\n".join("".join(_HAN.findall(run)) for run in _HAN_RUN.findall(text))
    try:
        words = [word for word in segmenter.cut(runs) if word.strip()]
    except Exception as error:  # it may be the user's code
        raise ConfigurationError(
            f"The segmenter {segmenter.identity!r} has failed ({error!r}): mend it, or name another."
        ) from error
    lengths = np.fromiter(map(len, words), np.intp, len(words))
    if "".join(words) != runs.replace("\n", "") or lengths.sum() != np.count_nonzero(han):
        raise ConfigurationError(
            f"The segmenter {segmenter.identity!r} gave other characters than it was given: its words have "
            "to hold all of them, in order."
        )
    starts = np.ones(len(tokens), np.bool_)
    starts[han] = False
    first = np.flatnonzero(han)[np.cumsum(lengths) - lengths]
    starts[first] = True
    begins = np.flatnonzero(starts)
    lasts = np.append(begins[1:], len(starts)) - 1
    return replace(
        tokens[starts],
        ends=tokens.ends[lasts],
        unspaced=(tokens.unspaced & ~han)[starts],
        numbers=np.logical_and.reduceat(tokens.numbers, begins),
    )
