"""Where the CPU goes that the plugin adds to the crawl's own process, in µs a page.

    python benchmarks/crawl_steps.py [--data DIR] [--stored N] [--rounds N]

First by leaving out: crawls of the same pages with more and more of the plugin, all in turn, each beside
Scrapy alone. Then by steps: how much of the event loop's thread each takes. DIR has the labelled sets of
docs/quality.md; without it the example network is used. A round takes about a minute.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from suite import inputs
from suite.crawl_steps import FORMS
from suite.crawling import serving
from suite.indexes import crawl_index
from suite.measuring import Form, quartiles

from scrapy_neardup.extraction.loading import load_extractor

EXTRACTOR, PAGES, VARIANTS = "resiliparse", 250, 2
#: The crawls, each with its form and its extractor.
CRAWLS = {
    "bare": ("bare", "bare"),
    "hooks": ("hooks", EXTRACTOR),
    "handed, nothing extracted": ("handed", "suite.crawl_steps.Nothing"),
    "handed": ("handed", EXTRACTOR),
    "unjudged": ("unjudged", EXTRACTOR),
    "all": ("all", EXTRACTOR),
    "steps": ("steps", EXTRACTOR),
}


def crawl(form: str, way: str, base: str, index: Path, folder: Path) -> list[dict[str, Any]]:
    """Crawl with a copy of *index*; return what the process has printed, a line each."""
    copied = shutil.copytree(index, folder / "copy", dirs_exist_ok=True)
    command = [sys.executable, "-m", "suite.crawl_steps", form, base, way, str(PAGES), str(VARIANTS)]
    done = subprocess.run(
        [*command, str(copied), "1"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        timeout=1000,
        check=False,
    )
    shutil.rmtree(copied)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    return [json.loads(line) for line in done.stdout.splitlines()]


def show(name: str, values: list[float], note: str = "") -> None:
    low, middle, high = (value * 1e6 for value in quartiles(values))
    print(f"{name:36} {middle:+7.0f} µs ({low:+.0f} to {high:+.0f}) {note}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--stored", type=int, default=10**5)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    found: dict[str, list[float]] = {name: [] for name in CRAWLS}
    steps: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory(prefix="neardup-bench-") as name:
        folder = Path(name)
        form = Form("quick", (), (options.stored,), options.rounds, PAGES, 0, options.data, folder)
        pages = inputs.pages(form.data)[:PAGES]
        index = crawl_index(form, options.stored, load_extractor(EXTRACTOR).identity)
        with serving(form, pages, []) as base:
            for number in range(options.rounds):
                for each in list(CRAWLS) if number % 2 == 0 else reversed(CRAWLS):
                    *timed, total = crawl(*CRAWLS[each], base, index, folder)
                    found[each].append(total["own"])
                    steps += timed
    bare = found["bare"]
    print(f"Scrapy alone: {statistics.median(bare) * 1e6:.0f} µs a page; with more:")
    for each, (form_name, _) in CRAWLS.items():
        if each not in ("bare", "steps"):
            more = [one - other for one, other in zip(found[each], bare, strict=True)]
            show(each, more, FORMS[form_name])
    print("Steps, in the event loop's thread:")
    for each in steps[0]:
        show(each, [one[each] for one in steps])


if __name__ == "__main__":
    main()
