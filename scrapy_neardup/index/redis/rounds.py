"""Threads that ask a server at the same moment share a round trip."""

from __future__ import annotations

import threading
from copy import copy
from typing import TYPE_CHECKING, Generic, TypeVar

from scrapy_neardup.errors import IndexUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Request = TypeVar("Request")
Answer = TypeVar("Answer")


class _Asked(Generic[Request, Answer]):
    """What one thread asks."""

    __slots__ = ("answer", "error", "leads", "request", "turn")

    answer: Answer

    def __init__(self, request: Request) -> None:
        self.request = request
        #: Whether its thread is to have the next round answered.
        self.leads = False
        self.error: Exception | None = IndexUnavailable("The thread that asked was interrupted: ask again.")
        #: Held until its thread has something to do.
        self.turn = threading.Lock()
        self.turn.acquire()


class Rounds(Generic[Request, Answer]):
    """Has what threads ask answered in rounds: what comes while one is under way is asked in the next.

    *answer* returns the answers to all that is asked in a round. It is called in one of the threads that have
    asked, never in two at a time. If it raises, all of them do.
    """

    def __init__(self, answer: Callable[[list[Request]], Sequence[Answer]]) -> None:
        self._answer = answer
        self._waiting: list[_Asked[Request, Answer]] = []
        self._under_way = False
        self._lock = threading.Lock()

    def ask(self, request: Request) -> Answer:
        """Return the answer to *request*, after at most one other round."""
        asked: _Asked[Request, Answer] = _Asked(request)
        with self._lock:
            self._waiting.append(asked)
            if not self._under_way:
                self._under_way = asked.leads = True
        try:
            if not asked.leads:
                asked.turn.acquire()
            if asked.leads:
                self._lead()
        except BaseException:  # a signal: others must not wait for this thread
            self._leave(asked)
            raise
        if asked.error is not None:
            raise copy(asked.error) from asked.error  # each thread adds a traceback of its own
        return asked.answer

    def _lead(self) -> None:
        """Have all that is asked now answered, and wake the threads that have asked."""
        with self._lock:
            asked, self._waiting = self._waiting, []
        try:
            answers = self._answer([each.request for each in asked])
            for each, answer in zip(asked, answers, strict=True):
                each.answer, each.error = answer, None
        except Exception as error:  # noqa: BLE001  # each thread raises it
            for each in asked:
                each.error = error
        finally:
            with self._lock:
                self._hand_over()
            for each in asked:
                each.turn.release()

    def _hand_over(self) -> None:
        """Have the thread that waits longest lead the next round. Needs the lock."""
        self._under_way = bool(self._waiting)
        if self._waiting:
            self._waiting[0].leads = True
            self._waiting[0].turn.release()

    def _leave(self, asked: _Asked[Request, Answer]) -> None:
        """Ask no longer."""
        with self._lock:
            if asked in self._waiting:
                self._waiting.remove(asked)
                if asked.leads:
                    self._hand_over()
