"""Sites whose pages differ in short values: is an item ever dropped that no kept one repeats?

    python -m torture.items [--items 20000] [--first SEED]

A crawl is a seed: groups of pages with one template and one text, each about another product, event, job …,
and copies of some of them under other URLs. A child crawls them with Scrapy, the add-on and the default
policy. An item is lost if it was dropped and none that was stored says the same in all fields but those that
come from the crawling: `NOT_TOLD`.
"""

from __future__ import annotations

import dataclasses
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections import Counter
from datetime import datetime
from functools import partial
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .articles import article, words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Record = dict[str, Any]
ROOT = Path(__file__).parents[1]
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
#: Where a page has its values; in `json` they are in a script alone.
LAYOUTS = ("table", "list", "links", "json")
#: Under which other URLs a page is found, and what its items say of that.
COPIES = ("print", "amp", "utm", "session", "crawled_at")
#: Fields of copies that a crawl has to learn first, and from how many pages: these do not count.
LEARNED, LEARNED_FROM = ("session",), 3
#: Fields that say nothing about the thing.
NOT_TOLD = ("url", "session", "crawled_at", "views")
FIELDS = (*dict.fromkeys(name for names in KINDS.values() for name in names), "text", *NOT_TOLD)
CLASSES = ("dict", "dataclass", "attrs", "scrapy")
#: Sentences of a page, and which share of them all pages of a group have.
SENTENCES, SHARES = 20, (0.0, 0.5, 0.8, 0.95)
#: Groups of a crawl, pages of each, and how many of them have a copy. A category page has so many items.
GROUPS, PAGES, COPIED, ENTRIES = 12, 10, 4, 8
SECONDS = 120.0


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
        share, layout, copy = dice.choice(SHARES), dice.choice(LAYOUTS), dice.choice(COPIES)
        common = article(dice, language, max(1, round(share * SENTENCES))).text if share else []
        own = round((1 - share) * SENTENCES) if share < 0.95 else dice.choice((0, 1))
        told, names = dice.random() < 0.5, KINDS[kind]
        # Pages of a group differ in one field, in two, or in all.
        varying = dice.sample(names, dice.choice((1, 1, 2, len(names))))
        base = {name: value_of(name, 0, dice, language) for name in names}
        group = f"{kind}, {language}, {share:.0%} shared, {layout}, differ in {'+'.join(varying)}"
        for page in range(PAGES):
            entries = ENTRIES if kind == "category" else 1
            records = [
                base | {name: value_of(name, page * entries + entry + 1, dice, language) for name in varying}
                for entry in range(entries)
            ]
            text = (article(dice, language, own).text if own else []) + common
            heading = str(records[0].get("title") or records[0].get("name") or records[0].get("line"))
            made = Page(group, copy, False, layout, heading, text, records, told)
            path = f"/{number}/{page}"
            pages[path] = made
            if page < COPIED:
                pages[_copied(path, copy, dice)] = made._replace(is_copy=True)
    return pages


def value_of(name: str, number: int, dice: random.Random, language: str) -> Any:
    """Make a value of a field, another one for each number."""
    words = words_of(language)
    word, day = words[(number * 37 + 11) % 997], 1 + number % 28
    made: dict[str, Callable[[], Any]] = {
        "price": lambda: f"{15 + number}.90",
        "rent": lambda: f"{600 + 5 * number} EUR",
        "salary": lambda: f"{40 + number}000",
        "sku": lambda: f"KT-{4100 + number}",
        "size": lambda: f"{30 + number}",
        "rooms": lambda: f"{1 + number}",
        "area": lambda: f"{40 + number} m²",
        "date": lambda: f"2031-{5 + number // 28:02}-{day:02}",
        "time": lambda: f"{number // 60 + 8:02}:{number % 60:02}",
        "times": lambda: [f"{hour:02}:{number % 60:02}" for hour in range(6, 12)],
        "phone": lambda: f"+49 30 1234{number:03}",
        "email": lambda: f"p{number}@example.com",
        "minutes": lambda: f"{20 + number}",
        "answers": lambda: f"{3 + number}",
        "ingredients": lambda: [f"{100 + number} g {word}", words[5], words[7]],
    }
    return made[name]() if name in made else f"{words[3]} {word}"


def _copied(path: str, copy: str, dice: random.Random) -> str:
    ways = {
        "print": f"/print{path}",
        "amp": f"{path}/amp",
        "utm": f"{path}?utm_source=mail&utm_campaign={dice.randrange(10)}",
    }
    return ways.get(copy, f"{path}?sid={dice.getrandbits(64):x}")


