"""Gives one input to a reader, and says which promise it broke, if it did."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import time
import traceback
from typing import TYPE_CHECKING, Any

from scrapy_neardup import NearDupError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.readers import Reader

#: Seconds of the processor's time that an input may take; bytes of memory that it may add to all before.
SECONDS, MEMORY = 5.0, 500 << 20


class TookTooLong(BaseException):
    """Raised in a reader when its time is over; no guard in it takes this for an error of the input."""


class Trial:
    """Tries inputs on a *reader*, which gets files in *folder*."""

    def __init__(self, reader: Reader, folder: Path) -> None:
        self._reader = reader
        self._folder = folder
        self._peak = 0
        signal.signal(signal.SIGVTALRM, _stop)

    def first(self, data: bytes) -> None:
        """Read an input that is not judged: what a process does once is done."""
        self.broken(data, twice=False)
        self._peak = _peak()

    def broken(self, data: bytes, *, twice: bool) -> str | None:
        """Return what promise *data* breaks. If *twice*, the answer has to be the same again."""
        answer = self._answer(data)
        if isinstance(answer, Broken):
            return str(answer)
        if twice:
            again = self._answer(data)
            if isinstance(again, Broken):
                return str(again)
            if answer != again:
                return f"the same input has two answers, {answer[:200]} and {again[:200]}"
        peak = _peak()
        if self._peak and peak > self._peak + MEMORY:
            return f"it took {(peak - self._peak) >> 20} MiB"
        self._peak = max(peak, self._peak)
        return None

    def _answer(self, data: bytes) -> Any:
        for path in self._folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        started = time.process_time()
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        try:
            return repr(self._reader.read(data, self._folder))
        except NearDupError as error:
            return f"{type(error).__name__}: {error}"
        except TookTooLong:
            return Broken(f"it took more than {SECONDS:.0f} s")
        except Exception as error:  # noqa: BLE001 - which is what is looked for
            frame = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{os.path.basename(frame.filename)}:{frame.lineno}"  # noqa: PTH119
            return Broken(f"{type(error).__name__}: {str(error)[:200]} ({where})")
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            if time.process_time() - started > 2 * SECONDS:  # code in C that no signal reaches
                self._peak = max(self._peak, _peak())


class Broken(str):
    """What a reader did that it should not."""

    __slots__ = ()


def _stop(number: int, frame: object) -> None:
    raise TookTooLong


def _peak() -> int:
    """Return the most bytes that this process has had in memory so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
