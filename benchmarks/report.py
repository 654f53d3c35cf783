"""Measures the report of many pages: seconds to write it, its size, seconds until a browser shows it.

``python -m benchmarks.report 100000 1000000``, in the folder of the project. The audits are made up at once:
columns only, without texts to read. Three in ten pages are in clusters of 2 to 50.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from scrapy_neardup.audit.model import CLUSTERS, NO_DISTANCE, PAGES, PAIRS, VERDICTS, Input
from scrapy_neardup.audit.output.report import Particulars, ReportData, write_report

HOSTS = 200
SECTIONS = ("news", "sport", "culture", "archive", "blog", "products", "help", "travel")
WORDS = ("river", "council", "bridge", "garden", "winter", "market", "school", "harvest", "signal", "meadow")


def finished_audit(count: int) -> ReportData:
    """Make the content of the report of *count* pages on 200 hosts, with URLs of about 75 characters."""
    rng = np.random.default_rng(1)
    sizes = rng.integers(2, 51, count)
    sizes = -np.sort(-sizes[np.cumsum(sizes) <= 0.3 * count])
    labels = np.repeat(np.arange(len(sizes)), sizes)
    canonical = np.cumsum(sizes) - sizes
    own = canonical[labels]
    place = np.arange(len(labels)) - own
    copies = np.flatnonzero(place)
    exact = rng.random(len(copies)) < 0.5
    pages = np.zeros(count, PAGES)
    pages["verdict"] = np.array(VERDICTS)[rng.choice(8, count, p=[0.9, 0, 0, 0, 0.04, 0.02, 0.03, 0.01])]
    pages["verdict"][: len(labels)] = "unique"
    pages["verdict"][copies] = np.where(exact, "exact", "near")
    pages["cluster"], pages["canonical"] = -1, np.arange(count)
    pages["cluster"][: len(labels)], pages["canonical"][: len(labels)] = labels, own
    pages["distance"], pages["similarity"], pages["rank"] = NO_DISTANCE, np.nan, rng.permutation(count)
    pages["rank"][canonical] = -1 - np.arange(len(canonical))
    pages["distance"][copies] = np.where(exact, 0, rng.integers(0, 4, len(copies)))
    pages["similarity"][copies] = np.where(exact, 1, 0.8 + 0.2 * rng.random(len(copies)))
    pages["tokens"] = rng.integers(50, 1500, count)
    pages["fetched"] = 1_760_000_000 + rng.random(count) * 86_400 * 200
    pages["url"] = [_url(number) for number in rng.permutation(count).tolist()]
    pages["title"] = [f"{WORDS[n % 10].title()} and {WORDS[n // 10 % 10]}, part {n}" for n in range(count)]
    pairs = np.zeros(len(copies) + count // 10, PAIRS)
    pairs["kind"] = "rejected"
    pairs["kind"][: len(copies)] = pages["verdict"][copies]
    pairs["first"][: len(copies)], pairs["second"][: len(copies)] = own[copies], copies
    pairs["first"][len(copies) :], pairs["second"][len(copies) :] = rng.integers(0, count, (2, count // 10))
    pairs["distance"] = rng.integers(1, 8, len(pairs))
    pairs["distance"][: len(copies)] = pages["distance"][copies]
    pairs["similarity"] = 0.5 + 0.3 * rng.random(len(pairs))
    pairs["similarity"][: len(copies)] = pages["similarity"][copies]
    # A browser gets them in the order of URLs; rows are numbered anew.
    order = np.argsort(pages["url"], kind="stable")
    row = np.empty(count, np.int64)
    row[order] = np.arange(count)
    pages["canonical"] = row[pages["canonical"]]
    pairs["first"], pairs["second"] = row[pairs["first"]], row[pairs["second"]]
    clusters = np.zeros(len(sizes), CLUSTERS)
    clusters["canonical"], clusters["size"] = row[canonical], sizes
    texts = [" ".join(WORDS[i] for i in rng.integers(0, 10, 300)) for _ in range(500)]
    particulars = Particulars([(Input("crawl.jl", "json lines"), count)], 7, 0.8, "0")
    return ReportData(pages[order], clusters, pairs, lambda page: texts[page % 500], particulars)


def _url(number: int) -> str:
    words = "-".join(WORDS[number // 10**i % 10] for i in range(3))
    end = ("", "?utm_source=mail", "", f"?page={number % 7}", "")[number % 5]
    section = SECTIONS[number // HOSTS % 8]
    return f"https://www.site-{number % HOSTS}.example/{section}/{2000 + number % 25}/{words}-{number}{end}"


def seconds_to_open(path: Path) -> float:
    """Open the report in Chromium; return the seconds until all of it is shown. Raises on any complaint."""
    from playwright.sync_api import sync_playwright

    from tests.audit.output.report.conftest import find_browser

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(playwright.chromium))
        page = browser.new_page()
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        start = time.perf_counter()
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]", timeout=120_000)
        seconds = time.perf_counter() - start
        browser.close()
    if complaints:
        raise RuntimeError(complaints)
    return seconds


def main() -> None:
    """Print a row for each number of pages."""
    print("| pages | seconds to write | MB | seconds to open | peak memory, MB |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for count in map(int, sys.argv[1:]):
            path = Path(folder, f"{count}.html")
            data = finished_audit(count)
            start = time.perf_counter()
            write_report(path, data)
            wrote = time.perf_counter() - start
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            size = path.stat().st_size / 1e6
            print(f"| {count:,} | {wrote:.1f} | {size:.1f} | {seconds_to_open(path):.1f} | {memory:.0f} |")


if __name__ == "__main__":
    main()
