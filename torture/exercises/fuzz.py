"""Mutants of inputs, sound and broken ones, for everything that reads bytes of others."""

from __future__ import annotations

import hashlib
import os
import random
import re
import resource
import shutil
import signal
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_neardup import NearDupError
from torture.exercise import Exercise, Round
from torture.input_mutants import Mutator

if TYPE_CHECKING:
    from tests.helpers.readers import Reader

#: Seconds that the inputs of a round take, about; a reader's speed says how many these are.
SPAN = 20
#: Of so many inputs one is read twice.
TWICE = 8
#: Different faults that a round tells of.
MOST_FAULTS = 5
#: Where inputs that broke something are left, for `tests/corpus`.
FOUND = Path("fuzz-found")
#: Seconds of the processor's time that an input may take; bytes of memory that it may add to all before.
SECONDS, MEMORY = 5.0, 500 << 20


def _run(seed: int, folder: Path) -> Round:
    """Give mutants to one reader, which the seed chooses."""
    from tests.helpers.readers import readers

    every = list(readers().values())
    reader = every[seed % len(every)]
    outcome, faults = Round(), set[str]()
    rng = random.Random(seed)
    files = folder / "files"
    files.mkdir()
    trial, seeds = Trial(reader, files), seeds_of(reader)
    for each in seeds:
        trial.first(each)
    mutator = Mutator(seeds, rng)
    for _ in range(SPAN * reader.speed):
        data = mutator.mutant()
        fault = trial.broken(data, twice=not rng.randrange(TWICE))
        outcome.counts["inputs"] += 1
        if fault is not None and _kind_of_fault(fault) not in faults:
            faults.add(_kind_of_fault(fault))
            outcome.violations.append(f"{reader.name}: {fault}; the input is {keep(reader, data)}")
            if len(faults) >= MOST_FAULTS:
                break
    return outcome


def seeds_of(reader: Reader) -> list[bytes]:
    """Return the inputs to begin with: those of the corpus, and sound ones."""
    from tests.helpers.readers import RELATED, inputs
    from tests.helpers.sound import sound_inputs

    kinds = (reader.kind, *RELATED.get(reader.kind, ()))
    sound = [data for kind, data in sound_inputs() if kind in kinds]
    return [path.read_bytes() for path in inputs(reader.kind)] + sound


def keep(reader: Reader, data: bytes) -> Path:
    """Write an input that broke something into the working folder; return its path."""
    FOUND.mkdir(exist_ok=True)
    path = FOUND / f"{reader.kind}-{hashlib.sha256(data).hexdigest()[:12]}"
    path.write_bytes(data)
    return path


def _kind_of_fault(fault: str) -> str:
    """Return the same for faults that differ in values only."""
    where = re.search(r"\([\w.]+:\d+\)$", fault)
    return fault.partition(":")[0] + (where[0] if where else "")


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


EXERCISE = Exercise(
    name="fuzz",
    promise="Nothing that reads bytes of others (pages, texts, feeds, archives, caches, URLs, an index on "
    "disk or on a server) raises an error that is not one of the package, hangs, or takes memory without "
    "bound.",
    how="Mutants of inputs that once broke something and of sound ones. Each is read within 5 s of the "
    "processor's time and 500 MiB; some are read twice, and have the same answer.",
    run=_run,
    seconds=60,
)
