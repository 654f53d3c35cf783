"""Tables, lists, titles and data of sizes that nobody writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.extraction.hostile import spanning_table
from torture.crawling import Answer

from .parts import ELEMENTS, page, sentences

if TYPE_CHECKING:
    import random


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
