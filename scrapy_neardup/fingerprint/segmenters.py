"""What users can change of the tokens: a segmenter joins Chinese characters to words, stop words go."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import pairwise
from pkgutil import resolve_name
from typing import Any, Protocol, cast

import numpy as np

from scrapy_neardup.errors import ConfigurationError

from .normalise import normalise, text_of
from .tokens import HAN, Tokens, tokenise


class Segmenter(Protocol):
    """Cuts Chinese text into words."""

    #: Name and version. Another dictionary makes other words, so that fingerprints do not compare.
    identity: str

    def cut(self, text: str) -> Sequence[str]:
        """Return all words of *text*, of Han characters and newlines, in order; none crosses a newline."""


class RjiebaSegmenter:
    """The segmenter jieba, as ported to Rust."""

    def __init__(self) -> None:
        from importlib.metadata import version

        import rjieba

        self.identity = f"rjieba {version('rjieba')}"
        self.cut: Callable[[str], Sequence[str]] = rjieba.Jieba().cut


def load_segmenter(name: str) -> Segmenter:
    """Return the segmenter *name*: "rjieba", or an import path. Raises `ConfigurationError`."""
    try:
        found = RjiebaSegmenter if name == "rjieba" else resolve_name(name)
        segmenter: Any = found() if isinstance(found, type) else found
        if not (callable(segmenter.cut) and isinstance(segmenter.identity, str)):
            raise TypeError("it has no method cut, or no text for an identity")
    except Exception as error:  # it may be the user's code
        raise ConfigurationError(
            f"The segmenter {name!r} of NEARDUP_FEATURES cannot be used ({error!r}): use 'rjieba' (run pip "
            "install 'scrapy-neardup[chinese]'), or the path of an object with a method cut and an identity."
        ) from error
    return cast("Segmenter", segmenter)


def segment(tokens: Tokens, segmenter: Segmenter) -> Tokens:
    """Join Han characters among *tokens* to the words of *segmenter*. Raises `ConfigurationError`."""
    han = tokens.kinds == HAN
    if not han.any():
        return tokens
    firsts, ends = tokens.places[han].T
    text = text_of(tokens.points.take(firsts))
    edges = [0, *(np.flatnonzero(firsts[1:] != ends[:-1]) + 1).tolist(), len(text)]
    try:
        cut = segmenter.cut("\n".join(text[start:stop] for start, stop in pairwise(edges)))
        words = [word for word in cut if word.strip()]
        if "".join(words) != text:
            raise ValueError("it gave other characters than it was given")
    except Exception as error:  # it may be the user's code
        raise ConfigurationError(
            f"The segmenter {segmenter.identity!r} has failed ({error!r}): mend it, or name another."
        ) from error
    lengths = np.fromiter(map(len, words), np.intp, len(words))
    starts = np.ones(len(tokens), np.bool_)
    starts[han] = False
    starts[np.flatnonzero(han)[np.cumsum(lengths) - lengths]] = True
    begins = np.flatnonzero(starts)
    lasts = np.append(begins[1:], len(starts)) - 1
    places = np.stack((tokens.places[begins, 0], tokens.places[lasts, 1]), axis=1)
    numbers = np.logical_and.reduceat(tokens.numbers, begins)
    return Tokens(tokens.points, places, np.where(han, 0, tokens.kinds)[starts], numbers)


def stop_words(languages: Iterable[str]) -> frozenset[str]:
    """Return the stop words of *languages* (ISO 639-1) as tokens. Raises `ConfigurationError`."""
    try:
        import stopwordsiso
    except ImportError as error:
        raise ConfigurationError("Stop words need: pip install 'scrapy-neardup[stopwords]'.") from error
    wanted = sorted(set(languages))
    if missing := [language for language in wanted if not stopwordsiso.has_lang(language)]:
        known = ", ".join(sorted(stopwordsiso.langs()))
        raise ConfigurationError(
            f"No stop words for {', '.join(missing)}: set stop_words to some of {known}."
        )
    listed = (tokenise(normalise(entry)) for entry in stopwordsiso.stopwords(wanted))
    # Phrases are left out, but a Chinese word is one token in segmented text. So are numbers, since some
    # pages differ in nothing else.
    whole = (entry for entry in listed if len(entry.words) == 1 or entry.kinds.all())
    return frozenset("".join(entry.words) for entry in whole if entry.words and not entry.numbers.all())


def without(tokens: Tokens, words: Collection[str]) -> Tokens:
    """Leave out those *tokens* that are in *words*. If none of a text would be left, all of it are kept."""
    kept = np.fromiter((word not in words for word in tokens.words), np.bool_, len(tokens))
    for start, stop in pairwise(tokens.bounds):
        kept[start:stop] |= not kept[start:stop].any()
    return tokens[kept]
