"""Sites whose pages differ in short values: is an item ever dropped that no kept one repeats?

A round is a crawl with the default policy: groups of pages with one template and one text, each about another
product, event, job …, and copies of some of them under other URLs. An item is lost if it was dropped and none
that was stored says the same in all fields but those of the crawling: `NOT_TOLD`.
"""

from __future__ import annotations

import dataclasses
import json
import random
import uuid
from collections import Counter
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs
import scrapy
from itemadapter import ItemAdapter
from scrapy import signals

from torture import crawling
from torture.articles import article, words_of
from torture.exercise import Exercise, Round

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Record = dict[str, Any]
BASE = "https://made-up.example"
LANGUAGES = ("en", "de", "fr", "es", "it", "pl", "ru", "tr", "zh")
#: What the pages of a kind are about: the fields of their items.
KINDS = {
    "shop": ("title", "price", "sku", "colour", "size"),
    "event": ("title", "date", "time", "place", "price"),
    "job": ("title", "company", "place", "salary"),
    "flat": ("title", "rooms", "area", "rent", "street"),
    "timetable": ("line", "stop", "times"),
    "person": ("name", "role", "phone", "email"),
    "recipe": ("title", "ingredients", "minutes"),
    "forum": ("title", "author", "date", "answers"),
    "category": ("title", "price"),
}
#: Where a page has its values: elements around all and around each; in `json` they are in a script alone.
LAYOUTS = {
    "table": ("table", "<tr><th>{0}</th><td data-f={0}>{1}</td></tr>"),
    "list": ("ul", "<li>{0}: <b data-f={0}>{1}</b></li>"),
    "links": ("div", "<a href=/x data-f={0}>{1}</a> "),
}
#: Under which other URLs a page is found, and what its items say of that.
COPIES = {
    "print": "/print{0}",
    "amp": "{0}/amp",
    "utm": "{0}?utm_source=mail&utm_campaign={1}",
    **dict.fromkeys(("session", "crawled_at"), "{0}?sid={1:x}"),
}
#: Fields of copies that a crawl has to learn first, and from how many pages: these do not count.
LEARNED, LEARNED_FROM = ("session",), 3
#: Fields that say nothing about the thing.
NOT_TOLD = ("url", "session", "crawled_at")
FIELDS = (*dict.fromkeys(name for names in KINDS.values() for name in names), "text", *NOT_TOLD)
#: Classes of items with all fields that any page has.
CLASSES: tuple[Callable[..., Any], ...] = (
    dict,
    dataclasses.make_dataclass("Thing", [(name, Any, dataclasses.field(default=None)) for name in FIELDS]),
    attrs.make_class("Thing", {name: attrs.field(default=None) for name in FIELDS}),
    type("Thing", (scrapy.Item,), {name: scrapy.Field() for name in FIELDS}),
)
#: Sentences of a page, and which share of them all pages of a group have.
SENTENCES, SHARES = 20, (0.0, 0.5, 0.8, 0.95)
#: Groups of a crawl, pages of each, and how many of them have a copy. A category page has so many items.
GROUPS, PAGES, COPIED, ENTRIES = 12, 10, 4, 8


class Page(NamedTuple):
    """A page of the site, as it is served."""

    group: str
    #: What copies there are in its group, and whether this is one.
    copy: str
    is_copy: bool
    layout: str
    heading: str
    paragraphs: list[str]
    records: list[Record]
    #: Whether its items have the text, too.
    told: bool


