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

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.helpers.readers import Reader

#: Bytes of the longest mutant, but for those in which a part is repeated.
MOST, MOST_REPEATED = 1 << 14, 1 << 16
_WORD = re.compile(rb"[A-Za-z_-]{2,20}|[0-9]+|[^\sA-Za-z0-9]{1,4}")
_NUMBER = re.compile(rb"[0-9]+")
#: What parsers stumble over.
_TOKENS = (
    b"\x00", b"\xff", b"\xff\xff\xff\xff", b"\xed\xa0\x80", b"\\ud800", b"\r\n", b"\n", b"\t", b'"', b"'",
    b"\\", b"<", b">", b"</", b"<!--", b"-->", b"<![CDATA[", b"&#x110000;", b"&#0;", b"&amp", b"{", b"}",
    b"[", b"]", b",", b":", b";", b"%", b"%00", b"#", b"?", b"//", b"@", b"NaN", b"1e999", b"-1", b"0",
    b"null", b"true", b"\xe2\x80\xae", b"\xcc\x81", b"\xc3\x9f", b"\xef\xbb\xbf", b"\xfe\xff", b"hidden",
    b"charset=utf-7",
)  # fmt: skip
_NUMBERS = (b"0", b"-1", b"1", b"255", b"65536", b"2147483648", b"4294967295", b"1" * 19, b"9" * 5000, b"1.5")


class Mutator:
    """Makes mutants of *seeds*, which are inputs of one kind; the same ones for the same random numbers."""

    def __init__(self, seeds: Sequence[bytes], rng: random.Random) -> None:
        self._seeds = [*seeds] or [b""]
        self._rng = rng
        words = {word for seed in self._seeds for word in _WORD.findall(seed[:MOST])}
        self._tokens: list[bytes] = [*_TOKENS, *sorted(words)]
        self._ways: list[Callable[[bytes], bytes]] = [
            self._flip, self._flip, self._replace, self._insert, self._insert, self._delete, self._copy,
            self._repeat, self._number, self._cut, self._splice,
        ]  # fmt: skip

    def mutant(self) -> bytes:
        """Return one of the seeds with one to eight changes."""
        data = self._rng.choice(self._seeds)
        if len(data) > MOST:
            start = self._rng.randrange(len(data) - MOST) if self._rng.random() < 0.5 else 0
            data = data[start : start + MOST]
        for _ in range(1 << self._rng.randrange(4)):
            data = self._rng.choice(self._ways)(data)
        return data[:MOST_REPEATED]

    def _place(self, data: bytes) -> int:
        return self._rng.randrange(len(data) + 1)

    def _range(self, data: bytes) -> tuple[int, int]:
        start = self._place(data)
        return start, min(len(data), start + (1 << self._rng.randrange(10)))

    def _flip(self, data: bytes) -> bytes:
        if not data:
            return data
        at = self._rng.randrange(len(data))
        return data[:at] + bytes([data[at] ^ 1 << self._rng.randrange(8)]) + data[at + 1 :]

    def _replace(self, data: bytes) -> bytes:
        start, stop = self._range(data)
        return data[:start] + self._rng.randbytes(min(stop - start, 8)) + data[stop:]

    def _insert(self, data: bytes) -> bytes:
        at = self._place(data)
        return data[:at] + self._rng.choice(self._tokens) + data[at:]

    def _delete(self, data: bytes) -> bytes:
        start, stop = self._range(data)
        return data[:start] + data[stop:]

    def _copy(self, data: bytes) -> bytes:
        start, stop = self._range(data)
        at = self._place(data)
        return data[:at] + data[start:stop] + data[at:]

    def _repeat(self, data: bytes) -> bytes:
        """Repeat a token or a part so often that what takes quadratic time for it is noticed."""
        if self._rng.random() < 0.8:
            return data
        start, stop = self._range(data)
        part = self._rng.choice([data[start:stop], self._rng.choice(self._tokens)]) or b"<"
        at = self._place(data)
        return data[:at] + part * (self._rng.choice([10, 300, MOST_REPEATED]) // len(part)) + data[at:]

    def _number(self, data: bytes) -> bytes:
        found = list(_NUMBER.finditer(data[:MOST]))
        if not found:
            return data
        chosen = self._rng.choice(found)
        return data[: chosen.start()] + self._rng.choice(_NUMBERS) + data[chosen.end() :]

    def _cut(self, data: bytes) -> bytes:
        return data[: self._place(data)] if self._rng.random() < 0.3 else data

    def _splice(self, data: bytes) -> bytes:
        other = self._rng.choice(self._seeds)[:MOST]
        return data[: self._place(data)] + other[self._place(other) :]


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
