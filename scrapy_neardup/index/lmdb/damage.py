"""What can be wrong with a state or with a partition, without a look at anything else."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from .layout import MAX_PARTITION_BITS
from .partition import decode_partition, encode_partition, is_whole
from .wal import MAX_DOCUMENTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .layout import State


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in an index that should not be."""

    where: str
    #: A sentence.
    what: str


def partition_fault(data: bytes | memoryview | None, bits: int, partition: int) -> str | None:
    """Return what is wrong with the bytes of a *partition* of a table cut by *bits*; None if nothing is."""
    if data is None:
        return "It is missing."
    if not is_whole(data):
        return "It does not match its checksum."
    entries = decode_partition(data, bits).entries
    keys = entries.keys
    if (keys[1:] < keys[:-1]).any():
        return "Its keys are not sorted."
    if bits and len(keys):  # they are sorted, so the first and the last tell of all
        shift = np.uint64(64 - bits)
        if keys[0] >> shift != partition or keys[-1] >> shift != partition:
            return "It holds keys of other partitions."
    if encode_partition(entries, bits) != data:
        return "Its directory is wrong."
    return None


def state_faults(state: State) -> Iterator[str]:
    """Yield what is wrong with a *state*."""
    numbers: list[object] = [state.next, state.flushed, state.next_run, state.removals]
    for run in state.runs:
        numbers += [run.id, run.start, run.stop, run.documents, run.bits]
    if not all(isinstance(number, int) and number >= 0 for number in numbers):
        yield "It holds values that are not numbers."
        return
    if not state.flushed <= state.next <= MAX_DOCUMENTS:
        yield f"{state.flushed} documents are flushed of {state.next}."
    for run in state.runs:
        if not run.start < run.stop <= state.flushed or run.documents > run.stop - run.start:
            yield f"Run {run.id} holds {run.documents} documents from {run.start} to {run.stop}."
        if run.bits > MAX_PARTITION_BITS:
            yield f"Run {run.id} is cut by {run.bits} bits."
        if run.id >= state.next_run:
            yield f"Run {run.id} has a number that is not taken yet."
    for run, after in pairwise(state.runs):
        if run.stop != after.start:
            yield f"Run {run.id} ends at document {run.stop}, and the next begins with {after.start}."
    if state.runs and state.runs[-1].stop != state.flushed:
        yield f"The last run ends at document {state.runs[-1].stop}, and {state.flushed} are flushed."
    if len({run.id for run in state.runs}) < len(state.runs):
        yield "Two runs have the same number."
