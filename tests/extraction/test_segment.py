"""The default extractor takes the article and nothing of what stands around it, however the page is built."""

from __future__ import annotations

import random
import subprocess
import sys
import time
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_neardup import Detector
from scrapy_neardup.extraction import Page
from scrapy_neardup.extraction.libraries import visible_text
from scrapy_neardup.extraction.segment import Segment
from scrapy_neardup.extraction.task import extract
from scrapy_neardup.fingerprint import Fingerprinter
from scrapy_neardup.fingerprint.main_text import MainText
from tests.examples import examples

from .hostile import ENGLISH

LATIN = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
TITLE = "The harbour stays open all summer"

segment = Segment()


def sentence(dice: random.Random, words: int = 40) -> str:
    return " ".join("".join(dice.choices(LATIN, k=3)) for _ in range(words)).capitalize() + "."


def paragraphs(seed: int, count: int = 6, words: int = 40) -> list[str]:
    """*count* paragraphs of some 280 letters, of words that other seeds do not have."""
    dice = random.Random(seed)
    return [sentence(dice, words) for _ in range(count)]


def marked(texts: list[str]) -> str:
    return "".join(f"<p>{text}</p>" for text in texts)


def page(body: str, title: str = TITLE) -> str:
    return f"<!DOCTYPE html><html><head><title>{title} | The Site</title></head><body>{body}</body></html>"


def extracted(html: str) -> MainText:
    return segment(html, None) or MainText("")


def told_apart(*pages: MainText, site: str = "https://a.example/{}") -> None:
    """Expect each page of a site to be another one, and to be found again under another URL."""
    with Detector.open() as detector:
        for number, each in enumerate(pages):
            verdict = detector.add(each, site.format(number))
            assert not verdict.is_duplicate, (number, verdict)
        for number, each in enumerate(pages):
            again = detector.check(each, f"{site.format(number)}?from=menu")
            assert again.kind in ("exact", "too_short"), (number, again)


OWN, LEGAL, OTHER, LONG = (paragraphs(seed, count) for seed, count in ((1, 6), (2, 3), (3, 5), (4, 30)))
ARTICLE = f"<h1>{TITLE}</h1>{marked(OWN)}"
FOOTER = f"<footer>{marked(LEGAL)}</footer>"
LINKS = "<ul>" + "<li><a href=x>another page</a></li>" * 12 + "</ul>"