def site(seed: int) -> dict[str, Page]:
    """Make the pages of a crawl, by path."""
    dice, pages = random.Random(seed), dict[str, Page]()
    for number in range(GROUPS):
        kind, language = dice.choice([*KINDS]), dice.choice(LANGUAGES)
        share, layout, copy = dice.choice(SHARES), dice.choice([*LAYOUTS, "json"]), dice.choice([*COPIES])
        common = article(dice, language, max(1, round(share * SENTENCES))).text if share else []
        own = round((1 - share) * SENTENCES) if share < 0.95 else dice.choice((0, 1))
        told, names = dice.random() < 0.5, KINDS[kind]
        # Pages of a group differ in one field, in two, or in all.
        varying = dice.sample(names, dice.choice((1, 1, 2, len(names))))
        base = {name: value_of(name, 0, language) for name in names}
        group = f"{kind}, {language}, {share:.0%} shared, {layout}, differ in {'+'.join(varying)}"
        for page in range(PAGES):
            entries = ENTRIES if kind == "category" else 1
            records = [
                base | {name: value_of(name, page * entries + entry + 1, language) for name in varying}
                for entry in range(entries)
            ]
            text = (article(dice, language, own).text if own else []) + common
            heading = str(records[0].get("title") or records[0].get("name") or records[0].get("line"))
            made = Page(group, copy, False, layout, heading, text, records, told)
            path = f"/{number}/{page}"
            pages[path] = made
            if page < COPIED:
                pages[COPIES[copy].format(path, dice.getrandbits(64))] = made._replace(is_copy=True)
    return pages


def value_of(name: str, number: int, language: str) -> Any:
    """Make a value of a field, another one for each number."""
    words = words_of(language)
    word, day = words[(number * 37 + 11) % 997], 1 + number % 28
    made: dict[str, Any] = {
        "price": f"{15 + number}.90",
        "rent": f"{600 + 5 * number} EUR",
        "salary": f"{40 + number}000",
        "sku": f"KT-{4100 + number}",
        "size": f"{30 + number}",
        "rooms": f"{1 + number}",
        "area": f"{40 + number} m²",
        "date": f"2031-{5 + number // 28:02}-{day:02}",
        "time": f"{number // 60 + 8:02}:{number % 60:02}",
        "times": [f"{hour:02}:{number % 60:02}" for hour in range(6, 12)],
        "phone": f"+49 30 1234{number:03}",
        "email": f"p{number}@example.com",
        "minutes": f"{20 + number}",
        "answers": f"{3 + number}",
        "ingredients": [f"{100 + number} g {word}", words[5], words[7]],
    }
    return made.get(name, f"{words[3]} {word}")


def html_of(path: str, page: Page) -> str:
    """Render a page: its values in the layout, its text around them, and what does not tell of the thing."""
    if page.layout in LAYOUTS:
        script = "".join(_laid_out(page.layout, record) for record in page.records)
    else:
        told = {"text": "\n".join(page.paragraphs)} if page.told else {}
        data = json.dumps([{**record, **told} for record in page.records])
        script = f'<script type="application/ld+json">{data}</script>'
    text = "".join(f"<p>{escape(each)}</p>" for each in page.paragraphs)
    session = uuid.uuid5(uuid.NAMESPACE_URL, path).hex
    extra = {"session": session, "crawled_at": "now"}.get(page.copy)
    more = f'<small data-x="{page.copy}" hidden>{extra}</small>' if extra else ""
    bare = page.is_copy and page.copy in ("print", "amp")
    menu = "" if bare else "<nav><a href=/>Home</a> <a href=/all>All</a></nav>"
    return (
        f"<!doctype html><html><head><meta charset=utf-8><title>{escape(page.heading)} | Site</title></head>"
        f"<body>{menu}<main><h1>{escape(page.heading)}</h1>{script}"
        f'<div class="{"t" if page.told else "d"}">{text}</div>{more}</main></body></html>'
    )


def _laid_out(layout: str, record: Record) -> str:
    """Render the values of a record."""
    element, cell = LAYOUTS[layout]
    cells = "".join(
        cell.format(name, escape(each))
        for name, value in record.items()
        for each in (value if isinstance(value, list) else [value])
    )
    return f"<{element} data-item=1>{cells}</{element}>"


