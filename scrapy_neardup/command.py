"""``scrapy neardup …`` is ``scrapy-neardup …``, with the index of the project at hand."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.commands import ScrapyCommand

if TYPE_CHECKING:
    from pathlib import Path


class Command(ScrapyCommand):
    """Passes its arguments on as they are."""

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
        """Take Scrapy's own options before the first argument, and leave alone what follows it."""
        super().add_options(parser)
        parser.add_argument("-h", "--help", dest="show_help", action="store_true")
        parser.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Run the command, which ends the process."""
        from .cli import main
        from .cli.index import Project

        arguments = ["--help"] if opts.show_help else [*args, *opts.arguments]
        main(arguments, prog_name="scrapy neardup", obj=Project(self._index))

    def _index(self) -> Path | None:
        from .settings import Config

        assert self.settings is not None
        return Config.from_settings(self.settings).dir
