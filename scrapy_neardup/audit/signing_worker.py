"""The processes that sign: each reads what to do from its standard input, and ends with it.

They are not made by ``multiprocessing``: its processes outlive a parent that is killed, answer Ctrl-C with a
traceback each, and import the script that started the audit once more.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread, local
from typing import IO, TYPE_CHECKING, Any, Generic, TypeVar

from scrapy_neardup.errors import NearDupError

if TYPE_CHECKING:
    from collections.abc import Callable

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_COMMAND = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from scrapy_neardup.audit.signing_worker import main; main()"
)


class SignerDied(NearDupError):
    """A signing process has ended before its work."""


class SigningProcesses(Generic[_Item, _Result]):
    """A process for each thread that calls, which does *work*. Thread-safe."""

    def __init__(self, work: Callable[[list[_Item]], list[_Result]]) -> None:
        self._work = work
        self._own = local()
        self._lock = Lock()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._closed = False

    def do(self, items: list[_Item]) -> list[_Result]:
        """Return what the work makes of *items*. Raises `SignerDied`, and what the work raises."""
        try:
            process = self._process()
            _send(process.stdin, items)
            assert process.stdout is not None
            found = pickle.load(process.stdout)  # noqa: S301  # it comes from our own process
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            raise SignerDied(
                "A signing process was ended, as by a lack of memory: run the audit again, and it goes on."
            ) from error
        if isinstance(found, BaseException):
            raise found
        return found  # type: ignore[no-any-return]

    def close(self) -> None:
        """End all processes at once, whatever they do."""
        with self._lock:
            self._closed = True
            for process in self._processes:
                process.kill()
            for process in self._processes:
                with suppress(OSError), process:  # raised if it has not read all
                    pass

    def _process(self) -> subprocess.Popen[bytes]:
        """Return the process of this thread. Raises OSError."""
        if not hasattr(self._own, "process"):
            with self._lock:
                if self._closed:
                    raise OSError("closed")
                process = subprocess.Popen(  # noqa: S603  # this interpreter, our command
                    [sys.executable, "-c", _COMMAND, json.dumps([str(path) for path in sys.path])],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    start_new_session=True,  # out of reach of Ctrl-C, which is for this process to handle
                )
                self._processes.append(process)
            _send(process.stdin, self._work)
            self._own.process = process
        return self._own.process  # type: ignore[no-any-return]


def main() -> None:
    """Receive a function and call it with each list that follows. When standard input ends, end at once."""
    answers = os.fdopen(os.dup(1), "wb")
    with Path(os.devnull).open("wb") as null:
        os.dup2(null.fileno(), 1)  # what libraries print is no answer
    received: SimpleQueue[Any] = SimpleQueue()
    Thread(target=_receive, args=(sys.stdin.buffer, received), daemon=True).start()
    work = received.get()
    while True:
        items = received.get()
        try:
            answer: Any = work(items)
        except Exception as error:  # noqa: BLE001  # the other side raises it
            answer = error
        _send(answers, answer)


def _receive(file: IO[bytes], received: SimpleQueue[Any]) -> None:
    try:
        while True:
            received.put(pickle.load(file))  # noqa: S301  # it comes from the process that started this one
    finally:
        os._exit(0)


def _send(file: IO[bytes] | None, value: Any) -> None:
    assert file is not None
    pickle.dump(value, file, pickle.HIGHEST_PROTOCOL)
    file.flush()
