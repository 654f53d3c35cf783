"""Every extractor finds the main text, and nothing that was served makes the task fail."""

import sys
import time

import pytest

from scrapy_neardup.errors import ExtractorUnavailable
from scrapy_neardup.extraction import Page, load_extractor
from scrapy_neardup.extraction.libraries import EXTRACTORS, Plain, visible_text
from scrapy_neardup.extraction.task import extract
from scrapy_neardup.fingerprint import Fingerprinter
from scrapy_neardup.fingerprint.main_text import MainText, main_text

from .hostile import CASES, ENGLISH, Case, article

FINGERPRINTER = Fingerprinter()
NOTHING = MainText("")


def found(extractor: str, html: str) -> str:
    return main_text(load_extractor(extractor)(html, None) or NOTHING).text


def text_of(case: Case, extractor: str) -> tuple[str, str | None, bool]:
    page = Page(case.body, "http://a/", case.content_type)
    result = extract(page, load_extractor(extractor), FINGERPRINTER, keep_text=True)
    assert (result.signature is None) == (result.text is None) == (result.reason is not None)
    assert result.detail is None
    return (result.text or NOTHING).text, result.reason, result.fallback


@pytest.mark.parametrize("extractor", EXTRACTORS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_hostile_page(case: Case, extractor: str) -> None:
    if (case.name, extractor) == ("no markup", "trafilatura"):
        return  # it is no page to it
    text, reason, fallback = text_of(case, extractor)
    assert (reason, fallback) == (case.reason, case.fallback)
    assert case.words in text
    assert extractor != "segment" or "\ufffd" not in text or case.name.startswith(("invalid", "one bad"))


@pytest.mark.parametrize("name", EXTRACTORS)
def test_extractor_gives_paragraphs_on_lines_and_an_identity(name: str) -> None:
    extractor = load_extractor(name)
    assert len({extractor(article(ENGLISH), None) for _ in range(10)}) == 1  # it is not of the pages before
    assert extractor.identity.split()[0] == name
    assert len(extractor.identity.split()) >= 2
    lines = [line for line in found(name, article(ENGLISH)).split("\n") if line.strip()]
    assert lines == [f"{ENGLISH} ({number})" for number in range(3)]


def test_plain_reads_markup_as_a_browser_does() -> None:
    html = (
        """<title>T</title><p>One\n two<b>bo</b>ld &amp; &lt;x&gt;</p><script>if (a<b) {"</p>"}</script>"""
        """A < B and 3<4<br/>C\n        <a title="a > b" data-x='<p>' href=x>link</a><!-- <p>no --> end"""
        """<noscript>js</noscript><P class=x>é<style>p{}"""
    )
    assert visible_text(html).split("\n") == ["One twobold & <x>", "A < B and 3<4", "C link end", "é"]


@pytest.mark.parametrize(
    "unit", ["<div>", "</b>", "<a ", "<!--", "<script>", "<svg ", '<a b="', "<a =", "&amp", "<![CDATA["]
)
def test_plain_takes_linear_time(unit: str) -> None:
    def seconds(size: int) -> float:
        started = time.process_time()
        Plain()(unit * (size // len(unit)), None)
        return time.process_time() - started

    seconds(1000)
    # Quadratic time would be 64 times as much.
    assert seconds(800_000) < 25 * max(seconds(100_000), 0.01)


def test_extractor_by_import_path(tmp_path, monkeypatch) -> None:
    (tmp_path / "own_extractor.py").write_text(
        "def first(html, url): return html[:5]\nfirst.identity = 'first 2'\nclass Bag:\n    @staticmethod\n"
        "    def second(html, url): return url\nthird = 3\n"
        "def fifth(html, url): return html.encode()\ndef sixth(html): return html\n"
        "class Seventh:\n    identity = 'seventh 3'\n    def __call__(self, html, url): return html[:3]\n"
        "class Eighth(Seventh):\n    def __init__(self): raise ValueError('no model')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("own_extractor.first", "own_extractor:first"):
        extractor = load_extractor(name)
        assert (extractor("<html>", None), extractor.identity) == ("<html", "first 2")
    extractor = load_extractor("own_extractor.Seventh")
    assert (extractor("<html>", None), extractor.identity) == ("<ht", "seventh 3")
    with pytest.raises(ExtractorUnavailable, match="no model"):
        load_extractor("own_extractor.Eighth")
    with pytest.raises(ExtractorUnavailable, match="not callable"):
        load_extractor("own_extractor.third")
    with pytest.raises(ExtractorUnavailable, match=r"takes other arguments: name a function \(html, url\)"):
        load_extractor("own_extractor.sixth")
    with pytest.raises(ExtractorUnavailable, match="check the path"):
        load_extractor("own_extractor.fourth")
    with pytest.raises(
        TypeError, match=r"^What an extractor returns is a str, a MainText or None, not bytes\.$"
    ):
        load_extractor("own_extractor.fifth")("<html>", None)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [("trafilatra", "set it to 'segment', 'trafilatura', 'resiliparse', 'plain' or the import path"),
     ("no_such_package.f", "is installed"), ("json.no_such_name", "check the path"),
     ("__main__.f", "move"), ("", "set it to"), ("json.__doc__", "name a function")],
)  # fmt: skip
def test_unknown_extractor_is_refused_with_a_remedy(name: str, remedy: str) -> None:
    """In one sentence, which names the setting."""
    with pytest.raises(ExtractorUnavailable, match=remedy) as refused:
        load_extractor(name)
    assert "NEARDUP_EXTRACTOR" in str(refused.value)
    assert str(refused.value).endswith(".")


def test_missing_package_is_named(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "resiliparse.extract.html2text", None)
    with pytest.raises(
        ExtractorUnavailable, match=r"pip install --upgrade 'scrapy-neardup\[resiliparse\]'`\.$"
    ):
        load_extractor("resiliparse")


def test_failure_of_the_extractor_is_told_in_one_line() -> None:
    class Broken:
        identity = "broken 1"

        def __call__(self, html: str, url: str | None) -> str | None:
            raise ValueError("two\nlines")

    result = extract(Page(b"<p>x", "http://a/", None), Broken(), FINGERPRINTER)
    assert result.reason == "failed"
    assert result.detail is not None
    assert result.detail.startswith(f"ValueError: two lines ({__file__}:")


def test_the_text_is_kept_only_if_asked_for_and_is_what_was_signed() -> None:
    page, plain = Page(article(ENGLISH).encode(), "http://a/", None), load_extractor("plain")
    asked, not_asked = (extract(page, plain, FINGERPRINTER, keep_text=keep) for keep in (True, False))
    assert not_asked.text is None
    assert asked.text == plain(article(ENGLISH), None)
    assert asked.signature == not_asked.signature == FINGERPRINTER.signature(asked.text or NOTHING)
    nothing = extract(Page(b"<p> </p>", "http://a/", None), plain, FINGERPRINTER, keep_text=True)
    assert (nothing.text, nothing.reason) == (None, "no_text")
