"""The signature of a text, which finds and judges its near-duplicates, and the parameters it is made with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from scrapy_neardup.arguments import require_type, require_whole
from scrapy_neardup.errors import ConfigurationError

from .values import TITLE, UNITS

#: What a feature that occurs n times weighs in the vote: 1, √n, 1 + log n, or n; or ``keywords``: n² if it is
#: long among those of the text.
Weight = Literal["set", "sqrt", "log", "tf", "keywords"]

#: Of what SimHash takes shingles: of tokens (words; in scripts without spaces, letters), or of characters
#: with the spaces and signs between them.
Units = Literal["tokens", "characters"]

VERSION = 10


@dataclass(frozen=True, slots=True)
class Features:
    """The parameters of a signature. docs/fingerprint.md has the evidence for the defaults."""

    #: Units of one SimHash feature. Kana, Thai, Lao, Khmer and Myanmar letters are taken at least by two.
    shingle: int = 1
    units: Units = "tokens"
    weight: Weight = "keywords"
    #: Paragraphs of fewer letters are left out; a Han character counts as three letters. 0 keeps all.
    min_paragraph: int = 60
    #: Words of one shingle of the sketch; in scripts without spaces nine characters for five.
    sketch_shingle: int = 5
    #: ISO 639-1 codes of languages, separated by commas, whose stop words are left out.
    stop_words: str = ""
    #: What joins Han characters to words: "" (nothing), "rjieba", or the import path of a `Segmenter`.
    segmenter: str = ""
    #: Grows when normalisation, tokens or hashes change.
    version: int = VERSION

    def __post_init__(self) -> None:
        for name in ("shingle", "sketch_shingle"):
            require_whole(name, getattr(self, name), 1)
        require_whole("min_paragraph", self.min_paragraph, 0)
        for name in ("stop_words", "segmenter"):
            require_type(name, getattr(self, name), str, "text, a str")
        for name, known in (("units", get_args(Units)), ("weight", get_args(Weight))):
            if (value := getattr(self, name)) not in known:
                raise ConfigurationError(f"{name} is one of {', '.join(known)}, not {value!r}.")
        if self.version != VERSION:
            raise ConfigurationError(f"This release makes features of version {VERSION}, not {self.version}.")


class Signature(NamedTuple):
    """What is kept of a text. Signatures compare if their features, scheme and seed are the same."""

    #: 64-bit SimHash.
    fingerprint: int
    #: 128-bit hash of the normalised text, short lines and title.
    digest: bytes
    #: Its tokens; of a script without spaces two characters count as one, or four letters.
    tokens: int
    #: Its shingles, and the distinct ones among them, of which the sketch was made.
    runs: int
    shingles: int
    #: One-permutation MinHash of the shingles, see `sketch.sketch_each`.
    sketch: bytes
    #: Sketch of the numbers in the text, bits of the words of the title (all zero if it is not known), and
    #: sketches of figures and words in short lines, see values.py.
    numbers: bytes
    title: bytes = bytes(TITLE)
    figures: bytes = bytes(2 * UNITS["figures"])
    words: bytes = bytes(2 * UNITS["words"])
    #: The text reads like a captcha, a cookie notice, a log-in form or an error page.
    wall: bool = False
    #: No reader sees the text, as far as the markup of its page tells.
    hidden: bool = False
    #: Further keys of the scheme, of 8 bytes each, little-endian.
    keys: bytes = b""
    #: What else the scheme keeps.
    extra: bytes = b""
    #: What its page tells of its site where no URL does, below `matching.sites.TOLD`: see `template_of`.
    site: int = 0
