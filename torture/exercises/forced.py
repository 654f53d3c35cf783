"""Verdicts that one site tries to force on the pages of another."""

from __future__ import annotations

import random
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup import Detector
from tests.matching.lists import without_repeats
from tests.test_floods import equal, flood, near, one_bucket
from torture.articles import article, page_of, words_of
from torture.crawling import Answer, crawl
from torture.exercise import Exercise, Round
from torture.forced import HIDING, HOMOGLYPHS, UNSEEN_HIDING, collide, quoting

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from scrapy_neardup.verdict import Verdict
    from torture.articles import Article

#: Languages whose letters the words for collisions are made of.
SPACED = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "tr")
#: Documents of a flood, and seconds of processor time that a page may take then, in the median.
FLOOD, SECONDS = 20_000, 0.045
#: An excerpt up to this share of the whole does not keep the whole out.
EXCERPT = (0.25, 0.55)


def run(seed: int, folder: Path) -> Round:
    outcome, dice = Round(), random.Random(seed)
    for attack in (excerpts, collisions, quotations, shuffled, disguises, low_entropy, longer):
        with Detector.open() as detector:
            attack(outcome, dice, detector)
    make = (equal, near, one_bucket)[seed % 3]
    with Detector.open(folder / "flooded") as detector:
        flooded(outcome, dice, detector, make)
    hidden(outcome, dice, folder)
    poisoned(outcome, dice, folder)
    return outcome


def _story(dice: random.Random, sentences: int = 20) -> Article:
    return article(dice, dice.choice(SPACED), sentences)


def _text(dice: random.Random, sentences: int = 20) -> str:
    return "\n".join(_story(dice, sentences).text)


def _judge(outcome: Round, attack: str, verdict: Verdict) -> None:
    """Note that a page is dropped, which is not what the attacker has published."""
    outcome.counts[attack] += 1
    if verdict.is_duplicate:
        outcome.violations.append(
            f"{attack}: dropped as {verdict.kind} of {verdict.url}, similarity {verdict.similarity}: "
            f"{verdict.explanation}"
        )


def excerpts(outcome: Round, dice: random.Random, detector: Detector) -> None:
    """An excerpt that comes first, from the beginning, the end or the middle."""
    for number in range(30):
        words = _text(dice).split()
        size = int(len(words) * dice.uniform(*EXCERPT))
        start = dice.choice([0, len(words) - size, dice.randrange(len(words) - size)])
        detector.add(" ".join(words[start : start + size]), f"https://attack.example/{number}")
        whole = detector.add(" ".join(words), f"https://victim{number}.example/")
        _judge(outcome, "excerpts first", whole)


def collisions(outcome: Round, dice: random.Random, detector: Detector) -> None:
    """Texts with the victim's fingerprint, made with the key or with another one."""
    vocabulary = words_of(dice.choice(SPACED))
    with Detector.open() as other:
        for number in range(4):
            victim = _text(dice)
            known = number % 2 == 0
            text, distance = collide((detector if known else other).fingerprinter, victim, vocabulary, 150)
            if distance > 3:
                outcome.remarks.append(f"a collision came no nearer than {distance} bits")
            detector.add(text, f"https://attack.example/{number}")
            attack = "collisions, known key" if known else "collisions, unknown key"
            _judge(outcome, attack, detector.add(victim, f"https://victim{number}.example/"))


def quotations(outcome: Round, dice: random.Random, detector: Detector) -> None:
    """Long shingles of the victim among other words: they are found by their keys."""
    for number in range(20):
        language = dice.choice(SPACED)
        victim = "\n".join(article(dice, language, 20).text)
        text = quoting(victim, dice, words_of(language), dice.uniform(0.2, 0.5))
        detector.add(text, f"https://attack.example/{number}")
        _judge(outcome, "quotations", detector.add(victim, f"https://victim{number}.example/"))


def shuffled(outcome: Round, dice: random.Random, detector: Detector) -> None:
    """The victim's words in another order have its fingerprint, whatever the key."""
    for number in range(20):
        words = _text(dice).split()
        detector.add(" ".join(dice.sample(words, len(words))), f"https://attack.example/{number}")
        _judge(outcome, "shuffled copies", detector.add(" ".join(words), f"https://victim{number}.example/"))


def disguises(outcome: Round, dice: random.Random, detector: Detector) -> None:
    """Copies with homoglyphs or characters of no width do no harm to pages with other texts."""
    for number in range(20):
        story = _text(dice)
        disguised = dice.choice(
            [story.translate(HOMOGLYPHS), "\u200b".join(story), story.replace(" ", " \u2063"), story[::-1]]
        )
        detector.add(disguised, f"https://attack.example/{number}")
        original = detector.add(story, f"https://victim{number}.example/")
        outcome.counts["copies in disguise that were found"] += original.is_duplicate
        _judge(outcome, "disguises", detector.add(_text(dice), f"https://victim{number}.example/other"))


def low_entropy(outcome: Round, dice: random.Random, detector: Detector) -> None:
    """Lists of a few values have the same runs of words, whatever they say."""
    for number, (values_at_least, shortest, longest) in enumerate([(2, 60, 400)] * 20 + [(4, 600, 6000)] * 4):
        every, space = dice.choice([(words_of("en"), " "), (words_of("en"), " "), ("胜平负主客", "")])
        values = dice.sample(every, dice.randint(values_at_least, 5))
        size = dice.randint(shortest, longest)
        runs = [values[entry] for entry in without_repeats(len(values), dice)]
        drawn = [dice.choices(values, k=size) for _ in range(3)]
        for attack, entries in enumerate([runs, runs[: dice.randint(1, len(runs))], *drawn]):
            detector.add(space.join(entries), f"https://attack{attack}.example/{number}")
        text = space.join(dice.choices(values, k=size))
        _judge(outcome, "low entropy", detector.add(text, f"https://victim{number}.example/"))


