"""When to try again what has failed: the longer it goes on failing, the longer the wait."""

from __future__ import annotations

import logging
import time

import lmdb

from scrapy_neardup import clock
from scrapy_neardup.errors import NearDupError

from .faults import reason

logger = logging.getLogger(__name__)


class Retry:
    """The failures in a row of one kind of work.

    The first is logged with *complaint*, and followed by a wait of *first_seconds*; each further one by a
    wait twice as long, up to *last_seconds*.
    """

    def __init__(self, complaint: str, first_seconds: float, last_seconds: float) -> None:
        self._complaint = complaint
        self._first_seconds = first_seconds
        self._last_seconds = last_seconds
        self._next_seconds = first_seconds
        #: The error of the last try, None if it succeeded.
        self.error: Exception | None = None
        #: The time, by `time.monotonic`, from which on to try again.
        self.at = clock.LONG_AGO

    def failed(self, error: Exception) -> None:
        """Keep *error*, and set the time of the next try.

        It is logged with a traceback unless it is one that a disk or LMDB may raise.
        """
        if self.error is None:
            expected = isinstance(error, (NearDupError, lmdb.Error, OSError, MemoryError))
            logger.error("%s %s", self._complaint, reason(error), exc_info=not expected)
        self.error = error
        self.at = time.monotonic() + self._next_seconds
        self._next_seconds = min(self._last_seconds, 2 * self._next_seconds)

    def succeeded(self) -> None:
        """Begin anew."""
        self.error = None
        self._next_seconds = self._first_seconds

    def at_once(self) -> None:
        """Try again without a wait."""
        self.at = clock.LONG_AGO
