"""After any interleaving of what can be done to an index, its searches equal those of a dictionary."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from scrapy_neardup.index import LmdbIndex, MemoryIndex
from scrapy_neardup.index.protocol import Lookup
from tests.index.conformance import reserve

from .consistency import check
from .small import HEADER, SMALL, documents, note_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_neardup.index import Index
    from scrapy_neardup.index.protocol import Pending
    from scrapy_neardup.index.reservation import Reservation

CENTERS = (0, 2**64 - 1, 0x0123_4567_89AB_CDEF)
fingerprints = st.builds(
    lambda center, bits: center ^ sum(1 << bit for bit in bits),
    st.sampled_from(CENTERS),
    st.sets(st.sampled_from((0, 1, 15, 16, 17, 31, 32, 40, 47, 48, 62, 63)), max_size=5),
)


class Peer:
    """The other process."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("peer.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *command: object) -> object:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(20) == 0


class Memory(RuleBasedStateMachine):
    """The model: what is stored and what is pending, by URL."""

    pending = Bundle("pending")
    index: Index

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.stored: dict[str, int] = {}
        self.waiting: dict[str, int] = {}
        #: As they were handed out.
        self.numbers: dict[str, int] = {}
        self.reservations: dict[str, Reservation] = {}
        #: In whose place each pending one is to be.
        self.replaced: dict[str, set[str]] = {}
        self.start()

    def start(self) -> None:
        self.index = MemoryIndex(HEADER)

    def url(self) -> str:
        self.count += 1
        return f"u{self.count}"

    @rule(target=pending, fingerprint=fingerprints, data=st.data())
    def reserve(self, fingerprint: int, data: st.DataObject) -> str:
        url = self.url()
        replaced = (
            data.draw(st.sets(st.sampled_from(sorted(self.stored)), max_size=2)) if self.stored else set()
        )
        new = documents([fingerprint], [url])
        self.reservations[url] = reserve(self.index, new, [self.number(other) for other in sorted(replaced)])
        self.replaced[url] = replaced
        self.waiting[url] = fingerprint
        self.numbers[url] = self.number(url)
        assert self.holder(url) is self.reservations[url]
        return url

    @rule(url=consumes(pending))
    def confirm(self, url: str) -> None:
        if url not in self.numbers:
            return  # of an index that has been closed since
        self.reservations[url].confirm(note=note_of(url))
        if url in self.waiting:
            self.stored[url] = self.waiting.pop(url)
            for other in self.replaced[url]:
                self.stored.pop(other, None)
            assert self.holder(url) is None
        self.reservations[url].confirm()
        self.reservations[url].release()

    @rule(url=consumes(pending))
    def release(self, url: str) -> None:
        if url not in self.numbers:
            return
        self.reservations[url].release()
        self.waiting.pop(url, None)

    def holder(self, url: str) -> Pending | None:
        """Return the handle of the document of *url*, which is stored or pending."""
        (handle,) = self.index.find(documents([0], [url]), [Lookup(1)]).pending
        return handle

    @rule(new=st.lists(fingerprints, max_size=60))
    def add(self, new: list[int]) -> None:
        urls = [self.url() for _ in new]
        numbers = self.index.add(documents(new, urls)).tolist()
        assert len(numbers) == len(new)
        self.stored.update(zip(urls, new, strict=True))
        self.numbers.update(zip(urls, numbers, strict=True))

    @precondition(lambda self: self.stored or self.waiting)
    @rule(data=st.data(), handle=st.booleans())
    def discard(self, data: st.DataObject, handle: bool) -> None:
        urls = data.draw(
            st.sets(st.sampled_from(sorted({*self.stored, *self.waiting})), min_size=1, max_size=8)
        )
        self.index.discard([self.number(url, handle) for url in sorted(urls)])
        for url in urls:
            self.stored.pop(url, None)
            self.waiting.pop(url, None)

    @rule()
    def flush(self) -> None:
        self.index.flush()

    @rule(queries=st.lists(fingerprints, max_size=4), distance=st.integers(0, 7))
    def search(self, queries: list[int], distance: int) -> None:
        matches = self.index.search(0, np.array(queries, np.uint64), distance)
        found = self.index.fetch(matches.document)
        rows = sorted(
            zip(matches.query.tolist(), found.urls, matches.distance.tolist(), strict=True),
        )
        everything = {**self.stored, **self.waiting}
        assert rows == sorted(
            (number, url, (query ^ fingerprint).bit_count())
            for number, query in enumerate(queries)
            for url, fingerprint in everything.items()
            if (query ^ fingerprint).bit_count() <= distance
        )
        expected = documents([everything[url] for url in found.urls], found.urls)
        assert np.array_equal(found.records, expected.records)
        assert found.notes == expected.notes

    @invariant()
    def counts(self) -> None:
        gauges = self.index.gauges()
        assert gauges["pending"] == len(self.waiting)
        assert gauges["documents"] == len(self.stored)

    def number(self, url: str, handle: bool = False) -> int:
        """The number of a document, as found or as handed out."""
        if handle and url in self.numbers:
            return self.numbers[url]
        (number,) = self.index.search(1, np.array([int(url[1:])], np.uint64)).document.tolist()
        return int(number)

    def teardown(self) -> None:
        self.search(list(CENTERS), 7)
        self.index.close()


