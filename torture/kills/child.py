"""A process that is killed at a random moment."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

#: A round begins nothing new after so many seconds.
BUDGET = 60.0


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
