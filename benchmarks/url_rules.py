"""URL rules learned from one half of the pages of an audit, and what they do to the other half.

    python benchmarks/url_rules.py report/ other-report/

Pages that name one as canonical, or are of one cluster, are in one half. A request is saved if a rule changes
its URL to that of a page that was asked for; it is wrong if the two pages are known to be different.
"""

from __future__ import annotations

import json
import random
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from scrapy_neardup.audit.output.files import read_rows
from scrapy_neardup.audit.url_rules import COLUMNS, by_site, differ, find_rules, normalised
from scrapy_neardup.plugin.settings import plain_url, read_rules


def measure(rows: list[dict[str, Any]], seed: int = 1) -> dict[str, Any]:
    """Return what the rules of one half save of the requests of the other."""
    rng, halves = random.Random(seed), defaultdict(dict)
    half: dict[object, int] = {}
    for row in rows:
        cluster = row["url"] if row["cluster"] is None else row["cluster"]
        halves[half.setdefault(row["declared"] or cluster, rng.randrange(2))][row["url"]] = row
    rules = [rule.facts() for rule in find_rules(halves[0].values())]
    read = read_rules("NEARDUP_RULES", json.dumps(rules))
    saved = wrong = 0
    for pages in by_site(halves[1].values()).values():
        asked: dict[str, list[Any]] = defaultdict(list)
        for url, page in sorted(pages.items(), key=lambda each: len(each[0])):
            plain = normalised(plain_url(url, read))
            known = [each for each in (*asked[plain][:1], page) if each.content is not None]
            if plain != url and asked[plain]:
                saved += 1
                wrong += len(known) > 1 and differ(known)
            asked[plain].append(page)
    named = {(row["cluster"], row["url"])[row["cluster"] is None] for row in halves[1].values()}
    copies = len(halves[1]) - len(named)
    precision = round(1 - wrong / saved, 4) if saved else None
    facts = {
        "requests": len(halves[1]),
        "copies": copies,
        "saved": saved,
        "wrong": wrong,
        "precision": precision,
    }
    return facts | {"rules": [rule["why"]["what"] for rule in rules]}


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(name, json.dumps(measure(read_rows(Path(name), "pages", *COLUMNS))))