class Things(crawling.PagesSpider):
    """Reads the items of pages; notes which were yielded and which stored, each with the path of its page."""

    def __init__(self, *args: Any, made: Callable[..., Any], found: Found, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.made, self.found = made, found

    @classmethod
    def from_crawler(cls, crawler: Any, *args: Any, **kwargs: Any) -> Any:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.keep, signals.item_scraped)
        return spider

    def parse(self, response: Any) -> Iterator[Any]:
        for record in records_of(response):
            item = self.made(url=response.url, **record)
            self.found.yielded.append((response.url.removeprefix(BASE), told(item)))
            yield item

    def keep(self, item: Any, response: Any) -> None:
        self.found.stored.append((response.url.removeprefix(BASE), told(item)))


class Found(NamedTuple):
    yielded: list[tuple[str, str]]
    stored: list[tuple[str, str]]


def told(item: Any) -> str:
    """Return what an item tells of its thing."""
    values = ItemAdapter(item).asdict()
    return json.dumps({k: v for k, v in sorted(values.items()) if v is not None and k not in NOT_TOLD})


def run(seed: int, folder: Path) -> Round:
    """Make a site, crawl it, and count what was lost and which copies were dropped."""
    outcome = Round()
    dice, pages, found = random.Random(-seed), site(seed), Found([], [])
    crawling.crawl(
        [BASE + path for path in dice.sample([*pages], len(pages))],
        lambda url: crawling.Answer(html_of(url.removeprefix(BASE), pages[url.removeprefix(BASE)]).encode()),
        {"CONCURRENT_REQUESTS": dice.choice((1, 8, 16))},
        spider=Things,
        made=CLASSES[seed % len(CLASSES)],
        found=found,
    )
    stored = {each for _, each in found.stored}
    left = Counter(path for path, _ in found.stored)
    for path, each in found.yielded:
        page = pages[path]
        if each not in stored:
            outcome.violations.append(f"{path} ({page.group}, {page.copy}): {each[:120]}")
            stored.add(each)  # once is enough
    learning = dict.fromkeys(LEARNED, LEARNED_FROM)
    for path, page in pages.items():
        if page.is_copy:
            original = path.replace("/print", "").replace("/amp", "").partition("?")[0]
            dropped = left[path] + left[original] <= len(page.records)
            if not dropped and learning.get(page.copy):
                learning[page.copy] -= 1
                continue
            outcome.counts["copies"] += 1
            outcome.counts["copies whose items were dropped"] += dropped
    outcome.counts["items"] = len(found.yielded)
    if len(found.yielded) < len(pages) // 3:
        outcome.violations.append(f"the crawl has found {len(found.yielded)} items on {len(pages)} pages")
    return outcome


def records_of(response: Any) -> Iterator[Record]:
    """Read the values of a page as a spider does."""
    extra: Record = {each.attrib["data-x"]: each.xpath("string()").get() for each in response.css("[data-x]")}
    if "crawled_at" in extra:
        extra["crawled_at"] = datetime.now().isoformat()
    script = response.css('script[type="application/ld+json"]::text').get()
    if script:
        yield from ({**extra, **record} for record in json.loads(script))
        return
    text = "\n".join(response.css("div.t p::text").getall())
    for node in response.css("[data-item]"):
        record: Record = {"text": text} if text else {}
        for name in node.css("::attr(data-f)").getall():
            values = [each.xpath("string()").get() for each in node.css(f"[data-f={name}]")]
            record[name] = values if len(values) > 1 else values[0]
        yield {**extra, **record}


EXERCISE = Exercise(
    name="items",
    promise="Under the policy drop_items an item is dropped only if the one that it repeats says the same.",
    how="Made-up shops, events, jobs, flats, timetables, people, recipes, forums and category pages in 9 "
    "languages, of which up to 95 % of the text is shared and one field, two or all differ, crawled with "
    "items of four classes; copies under other URLs between them.",
    run=run,
    seconds=15,
)
