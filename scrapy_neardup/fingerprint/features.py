"""What a fingerprint is made of; two are comparable only if made of the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from scrapy_neardup.arguments import require_type, require_whole
from scrapy_neardup.errors import ConfigurationError

#: How often a feature counts in the vote: once, the root of its count, 1 + the logarithm of it, its count.
Weight = Literal["set", "sqrt", "log", "tf"]

#: What SimHash takes its shingles of: words (in scripts without spaces, letters), or characters with all between them.
Units = Literal["tokens", "characters"]

VERSION = 2


@dataclass(frozen=True, slots=True)
class Features:
    """The parameters of a fingerprint, all plain values. docs/fingerprint.md has the evidence for the defaults."""

    #: Units of one SimHash feature; of tokens, Kana, Thai, Lao, Khmer and Myanmar letters go at least by two.
    shingle: int = 1
    units: Units = "tokens"
    weight: Weight = "tf"
    #: Shorter paragraphs (letters; a Han character counts three) are left out; 0 keeps all.
    min_paragraph: int = 60
    #: Words of one shingle of the sketch, in scripts without spaces one character more.
    sketch_shingle: int = 5
    #: ISO 639-1 codes of languages, separated by commas, whose stop words are left out.
    stop_words: str = ""
    #: What joins Han characters to words: "" (nothing), "rjieba", or the import path of a `Segmenter`.
    segmenter: str = ""
    #: Of the normalisation, the tokens and the hashes: raised when one changes.
    version: int = VERSION

    def __post_init__(self) -> None:
        for name in ("shingle", "sketch_shingle", "min_paragraph", "version"):
            require_whole(name, getattr(self, name))
        for name in ("stop_words", "segmenter"):
            require_type(name, getattr(self, name), str, "text, a str")
        if self.shingle < 1 or self.sketch_shingle < 1:
            raise ConfigurationError("A shingle has at least 1 token.")
        if self.units not in get_args(Units):
            raise ConfigurationError(f"units is one of {', '.join(get_args(Units))}, not {self.units!r}.")
        if self.weight not in get_args(Weight):
            raise ConfigurationError(f"weight is one of {', '.join(get_args(Weight))}, not {self.weight!r}.")
        if self.min_paragraph < 0:
            raise ConfigurationError("min_paragraph is 0 (keep all paragraphs) or a number of letters.")
        if self.version != VERSION:
            raise ConfigurationError(f"This release makes features of version {VERSION}, not {self.version}.")
