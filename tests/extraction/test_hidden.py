"""Elements that a page hides are no part of its text, whichever extractor reads it.

Nothing visible is lost.
"""

from __future__ import annotations

import time

import pytest

from scrapy_neardup.extraction import EXTRACTORS, Page, load_extractor
from scrapy_neardup.extraction.hidden import without_hidden
from scrapy_neardup.extraction.task import extract
from scrapy_neardup.fingerprint import Fingerprinter

from .hostile import CHINESE, ENGLISH, RUSSIAN, article

FINGERPRINTER = Fingerprinter()


@pytest.mark.parametrize(
    "element",
    [
        "<div hidden>x</div>",
        '<div hidden="">x</div>',
        "<DIV class=a HIDDEN>x</DIV>",
        '<p aria-hidden="true">x</p>',
        "<p aria-hidden=true>x</p>",
        '<p style="display:none">x</p>',
        "<p style='color: red; DISPLAY : none !important; top: 0'>x</p>",
        "<p style=display:none>x</p>",
        '<p style=" visibility: hidden ">x</p>',
        "<section hidden><div>x</div><section>y</section>x</section>",
        '<div hidden><script>"</div><div>"</script><!-- <div> -->x</div>',
        "<div title='a > b' hidden>x</div>",
        "<template><p>x</p></template>",
        "<noscript>x</noscript>",
        "<p hidden>x",
    ],
)
def test_hidden_elements_are_taken_out(element: str) -> None:
    assert without_hidden(f"<body>{RUSSIAN}{element}<p>{CHINESE}</p></body>") == (
        f"<body>{RUSSIAN}<p>{CHINESE}</p></body>"
    )


@pytest.mark.parametrize(
    "element",
    [
        "<p>hidden, display: none</p>",
        '<p class="hidden" id=hidden>x</p>',
        '<p aria-hidden="false">x</p>',
        "<div hidden=until-found>x</div>",
        '<p style="display: nonexistent; overflow: hidden; x-display: none">x</p>',
        '<p data-note="style=display:none" title="hidden">x</p>',
        "<input type=hidden><img hidden>x<br hidden>",
        "<script>'<div hidden>'</script>x",
        "<style>p {display: none} <i hidden></style>x",
        "<!-- <div hidden> -->x",
        "<textarea><div hidden></textarea>x",
        "<svg><path aria-hidden='true'/></svg>x",
        "<div hidden>never closed",
        '<div hidden id="S:1a">x</div>',
    ],
)
def test_what_is_visible_stays(element: str) -> None:
    html = f"<body>{element}<p>x</p></body>"
    assert without_hidden(html) is html


@pytest.mark.parametrize("name", ["body", "main", "html"])
def test_what_holds_all_of_a_page_is_shown_by_scripts(name: str) -> None:
    html = f'<{name} style="visibility:hidden"><p>x</p></{name}>'
    assert without_hidden(html) is html


def test_odd_characters_survive() -> None:
    assert without_hidden("\ud800\u0130<i hidden>x</i>\u0130\ud800<") == "\ud800\u0130\u0130\ud800<"


def text_of(html: str, extractor: str) -> str:
    page = Page(html.encode(), "http://a/", "text/html; charset=utf-8")
    found = extract(page, load_extractor(extractor), FINGERPRINTER, keep_text=True).text
    return found.text if found is not None else ""


@pytest.mark.parametrize("extractor", EXTRACTORS)
@pytest.mark.parametrize(
    "tag", ["<div hidden>", '<div aria-hidden="true">', '<div style="display: none">', "<div>"]
)
def test_no_extractor_takes_a_hidden_article(extractor: str, tag: str) -> None:
    other = "".join(f"<p>{RUSSIAN} ({number}).</p>" for number in range(9))
    note = ENGLISH[:230]  # so little that all that is visible is looked at
    html = article(note, times=1).replace("</body>", f"{tag}<article>{other}</article></div></body>")
    text = text_of(html, extractor)
    assert (RUSSIAN in text) == (tag == "<div>")
    assert tag == "<div>" or note in text


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
        "hidden ",
        "<p hidden ",
        '<a b="hidden',
        "<a hidden='",
        "<!-- hidden",
        "<script hidden>",
        "<template>",
        "<noscript",
        "display:none ",
        '<i style="display:none">',
        "<i hidden></b>",
    ],
)
def test_it_takes_linear_time(unit: str) -> None:
    def seconds(size: int) -> float:
        html = unit * (size // len(unit))
        started = time.process_time()
        without_hidden(html)
        return time.process_time() - started

    seconds(1000)
    # Quadratic time would be 64 times as much.
    assert seconds(200_000) < 25 * max(seconds(25_000), 0.01)


def test_ever_new_elements_without_an_end_take_linear_time() -> None:
    html = "".join(f"<x{number} hidden>" for number in range(20_000))
    started = time.process_time()
    assert without_hidden(html) is html
    assert time.process_time() - started < 5  # .05 s; with a look at the rest of the page for each, minutes
