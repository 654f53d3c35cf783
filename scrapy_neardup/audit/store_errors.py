"""Errors of an audit's file of pages, each as one line that names the file and says what to do."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING

from scrapy_neardup.errors import ConfigurationError

from .packing import ERRORS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextlib.contextmanager
def explained(path: Path | None) -> Iterator[None]:
    """Turn errors of the database in *path*, and of code that reads damaged values, into one line.

    A damaged or locked file raises `ConfigurationError`, one that cannot be written `OSError`.
    """
    try:
        yield
    except ConfigurationError:
        raise
    except sqlite3.OperationalError as error:
        if "decode" in str(error) or "no such" in str(error):  # of a text, of a column
            raise _damaged(path, error) from error
        if "locked" in str(error):
            raise ConfigurationError(
                f"{path} is in use: wait for the other audit, or name another directory."
            ) from error
        raise OSError(f"{path} cannot be written ({error}): look at the disk and its permissions.") from error
    except sqlite3.ProgrammingError as error:
        if "closed" in str(error):
            raise ConfigurationError("The audit is closed: read its texts before.") from error
        raise _damaged(path, error) from error
    except (sqlite3.DatabaseError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise _damaged(path, error) from error
    except ERRORS as error:
        raise _damaged(path, error) from error


def _damaged(path: Path | None, error: Exception) -> ConfigurationError:
    return ConfigurationError(f"{path} is damaged ({error}): delete it to start anew.")
