"""Pages that were made to break whatever reads them, with parameters drawn by chance."""

from __future__ import annotations

import gzip
import random
import zlib
from functools import partial
from typing import TYPE_CHECKING

from tests.extraction.hostile import CASES, spanning_table
from tests.extraction.hostile import article as html_of
from torture.articles import LANGUAGES, article
from torture.crawling import HTML, Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: Elements that parsers treat in ways of their own.
ELEMENTS = (
    "div p b a table tr td select option svg math template noscript textarea title body html head form frameset "
    "ruby rt li dl dd button marquee nobr font plaintext xmp iframe style script object annotation-xml foreignObject"
).split()


def sentences(dice: random.Random) -> list[str]:
    """Return the paragraphs of an ordinary article."""
    return article(dice, dice.choice(LANGUAGES), 12).text


def page(*parts: str, head: str = "") -> Answer:
    body = "".join(f"<p>{part}</p>" for part in parts)
    html = f"<html><head>{head}<title>t</title></head><body><article>{body}</article></body></html>"
    return Answer(html.encode("utf-8", "surrogatepass"))


def known_case(dice: random.Random) -> Answer:
    case = dice.choice(CASES)
    return Answer(case.body, case.content_type)


def deep(dice: random.Random) -> Answer:
    name, levels = dice.choice(ELEMENTS), int(10 ** dice.uniform(2, 5.3))
    close = f"</{name}>" * (levels if dice.random() < 0.5 else 0)
    return page(*sentences(dice), f"<{name}>" * levels + " ".join(sentences(dice)) + close)


def mixed_nesting(dice: random.Random) -> Answer:
    names = dice.choices(ELEMENTS, k=int(10 ** dice.uniform(2, 4.3)))
    return page("".join(f"<{name}>x" for name in names), *sentences(dice), "".join(f"</{n}>" for n in names))


def misnested_formatting(dice: random.Random) -> Answer:
    """The adoption agency algorithm takes quadratic time where a parser follows it."""
    times = int(10 ** dice.uniform(2, 4))
    return page(*sentences(dice), "<b><i><a><font>" * times + "x" + "<p></b></i></a>" * times)


def huge_attribute(dice: random.Random) -> Answer:
    size = int(10 ** dice.uniform(4, 6.5))
    name = dice.choice(["class", "style", "id", "data-x", "href", "hidden", "srcset", "onclick"])
    value = dice.choice(["a", "a ", "&amp;", "display:", "é", "hidden ", ";;", "http://x/"]) * (size // 4)
    return page(f'<span {name}="{value}">', *sentences(dice))


def many_attributes(dice: random.Random) -> Answer:
    count = int(10 ** dice.uniform(3, 5.3))
    same = dice.random() < 0.5
    attributes = " ".join(f"a{0 if same else number}=hidden" for number in range(count))
    return page(f"<div {attributes}>", *sentences(dice))


def entity_bomb(dice: random.Random) -> Answer:
    """Billion laughs: a parser that expands them has a gigabyte."""
    levels = dice.randint(5, 12)
    entities = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(levels))
    head = f'<?xml version="1.0"?><!DOCTYPE html [<!ENTITY e0 "lol">{entities}]>'
    return Answer(f"{head}<html><body><p>&e{levels};</p><p>{' '.join(sentences(dice))}</p></body></html>".encode(),
                  dice.choice([HTML, "application/xhtml+xml", "text/xml"]))  # fmt: skip


def external_entity(dice: random.Random) -> Answer:
    head = '<?xml version="1.0"?><!DOCTYPE html [<!ENTITY x SYSTEM "file:///etc/passwd"><!ENTITY % y SYSTEM "http://127.0.0.1:9/">%y;]>'
    return Answer(f"{head}<html><body><p>&x; {' '.join(sentences(dice))}</p></body></html>".encode(),
                  dice.choice([HTML, "application/xhtml+xml"]))  # fmt: skip


def character_references(dice: random.Random) -> Answer:
    codes = [0, 0x80, 0x9F, 0xD800, 0xDFFF, 0xFFFE, 0x10FFFF, 0x110000, 10**30, dice.randrange(0x110000)]
    reference = dice.choice(["&#{};", "&#x{:x};", "&#{}"])
    many = ("".join(reference.format(dice.choice(codes)) for _ in range(5000)) for _ in range(5))
    return page(*many, *sentences(dice))


def tables(dice: random.Random) -> Answer:
    return Answer(spanning_table(int(10 ** dice.uniform(0.5, 3))))


