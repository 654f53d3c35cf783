"""Walls on many hosts with articles between them, through the detector and through a crawl."""

from __future__ import annotations

import random
from collections import Counter
from html import escape
from typing import TYPE_CHECKING

from scrapy_neardup import Detector
from tests.walls.pages import across_hosts, on_each_host, templates
from torture.articles import LANGUAGES, article, page_of, real_pages
from torture.crawling import Answer, crawl
from torture.exercise import Exercise, Round

if TYPE_CHECKING:
    from pathlib import Path

    from tests.walls.pages import Page

#: Pages of a round through the detector and through a crawl, with half as many articles each.
PAGES, CRAWLED = 700, 120
HOSTS = 500
#: Sentences of an article, and of a note.
LONG, SHORT = 24, (4, 8)
#: Share of the copies of articles that have to be found: else nothing is shown by what is not dropped.
FOUND = 0.9
#: How real pages hold what stands in place of an article, or around it.
DESIGNS = (
    "<main>{}</main>",
    '<div id="content"><div class="page-content">{}</div></div>',
    "<article>{}</article>",
    '<div role="dialog" aria-modal="true" class="overlay">{}</div>',
    "<table><tr><td>{}</td></tr></table>",
    '<section class="entry-content"><form>{}<input name=q><button>OK</button></form></section>',
)
#: How consent and other notices stand on the page of an article.
AROUND = (
    '<div class="cookie-banner">{}</div>',
    '<div id="cmp-container" role="dialog">{}</div>',
    "<div>{}</div>",
    "<aside>{}</aside>",
    '<section class="paywall">{}</section>',
)


def run(seed: int, folder: Path) -> Round:
    outcome, dice = Round(), random.Random(seed)
    among = [template for file in ("tuned", "unseen", "varied") for template in templates(file)]
    form = on_each_host if seed % 2 else across_hosts
    walls = list(form(among, hosts=HOSTS, pages=PAGES + CRAWLED, seed=seed))
    _through_the_detector(outcome, dice, walls[:PAGES])
    _through_a_crawl(outcome, dice, walls[PAGES:], folder, seed)
    return outcome


def _through_the_detector(outcome: Round, dice: random.Random, walls: list[Page]) -> None:
    hosts = sorted({wall.url.split("/")[2] for wall in walls})
    texts = {wall.url: wall.text for wall in walls}
    articles: dict[str, str] = {}
    for number in range(len(walls) // 2):
        sentences = LONG if dice.random() < 0.5 else dice.randint(*SHORT)
        story = article(dice, dice.choice(LANGUAGES), sentences)
        articles[f"https://{dice.choice(hosts)}/story/{number}-{dice.getrandbits(32)}"] = "\n".join(
            story.text
        )
    order = [*texts.items(), *articles.items()]
    dice.shuffle(order)
    dropped: Counter[str] = Counter()
    kinds = {wall.url: wall.template for wall in walls}
    with Detector.open() as detector:
        for url, text in order:
            verdict = detector.add(text, url)
            if url in kinds:
                dropped[kinds[url]] += verdict.is_duplicate
            elif verdict.is_duplicate or verdict.url in texts:
                outcome.violations.append(f"{url}, an article, is {verdict.kind} of {verdict.url}")
        long = [(url, text) for url, text in articles.items() if detector.signature(text).tokens > 150]
        copies = [detector.check(text, f"{url}-copy") for url, text in long]
    found = sum(copy.is_duplicate for copy in copies)
    if found < FOUND * len(long):
        outcome.violations.append(f"only {found} of {len(long)} copies of articles were found")
    outcome.counts["walls judged"] += len(walls)
    outcome.counts["articles judged"] += len(articles)
    _note(outcome, dropped)


def _through_a_crawl(outcome: Round, dice: random.Random, walls: list[Page], folder: Path, seed: int) -> None:
    pages = {wall.url: Answer(_wall_page(dice, wall).encode()) for wall in walls}
    kinds = {wall.url: wall.template for wall in walls}
    real = real_pages()
    articles = {}
    for number, wall in enumerate(walls[: len(walls) // 2]):
        host = wall.url.split("/")[2]
        if number < len(real) and dice.random() < 0.3:
            html = real[(seed * len(walls) + number) % len(real)]
        else:
            story = article(dice, dice.choice(LANGUAGES), dice.choice([LONG, LONG, dice.randint(*SHORT)]))
            # The notice that stands on every page of the site, and on those of others with the same provider.
            notice = dice.choice(AROUND).format(_paragraphs(dice, wall.text))
            html = page_of(story.title, story.text, host, notice if dice.random() < 0.5 else "")
        articles[f"https://{host}/story/{number}"] = Answer(html.encode())
    answers = pages | articles
    urls = dice.sample(list(answers), len(answers))
    settings = {"NEARDUP_DIR": str(folder / "index"), "NEARDUP_POLICY": "drop_items"}
    crawled = crawl(urls, answers.__getitem__, settings)
    for url in crawled.lost(urls):
        outcome.violations.append(f"{url} was lost")
    for url in articles:
        if not crawled.stored[url] or crawled.matches.get(url):
            outcome.violations.append(f"{url}, an article, repeats {crawled.matches.get(url)}")
    dropped = Counter(kinds[url] for url in crawled.dropped(pages))
    outcome.counts["walls crawled"] += len(pages)
    outcome.counts["articles crawled"] += len(articles)
    _note(outcome, dropped)


def _note(outcome: Round, dropped: Counter[str]) -> None:
    """Note which walls were taken for copies of each other: nothing is lost by it but another wall."""
    outcome.counts["walls taken for copies of walls"] += dropped.total()
    if +dropped:
        print("walls dropped:", dict(+dropped))


def _wall_page(dice: random.Random, wall: Page) -> str:
    site = wall.url.split("/")[2]
    body = dice.choice(DESIGNS).format(_paragraphs(dice, wall.text))
    if dice.random() < 0.5:
        return page_of(site, [], site, body)
    head = f"<head><meta charset=utf-8><title>{site}</title></head>"
    return f"<!doctype html><html>{head}<body>{body}</body></html>"


def _paragraphs(dice: random.Random, text: str) -> str:
    """Put sentences into paragraphs as they fall, the first one perhaps into a heading."""
    sentences = [each for each in text.replace("。", "。\n").replace(". ", ".\n").split("\n") if each]
    parts, html = list(sentences), ""
    if dice.random() < 0.6:
        html = f"<h1>{escape(parts.pop(0))}</h1>"
    while parts:
        size = dice.randint(1, 3)
        html += f"<p>{escape(' '.join(parts[:size]))}</p>"
        parts = parts[size:]
    return html


EXERCISE = Exercise(
    name="walls",
    promise="No article is dropped, or taken for a copy, because of captchas, notices of consent, paywalls, "
    "soft 404s and other walls, however many pages show them.",
    how="Walls of 106 wordings in 16 languages under other URLs of 500 hosts, with articles and short notes "
    "between them, half of which have the notice of a site around them.",
    goals={"walls judged": 10_000, "articles judged": 5000, "walls crawled": 1500, "articles crawled": 750},
    run=run,
    seconds=25,
)
