"""The same pages in other orders, by more or fewer workers, under other hash seeds, locales, time zones."""

from __future__ import annotations

import json
import os
import pickle
import random
import subprocess
import sys
from collections import Counter, defaultdict
from importlib.util import find_spec
from typing import TYPE_CHECKING

from scrapy_neardup import Detector
from tests.extraction.hostile import CASES
from tests.forecasts import weather
from torture.articles import LANGUAGES, article, page_of, real_pages
from torture.exercise import Exercise, Round

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Orders of a round, environments, and pages that are signed in each of them.
ORDERS, ENVIRONMENTS, PAGES = 12, 4, 30
LOCALES = ("C", "C.UTF-8", "tr_TR.UTF-8", "POSIX", "de_DE.UTF-8", "nonsense")
ZONES = ("UTC", "Asia/Kathmandu", "America/St_Johns", "Pacific/Apia", "nonsense")


def run(seed: int, folder: Path) -> Round:
    outcome, dice = Round(), random.Random(seed)
    _verdicts(outcome, dice)
    _signatures(outcome, dice, folder, seed)
    return outcome


def _verdicts(outcome: Round, dice: random.Random) -> None:
    groups = dict(_groups(dice))
    pages = [(group, url, text) for group, each in groups.items() for url, text in each]
    kept: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for _ in range(ORDERS):
        dice.shuffle(pages)
        passed: Counter[str] = Counter()
        with Detector.open() as detector:
            for group, url, text in pages:
                passed[group] += not detector.add(text, url).is_duplicate
        for group in groups:
            kept[group][passed[group]] += 1
        outcome.counts["orders"] += 1
        outcome.counts["verdicts"] += len(pages)
    for group, numbers in kept.items():
        kind, size = group.split(" ")[0], len(groups[group])
        expected = 1 if kind in ("copies", "edited") else size
        if kind in ("excerpt", "chain"):
            if len(numbers) > 1:
                outcome.counts[f"groups, {kind}s, that depend on the order"] += 1
        elif set(numbers) != {expected}:
            outcome.violations.append(
                f"of {group}, {size} pages, {dict(numbers)} are kept (pages: orders), not {expected}"
            )


def _groups(dice: random.Random) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield groups of pages: URL and text of each, by a name that begins with what they are to each other."""
    for number in range(8):
        language = dice.choice(LANGUAGES)
        story = "\n".join(article(dice, language).text)
        yield f"copies {number}", [(f"https://copy{each}.example/{number}", story) for each in range(3)]
        story = "\n".join(article(dice, language).text)
        texts = [story, _edited(dice, story), _edited(dice, story)]
        yield (
            f"edited {number}",
            [(f"https://site{each}.example/{number}", t) for each, t in enumerate(texts)],
        )
        yield (
            f"single {number}",
            [(f"https://alone{number}.example/", "\n".join(article(dice, language).text))],
        )
        words = "\n".join(article(dice, "en").text).split()
        excerpt = " ".join(words[: len(words) * dice.randint(30, 80) // 100])
        yield (
            f"excerpt {number}",
            [
                (f"https://whole.example/{number}", " ".join(words)),
                (f"https://part.example/{number}", excerpt),
            ],
        )
    chain = "\n".join(article(dice, "en").text).split()
    links = []
    for each in range(6):
        links.append((f"https://chain{each}.example/", " ".join(chain)))
        start = each * len(chain) // 8
        chain[start : start + len(chain) // 8] = "\n".join(article(dice, "en", 4).text).split()
    yield "chain", links
    yield "template", [(f"https://weather.example/{each}", weather(dice)) for each in range(6)]


def _edited(dice: random.Random, text: str) -> str:
    """Change a letter or two, as an editor does."""
    for _ in range(2):
        place = dice.choice([at for at, letter in enumerate(text) if letter.isalpha()])
        text = f"{text[:place]}{text[place]}{text[place:]}"
    return text


def _signatures(outcome: Round, dice: random.Random, folder: Path, seed: int) -> None:
    real = real_pages()
    bodies = [each.encode() for each in dice.sample(real, min(PAGES // 3, len(real)))]
    bodies += [case.body for case in dice.sample(CASES, PAGES // 3) if len(case.body) < 1_000_000]
    while len(bodies) < PAGES:
        bodies.append(page_of(*article(dice, dice.choice(LANGUAGES))).encode())
    path = folder / "pages"
    path.write_bytes(pickle.dumps(bodies))
    extractors = ["segment", "trafilatura", *(["resiliparse"] if find_spec("resiliparse") else [])]
    extractor = extractors[seed % len(extractors)]
    first = None
    for number in range(ENVIRONMENTS):
        environment = {
            "PYTHONHASHSEED": str(dice.randint(0, 4_294_967_295)),
            "LC_ALL": dice.choice(LOCALES),
            "TZ": dice.choice(ZONES),
        }
        processes = dice.randint(1, 8)
        command = [
            sys.executable,
            "-m",
            "torture.sign_pages",
            str(path),
            extractor,
            str(processes),
            str(number),
        ]
        done = subprocess.run(
            command,
            env={**os.environ, **environment},
            check=False,
            capture_output=True,
            text=True,
            timeout=150,
        )
        what = f"{extractor}, {processes} workers, {environment}"
        if done.returncode:
            outcome.violations.append(f"{what}: ended with {done.returncode}: {done.stderr[-300:]}")
            continue
        found = json.loads(done.stdout)
        first = first or found
        outcome.counts["pages signed"] += len(bodies)
        for page, (one, other) in enumerate(zip(first, found, strict=True)):
            if one != other or len(other) != 1:
                outcome.violations.append(f"{what}: page {page} is {other}, was {one}")


EXERCISE = Exercise(
    name="orders",
    promise="What a page is does not depend on the order in which copies come, nor on workers, hash seeds, "
    "locale and time zone.",
    how="Exact and edited copies, singles, templates, excerpts and chains in 12 orders; real, made-up and "
    "broken pages signed by 1 to 8 workers in other orders and environments. Excerpts and chains depend on "
    "the order by nature: they are counted.",
    goals={"orders": 1200, "verdicts": 100_000, "pages signed": 10_000},
    run=run,
    seconds=30,
)
