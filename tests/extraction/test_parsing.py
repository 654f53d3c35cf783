"""What a page hides is no part of its text, whichever extractor reads it; titles; content areas."""

from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from scrapy_neardup import Detector
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.extraction import ContentArea, Page, Workers, load_extractor
from scrapy_neardup.extraction.libraries import EXTRACTORS, Plain, visible_text
from scrapy_neardup.extraction.parsing import (
    parsed,
    parsed_whole,
    remove_hidden,
    template_of,
    titles,
    written,
)
from scrapy_neardup.extraction.task import extract
from scrapy_neardup.fingerprint import Fingerprinter

from .hostile import ENGLISH, RUSSIAN, article

FINGERPRINTER = Fingerprinter()


def test_pages_with_the_same_style_sheets_are_of_one_template() -> None:
    sheet = '<html><head><script src="/{0}/x.js"></script><LINK rel=StyleSheet href="../{0}/{1}.css?v={0}">'
    (own,) = {template_of(sheet.format(each, "main7")) for each in (1, 22)}
    assert 0 < own < 1 << 16
    # What stands in the body may be a reader's.
    assert own == template_of(sheet.format(1, "main") + "<body><link rel=stylesheet href=a.css>")
    assert own == template_of(sheet.format(1, "main") + "<link rel=stylesheet href=print.css>")
    assert template_of(sheet.format(1, "other")) != own
    # Without any, the names of their metadata tell; a fragment has none.
    bare = ("<head><link href=a.png><meta name={0} content=1><META content=x property='{1}'>", "<p>{}{}")
    pages = [[template_of(page.format(*each)) for each in ("ab", "ba", "ac")] for page in bare]
    assert pages[0][0] == pages[0][1] != pages[0][2]
    assert pages[1] == [1] * 3
    for bad in ("<link " + "href " * 50_000, "<link href=" + "/" * 250_000, "<link " + "href=//" * 40_000):
        assert template_of(bad) > 0  # in some milliseconds
    assert template_of("<meta " * 40_000) == template_of("<meta " + "name " * 50_000) == 1


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
        "<p popover>no</p>",
        "<dialog>no</dialog>",
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
        "<dialog open>x</dialog>",
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
    ("html", "expected"),
    [
        ("<title>The old\n harbour &amp; more</title>", ["The old harbour & more"]),
        ("<TITLE lang=en>One</TITLE><title>Two</title>", ["One"]),
        ("<title>One</title><meta property='og:title' content='Two &quot;x&quot;'>", ["One", 'Two "x"']),
        ('<meta content="It\'s" property=og:title><title>One', ["One", "It's"]),
        ("<title>One</title><meta name='og:title' content=\"One\">", ["One"]),
        ("<meta property='og:title:x' content='x'><meta property='og:description' content='y'>", []),
        ("<title> </title>", []),
        ("<titles>x</titles>", []),
        ("no markup", []),
        ("", []),
    ],
)
def test_titles(html: str, expected: list[str]) -> None:
    assert titles(html) == expected


@given(st.text(max_size=300))
def test_a_title_is_one_line(text: str) -> None:
    for title in titles(f"<title>{text}<meta property=og:title content='{text}'>"):
        assert title == " ".join(title.split()) != ""


#: For content areas.
PAGE = """<html><head><title>Harbour</title></head><body class="x">lead<nav>Menu</nav>tail
<div class="wide"><article id="a">One<article>Two</article> <aside class="ad b">Buy</aside>after</article>z
</div><ARTICLE>Three</ARTICLE></body></html>"""


def cut(area: ContentArea, html: str = PAGE) -> str:
    root = parsed(html, huge_tree=True)
    if root is None:
        return ""
    area.cut(root)
    return written(root)


def shown(area: ContentArea) -> str:
    return " ".join(visible_text(cut(area)).split())


def test_the_included_elements_alone_are_left_each_once_with_all_that_they_hold() -> None:
    assert shown(ContentArea(("article",))) == "One Two Buy after Three"
    assert shown(ContentArea(("#a article",))) == "Two"
    assert shown(ContentArea((".wide", "#a", "nav"))) == "Menu One Two Buy after z"
    assert shown(ContentArea(("html > body > nav, .b",))) == "Menu Buy"
    assert shown(ContentArea(("html",))) == shown(ContentArea(("body",))) == shown(ContentArea())
    assert shown(ContentArea((".none",))) == ""


def test_excluded_elements_are_left_out_of_included_ones_too_but_not_what_stands_behind() -> None:
    assert shown(ContentArea((), ("nav", ".ad"))) == "leadtail One Two after z Three"
    assert shown(ContentArea(("#a",), ("article article", "aside"))) == "One after"
    assert shown(ContentArea((), ("body",))) == shown(ContentArea((), ("*",))) == ""


def test_the_head_stays_where_titles_are_read() -> None:
    assert Plain()(cut(ContentArea((".none",))), None).title == "Harbour"


@pytest.mark.parametrize(
    "selector",
    ["", "[", "a{", "#", "p::text", "p:foo", "svg|p", "p:nth-child(x)", ".a\0{", "p:contains('\1')",
     f"p:nth-child({'9' * 5000})", "p " * 5000 + "p"],
)  # fmt: skip
def test_what_is_no_selector_is_refused_at_once(selector: str) -> None:
    for area in ((selector,), ()), ((), ("nav", selector)):
        with pytest.raises(ConfigurationError, match="is no CSS selector"):
            ContentArea(*area)


def test_workers_look_in_the_area_but_never_at_what_an_element_around_it_hides() -> None:
    words = "The council agreed on Tuesday to a plan for the harbour, to be done in three years. " * 5
    page = f"""<html><body><p>{words} outside</p>
    <article><p>{words} inside</p><p class="ad">advert</p></article>
    <div hidden><article>secret {words}</article></div></body></html>"""
    options: dict[str, Any] = {"processes": 1, "timeout": 30, "memory": 1 << 30, "keep_text": True}
    area = ContentArea(("article",), (".ad",))
    with closing(Workers(FINGERPRINTER, "plain", area=area, **options)) as workers:
        done = workers.submit(Page(page.encode(), "http://a/", "text/html")).result()
        none = workers.submit(Page(f"<p>{words}</p>".encode(), "http://b/", "text/html")).result()
    assert done.text is not None
    assert "inside" in done.text.text
    for word in ("outside", "advert", "secret"):
        assert word not in done.text.text
    assert none.reason == "no_text"
