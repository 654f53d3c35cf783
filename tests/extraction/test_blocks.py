"""A page as the lines that a browser shows, with what each of them is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html as lxml_html

from scrapy_neardup.extraction.blocks import Block, Layout, region_of
from scrapy_neardup.extraction.parsing import parsed, remove_no_text


def blocks(html: str) -> list[Block]:
    root = parsed(html)
    if root is None:
        return []
    remove_no_text(root)
    return Layout(root).blocks


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


def test_regions_are_of_the_elements_around() -> None:
    html = """<nav>a</nav><div class=sidebar>b<div class=comments>c</div>d<footer>e</footer></div>f
        <div class=widget><h1>g</h1><p class=ads>h</div><div id=comments>i<aside>j</aside></div>"""
    assert [(block.text, block.region) for block in blocks(html)] == [
        ("a", "around"), ("b", "around"), ("c", "comments"), ("d", "around"), ("e", "foot"), ("f", ""),
        ("g", ""), ("h", ""), ("i", "comments"), ("j", "comments"),
    ]  # fmt: skip


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


def named(markup: str, has_headline: bool) -> str:
    return region_of(lxml_html.fragment_fromstring(f"<{markup}></{markup.split()[0]}>"), has_headline)


@pytest.mark.parametrize(
    ("markup", "region"),
    [
        ("div class='post-comments'", "comments"), ("div id=disqus_thread", "comments"),
        ("div class='has-comments'", ""), ("section class='article-comments-list'", "comments"),
        ("div class='commenting'", ""), ("div class='content-comments-main'", ""),
        ("div class='right-sidebar'", "around"), ("div class='relatedPosts'", "around"),
        ("div class='widget widget_text'", "around"), ("div class='popup-content'", ""),
        ("div class='cookie-banner'", "foot"), ("div class='sidebar footer'", "foot"),
        ("div class='tag-cookie post'", ""), ("div class='body articleBody -bottom-space'", ""),
        ("aside class='article-body'", "around"), ("footer", "foot"),
        ("header", ""), ("main class=sidebar", ""),
    ],
)  # fmt: skip
def test_regions(markup: str, region: str) -> None:
    assert named(markup, has_headline=False) == region
    assert named(markup, has_headline=True) == ""
