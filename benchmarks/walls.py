"""How many walls would be dropped: captchas, soft 404s, consent texts in many languages, on many hosts.

    python benchmarks/walls.py [--pages 6000] [--hosts 500]

The walls are those of tests/walls: the wording of `tuned` was at hand when the rules were made, that of
`unseen` was not. Each is added to an index with default settings; `exact` and `near` are what a crawl drops.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from scrapy_neardup import Detector

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "walls"))

from pages import Page, across_hosts, on_each_host, templates


def dropped(pages: list[Page]) -> Counter[str]:
    """Count the pages that would be dropped, by template."""
    found: Counter[str] = Counter()
    with Detector.open() as detector:
        for page in pages:
            found[page.template] += detector.add(page.text, page.url).is_duplicate
    return +found


def main() -> None:
    """Print a line for each wording and form."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=6000)
    parser.add_argument("--hosts", type=int, default=500)
    parser.add_argument(
        "--worst", type=int, default=0, help="templates to name, those with most pages dropped"
    )
    options = parser.parse_args()
    print(f"{'wording':10}{'templates':>10}  {'form':14}{'pages':>7}{'dropped':>9}")
    for file in ("tuned", "unseen"):
        among = templates(file)
        for form in (across_hosts, on_each_host):
            pages = list(form(among, hosts=options.hosts, pages=options.pages))
            found = dropped(pages)
            print(f"{file:10}{len(among):10}  {form.__name__:14}{len(pages):7}{found.total():9}")
            for name, count in found.most_common(options.worst):
                print(f"{'':10}{name:24}{count:6}")


if __name__ == "__main__":
    main()
