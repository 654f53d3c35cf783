"""The sums: what the rounds of each exercise came to, in a small file that is kept with the code.

A ledger stays on its machine. The sums have each of its rounds once, however often they are added, so that
a run goes on after them wherever it is.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from .exercise import Entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


@dataclass
class Sum:
    """What the rounds of one exercise came to.

    A round that broke a promise is kept as it is until its seed was done again without that.
    """

    #: The seeds of the rounds that broke nothing, or do so no more; what they did, and how long it took.
    seeds: set[int] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    #: When and at which commit the first and the last round ended.
    first: tuple[str, str] = ("", "")
    last: tuple[str, str] = ("", "")
    machines: set[str] = field(default_factory=set)
    remarks: set[str] = field(default_factory=set)
    #: Rounds that broke a promise: such as do so still, and such as were done again since without that.
    broken: list[Entry] = field(default_factory=list)
    mended: list[Entry] = field(default_factory=list)

    def add(self, entry: Entry) -> None:
        """Add a round. One that is in the sum already changes nothing."""
        if entry.violations:
            if entry not in self.broken + self.mended:
                self.broken.append(entry)
        else:
            if entry.seed not in self.seeds:
                self.seeds.add(entry.seed)
                self.counts.update(entry.counts)
                self.seconds += entry.seconds
            mended = [each for each in self.broken if each.seed == entry.seed and each.ended < entry.ended]
            self.mended += mended
            self.broken = [each for each in self.broken if each not in mended]
        place = (entry.ended, entry.commit)
        if not self.first[0] or entry.ended < self.first[0]:
            self.first = place
        if entry.ended >= self.last[0]:
            self.last = place
        self.machines.add(entry.machine)
        self.remarks.update(entry.remarks)

    def still_broken(self) -> list[Entry]:
        """Return the rounds that break a promise, each as it was done last."""
        return list({each.seed: each for each in sorted(self.broken, key=lambda each: each.ended)}.values())

    def total(self) -> tuple[int, Counter[str], float]:
        """Return how many rounds were done, what they did, and the seconds; with those that are broken."""
        more = [each for each in self.still_broken() if each.seed not in self.seeds]
        counts = sum((Counter(each.counts) for each in more), self.counts)
        return len(self.seeds) + len(more), counts, self.seconds + sum(each.seconds for each in more)

    def next_seed(self) -> int:
        """Return the seed after the highest one that was done."""
        return max((*self.seeds, *(each.seed for each in self.broken)), default=0) + 1


def load(path: Path) -> defaultdict[str, Sum]:
    """Return the sums in the file *path* by exercise; none if there is no such file."""
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return defaultdict(Sum, {name: _sum(fields) for name, fields in found.items()})


def save(path: Path, sums: Mapping[str, Sum]) -> None:
    """Write the file *path*."""
    found = {name: _fields(each) for name, each in sorted(sums.items())}
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _sum(fields: dict[str, Any]) -> Sum:
    return Sum(
        seeds=_numbers(fields["seeds"]),
        counts=Counter(fields["counts"]),
        seconds=fields["seconds"],
        first=tuple(fields["first"]),
        last=tuple(fields["last"]),
        machines=set(fields["machines"]),
        remarks=set(fields["remarks"]),
        broken=[Entry(**each) for each in fields["broken"]],
        mended=[Entry(**each) for each in fields["mended"]],
    )


def _fields(each: Sum) -> dict[str, Any]:
    return {
        "seeds": _ranges(each.seeds),
        "counts": dict(sorted(each.counts.items())),
        "seconds": round(each.seconds, 1),
        "first": each.first,
        "last": each.last,
        "machines": sorted(each.machines),
        "remarks": sorted(each.remarks),
        "broken": [asdict(entry) for entry in each.broken],
        "mended": [asdict(entry) for entry in each.mended],
    }


def _numbers(ranges: str) -> set[int]:
    """Return the numbers of ``1-3, 7``."""
    pairs = re.findall(r"(\d+)(?:-(\d+))?", ranges)
    return {number for low, high in pairs for number in range(int(low), int(high or low) + 1)}


def _ranges(numbers: Iterable[int]) -> str:
    """Return *numbers* as ``1-3, 7``."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][-1] + 1:
            found[-1][1:] = [number]
        else:
            found.append([number])
    return ", ".join("-".join(map(str, each)) for each in found)
