"""Serve the news network on loopback, crawl it with Scrapy, and show what became of each page."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
import threading
from pathlib import Path

from demo_outcome import Outcomes
from demo_table import OutcomeTable
from rich.console import Console
from scrapy.crawler import CrawlerProcess
from scrapy.utils.project import get_project_settings
from site_server import DEFAULT_PORT, NewsNetwork

#: The crawl takes some ten seconds; nothing keeps it longer than this.
MAX_SECONDS = 300
#: Whether an edited copy is found depends on the hash seed, which every index draws for itself; so many
#: always are.
MIN_RECOGNISED = 0.6


def main() -> int:
    """Run the demo; return its exit status."""
    options = parse_arguments()
    if options.serve:
        return serve(options.port)
    os.environ["SCRAPY_SETTINGS_MODULE"] = (
        f"news.settings_{options.policy}" if options.policy else "news.settings"
    )
    settings = get_project_settings()
    settings.set("CLOSESPIDER_TIMEOUT", MAX_SECONDS)
    index, report = Path(settings["NEARDUP_DIR"]), Path(settings["NEARDUP_REPORT"])
    if options.fresh:
        shutil.rmtree(index, ignore_errors=True)
    first_run = not index.exists()
    report_start = report.stat().st_size if report.exists() else 0

    with NewsNetwork(options.port) as network:
        process = CrawlerProcess(settings)
        crawler = process.create_crawler("network")
        outcomes = Outcomes(crawler)
        process.crawl(crawler, start=" ".join(network.urls()))
        process.start()
        outcomes.read_report(report, report_start)

    expected = outcomes.as_met(network.pages())
    found, copies = outcomes.recognised(expected)
    surprises = outcomes.surprises(expected, first_run=first_run)
    console = Console()
    console.width = min(console.width, 116) if sys.stdout.isatty() else 116
    table = OutcomeTable(outcomes, network, expected, surprises)
    table.print(console)
    if options.picture:
        table.draw(options.picture)
    if found < copies * MIN_RECOGNISED:
        surprises["copies"] = f"only {found} of {copies} recognised"
    for url, text in surprises.items():
        console.print(f"[red]! not as expected:[/] {url}: {text}", soft_wrap=True, highlight=False)
    more = outcomes.exact + outcomes.near - found
    console.print(
        f"recognised {found} of the {copies} copies that were planted, and {more} besides; {outcomes.also()}",
        highlight=False,
    )
    for name, place in (("stored", next(iter(settings["FEEDS"]))), ("decisions", report), ("index", index)):
        console.print(f"{name + ':':10} {os.path.relpath(place)}", soft_wrap=True, highlight=False)
    print(
        'next: "Switch it on" in README.md, for a spider of yours; docs/tutorial.md, for one of these sites'
    )
    print(outcomes.last_line())
    return 1 if outcomes.errors or (options.expect and surprises) else 0


def serve(port: int) -> int:
    """Serve the sites until Ctrl-C, and say where they are."""
    with NewsNetwork(port) as network, contextlib.suppress(KeyboardInterrupt):
        print(*network.urls(), "end it with Ctrl-C", sep="\n", flush=True)
        threading.Event().wait()
    return 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--policy", choices=("tag", "drop_items", "drop_page"), help="what happens to duplicates (drop_items)"
    )
    parser.add_argument("--fresh", action="store_true", help="forget the pages of earlier runs")
    parser.add_argument(
        "--port",
        type=int,
        default=DEFAULT_PORT,
        help=f"first of five ports ({DEFAULT_PORT}); use with --fresh, for other ports are other URLs",
    )
    parser.add_argument(
        "--expect",
        action="store_true",
        help="fail if an outcome is not the one that network/sites.json expects",
    )
    parser.add_argument("--serve", action="store_true", help="only serve the sites, until Ctrl-C")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the stories, an SVG")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
