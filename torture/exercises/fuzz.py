"""Mutants of inputs, sound and broken ones, for everything that reads bytes of others."""

from __future__ import annotations

import hashlib
import importlib.util
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from torture.exercise import Exercise, Round
from torture.input_mutants import Mutator
from torture.trying import SECONDS, Trial

if TYPE_CHECKING:
    from tests.readers import Reader

#: Seconds that the inputs of a round take, about; a reader's speed says how many these are.
SPAN = 20
#: Of so many inputs one is read twice.
TWICE = 8
#: Different faults that a round tells of.
MOST_FAULTS = 5
#: Where inputs that broke something are left, for `tests/corpus`.
FOUND = Path("fuzz-found")


def _run(seed: int, folder: Path) -> Round:
    """Give mutants to one reader, which the seed chooses; with atheris every other time guided ones."""
    from tests.readers import readers

    every = list(readers().values())
    reader = every[seed % len(every)]
    guided = bool(seed // len(every) % 2) and importlib.util.find_spec("atheris") is not None
    return _guided(reader, seed, folder) if guided else _blind(reader, seed, folder)


def _blind(reader: Reader, seed: int, folder: Path) -> Round:
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


def _guided(reader: Reader, seed: int, folder: Path) -> Round:
    """Have atheris look for inputs that reach code which none has reached; it stops at the first fault."""
    outcome = Round()
    begun = folder / "begun"
    begun.mkdir()
    for number, each in enumerate(seeds_of(reader)):
        (begun / f"{number}").write_bytes(each)
    files = folder / "files"
    files.mkdir()
    command = [sys.executable, "-m", "torture.guided", reader.name, str(files), str(begun), f"-seed={seed}"]
    command += [f"-runs={SPAN * reader.speed // 3}", f"-artifact_prefix={folder}/", "-max_len=16384"]
    command += ["-print_final_stats=1", "-rss_limit_mb=3000", f"-timeout={int(6 * SECONDS)}"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, errors="replace")
    counted = re.search(r"number_of_executed_units:\s*(\d+)", done.stderr)
    outcome.counts["inputs"] += int(counted[1]) if counted else 0
    outcome.counts["guided inputs"] += int(counted[1]) if counted else 0
    found = [path for path in folder.iterdir() if re.match("crash-|timeout-|oom-|slow-", path.name)]
    said = re.search(r"FAULT (.*)", done.stdout)
    for path in found:
        what = said[1] if said else path.name.partition("-")[0]
        outcome.violations.append(f"{reader.name}: {what}; the input is {keep(reader, path.read_bytes())}")
    if done.returncode and not found:
        outcome.violations.append(
            f"{reader.name}: atheris ended with {done.returncode}: {done.stderr[-300:]}"
        )
    return outcome


def seeds_of(reader: Reader) -> list[bytes]:
    """Return the inputs to begin with: those of the corpus, and sound ones."""
    from tests.readers import RELATED, inputs
    from tests.sound import sound_inputs

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


EXERCISE = Exercise(
    name="fuzz",
    promise="Nothing that reads bytes of others (pages, texts, feeds, archives, caches, URLs, an index on "
    "disk or on a server) raises an error that is not one of the package, hangs, or takes memory without "
    "bound.",
    how="Mutants of inputs that once broke something and of sound ones, made blindly and, with atheris, "
    "guided by the code that they reach. Each is read within 5 s of the processor's time and 500 MiB; some "
    "are read twice, and have the same answer.",
    goals={"inputs": 10_000_000},
    run=_run,
    seconds=60,
)
