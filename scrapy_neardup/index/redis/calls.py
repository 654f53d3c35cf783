"""Calls of an index on a server: those of several threads go in one round trip, with what was settled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_neardup.errors import IndexUnavailable

from .rounds import Rounds
from .settling import AT_ONCE, WAITING, Settling

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .scripts import Call


class _Made(NamedTuple):
    """What has become of the calls of a thread."""

    answers: list[Any]
    #: Whether the answers lack something: what was settled before has led to further writes, not yet made.
    stale: bool
    #: Why something that was settled before could not be written; None if all was.
    error: IndexUnavailable | None


class Calls:
    """Makes calls of any threads.

    *send* makes some in one round trip, in their order. It returns their answers, with an `IndexUnavailable`
    in place of that of one that has failed, or raises one if all have failed. At most so many writes wait for
    a server that is away. All methods but `settling.put` raise `IndexUnavailable`.
    """

    def __init__(self, send: Callable[[Sequence[Call]], Sequence[Any]], waiting: int = WAITING) -> None:
        self._send = send
        self._rounds: Rounds[Sequence[Call], _Made] = Rounds(self._make)
        self.settling = Settling(self.drain, waiting)

    def run(self, call: Call) -> Any:
        """Make a call; return its answer."""
        (answer,) = self.run_all([call])
        return answer

    def run_all(self, calls: Sequence[Call]) -> list[Any]:
        """Make some calls in one round trip; return their answers. Raises if one of them fails."""
        return _answers(self._rounds.ask(calls))

    def read(self, call: Call) -> Any:
        """Return the answer to a call that sees all that was settled before."""
        while True:
            made = self._rounds.ask([call])
            if not made.stale:
                (answer,) = _answers(made)
                return answer

    def drain(self) -> None:
        """Return once all that was settled is written. Raises if it cannot be."""
        while self.settling:
            error = self._rounds.ask(()).error
            if error is not None:
                raise error

    def close(self) -> None:
        """Write what was settled, and nothing later."""
        self.settling.close()
        self.drain()

    def _make(self, asked: list[Sequence[Call]]) -> list[_Made]:
        """Make the calls of several threads after what was settled."""
        writes, error = self.settling.first(), None
        while len(writes) == AT_ONCE and error is None:
            _, error = self.settling.done(writes, self._send([write.call for write in writes]))
            writes = self.settling.first()
        calls = [*(write.call for write in writes), *(call for calls in asked for call in calls)]
        answers = self._send(calls) if calls else ()
        others, last_error = self.settling.done(writes, answers[: len(writes)]) if writes else (0, None)
        made, at = [], len(writes)
        for each in asked:
            made.append(_Made(list(answers[at : at + len(each)]), others > 0, error or last_error))
            at += len(each)
        return made


def _answers(made: _Made) -> list[Any]:
    for answer in made.answers:
        if isinstance(answer, IndexUnavailable):
            raise answer
    return made.answers