def longer(outcome: Round, dice: random.Random, detector: Detector) -> None:
    """A copy that says more does not take the place of the page that it copies."""
    for number in range(10):
        story = _text(dice)
        url = f"https://victim{number}.example/"
        detector.add(story, url)
        detector.add(f"{story}\n{_text(dice, 12)}", f"https://attack.example/{number}")
        again = detector.add(story, url)
        _judge(outcome, "longer copies", again)
        if again.kind != "revisit":
            outcome.violations.append(f"longer copies: the victim is {again.kind} when it is visited again")


def flooded(outcome: Round, dice: random.Random, detector: Detector, make: Callable[..., Any]) -> None:
    """Thousands of documents with the victim's fingerprint, or with one block of it."""
    victim = _text(dice)
    flood(detector, detector.signature(victim), FLOOD, make)
    taken = []
    for number in range(40):
        words = victim.split()
        text = victim if not number else " ".join(dice.sample(words, len(words)))
        started = time.thread_time()
        verdict = detector.add(text, f"https://victim{number}.example/")
        taken.append(time.thread_time() - started)
        _judge(outcome, "pages in a flood", verdict)
    if np.median(taken) > SECONDS:
        outcome.violations.append(f"a page in a flood took {np.median(taken) * 1000:.0f} ms in the median")


def hidden(outcome: Round, dice: random.Random, folder: Path) -> None:
    """The victim's text stands, hidden, on a page of another text that comes first."""
    pages: dict[str, Answer] = {}
    victims: list[str] = []
    unseen: list[str] = []
    for number, hiding in enumerate((*HIDING, *UNSEEN_HIDING)):
        # A page that shows less than 200 letters is taken for one whose scripts show what it hides.
        story, own = _story(dice), _story(dice, dice.choice([4, 8]))
        body = "".join(f"<p>{paragraph}</p>" for paragraph in story.text)
        html = page_of(own.title, own.text, "Attack", hiding.format(body))
        pages[f"https://attack.example/{number}"] = Answer(html.encode())
        (victims if hiding in HIDING else unseen).append(f"https://victim{number}.example/")
        pages[f"https://victim{number}.example/"] = Answer(page_of(*story, "Victim").encode())
    settings = {"NEARDUP_DIR": str(folder / "hidden"), "CONCURRENT_REQUESTS": 1}
    if dice.random() < 0.5:
        settings["NEARDUP_EXTRACTOR"] = "trafilatura"
    crawled = crawl(list(pages), pages.__getitem__, settings)
    outcome.counts["hidden texts"] += len(victims)
    for url in crawled.dropped(victims) + crawled.lost(pages):
        outcome.violations.append(f"hidden texts: {url} was dropped for {crawled.matches.get(url)}")
    outcome.counts["texts hidden by rules of style"] += len(unseen)
    for url in crawled.dropped(unseen):
        number = int(url.split("victim")[1].split(".")[0])
        hiding = UNSEEN_HIDING[number - len(HIDING)].split("{}")[0]
        outcome.remarks.append(f"A text that is hidden as by `{hiding}` can be held against its author")


def poisoned(outcome: Round, dice: random.Random, folder: Path) -> None:
    """Pages of other texts name the victim as their canonical page, and the other way round."""
    pages, victims, attacks = {}, [], []
    for number in range(8):
        story, own = _story(dice), _story(dice)
        victim, attack = f"https://victim{number}.example/story", f"https://attack.example/{number}"
        link = f'<link rel="canonical" href="{victim}"><meta property="og:url" content="{victim}">'
        html = page_of(*own, "Attack").replace("<title>", f"{link}<title>", 1)
        pages[attack] = Answer(html.encode(), headers={"Link": f'<{victim}>; rel="canonical"'})
        pages[victim] = Answer(page_of(*story, "Victim").encode())
        victims.append(victim)
        attacks.append(attack)
    settings = {
        "NEARDUP_DIR": str(folder / "poisoned"),
        "NEARDUP_PREFER_CANONICAL": True,
        "NEARDUP_PREFER_LONGER": 0.1,
        "CONCURRENT_REQUESTS": 1,
    }
    urls = dice.sample(list(pages), len(pages))
    answer = partial(dict.__getitem__, pages)
    crawled = crawl(urls, answer, settings)
    again = crawl(urls, answer, settings)
    outcome.counts["poisoned canonical links"] += len(attacks)
    for done in (crawled, again):
        for url in done.dropped(pages) + done.lost(pages):
            outcome.violations.append(
                f"poisoned canonical links: {url} was dropped for {done.matches.get(url)}"
            )
    for url in victims:
        if (crawled.verdicts[url], again.verdicts[url]) != ("unique", "revisit"):
            kinds = f"{crawled.verdicts[url]}, then {again.verdicts[url]}"
            outcome.violations.append(f"poisoned canonical links: {url} is {kinds}")


EXERCISE = Exercise(
    name="forced",
    promise="No site can have a page of another site dropped by what it publishes, short of publishing that "
    "page first, and no page becomes dear to judge.",
    how="An attacker's page comes first: excerpts, texts with the victim's fingerprint made with and without "
    "the key, its words shuffled, quoted or disguised, hidden text, lists of few values, floods, canonical "
    "links.",
    goals={
        "excerpts first": 3000,
        "collisions, known key": 200,
        "collisions, unknown key": 200,
        "quotations": 2000,
        "shuffled copies": 2000,
        "disguises": 2000,
        "low entropy": 2000,
        "longer copies": 1000,
        "pages in a flood": 4000,
        "hidden texts": 1200,
        "poisoned canonical links": 800,
    },
    run=run,
    seconds=30,
)
