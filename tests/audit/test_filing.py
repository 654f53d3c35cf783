"""A text is filed as an index would file it, and is read again as it was."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from scrapy_neardup.audit.packing import unpacked
from scrapy_neardup.audit.settings import AuditOptions
from scrapy_neardup.audit.signing import Filer, Unsigned
from scrapy_neardup.fingerprint.main_text import MainText
from scrapy_neardup.matching.boilerplate import paragraph_keys
from scrapy_neardup.matching.records import entries

from .corpora import text

OPTIONS = AuditOptions(seed=3)
FILER: Filer = pickle.loads(pickle.dumps(Filer(OPTIONS.fingerprinter, OPTIONS.header)))


def test_as_an_index_would_file_it() -> None:
    texts = [text(number, 200 + number) for number in range(4)]
    urls = [f"https://{number}.example/" for number in range(4)]
    filed = FILER([Unsigned(text, "", url) for text, url in zip(texts, urls, strict=True)])
    signatures = [*OPTIONS.fingerprinter.signatures([MainText(text) for text in texts])]
    documents = entries(signatures, urls, OPTIONS.header)
    assert b"".join(each.keys or b"" for each in filed) == documents.keys.T.tobytes()
    assert b"".join(each.record or b"" for each in filed) == documents.records.tobytes()
    assert [each.title for each in filed] == [text[:100] for text in texts]


@pytest.mark.parametrize("headline", ["A headline", "", "Größe", "a\0b", "\ud800"])
def test_text_is_read_again_as_it_was(headline: str) -> None:
    main = MainText(f"{text(0)}\n{text(1)}\n{text(0)}", headline, "1.99\0EUR")
    (filed,) = FILER([Unsigned(main, "In the head", "https://a.example/")])
    assert filed.text is not None
    assert unpacked(filed.text) == MainText(main.text, headline.replace("\0", " "), "1.99 EUR")
    assert (filed.title, filed.headline) == (
        "In the head",
        headline.replace("\0", " ").encode("utf-8", "surrogatepass"),
    )
    assert np.frombuffer(filed.paragraphs or b"", np.uint64).tolist() == sorted({*paragraph_keys(main.text)})
