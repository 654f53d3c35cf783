"""``scrapy neardup …`` is ``scrapy-neardup …``, with the index of the project at hand."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.commands import ScrapyCommand

if TYPE_CHECKING:
    from pathlib import Path


class Command(ScrapyCommand):
    """Takes Scrapy's own options, wherever they stand, and passes all other arguments on."""

    requires_project = False
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        """Return the arguments, for the line on usage."""
        return "[-s NAME=VALUE] <command> [options] [args]"

    def short_desc(self) -> str:
        """Return one line."""
        return "Near-duplicates: look after the index that remembers pages"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Take Scrapy's own options before the first argument; `process_options` takes those that follow it."""
        super().add_options(parser)
        parser.add_argument("-h", "--help", dest="show_help", action="store_true")
        parser.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Take Scrapy's own options out of the arguments, then do as Scrapy does."""
        assert self.settings is not None
        scrapys = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        super().add_options(scrapys)
        _, opts.arguments = scrapys.parse_known_args(opts.arguments, opts)
        # What the project does not know is meant for a command that takes settings of ours without their prefix.
        self._assignments = tuple(
            each
            for each in opts.set
            if each.startswith("NEARDUP_") or each.partition("=")[0] not in self.settings
        )
        super().process_options(args, opts)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Run the command."""
        from scrapy_neardup.cli import main
        from scrapy_neardup.cli.index import Project

        arguments = ["--help"] if opts.show_help else [*args, *opts.arguments]
        try:
            main(arguments, prog_name="scrapy neardup", obj=Project(self._index, self._assignments))
        except SystemExit as end:  # click ends so; Scrapy has a profile to write first
            self.exitcode = int(end.code or 0)

    def _index(self) -> Path | None:
        from .settings import CrawlOptions

        assert self.settings is not None
        return CrawlOptions.from_settings(self.settings).dir
