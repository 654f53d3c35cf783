"""Leaves out stop words, the commonest words of a language, as the optional stopwordsiso lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.errors import ConfigurationError

from .normalise import fold_letters, normalise
from .tokens import tokenise

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from .tokens import Tokens


def stop_words(languages: Iterable[str]) -> frozenset[str]:
    """Return the stop words of *languages* (ISO 639-1 codes) as tokens of this package.

    Raises `ConfigurationError` for a language without a list and if the package is missing.
    """
    try:
        import stopwordsiso
    except ImportError as error:
        raise ConfigurationError("Stop words need: pip install 'scrapy-neardup[stopwords]'.") from error
    wanted = sorted(set(languages))
    if missing := [language for language in wanted if not stopwordsiso.has_lang(language)]:
        known = ", ".join(sorted(stopwordsiso.langs()))
        raise ConfigurationError(f"No stop words for {', '.join(missing)}; there are some for {known}.")
    listed = (tokenise(fold_letters(normalise(entry))) for entry in stopwordsiso.stopwords(wanted))
    # An entry of several tokens, such as "can't" or a phrase, is left out; but a Chinese word is one token in
    # segmented text. Numbers are left out, too, since some pages differ in nothing else.
    whole = (entry for entry in listed if len(entry.words) == 1 or entry.unspaced.all())
    return frozenset("".join(entry.words) for entry in whole if entry.words and not entry.numbers.all())


def drop(tokens: Tokens, words: Collection[str]) -> Tokens:
    """Leave out those *tokens* that are in *words*. If none would be left, all are kept."""
    kept = np.fromiter((word not in words for word in tokens.words), np.bool_, len(tokens))
    return tokens[kept] if kept.any() else tokens
