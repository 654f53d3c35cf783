"""A page as the lines that a browser shows, with what each of them is."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.extraction.blocks import Block, blocks_of
from scrapy_neardup.extraction.parsing import parsed, remove_no_text

from .hostile import CHINESE, ENGLISH


def blocks(html: str) -> list[Block]:
    root = parsed(html)
    if root is None:
        return []
    remove_no_text(root)
    return blocks_of(root)


def lines(html: str) -> list[str]:
    return [block.text for block in blocks(html)]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("one<br>two<BR/>three", ["one", "two", "three"]),
        ("<p>one<p>two", ["one", "two"]),
        ("head<div>one</div>tail<div>two</div>end", ["head", "one", "tail", "two", "end"]),
        ("<ul><li>one<ul><li>two</ul>three</ul>", ["one", "two", "three"]),
        ("<table><tr><td>one<td>two<tr><th>three</table>", ["one", "two", "three"]),
        ("<dl><dt>one<dd>two</dl>", ["one", "two"]),
        ("<x-card>one</x-card><x-card>two</x-card>", ["one", "two"]),
        ("one<hr>two", ["one", "two"]),
        ("<details><summary>one</summary>two</details>", ["one", "two"]),
        ("<form><label>one</label><p>two</form>", ["one", "two"]),
    ],
)
def test_what_a_browser_shows_on_separate_lines_are_blocks(html: str, expected: list[str]) -> None:
    assert lines(f"<body>{html}</body>") == expected


def test_inline_elements_and_comments_break_no_line() -> None:
    html = "a<b>b</b><!-- c -->c <i><a href=x>d</a></i> <span>e\n f</span><?php x?> g<wbr>h&amp;i"
    assert lines(html) == ["abc d e f gh&i"]


def test_preformatted_text_is_one_block() -> None:
    assert lines("<p>x</p><pre>one\n\n  two<br>three <span>four</span></pre>y") == [
        "x",
        "one two three four",
        "y",
    ]


@pytest.mark.parametrize(
    "element",
    [
        "<script>'no'</script>",
        "<style>no</style>",
        "<svg><text>no</text></svg>",
        "<select><option>no</select>",
        "<svg><svg>no</svg>no</svg>",
        "<!-- no -->",
    ],
)
def test_the_invisible_is_left_out_and_what_comes_behind_is_not(element: str) -> None:
    assert lines(f"<div>one{element}two<p>three</p></div>") == ["onetwo", "three"]


def test_links() -> None:
    some = "<p><a href=x><b>some</b> <i>more</i></a> it"
    html = f"<p><a href=x>all of it</a></p><p>a bit <a href=x>of</a> it</p>{some}"
    assert [block.is_link for block in blocks(html)] == [True, False, True]


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("/files/Plan.PDF?page=2", "Plan.PDF"),
        ("talk.mp3", "talk.mp3"),
        ("//a.example/b.zip#part", "b.zip"),
        ("https://www.example.zip", ""),  # a host
        ("https://my-site.mov/?x", ""),
        ("/wiki/File:Sound.ogg", ""),  # what a wiki says of it
        ("javascript:play.exe", ""),
        ("/pdf", ""),
    ],
)
def test_links_to_documents(address: str, name: str) -> None:
    (block,) = blocks(f"<p><a href='{address}'>The plan of the harbour</a></p>")
    assert block.document == name


def test_an_anchor_is_no_link() -> None:
    assert [block.is_link for block in blocks(f"<a name=top><p>{ENGLISH}</p></a>")] == [False]


@pytest.mark.parametrize(
    ("text", "prose"),
    [(ENGLISH, True), ("So it ends here.", False), (ENGLISH[:150], False), ("x " * 100 + "x", True),
     (CHINESE[:60], False), (CHINESE[:75], True), (ENGLISH[:80] + ".”)", True), (ENGLISH[:80] + " -", False)],
)  # fmt: skip
def test_a_paragraph_ends_like_a_sentence_or_is_long(text: str, prose: bool) -> None:
    assert [block.prose for block in blocks(f"<p>{text}</p>")] == [prose]


def test_headings() -> None:
    found = blocks("<h1><span>one</span></h1><h2><div>two</div></h2><h3>three</h3>tail<p>four")
    assert [(block.text, block.heading) for block in found] == [
        ("one", "h1"), ("two", "h2"), ("three", "h3"), ("tail", ""), ("four", ""),
    ]  # fmt: skip


def test_regions_are_of_the_elements_around() -> None:
    html = """<nav>a</nav><div class=sidebar>b<div class=comments>c</div>d<footer>e</footer></div>f
        <div class=widget><h1>g</h1><p class=ads>h</div><div id=comments>i<aside>j</aside></div>"""
    assert [(block.text, block.region) for block in blocks(html)] == [
        ("a", "around"), ("b", "around"), ("c", "comments"), ("d", "around"), ("e", "foot"), ("f", ""),
        ("g", ""), ("h", ""), ("i", "comments"), ("j", "comments"),
    ]  # fmt: skip


@pytest.mark.parametrize("html", ["", " ", "<!-- -->", "<html>", "<?xml?>", "\ud800", "<frameset>"])
def test_pages_without_text(html: str) -> None:
    assert lines(html) in ([], ["?"])


NAMES = (
    "p", "div", "br", "b", "h1", "pre", "button", "svg", "table", "tr", "td", "li", "script", "textarea",
    "nav", "aside", "frameset", "body", "html",
)  # fmt: skip
MARKUP = st.sampled_from(
    [f"<{end}{name}>" for end in ("", "/") for name in NAMES]
    + ["<a href=x>", "</a>", "<!--", "-->", "<?x ", ">", "&amp;", "&#0;"]
)


@given(st.lists(MARKUP | st.text(max_size=9), max_size=60).map("".join))
def test_any_page_has_blocks_of_its_own_characters(html: str) -> None:
    for block in blocks(html):
        assert block.text == " ".join(block.text.split()) != ""
        assert 0 <= block.linked <= block.letters


def seconds(unit: str, size: int) -> float:
    """Processor time for a page of *size* characters."""
    html = unit * (size // len(unit))
    started = time.process_time()
    blocks(html)
    return time.process_time() - started


@pytest.mark.parametrize(
    "unit",
    ["<a href=x>", "<br>", "<p>x", "<button>", "<button><i>x</i></button>", "<h1>x</h1>",
     "<div class='a-b c'>x</div>",
     "&amp;", "<!-- x -->", "<pre>", "<table>", "<i>", "<svg>",
     "<div>" * 200 + "<h1>x</h1>" + "</div>" * 200],
)  # fmt: skip
def test_it_takes_linear_time(unit: str) -> None:
    seconds(unit, 1000)
    # Quadratic time would be 64 times as much.
    assert min(seconds(unit, 200_000) for _ in range(2)) < 25 * max(seconds(unit, 25_000), 0.01)


def test_articles_in_articles_are_not_read_again_and_again() -> None:
    nested, flat = ("<article>" * count + "x" + "</article>" * count for count in (240, 1))
    seconds(nested, 10_000)
    assert seconds(nested, 200_000) < 6 * max(seconds(flat, 200_000), 0.02)
