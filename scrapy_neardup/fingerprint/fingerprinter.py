"""Makes the signatures of texts."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.arguments import require_type, require_whole

from .features import Features
from .jaccard import character_shingles
from .main_text import MainText, main_text
from .normalise import encoded, fold_letters, normalise
from .paragraphs import long_paragraphs
from .scheme import Scheme
from .schemes import Anchored
from .segment import load_segmenter, segment
from .signature import Signature
from .simhash import fingerprint_each, fingerprint_keywords, require_sound_products
from .sketch import sketch_each
from .stopwords import drop, stop_words
from .terms import Terms, Votes, in_characters
from .tokens import tokenise_each
from .values import FIGURES, NUMBERS, TITLE, WORDS, figures, occasion, pack, words
from .walls import is_wall

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from .tokens import Tokens

_SEEDS = 1 << 32
#: Characters of the texts that are signed together. With fewer, calls cost more; with more, caches overflow.
_GROUP = 1 << 17
_DEFAULT = Features()
_SCHEME = Anchored()


class Fingerprinter:
    """Makes the signatures of an index. The same *features*, *scheme* and *seed* make comparable ones.

    Each index has a *seed* (0 to 2³² - 1) of its own, so that nobody can craft a page that looks like another
    one. Thread-safe. Raises `ConfigurationError`, and `DependencyUnavailable` where NumPy computes wrongly.
    """

    def __init__(self, features: Features = _DEFAULT, seed: int = 0, scheme: Scheme = _SCHEME) -> None:
        require_type("What a fingerprint is made of", features, Features, "a Features")
        require_type("A scheme", scheme, Scheme, "a Scheme, see load_scheme")
        require_whole("A seed", seed, 0, _SEEDS - 1)
        require_sound_products()
        self.features = features
        self.seed = seed
        self.scheme = scheme
        self._segmenter = load_segmenter(features.segmenter) if features.segmenter else None
        self._stop_words = stop_words(features.stop_words.split(",")) if features.stop_words else frozenset()

    def __reduce__(self) -> tuple[type[Fingerprinter], tuple[Features, int, Scheme]]:
        return type(self), (self.features, self.seed, self.scheme)

    @property
    def segmenter(self) -> str:
        """Name and version of the segmenter; empty if there is none."""
        return self._segmenter.identity if self._segmenter is not None else ""

    def signature(self, text: str | MainText) -> Signature:
        """Sign any text.

        The digest is made of all of the text. Fingerprint, sketch and keys are made of its long paragraphs.
        """
        return self._sign([_checked(text)])[0]

    def signatures(self, texts: Iterable[str | MainText]) -> Iterator[Signature]:
        """Sign many texts, some at a time, in half the time or less; yield the signatures in order."""
        group: list[MainText] = []
        size = 0
        for text in texts:
            checked = _checked(text)
            length = sum(map(len, checked))
            if group and size + length > _GROUP:
                yield from self._sign(group)
                group, size = [], 0
            group.append(checked)
            size += length
        if group:
            yield from self._sign(group)

    def _sign(self, pages: list[MainText]) -> list[Signature]:
        texts = [MainText(*map(normalise, page)) for page in pages]
        parts = [long_paragraphs(page.text, self.features.min_paragraph) for page in texts]
        mains = [main for main, _ in parts]
        details = [f"{short}\n{page.details}" for (_, short), page in zip(parts, texts, strict=True)]
        size = self.features.sketch_shingle
        count = len(texts)
        folded = [fold_letters(text) for text in (*mains, *details, *(page.title for page in texts))]
        tokens = self._tokens(folded, count)
        every = Terms.of_each(tokens, self.seed)
        terms, short, titles = every[:count], every[count : 2 * count], every[2 * count :]
        shingles = [each.shingles(size, in_characters(size)) for each in terms]
        fingerprints = self._fingerprints(mains, terms)
        values = (
            [pack(each.hashes[each.tokens.numbers], NUMBERS) for each in terms],
            [pack(_title(*row, self.seed), TITLE) for row in zip(titles, folded[count:], strict=False)],
            [pack(figures(each), FIGURES) for each in short],
            [pack(words(*row), WORDS) for row in zip(terms, short, strict=True)],
        )
        rows = zip(
            texts,
            mains,
            terms,
            fingerprints,
            *values,
            shingles,
            sketch_each(shingles),
            strict=True,
        )
        return [self._signature(*row) for row in rows]

    def _signature(
        self,
        text: MainText,
        main: str,
        terms: Terms,
        fingerprint: int,
        numbers: bytes,
        title: bytes,
        figure_values: bytes,
        word_values: bytes,
        shingles: NDArray[np.uint64],
        sketched: tuple[bytes, int],
    ) -> Signature:
        keys, extra = self.scheme.sign(terms, shingles, self.seed)
        return Signature(
            fingerprint=fingerprint,
            digest=self._digest(text),
            tokens=terms.count,
            shingles=sketched[1],
            sketch=sketched[0],
            numbers=numbers,
            title=title,
            figures=figure_values,
            words=word_values,
            wall=is_wall(main, terms.count),
            characters=terms.characters,
            keys=keys.astype("<u8").tobytes(),
            extra=extra,
        )

    def _fingerprints(self, texts: list[str], terms: list[Terms]) -> list[int]:
        size, weight = self.features.shingle, self.features.weight
        if self.features.units == "characters":
            rolled = [character_shingles(text, size, self.seed) for text in texts]
            votes = [Votes(hashes, np.full(len(hashes), size)) for hashes in rolled]
        elif weight == "keywords":
            votes = [each.votes(size, each.tokens.unspaced) for each in terms]
        else:
            votes = [each.votes(size, each.tokens.syllables) for each in terms]
        if weight == "keywords":
            return fingerprint_keywords(votes)
        return fingerprint_each([each.hashes for each in votes], weight)

    def _tokens(self, texts: list[str], pages: int) -> list[Tokens]:
        tokens = tokenise_each(texts, pages)
        if (segmenter := self._segmenter) is not None:
            tokens = [segment(text, each, segmenter) for text, each in zip(texts, tokens, strict=True)]
        if self._stop_words:
            tokens = [drop(each, self._stop_words) for each in tokens]
        return tokens

    def _digest(self, text: MainText) -> bytes:
        # An exact match is not verified, so this hash has to withstand crafted collisions.
        parts = text if text.details or text.title else text[:1]
        data = encoded("\n".join(part.replace("\n", " ") for part in parts))
        return blake2b(data, digest_size=16, key=self.seed.to_bytes(4, "little")).digest()


def _title(terms: Terms, lines: str, seed: int) -> NDArray[np.uint64]:
    """Hash what tells a page from others of its site: the words of its title, and the line of an occasion."""
    told = occasion(lines, seed)
    return np.concatenate((terms.hashes, told)) if len(told) else terms.hashes


def _checked(text: str | MainText) -> MainText:
    require_type("A text", text, (str, MainText), "a str or a MainText")
    for part in (checked := main_text(text)):
        require_type("A text", part, str, "a str")
    return checked


@lru_cache(maxsize=8)
def _fingerprinter(features: Features, seed: int) -> Fingerprinter:
    return Fingerprinter(features, seed)


def simhash(text: str, features: Features = _DEFAULT, seed: int = 0) -> int:
    """Return the 64-bit fingerprint of a text.

    Near-duplicates get fingerprints that differ in few bits, see `hamming`.
    """
    require_type("What a fingerprint is made of", features, Features, "a Features")
    require_whole("A seed", seed, 0, _SEEDS - 1)
    return _fingerprinter(features, seed).signature(text).fingerprint
