"""The command ``scrapy neardup …``: ``scrapy-neardup …`` with the settings of a Scrapy project."""

from __future__ import annotations

import argparse
import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.commands import ScrapyCommand

from scrapy_neardup.errors import ConfigurationError

if TYPE_CHECKING:
    from .settings import CrawlOptions


class Command(ScrapyCommand):
    """Runs ``scrapy-neardup`` on the project's index. Scrapy's own options are taken wherever they stand."""

    requires_project = False
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        """Return what Scrapy's help prints after the command's name."""
        return "[-s NAME=VALUE] <command> [options] [args]"

    def short_desc(self) -> str:
        """Return the line of Scrapy's list of commands."""
        return "Near-duplicates: check the set-up, audit a crawl, look after the index"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare Scrapy's own options before the first argument; `process_options` finds the others."""
        super().add_options(parser)
        parser.add_argument("-h", "--help", dest="show_help", action="store_true")
        parser.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Move Scrapy's own options from the arguments to *opts*, then apply them as Scrapy does."""
        assert self.settings is not None
        scrapys = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        super().add_options(scrapys)
        _, opts.arguments = scrapys.parse_known_args(opts.arguments, opts)
        # The command takes settings of the plugin with or without their prefix, as in "-s DISTANCE=5". All
        # others that the project does not know are taken for such.
        self._assignments = tuple(
            each
            for each in opts.set
            if each.startswith("NEARDUP_") or each.partition("=")[0] not in self.settings
        )
        super().process_options(args, opts)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Run ``scrapy-neardup`` with two commands more."""
        import click

        from scrapy_neardup.cli import main
        from scrapy_neardup.cli.parameters import Project

        url = click.Option(["--url"], help="Judge this page, from its download to the verdict.")
        says = "Say whether the add-on is on, and how it is set."
        main.add_command(click.Command("doctor", callback=self._doctor, params=[url], help=says))
        report = click.Argument(["report"], required=False)
        says = "Print the URLs that a NEARDUP_REPORT names as skipped, as JSON lines."
        main.add_command(click.Command("skipped", callback=self._skipped, params=[report], help=says))
        arguments = ["--help"] if opts.show_help else [*args, *opts.arguments]
        try:
            main(arguments, prog_name="scrapy neardup", obj=Project(self._index, self._assignments))
        except SystemExit as end:  # raised by click, but Scrapy may have a profile to write first
            self.exitcode = int(end.code or 0)

    def _doctor(self, url: str | None) -> None:
        """Print what is to be said of the project, and of a page; end with 1 if anything is wrong."""
        from scrapy.crawler import AsyncCrawlerProcess

        from scrapy_neardup.cli.output import print_line

        from .doctor import Visit, examine, settings_of_visit

        assert self.settings is not None
        told: list[bool] = []

        def tell(good: bool, line: str) -> None:
            told.append(good)
            print_line(f"{'ok ' if good else '!! '}{line}")

        for good, line in examine(self.settings):
            tell(good, line)
        if url and all(told):
            process = AsyncCrawlerProcess(settings_of_visit(self.settings))
            process.crawl(Visit, url=url, tell=tell)
            process.start()
        raise SystemExit(int(not all(told)))

    def _skipped(self, report: str | None) -> None:
        """Print the URLs that NEARDUP_BUDGET has skipped, once each, as JSON lines."""
        path = Path(report or self._options().report or "report")
        if not path.is_file():
            raise ConfigurationError(f"There is no {path}: name the file that NEARDUP_REPORT was.")
        urls: dict[str, None] = {}
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                with suppress(ValueError):  # of a line that was cut
                    told = json.loads(line)
                    if told["action"] == "skip":
                        urls[told["url"]] = None
        for url in urls:
            print(json.dumps({"url": url}))

    def _options(self) -> CrawlOptions:
        from .settings import CrawlOptions  # which no other command of Scrapy needs

        assert self.settings is not None
        return CrawlOptions.from_settings(self.settings)

    def _index(self) -> Path | str | None:
        """Return the folder of the project's index, or its URL; None if its settings name none."""
        options = self._options()
        return options.store or options.dir
