"""Work in children of this process: what they return, how they died, and some that are killed."""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import signal
import sys
import time
import traceback
from typing import TYPE_CHECKING, Any, NamedTuple

from .exercise import busy

if TYPE_CHECKING:
    from collections.abc import Callable


class Done(NamedTuple):
    """What became of a child."""

    #: What the work returned, None if it died.
    result: Any
    #: How it died: by a signal, by an exception; "" if it did not.
    died: str = ""

    @property
    def wrong(self) -> list[str]:
        """What is wrong, by work that returns such a list, or how it died."""
        return [self.died] if self.died else self.result


def isolated(work: Callable[[], Any], seconds: float = 30) -> Done:
    """Do *work* in a fork of this process, which is killed after so many *seconds*; see `busy`, too."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        _be_child(work, writing, math.ceil(seconds * busy()))
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        said = answer.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return Done(None, "hung" if number == signal.SIGALRM else f"killed by {signal.Signals(number).name}")
    if not said:
        return Done(None, f"ended with exit code {os.waitstatus_to_exitcode(status)}")
    done: Done = pickle.loads(said)
    return done


def _be_child(work: Callable[[], Any], writing: int, seconds: int) -> None:
    """Do *work* and say what came of it; does not return."""
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(seconds)
        try:
            done = Done(work())
        except BaseException as error:  # noqa: BLE001
            where = traceback.extract_tb(error.__traceback__)[-1]
            done = Done(None, f"{error!r} at {os.path.basename(where.filename)}:{where.lineno}")  # noqa: PTH119
        with os.fdopen(writing, "wb") as answer:
            pickle.dump(done, answer)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(0)


class Child:
    """A fork of this process that does *work*, silently, until it is killed."""

    def __init__(self, work: Callable[[], object]) -> None:
        self.pid = os.fork()
        if not self.pid:
            with contextlib.suppress(BaseException):
                nothing = os.open(os.devnull, os.O_RDWR)
                for number in range(3):
                    os.dup2(nothing, number)
                work()
                os._exit(0)
            os._exit(1)

    def kill(self) -> bool:
        """Kill it; returns whether it was still at work."""
        os.kill(self.pid, signal.SIGKILL)
        return os.WIFSIGNALED(os.waitpid(self.pid, 0)[1])

    def killed_after(self, seconds: float) -> bool:
        """Kill it after so many *seconds*, unless it ends before; returns whether it was killed."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                return False
            time.sleep(0.002)
        return self.kill()
