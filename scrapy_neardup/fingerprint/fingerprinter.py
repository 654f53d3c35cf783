"""Makes the signatures of texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from hashlib import blake2b
from importlib.resources import files

import numpy as np

from scrapy_neardup.arguments import require_type, require_whole

from .hashing import MOST_SEEDS, Hashes, Terms, hash_tokens
from .jaccard import character_shingles
from .main_text import MainText, long_paragraphs, main_text
from .normalise import normalise
from .schemes import ANCHOR, Anchored, Scheme
from .segmenters import load_segmenter, segment, stop_words, without
from .signature import Features, Signature
from .simhash import fingerprints
from .sketch import sketch_each
from .tokens import BETWEEN, HAN, SYLLABLE, tokenise
from .values import figures, sketch_values, titles, words

#: Characters of the texts that are signed together. With fewer, calls cost more; with more, caches overflow.
_GROUP = 1 << 17
#: No longer text is a wall for what it says. Unit: tokens.
LONGEST_WALL = 150
_DEFAULT = Features()
_SCHEME = Anchored()


class Fingerprinter:
    """Makes the signatures of an index. The same *features*, *scheme* and *seed* make comparable ones.

    Each index has a *seed* (0 to 2³² - 1) of its own, against crafted pages. Thread-safe. Raises
    `ConfigurationError`.
    """

    def __init__(self, features: Features = _DEFAULT, seed: int = 0, scheme: Scheme = _SCHEME) -> None:
        require_type("What a fingerprint is made of", features, Features, "a Features")
        require_type("A scheme", scheme, Scheme, "a Scheme, see load_scheme")
        require_whole("A seed", seed, 0, MOST_SEEDS)
        self.features = features
        self.seed = seed
        self.scheme = scheme
        self._longest = max(features.shingle, 2 * in_characters(features.sketch_shingle), 2 * ANCHOR[1])
        self._segmenter = load_segmenter(features.segmenter) if features.segmenter else None
        self._stop_words = stop_words(features.stop_words.split(",")) if features.stop_words else frozenset()

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.features, self.seed, self.scheme)

    @property
    def segmenter(self) -> str:
        """Name and version of the segmenter; empty if there is none."""
        return self._segmenter.identity if self._segmenter is not None else ""

    def signature(self, text: str | MainText) -> Signature:
        """Sign any text: the digest of all of it, fingerprint, sketch and keys of its long paragraphs."""
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
        parts = [long_paragraphs(text.text, self.features.min_paragraph) for text in texts]
        mains = [main for main, _ in parts]
        lines = [f"{short}\n{text.details}" for (_, short), text in zip(parts, texts, strict=True)]
        terms, short, called = self._terms([*mains, *lines, *[text.title for text in texts]]).sections(
            len(texts)
        )
        counts = terms.counts()
        size = self.features.sketch_shingle
        shingles = terms.shingles(size, in_characters(size))
        keys, extra = self.scheme.sign(terms, shingles, self.seed)
        keys = keys.astype("<u8")
        numbers = sketch_values("numbers", terms.those(terms.tokens.numbers, terms.hashes))
        title = titles(called, lines, self.seed)
        figured = sketch_values("figures", figures(short))
        worded = sketch_values("words", *words(short, terms, counts))
        marks = self._fingerprints(mains, terms)
        return [
            Signature(
                fingerprint=marks[place],
                digest=self._digest(texts[place]),
                tokens=tokens,
                runs=shingles.bounds[place + 1] - shingles.bounds[place],
                shingles=count,
                sketch=sketch,
                numbers=numbers[place],
                title=title[place],
                figures=figured[place],
                words=worded[place],
                wall=tokens <= LONGEST_WALL and any(phrase in mains[place] for phrase in phrases_of_walls()),
                keys=keys[place].tobytes(),
                extra=extra[place],
            )
            for place, (tokens, (sketch, count)) in enumerate(zip(counts, sketch_each(shingles), strict=True))
        ]

    def _terms(self, texts: list[str]) -> Terms:
        tokens = tokenise(BETWEEN.join(texts))
        if self._segmenter is not None:
            tokens = segment(tokens, self._segmenter)
        if self._stop_words:
            tokens = without(tokens, self._stop_words)
        return Terms(tokens, hash_tokens(tokens, self.seed), tokens.bounds, self._longest)

    def _fingerprints(self, texts: list[str], terms: Terms) -> list[int]:
        size, weight = self.features.shingle, self.features.weight
        if self.features.units == "characters":
            features = Hashes.of([character_shingles(text, size, self.seed) for text in texts])
            return fingerprints(features, np.full(len(features.values), size), weight)
        # One character of a script without spaces says little alone.
        alone = HAN if weight == "keywords" else SYLLABLE
        return fingerprints(*terms.votes(size, alone), weight)

    def _digest(self, text: MainText) -> bytes:
        # An exact match is not verified, so this hash has to withstand crafted collisions.
        parts = text if text.details or text.title else text[:1]
        data = "\n".join([part.replace("\n", " ") for part in parts])
        return blake2b(data.encode(), digest_size=16, key=self.seed.to_bytes(4, "little")).digest()


def in_characters(words: int) -> int:
    """Return how many Han or Kana characters are about as long as so many *words*: nine as five."""
    return words * 9 // 5


@cache
def phrases_of_walls() -> tuple[str, ...]:
    """Return the phrases of walls.txt, normalised: what captchas, cookie notices and soft 404s say."""
    lines = files(__package__).joinpath("walls.txt").read_text("utf-8").split("\n")
    parts = [part for line in lines if not line.startswith(("#", "[")) for part in line.split("|")]
    return tuple(filter(None, map(normalise, parts)))


def _checked(text: str | MainText) -> MainText:
    if isinstance(text, str):
        return main_text(text)
    require_type("A text", text, MainText, "a str or a MainText")
    for part in text:
        require_type("A text", part, str, "a str")
    return text


#: Remembered, because to load a segmenter takes long.
_fingerprinter = lru_cache(maxsize=8)(Fingerprinter)


def simhash(text: str, features: Features = _DEFAULT, seed: int = 0) -> int:
    """Return the 64-bit fingerprint of a text. Those of near-duplicates differ in few bits, see `hamming`."""
    require_type("What a fingerprint is made of", features, Features, "a Features")
    require_whole("A seed", seed, 0, MOST_SEEDS)
    return _fingerprinter(features, seed).signature(text).fingerprint
