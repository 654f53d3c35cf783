"""Markup that is made to break a parser, and elements of sizes that nobody writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.extraction.hostile import CASES, nested, spanning_table
from torture.crawling import HTML, Answer

from .parts import ELEMENTS, page, sentences

if TYPE_CHECKING:
    import random


def known_case(dice: random.Random) -> Answer:
    case = dice.choice(CASES)
    return Answer(case.body, case.content_type)


def deep(dice: random.Random) -> Answer:
    return Answer(nested(int(10 ** dice.uniform(2, 5.3))))


def deep_other(dice: random.Random) -> Answer:
    name, levels = dice.choice(ELEMENTS), int(10 ** dice.uniform(2, 5))
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


def unclosed_quote(dice: random.Random) -> Answer:
    quote = dice.choice("\"'`")
    return page(*sentences(dice), f"<a href={quote}" * int(10 ** dice.uniform(1, 4.5)), *sentences(dice))


def unclosed_tags(dice: random.Random) -> Answer:
    tag = dice.choice(
        ["<", "<a", "<!--", "<![CDATA[", "<script", "<style>", "</", "<a b=", "<?", "<!", "&", "&#"]
    )
    return page(*sentences(dice), tag * int(10 ** dice.uniform(3, 6)))


def hidden_unclosed(dice: random.Random) -> Answer:
    tag = dice.choice(
        [
            "<div hidden>",
            "<p style='display:none'>",
            "<template>",
            "<noscript>",
            "<!-- hidden ",
            "<a aria-hidden=true>",
        ]
    )
    return page(*sentences(dice), tag * int(10 ** dice.uniform(3, 5.3)), *sentences(dice))


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
    return page(
        *("".join(reference.format(dice.choice(codes)) for _ in range(5000)) for _ in range(5)),
        *sentences(dice),
    )


def tables(dice: random.Random) -> Answer:
    return Answer(spanning_table(int(10 ** dice.uniform(0.5, 3))))


def large_table(dice: random.Random) -> Answer:
    columns = dice.randint(1, 400)
    row = "<tr>" + "<td>1" * columns
    return page(*sentences(dice), "<table>" + row * (int(10 ** dice.uniform(3, 5.3)) // columns + 1))


def nested_tables(dice: random.Random) -> Answer:
    levels = int(10 ** dice.uniform(1, 3.3))
    return page("<table><tr><td>cell" * levels, *sentences(dice))


def long_list(dice: random.Random) -> Answer:
    entry = dice.choice(
        ["<li>entry", "<li><a href=/x>link text</a>", "<option>one", "<dt>a<dd>b", "<p>", "<h2>t"]
    )
    return page("<ul>" + entry * int(10 ** dice.uniform(3, 5.2)), *sentences(dice))


def tag_soup(dice: random.Random) -> Answer:
    parts = [
        "<",
        ">",
        "/",
        "=",
        '"',
        "'",
        "!",
        "--",
        "&",
        ";",
        " ",
        "\n",
        "\0",
        "word",
        "]]>",
        "<![CDATA[",
        *ELEMENTS,
    ]
    soup = "".join(dice.choices(parts, k=int(10 ** dice.uniform(3, 5.3))))
    return page(*sentences(dice), soup, *sentences(dice))


def comments_of_code(dice: random.Random) -> Answer:
    return page("<!--><script>" * int(10 ** dice.uniform(2, 4.7)), "--></script>", *sentences(dice))


def many_titles(dice: random.Random) -> Answer:
    times = int(10 ** dice.uniform(2, 4.5))
    return page(*sentences(dice), "<h1>Title of it</h1><title>Another</title>" * times)


def json_inside(dice: random.Random) -> Answer:
    data = '{"@type":"NewsArticle","articleBody":"' + "x " * int(10 ** dice.uniform(2, 6)) + '"}'
    deep = "[" * int(10 ** dice.uniform(2, 5))
    return page(
        *sentences(dice),
        head=f'<script type="application/ld+json">{data}</script><script type="application/ld+json">{deep}</script>',
    )


def svg_and_math(dice: random.Random) -> Answer:
    return page(
        "<svg><g><text>a</text></g></svg><math><mi>x</mi></math>" * int(10 ** dice.uniform(2, 4.5)),
        *sentences(dice),
    )
