"""Trouble that is to be expected ends a command with one line and status 2, never with a traceback."""

from __future__ import annotations

import errno
from typing import IO, Any

import click

from scrapy_neardup.errors import NearDupError

from .output import clean

#: Exit status of a command that could not read some of its input.
INCOMPLETE = 3


class Failure(click.ClickException):
    """One line on the standard error stream, status 2."""

    exit_code = 2

    def __init__(self, error: Exception) -> None:
        super().__init__(clean(" ".join(str(error).split())))


class Interrupted(click.ClickException):
    """One line, and the status that shells give to a program that Ctrl-C has ended."""

    exit_code = 130

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the line without the word "Error" before it."""
        click.echo(self.message, file=file, err=True)


class Commands(click.Group):
    """The group of all commands, which turns trouble that is to be expected into a `Failure`."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a subcommand."""
        import lmdb

        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise Interrupted("Interrupted.") from error
        except NearDupError as error:
            raise Failure(error) from error
        except lmdb.Error as error:
            remedy = "look at the free space of its disk, then run `scrapy-neardup index check`."
            raise Failure(OSError(f"The index cannot be used ({error}): {remedy}")) from error
        except OSError as error:
            if error.errno == errno.EPIPE:  # click ends quietly when nobody reads on
                raise
            raise Failure(error) from error