def large_table(dice: random.Random) -> Answer:
    columns = dice.randint(1, 400)
    row = "<tr>" + "<td>1" * columns
    return page(*sentences(dice), "<table>" + row * (int(10 ** dice.uniform(3, 5.3)) // columns + 1))


def tag_soup(dice: random.Random) -> Answer:
    parts = [*"<>/=\"'!", "--", *"&; \n\0", "word", "]]>", "<![CDATA[", *ELEMENTS]
    soup = "".join(dice.choices(parts, k=int(10 ** dice.uniform(3, 5.3))))
    return page(*sentences(dice), soup, *sentences(dice))


def json_inside(dice: random.Random) -> Answer:
    data = '{"@type":"NewsArticle","articleBody":"' + "x " * int(10 ** dice.uniform(2, 6)) + '"}'
    deep = "[" * int(10 ** dice.uniform(2, 5))
    scripts = [f'<script type="application/ld+json">{each}</script>' for each in (data, deep)]
    return page(*sentences(dice), head="".join(scripts))


_CHARSETS = (
    "utf-8 utf-16 utf-32 utf-7 gb18030 big5 euc-jp shift_jis iso-2022-jp iso-2022-kr hz windows-1251 koi8-r cp037 "
    "x-user-defined rot13 base64 hex unicode_escape idna punycode undefined utf-8-sig x-mac-cyrillic"
).split()
_BEGINNINGS = (
    b"", b"%PDF-1.4", b"\x89PNG\r\n\x1a\n", b"PK\x03\x04", b"\x1f\x8b", b"<html>", b"GIF89a", b"\xff\xfe", b"<", b"\0",
    b" ", b"<!--", b"\xef\xbb\xbf", b"a" * 30,
)  # fmt: skip
_ODD = (
    "\0\x01\x08\x0b\x0c\x1b\x7f\x85\xa0\xad\u034f\u061c\u115f\u180e\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u202a"
    "\u202e\u2060\u2066\u2069\u3164\ufe0f\ufeff\ufff9\ufffc\ufffd\uffff\U000e0001\U000e0020\U0010ffff"
)


def odd_characters(dice: random.Random) -> Answer:
    def spoiled(text: str) -> str:
        return "".join(each + (dice.choice(_ODD) if dice.random() < 0.2 else "") for each in text)

    return page(*map(spoiled, sentences(dice)))


def surrogates(dice: random.Random) -> Answer:
    return page(*("\ud800".join(each.split()) + "\udfff" * 50 for each in sentences(dice)))


def combining(dice: random.Random) -> Answer:
    """Normalisation orders the marks of each letter: a letter with a hundred thousand of them takes long."""
    of = "\u0300\u0316\u0327\u0345\u3099\u0591\u0f71\U0001d165"
    marks = "".join(dice.choices(of, k=int(10 ** dice.uniform(2, 5.5))))
    return page(*sentences(dice), "a" + marks + " word " + marks)


def joined(dice: random.Random) -> Answer:
    chain = "\u200d".join(dice.choices("👨👩👧❤🏳🦰a一", k=int(10 ** dice.uniform(2, 5.5))))
    return page(*sentences(dice), chain)


def directions(dice: random.Random) -> Answer:
    marks = "\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u2069"
    words = (each.split() for each in sentences(dice))
    return page(*("".join(f"{dice.choice(marks)}{word} " for word in each) for each in words))


def one_word(dice: random.Random) -> Answer:
    size = int(10 ** dice.uniform(5, 6.5))
    return page("".join(dice.choices("abc字กаا.-_'’", k=50)) * (size // 50), *sentences(dice))


def numbers(dice: random.Random) -> Answer:
    many = " ".join(str(dice.randrange(10 ** dice.randint(1, 40))) for _ in range(20_000))
    return page(many, "9" * dice.randint(1, 100_000), *sentences(dice))


def wrong_charset(dice: random.Random) -> Answer:
    text = " ".join(sentences(dice))
    try:
        body = html_of(text).encode(dice.choice(_CHARSETS), "replace")
    except (LookupError, ValueError, TypeError):
        body = html_of(text).encode("utf-8")
    if not isinstance(body, bytes):
        body = text.encode()
    return Answer(body, f"text/html; charset={dice.choice(_CHARSETS)}")


def declared_charsets(dice: random.Random) -> Answer:
    """Hundreds of declarations that contradict each other."""
    metas = "".join(f'<meta charset="{dice.choice(_CHARSETS)}">' for _ in range(dice.randint(1, 300)))
    return page(*sentences(dice), head=metas)


def cut_short(dice: random.Random) -> Answer:
    body = html_of(" ".join(sentences(dice))).encode(dice.choice(["utf-8", "utf-16", "gb18030"]))
    return Answer(body[: dice.randrange(len(body))])


def bytes_flipped(dice: random.Random) -> Answer:
    body = bytearray(html_of(" ".join(sentences(dice))).encode())
    for _ in range(int(10 ** dice.uniform(0, 3.5))):
        body[dice.randrange(len(body))] = dice.randrange(256)
    return Answer(bytes(body))


def not_a_page(dice: random.Random) -> Answer:
    """Another kind of file, an empty one, or next to nothing of a page."""
    size = int(10 ** dice.uniform(1, 5.5)) * dice.randint(0, 1)
    return Answer(dice.choice(_BEGINNINGS) + dice.randbytes(size))


def compressed(dice: random.Random) -> Answer:
    """A bomb of up to 200 MB, which Scrapy refuses, or a body that is not what its header says."""
    clear = html_of(" ".join(sentences(dice))).encode() + b" " * int(10 ** dice.uniform(3, 8.3))
    encoding = dice.choice(["gzip", "deflate", "br", "zstd", "gzip, gzip", "identity"])
    body = gzip.compress(clear, 1, mtime=0) if "gzip" in encoding else zlib.compress(clear, 1)
    return Answer(body[: dice.choice([None, len(body) // 2])], headers={"Content-Encoding": encoding})


def wrong_type(dice: random.Random) -> Answer:
    kinds = ["text/plain", "image/png", "application/json", "text/html;;;charset", "html", "", None, "text/html; charset=\xff",
             "multipart/form-data", "application/octet-stream", "text/html, text/html", "text/html; charset=" + "x" * 10_000]  # fmt: skip
    return Answer(html_of(" ".join(sentences(dice))).encode(), dice.choice(kinds))


#: What stands in a page again and again: one of the strings, from 10 to the power of the first number to the
#: second times. Of one ligature NFKC makes eighteen characters.
REPEATED: dict[str, tuple[float, float, Sequence[str]]] = {
    "comments_of_code": (2, 4.7, ["<!--><script>", "<!--><script>--></script>"]),
    "hidden_unclosed": (3, 5.3, ["<div hidden>", "<p style='display:none'>", "<template>", "<noscript>", "<!-- hidden ", "<a aria-hidden=true>"]),
    "ligatures": (3, 5.5, "\ufdfa"),
    "long_list": (3, 5.2, ["<li>entry", "<li><a href=/x>link text</a>", "<option>one", "<dt>a<dd>b", "<p>", "<h2>t"]),
    "many_lines": (2, 4.6, ["a<br>b<br>c<br>d<br>e<br>f<br>g<br>h<br>"]),
    "many_titles": (2, 4.5, ["<h1>Title of it</h1><title>Another</title>"]),
    "nested_tables": (1, 3.3, ["<table><tr><td>cell"]),
    "one_character": (5, 6.4, "a1.-, ่\u0300字\u200b￼"),
    "svg_and_math": (2, 4.5, ["<svg><g><text>a</text></g></svg><math><mi>x</mi></math>"]),
    "unclosed_quote": (1, 4.5, ['<a href="', "<a href='", "<a href=`"]),
    "unclosed_tags": (3, 6, "< <a <!-- <![CDATA[ <script <style> </ <a\tb= <? <! & &#".split(" ")),
}  # fmt: skip


def repeated(dice: random.Random, low: float, high: float, what: Sequence[str]) -> Answer:
    return page(*sentences(dice), dice.choice(what) * int(10 ** dice.uniform(low, high)), *sentences(dice))


#: All that make a page by *dice*, by name. A round of a seed depends on their order.
MAKERS: dict[str, Callable[[random.Random], Answer]] = {
    name: make
    for name, make in [*globals().items()]
    if getattr(make, "__annotations__", {}) == {"dice": "random.Random", "return": "Answer"}
} | {name: partial(repeated, low=low, high=high, what=what) for name, (low, high, what) in REPEATED.items()}


def hostile_pages(seed: int, count: int) -> dict[str, Answer]:
    """Return so many pages, each by another of the makers until all had their turn; by what made them."""
    dice = random.Random(seed)
    order = dice.sample(list(MAKERS), len(MAKERS))
    names = [order[number % len(order)] for number in range(count)]
    return {f"{name}-{number}": MAKERS[name](dice) for number, name in enumerate(names)}
