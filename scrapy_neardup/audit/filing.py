"""Texts as the store of an audit keeps them: signed, packed, and with what tells boilerplate.

All that one text needs is made at once, in the process that signs, so that little is left for the process
that stores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_neardup.fingerprint.main_text import MainText, main_text
from scrapy_neardup.matching.boilerplate import paragraph_keys
from scrapy_neardup.matching.records import entries

from .packing import packed_text, storable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_neardup.fingerprint import Fingerprinter, Signature
    from scrapy_neardup.index import Header

#: Characters of the words that stand for the title of a text, and those among which they are looked for. So
#: many words have as many characters with the spaces between them.
_TITLE, _BEGINNING, _WORDS = 100, 800, 50


class Unsigned(NamedTuple):
    """A text that is to be filed."""

    #: A plain text, or one that an extractor has found before.
    text: str | MainText
    #: The title that its source gives it; "" for none.
    title: str
    #: The URL that says which site it is of; "" if that is not known.
    url: str


class Filed(NamedTuple):
    """A text as it is stored. All but the title is bytes, which pass between processes in no time."""

    #: The title of its page.
    title: str
    #: The signature as an index holds it: the bytes of uint64[keys] and of a record.
    keys: bytes | None
    record: bytes | None
    #: Whether it reads like a wall.
    wall: bool = False
    #: The title of the text in UTF-8, which may be a headline, and the keys of its long paragraphs, each
    #: once: the bytes of uint64[n]. None of a text that is not kept.
    headline: bytes | None = None
    paragraphs: bytes | None = None
    #: The text, see `packing`.
    text: bytes | None = None


@dataclass(frozen=True)
class Filer:
    """Files texts as *header* says; they are signed with *fingerprinter*. Goes to other processes."""

    fingerprinter: Fingerprinter
    header: Header

    def __call__(self, texts: Sequence[Unsigned]) -> list[Filed]:
        """Sign texts and file them."""
        mains = [
            main_text(each.text)._replace(title=each.title) if isinstance(each.text, str) else each.text
            for each in texts
        ]
        titles = [each.title or _first_words(main.text) for each, main in zip(texts, mains, strict=True)]
        signatures = [*self.fingerprinter.signatures(mains)]
        return self.filed(signatures, mains, titles, [each.url for each in texts])

    def filed(
        self,
        signatures: Sequence[Signature],
        texts: Sequence[MainText | None],
        titles: Sequence[str],
        urls: Sequence[str],
    ) -> list[Filed]:
        """File *texts* with their *signatures*, the *titles* of their pages and *urls* that say the site."""
        documents = entries(signatures, urls, self.header)
        keys, records = documents.keys.T.tobytes(), documents.records.tobytes()
        width, size = 8 * self.header.keys, self.header.dtype.itemsize
        found = []
        for number, (signature, text, title) in enumerate(zip(signatures, texts, titles, strict=True)):
            own_keys = keys[number * width : (number + 1) * width]
            filed = Filed(title, own_keys, records[number * size : (number + 1) * size], signature.wall)
            found.append(filed if text is None else _with_text(filed, text))
        return found


def _with_text(filed: Filed, text: MainText) -> Filed:
    text = storable(text)
    paragraphs = np.array(sorted({*paragraph_keys(text.text)}), np.uint64).tobytes()
    headline = text.title.encode("utf-8", "surrogatepass")
    return filed._replace(headline=headline, paragraphs=paragraphs, text=packed_text(text))


def _first_words(text: str) -> str:
    """Return what stands for the title of a text."""
    return " ".join(text[:_BEGINNING].split(maxsplit=_WORDS))[:_TITLE]
