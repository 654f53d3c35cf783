"""What is filed and stored is what an index would hold, and is read again as it was; damage is one line."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from scrapy_neardup.audit.options import AuditOptions
from scrapy_neardup.audit.reading import Filer, Unsigned, paragraph_keys
from scrapy_neardup.audit.sources.records import Origin, PageRecord
from scrapy_neardup.audit.store import Row, Store, packed_text, row_of, unpacked
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprint.main_text import MainText
from scrapy_neardup.matching.records import entries

from .corpora import text

OPTIONS = AuditOptions(seed=3)
FILER: Filer = pickle.loads(pickle.dumps(Filer(OPTIONS.fingerprinter, OPTIONS.header)))


def row(url: str, fetched: float | None, place: str) -> Row:
    return row_of(PageRecord(url, None, None, None, fetched, Origin("feed.jl", place)), "feed.jl", "")


def test_texts_are_filed_as_an_index_would_file_them_and_stored_as_they_were() -> None:
    texts = [text(number, 200 + number) for number in range(4)]
    urls = [f"https://{number}.example/" for number in range(4)]
    filed = FILER([Unsigned(text, "", url) for text, url in zip(texts, urls, strict=True)])
    signatures = [*OPTIONS.fingerprinter.signatures([MainText(text) for text in texts])]
    documents = entries(signatures, urls, OPTIONS.header)
    store = Store(None)
    store.begin({})
    for number, (each, url) in enumerate(zip(filed, urls, strict=True)):
        store.add(row(url, 5.0 if number else None, str(number)) | each)
    store.add(row("u", 1.0, "bad") | {"reason": "timeout"})
    columns = store.load(OPTIONS.header)
    assert (documents.keys == columns.keys[:4].T).all()
    assert (columns.record[:4] == documents.records).all()
    assert (columns.keys[4].any(), columns.url[:4], columns.reason[4]) == (False, urls, "timeout")
    assert np.isnan(columns.fetched).tolist() == [True, False, False, False, False]
    assert columns.title[:4] == [text[:100] for text in texts]
    assert [store.main_text(number) for number in range(1, 6)] == [*map(MainText, texts), None]
    store.close()


@pytest.mark.parametrize("headline", ["A headline", "", "Größe", "a\0b", "\ud800"])
def test_a_text_with_its_parts_is_read_again_as_it_was(headline: str) -> None:
    content, clean = f"{text(0)}\n{text(1)}\n{text(0)}", headline.replace("\0", " ")
    assert unpacked(packed_text(MainText(content, headline, "1.99\0EUR"))) == MainText(
        content, clean, "1.99 EUR"
    )
    (filed,) = FILER([Unsigned(content, headline, "https://a.example/")])
    assert filed["headline"].decode("utf-8", "surrogatepass") == clean
    assert np.frombuffer(filed["paragraphs"], np.uint64).tolist() == sorted({*paragraph_keys(content)})


def test_values_of_other_types_and_a_full_disk_are_one_line(tmp_path: Path) -> None:
    store = Store(tmp_path / "pages.sqlite")
    store.begin({})
    with pytest.raises(ConfigurationError, match="delete it"):
        store.add(row("u", None, "") | {"stamp": b"a stamp"})
    store._database.execute("PRAGMA max_page_count = 1")
    with pytest.raises(OSError, match="look at the disk"):
        store.set_meta("inputs", ["x" * 1_000_000])
    store.close()
