"""Every extractor finds the main text, and nothing that was served makes the task fail."""

from __future__ import annotations

import sys
import time

import pytest

from scrapy_neardup.errors import ExtractorUnavailable
from scrapy_neardup.extraction import EXTRACTORS, Page, load_extractor
from scrapy_neardup.extraction.plain import Plain
from scrapy_neardup.extraction.task import extract
from scrapy_neardup.fingerprint.signature import Signature

from .hostile import CASES, ENGLISH, Case, article, nested


class Transcript:
    """A fingerprinter whose signature is the text itself."""

    def signature(self, text: str) -> Signature:
        return Signature(0, text.encode(), 0, 0, b"")


def text_of(case: Case, extractor: str) -> tuple[str, str | None, bool]:
    result = extract(Page(case.body, "http://a/", case.content_type), load_extractor(extractor), Transcript())
    text = "" if result.signature is None else result.signature.digest.decode()
    assert (result.signature is None) == (result.reason is not None)
    assert result.detail is None
    return text, result.reason, result.fallback


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_hostile_page_with_the_default_extractor(case: Case) -> None:
    text, reason, fallback = text_of(case, "trafilatura")
    assert (reason, fallback) == (case.reason, case.fallback)
    assert case.words in text
    assert "\ufffd" not in text or case.name.startswith(("invalid", "one bad"))


@pytest.mark.parametrize("extractor", ["resiliparse", "plain"])
@pytest.mark.parametrize("case", [c for c in CASES if c.name != "no markup"], ids=lambda case: case.name)
def test_hostile_page_with_the_other_extractors(case: Case, extractor: str) -> None:
    text, reason, fallback = text_of(case, extractor)
    assert (reason, fallback) == (case.reason, case.fallback)
    assert case.words in text


@pytest.mark.parametrize("name", EXTRACTORS)
def test_extractor_gives_paragraphs_on_lines_and_an_identity(name: str) -> None:
    extractor = load_extractor(name)
    assert extractor.identity.split()[0] == name
    assert len(extractor.identity.split()) >= 2
    lines = [line for line in (extractor(article(ENGLISH), None) or "").split("\n") if line.strip()]
    assert lines == [f"{ENGLISH} ({number})" for number in range(3)]


def test_trafilatura_does_not_depend_on_the_pages_before() -> None:
    extractor = load_extractor("trafilatura")
    assert len({extractor(article(ENGLISH), None) for _ in range(10)}) == 1


def test_plain_reads_markup_as_a_browser_does() -> None:
    html = """<title>T</title><p>One\n two<b>bo</b>ld &amp; &lt;x&gt;</p><script>if (a<b) {"</p>"}</script>A < B and 3<4<br/>C
        <a title="a > b" data-x='<p>' href=x>link</a><!-- <p>no --> end<noscript>js</noscript><P class=x>é<style>p{}"""
    assert Plain()(html, None).split("\n") == ["One twobold & <x>", "A < B and 3<4", "C link end", "é"]


@pytest.mark.parametrize(
    "unit",
    [
        "<div>",
        "</b>",
        "<a ",
        "<!--",
        "<script>",
        "<svg ",
        '<a b="',
        "<a x='",
        "<a =",
        "&amp",
        "<!",
        "<![CDATA[",
    ],
)
def test_plain_takes_linear_time(unit: str) -> None:
    def seconds(size: int) -> float:
        started = time.process_time()
        Plain()(unit * (size // len(unit)), None)
        return time.process_time() - started

    seconds(1000)
    # Quadratic time would be 64 times as much.
    assert seconds(1_600_000) < 25 * max(seconds(200_000), 0.01)


def test_extractor_by_import_path(tmp_path, monkeypatch) -> None:
    (tmp_path / "own_extractor.py").write_text(
        "def first(html, url): return html[:5]\nfirst.identity = 'first 2'\nclass Bag:\n    @staticmethod\n"
        "    def second(html, url): return url\nthird = 3\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("own_extractor.first", "own_extractor:first"):
        extractor = load_extractor(name)
        assert (extractor("<html>", None), extractor.identity) == ("<html", "first 2")
    with pytest.raises(ExtractorUnavailable, match="not callable"):
        load_extractor("own_extractor.third")
    with pytest.raises(ExtractorUnavailable, match="check the path"):
        load_extractor("own_extractor.fourth")


@pytest.mark.parametrize(
    ("name", "remedy"),
    [("trafilatra", "use one of trafilatura, resiliparse, plain"), ("no_such_package.f", "is installed"),
     ("__main__.f", "Move"), ("", "use one of")],
)  # fmt: skip
def test_unknown_extractor_is_refused_with_a_remedy(name: str, remedy: str) -> None:
    with pytest.raises(ExtractorUnavailable, match=remedy):
        load_extractor(name)


def test_missing_package_is_named(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "resiliparse.extract.html2text", None)
    monkeypatch.delitem(sys.modules, "scrapy_neardup.extraction.resiliparse", raising=False)
    with pytest.raises(ExtractorUnavailable, match=r"pip install 'scrapy-neardup\[resiliparse\]'"):
        load_extractor("resiliparse")


def test_failure_of_the_extractor_is_told_in_one_line() -> None:
    class Broken:
        identity = "broken 1"

        def __call__(self, html: str, url: str | None) -> str | None:
            raise ValueError("two\nlines")

    result = extract(Page(b"<p>x", "http://a/", None), Broken(), Transcript())
    assert result.reason == "failed"
    assert result.detail is not None
    assert result.detail.startswith(f"ValueError: two lines ({__file__}:")


def test_deep_page_keeps_the_text_that_the_extractor_would_lose() -> None:
    html = nested(300).decode()
    assert "Below." not in (load_extractor("trafilatura")(html, None) or "")
    assert "Below." in text_of(Case("", html.encode()), "trafilatura")[0]
