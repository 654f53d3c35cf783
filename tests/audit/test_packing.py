"""Texts are read again, whatever packed them; what is damaged says so."""

from __future__ import annotations

import zlib

import pytest

from scrapy_neardup.audit import packing
from scrapy_neardup.audit.packing import ERRORS, packed_text, unpacked
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprint.main_text import MainText

TEXT = MainText("A text that is long enough to be packed. " * 9 + "\ud800ö", "Its title", "1.99")


def test_packed_with_and_without_zstandard(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = packed_text(TEXT)
    monkeypatch.setattr(packing, "zstd", None)
    by_zlib = packed_text(TEXT)
    with pytest.raises(ConfigurationError, match="pip install"):
        unpacked(packed)
    assert by_zlib == zlib.compress("\0".join(TEXT).encode("utf-8", "surrogatepass"), 1)
    monkeypatch.undo()
    assert unpacked(packed) == unpacked(by_zlib) == TEXT


def test_many_with_one_packer() -> None:
    texts = [MainText("word " * number, str(number)) for number in (0, 1, 10_000, 3, 300_000, 0)]
    assert [unpacked(packed) for packed in map(packed_text, texts)] == texts


@pytest.mark.parametrize("damage", [b"", b"\x28\xb5\x2f\xfd", packed_text(TEXT)[:-9], b"no such thing"])
def test_damaged(damage: bytes) -> None:
    with pytest.raises((*ERRORS, ValueError)):
        unpacked(damage)