def html_of(path: str, page: Page) -> str:
    """Render a page: its values in the layout, its text around them, and what does not tell of the thing."""
    shown = page.layout != "json"
    extra: Record = {}
    if page.copy == "session":
        extra["session"] = f"{zlib.crc32(path.encode()):x}"
    elif page.copy == "crawled_at":
        extra["crawled_at"] = "now"
    told = {"text": "\n".join(page.paragraphs)} if page.told else {}
    data = [{**record, **told} for record in page.records]
    values = "".join(_laid_out(page.layout, record) for record in page.records) if shown else ""
    script = "" if shown else f'<script type="application/ld+json">{json.dumps(data)}</script>'
    text = "".join(f"<p>{escape(each)}</p>" for each in page.paragraphs)
    more = "".join(f'<small data-x="{name}" hidden>{value}</small>' for name, value in extra.items())
    menu = (
        ""
        if page.is_copy and page.copy in ("print", "amp")
        else "<nav><a href=/>Home</a> <a href=/all>All</a></nav>"
    )
    return (
        f"<!doctype html><html><head><meta charset=utf-8><title>{escape(page.heading)} | Site</title>{script}"
        f"</head><body>{menu}<main><h1>{escape(page.heading)}</h1>{values}"
        f'<div class="{"t" if page.told else "d"}">{text}</div>{more}</main></body></html>'
    )


def _laid_out(layout: str, record: Record) -> str:
    """Render the values of a record."""
    cell = {
        "table": "<tr><th>{0}</th><td data-f={0}>{1}</td></tr>",
        "list": "<li>{0}: <b data-f={0}>{1}</b></li>",
        "links": "<a href=/x data-f={0}>{1}</a> ",
    }[layout]
    cells = "".join(
        cell.format(name, escape(each))
        for name, value in record.items()
        for each in (value if isinstance(value, list) else [value])
    )
    element = {"table": "table", "list": "ul", "links": "div"}[layout]
    return f"<{element} data-item=1>{cells}</{element}>"


