"""CPU of the crawl's own process a page: what the plugin adds to Scrapy alone, beside a large index."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.extraction.loading import load_extractor

from . import inputs
from .crawl import WARM
from .crawling import crawl, serving
from .indexes import crawl_index
from .measuring import Finding, Goal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .measuring import Form

EXTRACTOR = "resiliparse"
#: Stored documents, by the form.
STORED = {"quick": 10**5, "full": 10**7}
#: Crawls with the plugin, each beside one without.
REPEATS = {"quick": 3, "full": 7}
#: How many times all pages are crawled, each time with other prose.
VARIANTS = {"quick": 1, "full": 2}


def measure(form: Form) -> Iterator[Finding]:
    """Crawl the same pages with and without the plugin in turn.

    Each repeat has its own words in the prose of the pages, so that the pages are no copies of those stored
    by the one before.
    """
    pages, stored, variants = inputs.pages(form.data)[: form.pages], STORED[form.name], VARIANTS[form.name]
    index = crawl_index(form, stored, load_extractor(EXTRACTOR).identity)
    milliseconds: dict[str, list[float]] = {"bare": [], EXTRACTOR: []}
    for repeat in range(REPEATS[form.name]):
        for way in list(milliseconds) if repeat % 2 == 0 else reversed(milliseconds):
            with serving(form, pages, []) as base:
                found = crawl(form, base, way, len(pages), variants, index, first=1 + variants * repeat)
            milliseconds[way].append(found["own"] * 1000)
            if way != "bare" and found["judged"] < variants * len(pages) / 2:
                raise SystemExit(f"Of {variants * len(pages)} pages only {found['judged']} were judged.")
    bare, added = np.array(milliseconds["bare"]), np.array(milliseconds[EXTRACTOR])
    mean = sum(map(len, pages)) / len(pages) / 1000
    yield Finding(
        "added to the CPU of the crawl's own process a page, as a share of Scrapy's",
        stored,
        "",
        tuple((added / bare - 1).tolist()),
        goal=Goal(0.2),
        note=(
            f"{EXTRACTOR}, workers not counted; {np.median(bare):.2f} ms without, {np.median(added):.2f} ms "
            f"with; {variants * len(pages)} pages of {mean:.0f} kB on average, the first {WARM} not counted"
        ),
    )
    shutil.rmtree(index)
