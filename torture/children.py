"""Work in children of this process: what they return, or how they died."""

from __future__ import annotations

import math
import os
import pickle
import signal
import sys
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