#: Bodies of pages whose main text is OWN.
BODIES = {
    "alone": ARTICLE,
    "footer": ARTICLE + FOOTER,
    "more comments than article": f"{ARTICLE}<div class=comments>{marked(LONG)}</div>",
    "lines that begin like a heading over comments": f"<h1>{TITLE}</h1>{marked(OWN[:3])}<p>Comments:</p>"
    f"<ul><li>Comments</li><li>Comments are nodes.</li></ul>{marked(OWN[3:])}",
    "comments section before the article": f"<h1>{TITLE}</h1><div><h2>Comments</h2></div>{marked(OWN)}",
    "teasers amid": f"<h1>{TITLE}</h1>{marked(OWN[:2])}<h3>Related</h3>{LINKS[:80]}</ul>{marked(OWN[2:])}",
    "br": f"<h1>{TITLE}</h1><div>{'<br><br>'.join(OWN)}</div>{FOOTER}",
    "table for layout": f"<table><tr><td>{LINKS}<td>{'<br>'.join(OWN)}<td>{LINKS}</table>{FOOTER}",
    "main in aside": f"<aside><main>{ARTICLE}</main></aside>{FOOTER}",
    "site's name is a headline, too": f"<h1>The Site</h1><div>{ARTICLE}</div>{FOOTER}",
    "in comments, with the headline": f"<div class=comments>{ARTICLE}</div>{FOOTER}",
} | {
    f"in {name}": f"<div class='{name}'><h2>{TITLE}</h2>{marked(OWN)}</div>{FOOTER}"
    for name in (
        "popup-content", "author-bio", "widget", "sidebar", "modal", "social", "newsletter", "banner", "nav",
        "teaser",
    )
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_the_article_and_nothing_else_is_the_text(name: str) -> None:
    assert [line for line in extracted(page(BODIES[name])).text.split("\n") if len(line) > 60] == OWN


def test_pictures_with_other_captions_under_the_same_words_are_other_pages_of_a_site() -> None:
    def gallery(captions: list[str], intro: str = marked(OWN[:3])) -> MainText:
        shown = "".join(f"<figure><figcaption>{caption}</figcaption></figure>" for caption in captions)
        return extracted(page(f"<h1>{TITLE}</h1>{intro}{shown}"))

    first, second, short = (gallery(captions) for captions in (paragraphs(71, 9), paragraphs(72, 9), ["Two"]))
    assert first.text.split("\n") == [*OWN[:3], *paragraphs(71, 9)]
    assert short.text.split("\n") == OWN[:3]
    assert "Two" not in short.details
    told_apart(first, second, short, gallery(["Boats"]))
    # They are what a page without an article shows.
    assert gallery(["Two", "Boats"], "").text.split("\n") == [TITLE, "Two", "Boats"]


def test_links_that_are_less_than_the_article_are_no_lines_of_it() -> None:
    others = marked([f"<a href=x>{text}</a>" for text in paragraphs(73, 5)])
    assert extracted(page(ARTICLE + others)).details == ""


@pytest.mark.parametrize(
    "body",
    [
        f"<h1>{TITLE}</h1>",
        f"<h2>Get {TITLE} now</h2><h2>{TITLE}</h2>",
        f"<div>{TITLE}</div>",
        f"<nav><a href=x>{TITLE}</a></nav><h1>{TITLE}</h1>",
        f"<h1>The Site</h1><h2><a href=x>{TITLE}</a></h2>",
        "",
    ],
)
def test_the_title_is_that_of_the_page(body: str) -> None:
    found = extracted(page(body + marked(OWN))).title
    assert found == (TITLE if body else f"{TITLE} | The Site")


def test_products_of_a_shop_that_has_one_title_for_all_pages_are_told_apart() -> None:
    """The h1 names the product, and the price stands behind it, far from the text that all have in common."""
    blurb = marked(paragraphs(65, 3, 30))
    products = []
    for name, price in (("Black tops", 30), ("Ladies' watch", 98), ("Lady shoe", 49), ("Lady shoe", 52)):
        body = f"<h1>{name}</h1><p>€{price}.50</p><div class=tags>{LINKS}</div><h2>Description</h2>{blurb}"
        products.append(extracted(page(body, "Fine things for everybody")))
        assert name in products[-1].title
        assert f"€{price}.50" in products[-1].details
    told_apart(*products)


def test_products_without_an_article_differ_in_their_values() -> None:
    """A blurb that is too short for an article, and a few values, are all of the text."""
    blurb = f"<p>{sentence(random.Random(66), 52)[:170]}</p>"
    products = []
    for colour, size in (("Black, blue", "S, M"), ("Golden", "L")):
        values = f"<h2>Lady shoe</h2><h3>€49.00</h3>{blurb}<div>Colour: {colour}</div><div>Size: {size}</div>"
        body = f"<h1>Lady shoe</h1>{values}<div class=tags>{LINKS}</div>{FOOTER}"
        products.append(extracted(page(body, "Fine things for everybody")))
        assert all(value in products[-1].shown for value in ("€49.00", f"Colour: {colour}", f"Size: {size}"))
    told_apart(*products)


def test_headings_that_are_links_name_the_entries_of_a_list() -> None:
    """Page by page a shop lists other things, over one text that all pages of the list have."""
    text = marked(paragraphs(67, 6, 60))
    found = []
    for seed in range(68, 71):
        names = [name[:-1] for name in paragraphs(seed, 5, 6)]
        entries = "".join(f"<div><h2><a href=x>{name}</a></h2><span>€19.99</span></div>" for name in names)
        found.append(extracted(page(f"<h1>Shop</h1>{entries}{text}", "Fine things for everybody")))
        assert {*names} <= {*found[-1].details.split("\n")}
    told_apart(*found)


def test_short_lines_under_the_headline_are_details() -> None:
    rows = "".join(f"<tr><td>Berth {number}</td><td>{number * 7} €</td></tr>" for number in range(5))
    found = extracted(
        page(f"<p>Top</p><h1>{TITLE}</h1><p>12 May</p>{marked(OWN)}<table>{rows}</table>{FOOTER}")
    )
    assert found.text.split("\n") == OWN
    expected = ["12 May"]
    for number in range(5):
        expected += [f"Berth {number}", f"{number * 7} €"]
    assert found.details.split("\n") == expected


def test_a_comparison_in_a_script_is_no_tag_that_takes_the_page_along() -> None:
    script = "for(i=0;i<n;i++){a['x']=1;" + "b(i);" * 2000 + "c='it" + "\\'" + "s'}"
    found = extracted(page(f'<script>{script}</script><h1>{TITLE}</h1>{marked(OWN[:3])}<p>It\'s "so".</p>'))
    assert found.text.split("\n")[:3] == OWN[:3]


def test_without_an_article_the_lines_are_the_text_and_the_title_stays() -> None:
    found = extracted(page(f"<h1>{TITLE}</h1><p>{ENGLISH[:200]}.</p>"))
    assert ENGLISH[:200] in found.text
    assert found.title == TITLE
    assert segment(page("<div id=root></div><script>var text</script>"), None) is None
    assert segment("", None) is None


WORDS = st.sampled_from(
    ["word", "Комментарии", "3 Comments", "Related", "cookie", "。", ".", ENGLISH, "的" * 80]
)
MARKUP = st.sampled_from(
    [f"<{end}{name}>" for end in ("", "/")
     for name in ("p", "div", "h1", "a href=x", "title", "pre", "nav", "table", "td")]
    + ["<div class=comments>", "<div class=sidebar>", "<footer>", "<br>", "&amp;", "<", ">",
       "<meta property=og:title content=x>"]
)  # fmt: skip


@examples(60)
@given(st.lists(MARKUP | WORDS | st.text(max_size=5), max_size=40).map("".join))
@example("<meta property=og:title content=x><p><title><p>")
def test_any_page_has_a_text_of_visible_words(html: str) -> None:
    visible = set(" ".join(visible_text(html).replace("<", " ").split()))
    visible |= {*unicodedata.normalize("NFC", "".join(visible))}
    found = extracted(html)
    assert set(" ".join(found.text.replace("<", " ").split())) <= visible | {"\ufffd", "-", "|", " "}
    details = found.details.split("\n")
    assert len({*details}) == len(details)
    assert not {*details, ""} & {*found.text.split("\n")} - {""}


UNITS = [
    f"<h2>Comments</h2><p>{ENGLISH}</p>", "<h2><a href=x>Related</a></h2>", "<p><a href=x>x</a></p>",
    f"<div class=modal><p>{ENGLISH}</div>", "<h1>The harbour stays open</h1>", "<select><option>x",
    f"<h2>{'1' * 79}</h2><p>{ENGLISH}</p>", f"<aside>{'<p>' + ENGLISH}</aside>", "</select>", "<br>",
    "<p>x", "<button><i>x</i></button>", "<div class='a-b c'>x</div>", "&amp;", "<!-- x -->", "<pre>",
    "<div>" * 200 + "<h1>x</h1>" + "</div>" * 200, "<a href=x>", "<table>", "<i>", "<svg>", "<select",
    "<div hidden>x</div>", "<div hidden", "<a hidden='", "<script hidden>", "<template>", "<title ", "<meta ",
    '<i style="display:none">', '<meta content="', "<dt>a<dd>b", "<li>a", "<table><tr><td>a", "a<br>",
    "<table><tr><td>a</td></tr></table>", "<div><div><div>x</div></div></div>", "<ul><li>a</ul>",
    "<tr><td>a</td><td>b</td></tr>",
]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_a_crafted_page_takes_linear_time_and_a_second_a_megabyte_at_most(unit: str) -> None:
    def seconds(size: int) -> float:
        html = page(ARTICLE[:200] + unit * (size // len(unit)))
        started = time.process_time()
        extract(Page(html.encode(), "http://a/", "text/html; charset=utf-8"), segment, Fingerprinter())
        return time.process_time() - started

    seconds(1000)
    # It takes .05 to .4 s. Quadratic time would be 64 times as much.
    most = min(0.8, 25 * max(seconds(50_000), 0.02))
    assert any(seconds(400_000) < most for _ in range(2))


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["<dt>a<dd>b", "<li>a</li>", "la la 7<br>", "<tr><td>a</td><td>b</td></tr>"])
def test_five_megabytes_take_five_seconds_and_500_of_memory(unit: str) -> None:
    script = f"""if True:
        import resource, time
        from scrapy_neardup import Fingerprinter
        from scrapy_neardup.extraction import Page, load_extractor
        from scrapy_neardup.extraction.task import extract
        body = ({unit!r} * ({5 << 20} // {len(unit)})).encode()
        limits = load_extractor("segment"), Fingerprinter()
        for size in (1000, len(body)):
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            started = time.process_time()
            assert extract(Page(body[:size], "http://a/", "text/html"), *limits).signature
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(time.process_time() - started, (peak - before) / 1024)
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    seconds, megabytes = map(float, done.stdout.split())
    assert seconds < 5
    assert megabytes < 500


def test_what_stands_behind_very_many_lines_is_part_of_the_text() -> None:
    listed = "<div class=menu>" + "<i>x</i><br>" * 50_100
    assert OWN[3] in extracted(page(f"{listed}</div>{ARTICLE}")).shown


def test_one_element_of_many_attributes_takes_linear_time() -> None:
    attributes = " ".join(f"a{number}=1" for number in range(100_000))
    html = page(f"{ARTICLE}<div {attributes}>x</div>")
    started = time.process_time()
    assert extracted(html).text.split("\n") == OWN
    assert time.process_time() - started < 3  # .1 s; libxml2 takes minutes
    data = "{'a': '<b>'} " * 9000
    assert extracted(page(f'<div data-state="{data}">{ARTICLE}</div>')).text.split("\n") == OWN


@pytest.mark.parametrize("play", ["<h1>{}</h1><p>May 3, {}:00 - 21:00", "<p>May 3, {1}–9:30 pm<h1>{0}</h1>"])
def test_performances_of_one_play_are_told_apart_by_their_hours(play: str) -> None:
    amid = f"{marked(OWN[:3])}<p>Open 9:00 - 17:00</p>{marked(OWN[3:])}"
    told_apart(*(extracted(page(f"<div>{play.format(TITLE, n)}{amid}</div>")) for n in (7, 8)))


def thread(texts: list[str], aside: str = "") -> str:
    """A thread of a forum in which the first post, too, is called a comment, under a link to the site."""
    posts = "".join(
        f"<div class=comment><div>Submitted by Ann</div><p>{text}</p></div>" for text in texts[1:]
    )
    first = f"<div class=comment><h3>{TITLE}</h3><div>Submitted by Bob</div><p>{texts[0]}</p></div>"
    return page(f"<h1><a href=/>The Site</a></h1><div id=main>{aside}{first}{posts}</div>{FOOTER}")


def test_posts_of_a_forum_that_are_called_comments_are_the_text_where_there_is_no_other() -> None:
    found = extracted(thread([*OWN[:2], OWN[0]]))  # what comes again is there again
    assert found.text.split("\n") == [OWN[0], "Submitted by Ann", OWN[1], "Submitted by Ann", OWN[0]]
    assert found.title == TITLE
    assert extracted(thread(OWN[:3], marked(OTHER))).text.split("\n") == OTHER
    # Lines without sentences may be what readers comment on.
    lines = [text[:24] for text in paragraphs(70, 60, 12)]
    assert OWN[0] not in extracted(thread(OWN[:3], "<br>".join(lines))).text


@pytest.mark.parametrize("intro_words", [200, 300])
@pytest.mark.parametrize("form", ["{intro}{note}", "{note}{intro}", "{intro}<table><tr><td>{note}</table>"])
def test_short_notes_under_one_title_and_introduction_are_all_kept(form: str, intro_words: int) -> None:
    """Nothing else tells the pages apart: no headline, no numbers, no short lines."""
    intro = f"<p>{sentence(random.Random(1), intro_words)}</p>"
    notes = (f"<p>{sentence(random.Random(seed), 70)}</p>" for seed in range(2, 8))
    bodies = ("<h1>The Site</h1>" + form.format(intro=intro, note=note) for note in notes)
    told_apart(*(extracted(page(body, "The Site")) for body in bodies))


def listing(names: list[str], intro: str) -> str:
    """A page of a list, under one short text that all its pages have."""
    items = "".join(f"<div><h3><a href=x>{name}</a></h3><time>{name[::-1]}</time></div>" for name in names)
    return page(f"<h1>Music</h1><p>{intro}</p>{items}", title="Music")


def test_all_that_a_page_shows_counts_where_its_text_is_a_small_part_of_that() -> None:
    intro = sentence(random.Random(7), 50)
    first, second = ([*paragraphs(seed, 12, 8)] for seed in (8, 9))
    one, other = extracted(listing(first, intro)), extracted(listing(second, intro))
    assert one.text == other.text == intro
    assert first[11] in one.details
    assert second[11] not in one.details
    told_apart(one, other)


def test_all_that_a_page_without_an_article_shows_counts() -> None:
    """All pages have a box of notes that looks more like a text than the list of the page."""
    notes = marked([text[:70] for text in paragraphs(60, 6)])

    def listed(seed: int) -> MainText:
        rows = "".join(f"<tr><td><a href=x>{text[:70]}</a></td></tr>" for text in paragraphs(seed, 6))
        return extracted(page(f"<div><table>{rows}</table></div><div>{notes}</div>", title="Lists"))

    assert listed(61).text == listed(62).text
    told_apart(*map(listed, (61, 62, 63)))


def entry(name: str, texts: list[str], classes: str = "post") -> str:
    return f"<article class='{classes}'><h2><a href=x>{name}</a></h2>{marked(texts)}</article>"


def test_teasers_of_a_page_without_a_headline_are_what_it_lists() -> None:
    """Its title names the archive, its headings are the town's name and that of the section."""
    note = f"<h1>Town of Somewhere</h1><h1>Publications</h1>{marked(paragraphs(91, 4, 30))}"

    def archive(seed: int) -> MainText:
        listed = "".join(entry(text[:40], [text]) for text in paragraphs(seed, 14, 30))
        return extracted(page(note + listed, title="Archive of documents"))

    told_apart(archive(92), archive(93))


def test_entries_that_the_text_leaves_out_count_if_they_are_most_of_the_prose() -> None:
    """The entries stand so far apart that the text ends with the fourth."""

    def listed(texts: list[str]) -> MainText:
        meta = "<div><a href=x>Someone</a></div><div><a href=x>Tag</a></div>" * 4
        return extracted(page(marked(texts[:4]) + "".join(meta + f"<p>{text}</p>" for text in texts[4:])))

    first, one, other = paragraphs(30, 4, 60), paragraphs(31, 5, 60), paragraphs(32, 5, 60)
    assert listed(first + one).text == listed(first + other).text == "\n".join(first)
    told_apart(listed(first + one), listed(first + other))


def test_menu_and_foot_are_no_text_of_a_page_that_has_no_article() -> None:
    menu = "".join(f"<div>{text[:24]}</div>" for text in paragraphs(40, 10, 12))
    foot = "".join(f"<p>{text[:50]}</p>" for text in paragraphs(41, 24, 20))

    def listed(seed: int) -> MainText:
        own = "".join(f"<tr><td><a href=x>{text}</a></td></tr>" for text in paragraphs(seed, 2, 3))
        body = f"<div class=menu>{menu}</div><table>{own}</table><div class=foot>{foot}</div>"
        return extracted(page(body, title="Lists"))

    told_apart(*map(listed, range(42, 46)))


COUNTRIES = [sentence(random.Random(f"country {number}"), 1)[:-1] for number in range(240)]
CHOICES = "".join(f"<option>{country}" for country in COUNTRIES)
LABELS = [text[:40] for text in paragraphs(48, 12, 12)]
FORM = "".join(f"<p><label>{text}</label> <input></p>" for text in LABELS)


@pytest.mark.parametrize("kind", ["select", "datalist", "SELECT name=country"])
def test_what_a_form_offers_to_choose_from_is_not_its_text(kind: str) -> None:
    """Forms of two sites have the same countries, and little else."""
    choices = f"<{kind}>{CHOICES}</{kind.split()[0]}>"
    found = extracted(page(f"<form>{FORM}<p>Country {choices}</p></form>")).shown
    assert LABELS[0] in found
    assert LABELS[11] in found
    assert COUNTRIES[7] not in found

    def form(seed: int) -> MainText:
        own = "".join(f"<p><label>{text[:40]}</label></p>" for text in paragraphs(seed, 12, 12))
        return extracted(page(f"<form>{own}{choices}</form>", title=f"Write to {seed}"))

    told_apart(form(49), form(50), site="https://site-{}.com/")


def test_what_stands_under_the_headline_counts_behind_a_line_that_runs_over_all_pages() -> None:
    ticker = f"<div>{' '.join(paragraphs(50, 2))}</div><nav><a href=/>Home</a></nav>"
    rows = "".join(f"<tr><td><a href=x>Name</a></td><td>{number * 7}</td></tr>" for number in range(9))
    found = extracted(page(f"{ticker}<h1>{TITLE}</h1><p>The table</p><table>{rows}</table>{FOOTER}"))
    assert found.details.split("\n") == ["The table", *(str(number * 7) for number in range(9))]


@pytest.mark.parametrize("form", ["<h1><a href={}>{}</a></h1>", "<a href={}><h1>{}</h1></a>"])
@pytest.mark.parametrize(
    "home", ["/", "https://a.example", "http://a.example/", "../../index.html", "../", "index.php?s=1", "#"]
)
def test_a_headline_that_is_a_link_to_the_site_does_not_name_the_page(home: str, form: str) -> None:
    """Lists of entries by their tags: the tag stands in the title alone, and over it the name of the site."""
    body = f"{form.format(home, 'The Harbour Site')}<nav>{LINKS}</nav>{marked(OWN)}"
    one, other = (
        extracted(f"<head><title>{tag} : The Harbour Site</title></head><body>{body}</body>")
        for tag in ("Ships", "Cranes")
    )
    assert (one.title, other.title) == ("Ships : The Harbour Site", "Cranes : The Harbour Site")
    told_apart(one, other)


def test_pages_of_lines_alone_are_told_apart_by_a_few_of_them() -> None:
    dice = random.Random(7)
    links = [f"<td>{sentence(dice, 3).rstrip('.')}</td>" for _ in range(18)]

    def notice(name: str, below: str = "Details as a file") -> MainText:
        frame = "".join(f"<tr>{row}</tr>" for row in links)
        return extracted(page(f"<table>{frame}</table><p>{name}</p><p>{below}</p>", "The Town of Harbour"))

    name = "Road works on northern bridges until June"
    others = "Tests for new drivers every Friday evening", "Water prices rise where meters are old"
    told_apart(*map(notice, (name, *others)))
    with Detector.open() as detector:
        detector.add(notice(name), "https://town.example/1")
        assert detector.check(notice(name, "File"), "https://town.example/print").is_duplicate


def test_lines_are_of_the_element_that_holds_headline_and_text() -> None:
    beside = "<div>" + "".join(f"<p>Deal {number} of the day</p>" for number in range(20)) + "</div>"
    found = extracted(page(f"{beside}<section>{ARTICLE}<p>In stock: 4, 17.90 EUR</p></section>{beside}"))
    assert OWN[0] in found.text
    assert "17.90" in found.details
    assert "Deal" not in found.shown
