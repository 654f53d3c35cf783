"""Operations on a server that take several steps; what a step calls hangs on the answers to the last."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from scrapy_neardup.errors import IndexUnavailable
from scrapy_neardup.index.protocol import Documents

from .scripts import Call
from .server import Again

Steps = Generator[Sequence[Call], list[Any], Any]


class Job:
    """An operation of several *steps*. One that fails is made again, unless it is asked only *once*.

    *kept* is a document, one row, that is named if it cannot be written.
    """

    def __init__(self, steps: Steps, kept: Documents | None = None, *, once: bool = False) -> None:
        self._steps, self.kept, self._once = steps, kept, once
        #: The calls of the step that is next; why it has failed.
        self.calls = next(steps)
        self.failure: Exception | None = None
        #: Whether all is done, or never will be, and what has come of it.
        self.done, self._broken, self.result = False, False, None

    def take(self, answers: list[Any]) -> None:
        """Go on with the *answers* to the calls, of which some may be errors."""
        if self._broken:
            return
        errors = [each for each in answers if isinstance(each, Exception)]
        again = any(isinstance(each, Again) for each in errors)
        self.failure = errors[0] if errors and not again and not self._once else None
        if again or self.failure:
            return
        try:
            self.calls = self._steps.send(answers)
        except StopIteration as end:
            self.done, self.result = True, end.value
        except IndexUnavailable as error:
            self.calls, self.failure, self._broken = [], error, True


def question(calls: Sequence[Call]) -> Steps:
    """Make *calls*, and return their answers."""
    return (yield calls)
