"""Threads as greenlets of one thread: at each point the dice say who goes on, so a seed is an order."""

from __future__ import annotations

import fcntl
import math
from contextlib import ExitStack, contextmanager
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest import mock

import lmdb
from greenlet import GreenletExit, getcurrent, greenlet  # type: ignore[import-untyped]

from scrapy_neardup.index import pending
from scrapy_neardup.index.lmdb import directory, environment, index, writer

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

#: Seconds that pass from one step to the next, at most: one of these.
STEPS = (0.001, 0.004, 0.02)


class Scheduler:
    """What runs, what the others wait for, and what time it is."""

    def __init__(self, dice: random.Random) -> None:
        self.dice, self.now, self.over, self.pace = dice, 1e6, False, dice.choice(STEPS)
        #: How likely who is at a point goes on.
        self.calm = dice.choice((0.0, 0.5, 0.8, 0.95))
        #: Of each that has not ended: what it waits for, and until when.
        self.waiting: dict[greenlet, tuple[Callable[[], object] | None, float]] = {}
        self.hub = getcurrent()
        #: Who took each step: how many others there were when it was started.
        self.order = bytearray()

    def start(self, work: Callable[..., object], *arguments: object) -> greenlet:
        made = greenlet(lambda: work(*arguments), parent=self.hub)
        made.place = len(self.waiting)
        self.waiting[made] = None, math.inf
        return made

    def point(self, ready: Callable[[], object] | None = None, seconds: float | None = None) -> None:
        """Let others run; go on once *ready* says so, or after so many *seconds*."""
        is_calm = ready is None and not self.over and self.dice.random() < self.calm
        if is_calm or (me := getcurrent()) not in self.waiting:
            return
        if not self.over:
            self.waiting[me] = ready, math.inf if seconds is None else self.now + seconds
            if (chosen := self._next()) is not me:
                chosen.switch()
        if self.over:
            raise GreenletExit

    def sleep(self, seconds: float) -> None:
        self.point(lambda: False, seconds)

    def _next(self) -> greenlet:
        """Choose who goes on, and let time pass until somebody can; the hub if all wait for each other."""
        waits = self.waiting.items()
        while not (able := [it for it, (go, until) in waits if go is None or until <= self.now or go()]):
            self.now = min(until for _, until in self.waiting.values())
            if math.isinf(self.now):
                return self.hub
        self.now += self.dice.random() * self.pace
        chosen = able[int(self.dice.random() * len(able))]
        self.order.append(chosen.place)
        return chosen

    def run(self, *these: greenlet) -> None:
        """Run all until *these* end. Raises what one raises, or RuntimeError if all wait for each other."""
        while not all(each.dead for each in these):
            if (chosen := self._next()) is self.hub:
                raise RuntimeError("all wait for each other")
            chosen.switch()  # they switch to each other, and one that ends to here
            self.waiting = {each: state for each, state in self.waiting.items() if not each.dead}

    @contextmanager
    def installed(self, *more: Any) -> Iterator[None]:
        """Be the threads, the locks and the clock of the index, and of modules *more*; end all at last."""
        fakes: dict[str, Any] = {
            "threading": SimpleNamespace(
                Lock=partial(Lock, self),
                RLock=partial(Lock, self),
                Condition=lambda lock: lock,
                Event=partial(Event, self),
                Thread=partial(Thread, self),
            ),
            "time": SimpleNamespace(monotonic=lambda: self.now, sleep=self.sleep),
        }
        with ExitStack() as stack:
            for module in (environment, index, writer, pending, *more):
                for name in fakes.keys() & vars(module).keys():
                    stack.enter_context(mock.patch.object(module, name, fakes[name]))
            stack.enter_context(mock.patch.object(index, "_lock", Lock(self)))
            locks = SimpleNamespace(**{**vars(fcntl), "flock": self._flock})
            stack.enter_context(mock.patch.object(directory, "fcntl", locks))
            stack.enter_context(mock.patch.object(directory, "file_system", str))  # it reads long lists
            try:
                yield
            finally:
                self.over = True
                for left in self.waiting:
                    left.throw(GreenletExit)

    def _flock(self, file: int, how: int) -> None:
        while True:
            try:
                return fcntl.flock(file, how | fcntl.LOCK_NB)
            except BlockingIOError:
                if how & fcntl.LOCK_NB:
                    raise
            self.sleep(0.01)


class Lock:
    """A lock that its owner may take again, and the condition over it."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler, self.depth, self.notices = scheduler, 0, 0
        self.owner: greenlet | None = None

    def acquire(self, blocking: bool = True) -> bool:
        if self.owner not in (None, getcurrent()):
            if not blocking:
                return False
            self.scheduler.point(lambda: self.owner is None)
        self.owner, self.depth = getcurrent(), self.depth + 1
        return True

    __enter__ = acquire

    def release(self) -> None:
        self.depth -= 1
        if not self.depth:
            self.owner = None
            self.scheduler.point()

    def __exit__(self, *error: object) -> None:
        self.release()

    def notify_all(self) -> None:
        self.notices += 1

    def wait_for(self, done: Callable[[], object], seconds: float = math.inf) -> object:
        until = self.scheduler.now + seconds
        while not (found := done()) and self.scheduler.now < until:
            told = partial(self._told, self.notices)
            depth, self.depth, self.owner = self.depth, 0, None
            self.scheduler.point(told, until - self.scheduler.now)
            self.acquire()
            self.depth = depth
        return found

    def _told(self, notices: int) -> bool:
        return self.owner is None and self.notices > notices


class Event:
    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler, self._happened = scheduler, False

    def set(self) -> None:
        self._happened = True

    def is_set(self) -> bool:
        return self._happened

    def wait(self, seconds: float | None = None) -> bool:
        self._scheduler.point(self.is_set, seconds)
        return self._happened


class Thread:
    def __init__(self, scheduler: Scheduler, *, target: Callable[[], object], **names: object) -> None:
        self._scheduler, self._target = scheduler, target

    def start(self) -> None:
        self._made = self._scheduler.start(self._target)

    def is_alive(self) -> bool:
        return self._made in self._scheduler.waiting

    def join(self, seconds: float | None = None) -> None:
        self._scheduler.point(lambda: not self.is_alive(), seconds)


class SharedFile:
    """One environment of LMDB as several processes have it: a point before and after each transaction.

    One that writes is not done if *fails* says so.
    """

    def __init__(self, real: lmdb.Environment, scheduler: Scheduler, fails: Callable[[], bool]) -> None:
        self._real, self._point, self._dice, self._fails = real, scheduler.point, scheduler.dice, fails

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def last_commit(self) -> int:
        found = self._dice.random() < 0.5 and self._real.info()
        self._point()
        return int((found or self._real.info())["last_txnid"])

    def begin(self, *, write: bool = False, **options: Any) -> Any:
        self._point()
        return self._writing(**options) if write else self._real.begin(**options)

    @contextmanager
    def _writing(self, **options: Any) -> Iterator[lmdb.Transaction]:
        with self._real.begin(write=True, **options) as transaction:
            yield transaction
            if self._fails():
                raise lmdb.DiskError("the disk is full")
        self._point()

    def close(self) -> None:
        """Stay open: others have it, too."""
