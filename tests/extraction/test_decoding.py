"""The charset is what the bytes are, and what is no text is known by its bytes."""

import encodings
import pkgutil
import time
from encodings.aliases import aliases

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_neardup.audit.sources.responses import read_head
from scrapy_neardup.extraction.decoding import decode, detect, is_binary

from .hostile import CHINESE, ENGLISH, FRENCH, RUSSIAN, article


@given(
    st.binary(max_size=3000),
    st.sampled_from([None, "text/html", "text/html; charset=utf-16", "x; charset=gbk", "x; charset=utf-7"]),
)
@example(b"\\ud800 \\udfff", "x; charset=unicode_escape")
@example(b"+2AA-", "x; charset=utf-7")
def test_any_bytes_decode(body: bytes, content_type: str | None) -> None:
    text = decode(body, content_type)
    assert "\x00" not in text
    text.encode()  # no lone surrogates


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff"), max_size=500))
def test_utf8_is_recognised(text: str) -> None:
    assert detect(text.encode()) == "utf-8"
    assert decode(text.encode(), "text/html; charset=utf-8") == text


@pytest.mark.parametrize(
    ("text", "charset"),
    [(CHINESE, "gbk"), (CHINESE, "gb18030"), (RUSSIAN, "cp1251"), (RUSSIAN, "koi8-r"), (FRENCH, "cp1252"),
     (CHINESE, "utf-16-le"), (RUSSIAN, "utf-16-be"), (ENGLISH, "utf-16-le")],
)  # fmt: skip
def test_undeclared_charset(text: str, charset: str) -> None:
    page = article(text, head="<script>var a = 1;</script>" * 200)
    assert decode(page.encode(charset), None) == page


@pytest.mark.parametrize("unit", ["<script", "<style", "</script", "<", "@"])
def test_the_charset_is_guessed_in_linear_time(unit: str) -> None:
    def seconds(size: int) -> float:
        body = FRENCH.encode("cp1252") * 20 + unit.encode() * (size // len(unit))
        started = time.process_time()
        detect(body)
        return time.process_time() - started

    seconds(1000)
    # Quadratic time would be 64 times as much.
    assert seconds(160_000) < 25 * max(seconds(20_000), 0.02)


def test_declared_charset_stands_unless_it_cannot_be() -> None:
    assert decode("é".encode("cp1252"), "text/html; charset=latin-1") == "é"
    # Valid in both: the declaration is all there is.
    assert decode("é".encode(), "text/html; charset=latin-1") == "Ã©"
    assert decode(RUSSIAN.encode("cp1251"), "text/html; charset=utf-8") == RUSSIAN


@pytest.mark.parametrize(
    ("text", "charset"),
    [
        (RUSSIAN, "windows-1251"),
        (CHINESE, "gb2312"),
        (CHINESE, "shift_jis"),
        (f"{FRENCH} " * 9, "iso-8859-1"),
    ],
)
def test_a_page_that_was_saved_as_utf8_may_declare_its_first_charset(text: str, charset: str) -> None:
    page = article(text, head=f'<meta charset="{charset}">')
    assert decode(page.encode(), None) == page
    # Where the file was cut, it ends within a character.
    cut = page[: page.rindex(text[-1])] + "é"
    assert decode(cut.encode()[:-1], None).startswith(cut[:-1])
    assert decode(page.encode(charset, "xmlcharrefreplace"), None).startswith(page[:40])


def test_a_page_with_data_in_utf8_has_the_charset_that_it_declares() -> None:
    """Some sites fill data for search engines into a page of another charset as it is."""
    text = "Мост над рекой открыли утром, и первым по нему прошёл смотритель маяка. " * 10
    data = f'<script type="application/ld+json">{{"articleBody": "{text * 3}"}}</script>'.encode()
    body = b"<meta charset=windows-1251>" + data + f"<p>{text}</p>".encode("cp1251")
    assert text in decode(body, "text/html; charset=windows-1251")


@pytest.mark.parametrize("text", [ENGLISH, RUSSIAN])
def test_a_page_may_name_any_codec_of_python_as_its_charset(text: str) -> None:
    """Some are no charsets at all, or raise whatever they are given."""
    names = {module.name for module in pkgutil.iter_modules(encodings.__path__)} | set(aliases)
    for name in names - {"mbcs", "oem"}:
        for page, content_type in (
            (article(text), f"text/html; charset={name}"),
            (article(text, head=f'<meta charset="{name}">'), None),
        ):
            decode(page.encode(), content_type).encode()
            read_head(page.encode(), content_type, "https://a.example/")
    for name in ("undefined", "idna", "punycode", "hex", "rot13", "unicode_escape", "zip", "uu"):
        assert text in decode(article(text).encode(), f"text/html; charset={name}")
        assert text in decode(article(text, head=f'<meta charset="{name}">').encode(), None)
        cyrillic = article(RUSSIAN, head='<meta charset="cp1251">').encode("cp1251")
        assert RUSSIAN in decode(cyrillic, f"text/html; charset={name}")


@pytest.mark.parametrize(
    "magic", [b"%PDF-1.4", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"PK\x03\x04", b"\x1f\x8b\x08", b"\r\n%PDF-1.4"]
)
def test_binary_by_its_first_bytes(magic: bytes) -> None:
    assert is_binary(magic + b"<html>")
