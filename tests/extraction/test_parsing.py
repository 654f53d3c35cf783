"""What a page hides is no part of its text, whichever extractor reads it. Nothing visible is lost."""

from __future__ import annotations

import time

import pytest
from lxml import etree

from scrapy_neardup import Detector
from scrapy_neardup.extraction import EXTRACTORS, Page, load_extractor
from scrapy_neardup.extraction.parsing import parsed, parsed_whole, remove_hidden
from scrapy_neardup.extraction.task import extract
from scrapy_neardup.fingerprint import Fingerprinter

from .hostile import ENGLISH, RUSSIAN, article

FINGERPRINTER = Fingerprinter()


@pytest.mark.parametrize("tag", ["div", "b", "x-own", "DIV class='x'"])
def test_it_is_known_whether_all_of_a_page_was_parsed(tag: str) -> None:
    for count, whole in ((240, True), (300, False), (100_000, False)):
        assert parsed_whole(f"<{tag}>" * count + "text")[1] == whole
    # Whatever else is wrong with it.
    assert not parsed_whole("</x>" * 9000 + f"<{tag}>" * 300 + "</y>" * 9000)[1]
    assert parsed_whole("</x>" * 9000 + f"<{tag}>x</{tag.split()[0]}>" * 3000)[1]


def visible(body: str) -> str:
    root = parsed(f"<html><body>{body}</body></html>")
    assert root is not None
    remove_hidden(root)
    etree.strip_elements(root, "script", "style", etree.Comment, with_tail=False)
    return "".join(root.itertext())


@pytest.mark.parametrize(
    "element",
    [
        "<div hidden>no</div>",
        "<DIV class=a HIDDEN>no</DIV>",
        '<p aria-hidden=" TRUE">no</p>',
        '<p style="display:none">no</p>',
        "<p style='color: red; DISPLAY : none !important; top: 0'>no</p>",
        '<p style=" visibility: hidden ">no</p>',
        "<section hidden><div>no</div><section>no</section>no</section>",
        "<div hidden><script>'</div>'</script><!-- <div> -->no</div>",
        "<div title='a > b' hidden>no</div>",
        "<template><p>no</p></template>",
        "<noscript>no</noscript>",
        "<textarea>no</textarea>",
        "<iframe>no</iframe>",
        "<video>no</video>",
        "<select><option>no</select>",
        "<button>no <b>no</b></button>",
        "<p hidden>no",
    ],
)
def test_hidden_elements_are_taken_out_and_what_comes_behind_is_not(element: str) -> None:
    assert visible(f"one{element}<p>two</p>three") == "onetwothree"


@pytest.mark.parametrize(
    "element",
    [
        '<p class="hidden" id=hidden>x</p>',
        '<p aria-hidden="false">x</p>',
        "<div hidden=until-found>x</div>",
        '<p style="display: nonexistent; overflow: hidden; x-display: none">x</p>',
        '<p data-note="style=display:none" title="hidden">x</p>',
        "<input type=hidden><img hidden>x<br hidden>",
        "<script>'<div hidden>'</script>x",
        "<!-- <div hidden> -->x",
        '<div hidden id="S:1a">x</div>',
    ],
)
def test_what_is_visible_stays(element: str) -> None:
    assert visible(element) == "x"


def text_of(html: str, extractor: str) -> str:
    page = Page(html.encode(), "http://a/", "text/html; charset=utf-8")
    found = extract(page, load_extractor(extractor), FINGERPRINTER, keep_text=True).text
    return found.text if found is not None else ""


@pytest.mark.parametrize("extractor", EXTRACTORS)
@pytest.mark.parametrize("tag", ["<div hidden>", '<div style="display: none">', "<iframe>", "<div>"])
def test_no_extractor_takes_a_hidden_article(extractor: str, tag: str) -> None:
    other = "".join(f"<p>{RUSSIAN} ({number}).</p>" for number in range(9))
    note = ENGLISH[:230]  # so little that all that is visible is looked at
    html = article(note, times=1).replace("</body>", f"{tag}<article>{other}</article></{tag[1:4]}></body>")
    text = text_of(html, extractor)
    assert (RUSSIAN in text) == (tag == "<div>")
    assert tag == "<div>" or note in text


@pytest.mark.parametrize(
    "form",
    [
        "<div hidden>{}</div>",
        "<div style='display:none'>{}</div>",
        "<template>{}</template>",
        "<noscript>{}</noscript>",
        "<textarea>{}</textarea>",
        "<button>{}</button>",
        "<object>{}</object>",
        "<video>{}</video>",
        "<div>" * 300 + "<p hidden>{}</p>",
    ],
)
@pytest.mark.parametrize("shown", ["", "Buy cheap watches here. " * 8])
def test_text_that_no_reader_sees_stands_for_its_own_page_alone(form: str, shown: str) -> None:
    """Nothing that another site shows is dropped for it."""
    text = "".join(f"<p>{RUSSIAN} {ENGLISH} ({number}).</p>" for number in range(6))
    hides = f"<title>Spam</title><p>{shown}</p>{form.format(text)}"
    with Detector.open() as detector:

        def kind(html: str, url: str) -> str:
            page = Page(html.encode(), url, "text/html; charset=utf-8")
            signature = extract(page, load_extractor("segment"), detector.fingerprinter).signature
            assert signature is not None
            return detector.add(signature, url).kind

        assert kind(hides, "https://evil.example/x") == "unique"
        assert kind(f"<h1>The harbour</h1>{text}", "https://victim.example/story") == "unique"
        assert kind(hides, "https://evil.example/y") == "exact"


# Resiliparse itself leaves out what is hidden.
@pytest.mark.parametrize("extractor", ["segment", "trafilatura", "plain"])
def test_a_page_that_hides_all_of_its_text_is_read(extractor: str) -> None:
    html = article(ENGLISH).replace("<article>", "<p>Wait.</p><article style=display:none>")
    assert ENGLISH in text_of(html, extractor)


@pytest.mark.parametrize(
    "unit",
    [
        "<div hidden>",
        "<div hidden>x</div>",
        "<div hidden",
        "<p hidden ",
        "<a hidden='",
        "<script hidden>",
        "<template>",
        "<x hidden>",
        '<i style="display:none">',
        "<i hidden></b>",
    ],
)
def test_it_takes_linear_time(unit: str) -> None:
    def seconds(size: int) -> float:
        html = unit * (size // len(unit))
        started = time.process_time()
        if (root := parsed_whole(html)[0]) is not None:
            remove_hidden(root)
        return time.process_time() - started

    seconds(1000)
    # Quadratic time would be 64 times as much.
    assert seconds(200_000) < 25 * max(seconds(25_000), 0.01)