def serve(pages: dict[str, Page]) -> ThreadingHTTPServer:
    """Serve pages on loopback, from a thread; to be shut down by the caller."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = html_of(self.path, pages[self.path]).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@dataclasses.dataclass
class Outcome:
    """What some crawls came to."""

    items: int = 0
    #: How many pages are copies, and of how many the items were dropped; by the kind of the copy.
    copies: Counter[str] = dataclasses.field(default_factory=Counter)
    dropped: Counter[str] = dataclasses.field(default_factory=Counter)
    #: A line for each item that was lost.
    lost: list[str] = dataclasses.field(default_factory=list)
    #: A line for each copy whose items were kept.
    kept: list[str] = dataclasses.field(default_factory=list)

    @property
    def share_dropped(self) -> float:
        return self.dropped.total() / max(1, self.copies.total())


def crawl(seed: int, outcome: Outcome) -> None:
    """Make a site, crawl it in a child, and add to *outcome* what was lost and which copies were dropped."""
    dice, pages = random.Random(-seed), site(seed)
    server = serve(pages)
    try:
        base = f"http://127.0.0.1:{server.server_port}"
        urls = [base + path for path in dice.sample([*pages], len(pages))]
        asked = {"urls": urls, "class": CLASSES[seed % len(CLASSES)], "concurrent": dice.choice((1, 8, 16))}
        with tempfile.TemporaryDirectory(prefix="neardup-items-") as folder:
            Path(folder, "asked.json").write_text(json.dumps(asked), "utf-8")
            command = [sys.executable, "-m", "torture.items", "--child", folder]
            subprocess.run(command, check=True, cwd=ROOT, timeout=SECONDS)
            found = json.loads(Path(folder, "found.json").read_text("utf-8"))
    finally:
        server.shutdown()
        server.server_close()
    stored = {told for _, told in found["stored"]}
    yielded = Counter(told for _, told in found["yielded"])
    left = Counter(url for url, _ in found["stored"])
    for url, told in found["yielded"]:
        page = pages[url.removeprefix(base)]
        outcome.items += 1
        if told not in stored:
            outcome.lost.append(
                f"seed {seed}: {url.removeprefix(base)} ({page.group}, {page.copy}): {told[:120]}"
            )
            stored.add(told)  # once is enough
    learning = dict.fromkeys(LEARNED, LEARNED_FROM)
    for path, page in pages.items():
        if page.is_copy:
            original = path.replace("/print", "").replace("/amp", "").partition("?")[0]
            dropped = left[base + path] + left[base + original] <= len(page.records)
            if not dropped and learning.get(page.copy):
                learning[page.copy] -= 1
                continue
            outcome.copies[page.copy] += 1
            outcome.dropped[page.copy] += dropped
            if not dropped:
                outcome.kept.append(f"seed {seed}: {path} ({page.group}, {page.copy})")
    if len(yielded) < len(pages) // 3:
        raise SystemExit(f"seed {seed}: the crawl has found {len(yielded)} items on {len(pages)} pages")


def run_child(folder: Path) -> None:
    """Crawl what is asked for in *folder*; leave there which items were yielded, and which were stored."""
    import scrapy
    from scrapy import signals
    from scrapy.crawler import CrawlerProcess

    asked = json.loads((folder / "asked.json").read_text("utf-8"))
    made, yielded, stored = _item_class(asked["class"]), [], []

    def told(item: Any) -> str:
        from itemadapter import ItemAdapter

        values = ItemAdapter(item).asdict()
        return json.dumps({k: v for k, v in sorted(values.items()) if v is not None and k not in NOT_TOLD})

    class Things(scrapy.Spider):
        name = "things"
        start_urls = asked["urls"]

        def parse(self, response: Any) -> Iterator[Any]:
            for record in records_of(response):
                item = made(url=response.url, **record)
                yielded.append((response.url, told(item)))
                yield item

    settings = {
        "ADDONS": {"scrapy_neardup.Addon": 700},
        "CONCURRENT_REQUESTS": asked["concurrent"],
        "CONCURRENT_REQUESTS_PER_DOMAIN": asked["concurrent"],
        "DOWNLOAD_DELAY": 0,
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
    }
    process = CrawlerProcess(settings)
    crawler = process.create_crawler(Things)

    def note(item: Any, response: Any) -> None:
        stored.append((response.url, told(item)))

    crawler.signals.connect(note, signals.item_scraped)
    process.crawl(crawler)
    process.start()
    (folder / "found.json").write_text(json.dumps({"yielded": yielded, "stored": stored}), "utf-8")


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
        for field in node.css("[data-f]"):
            name, value = field.attrib["data-f"], field.xpath("string()").get()
            before = record.get(name)
            record[name] = (
                value if before is None else [*(before if isinstance(before, list) else [before]), value]
            )
        yield {**extra, **record}


def _item_class(name: str) -> Callable[..., Any]:
    """Return a class of items of that sort, with all fields that any page has."""
    import attrs
    import scrapy

    if name == "dict":
        return dict
    if name == "dataclass":
        fields = [(field, Any, dataclasses.field(default=None)) for field in FIELDS]
        return dataclasses.make_dataclass("Thing", fields)
    if name == "attrs":
        return attrs.make_class("Thing", {field: attrs.field(default=None) for field in FIELDS})
    return type("Thing", (scrapy.Item,), {field: scrapy.Field() for field in FIELDS})


def run(items: int, first: int, shown: Callable[[str], object] = print) -> Outcome:
    """Crawl one site after another until there were so many items; return what they came to."""
    outcome, seed, started = Outcome(), first, time.monotonic()
    while outcome.items < items:
        before = len(outcome.lost)
        crawl(seed, outcome)
        for line in outcome.lost[before:]:
            shown(f"LOST {line}")
        seed += 1
    shown(f"{outcome.items} items in {seed - first} crawls, {time.monotonic() - started:.0f} s")
    shown(f"lost, though they differ from every kept one: {len(outcome.lost)}")
    for kind in COPIES:
        shown(f"copies, {kind}: {outcome.dropped[kind]} of {outcome.copies[kind]} dropped")
    shown(f"copies that were dropped: {outcome.share_dropped:.4f}")
    return outcome


@click.command()
@click.option("--items", default=20_000, show_default=True)
@click.option("--first", default=1, show_default=True, help="The seed of the first crawl.")
@click.option("--child", type=click.Path(path_type=Path), hidden=True)
def main(items: int, first: int, child: Path | None) -> None:
    """Crawl made-up sites; exit code 1 says that an item was lost."""
    if child:
        run_child(child)
        return
    sys.exit(bool(run(items, first, partial(print, flush=True)).lost))


if __name__ == "__main__":
    main()