class Disk(Memory):
    """The same, with what only an index on disk can do, and another process that uses it, too."""

    index: LmdbIndex
    peer: Peer

    def start(self) -> None:
        self.path = Path(tempfile.mkdtemp())
        self.tuning = SMALL
        self.open()
        self.joined = False

    def open(self) -> None:
        self.index = LmdbIndex(self.path, HEADER, tuning=self.tuning)

    @initialize(seconds=st.sampled_from((0.0, 60.0)))
    def choose_how_long_a_group_waits(self, seconds: float) -> None:
        self.index.close()
        self.tuning = replace(SMALL, group_seconds=seconds)
        self.open()

    @rule()
    def compact(self) -> None:
        self.index.compact()
        gauges = self.index.gauges()
        assert gauges["runs"] <= 1
        assert gauges["backlog"] == 0

    @rule()
    def reopen(self) -> None:
        self.index.close()
        self.waiting.clear()
        self.numbers.clear()
        self.open()
        assert self.index.gauges()["pending"] == 0

    @rule()
    def check(self) -> None:
        self.index.flush()
        check(self.index)

    @rule()
    def join(self) -> None:
        if not self.joined:
            self.peer("open", str(self.path))
        else:
            self.peer("close")
        self.joined = not self.joined

    @precondition(lambda self: self.joined)
    @rule(new=st.lists(fingerprints, min_size=1, max_size=60))
    def peer_adds(self, new: list[int]) -> None:
        urls = [self.url() for _ in new]
        self.peer("add", new, urls)
        self.stored.update(zip(urls, new, strict=True))
        self.index.flush()  # while this process commits, it does not see what others commit

    @precondition(lambda self: self.joined and self.stored)
    @rule(data=st.data())
    def peer_discards(self, data: st.DataObject) -> None:
        self.index.flush()
        urls = data.draw(st.sets(st.sampled_from(sorted(self.stored)), min_size=1, max_size=8))
        self.peer("discard", [int(url[1:]) for url in sorted(urls)])
        for url in urls:
            del self.stored[url]

    @precondition(lambda self: self.joined)
    @rule(query=fingerprints, distance=st.integers(0, 7))
    def peer_searches(self, query: int, distance: int) -> None:
        self.index.flush()
        assert self.peer("search", query, distance) == sorted(
            [url, (query ^ fingerprint).bit_count()]
            for url, fingerprint in self.stored.items()
            if (query ^ fingerprint).bit_count() <= distance
        )

    def teardown(self) -> None:
        try:
            self.check()
            super().teardown()
            self.waiting.clear()
            self.open()
            self.check()
            super().teardown()
        finally:
            if self.joined:
                self.peer("close")
            shutil.rmtree(self.path)


def test_memory() -> None:
    run_state_machine_as_test(Memory, settings=settings(max_examples=40, stateful_step_count=40))


@pytest.fixture
def peer() -> Iterator[Peer]:
    peer = Peer()
    yield peer
    peer.stop()


@pytest.mark.parametrize("examples", [6, pytest.param(30, marks=pytest.mark.slow)])
def test_disk(peer: Peer, examples: int) -> None:
    run_state_machine_as_test(
        type("TestDisk", (Disk,), {"peer": peer}),
        settings=settings(
            max_examples=examples,
            stateful_step_count=50,
            phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
        ),
    )
