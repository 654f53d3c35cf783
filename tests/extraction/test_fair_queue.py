"""Sites take turns by the time their pages take.

One whose pages hang costs the others about one time limit.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.extraction.fair_queue import PAUSE, STRIKES, FairQueue, Turn
from tests.examples import examples

LIMIT = 10.0
QUICK = 0.05


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Page:
    site: str
    seconds: float
    turn: Turn | None = None


class Crawl:
    """A crawl by a clock of its own, with requests in flight, workers, and a queue in front of the workers.

    Downloads take no time. A page that waits or is extracted is in flight.
    """

    def __init__(self, *, workers: int = 2, in_flight: int = 16, limit: float = LIMIT) -> None:
        self.clock = Clock()
        self.turns = FairQueue(workers + 1, limit, clock=self.clock)
        self.limit, self.idle, self.free = limit, workers, in_flight
        self.decided: deque[tuple[Page, bool]] = deque()
        self.pool: deque[Page] = deque()
        self.ends: list[tuple[float, int, Page]] = []
        self.number = itertools.count()
        self.extracted, self.late, self.refused = Counter[str](), Counter[str](), Counter[str]()
        #: When the last page of a site was through.
        self.through: dict[str, float] = {}

    def run(self, pages: Iterable[tuple[str, float]]) -> Crawl:
        """Crawl pages of a site that take so many seconds each."""
        waiting = deque(Page(*page) for page in pages)
        while waiting or self.ends:
            while waiting and self.free:
                page = waiting.popleft()
                self.free -= 1
                page.turn = self.turns.ask(page.site, partial(self._is_decided, page))
                self._go_on()
            if self.ends:
                self.clock.now, _, page = heapq.heappop(self.ends)
                self.idle += 1
                late = page.seconds > self.limit
                (self.late if late else self.extracted)[page.site] += 1
                self._leave(page, min(page.seconds, self.limit), late=late)
                self._go_on()
        return self

    def _is_decided(self, page: Page, granted: bool) -> None:
        self.decided.append((page, granted))

    def _go_on(self) -> None:
        while self.decided:
            page, granted = self.decided.popleft()
            if granted:
                self.pool.append(page)
            else:
                self.refused[page.site] += 1
                self._leave(page)
        while self.idle and self.pool:
            self.idle -= 1
            page = self.pool.popleft()
            end = self.clock.now + min(page.seconds, self.limit)
            heapq.heappush(self.ends, (end, next(self.number), page))

    def _leave(self, page: Page, seconds: float = 0.0, *, late: bool = False) -> None:
        self.free += 1
        self.through[page.site] = self.clock.now
        assert page.turn is not None
        self.turns.end(page.turn, seconds, late=late)


def innocents(count: int = 300, sites: int = 30) -> list[tuple[str, float]]:
    return [(f"innocent{number % sites}", QUICK) for number in range(count)]


def through(crawl: Crawl) -> float:
    return max(at for site, at in crawl.through.items() if site.startswith("innocent"))


def hangs(count: int, seconds: float = 1000.0) -> list[tuple[str, float]]:
    return [("hostile", seconds)] * count


ORDERS: dict[str, Callable[[], list[tuple[str, float]]]] = {
    "first": lambda: hangs(20) + innocents(),
    "after the first": lambda: innocents(100) + hangs(20) + innocents(200),
    "among": lambda: [
        page for index, good in enumerate(innocents()) for page in (*hangs(index % 15 == 0), good)
    ],
    "far more": lambda: hangs(2000) + innocents(),
    "slow ones among": lambda: [
        page for index, good in enumerate(innocents()) for page in (*hangs(index % 3 == 0, 8.0), good)
    ],
    "alternating with good ones": lambda: [("hostile", QUICK), *hangs(1)] * 20 + innocents(),
}  # fmt: skip


@pytest.mark.parametrize("workers", [1, 2, 8])
@pytest.mark.parametrize("order", ORDERS)
def test_pages_that_hang_cost_the_others_four_time_limits_at_most(order: str, workers: int) -> None:
    alone = through(Crawl(workers=workers).run(innocents()))
    crawl = Crawl(workers=workers).run(ORDERS[order]())
    # After three, or four with good ones between them, the site is suspended. In the order of arrival it
    # would be 20 and more, divided by the workers.
    assert through(crawl) <= alone + 4 * LIMIT + 1
    assert not any(crawl.refused[site] for site in crawl.through if site != "hostile")
    assert sum(crawl.extracted[site] for site in crawl.through if site != "hostile") == 300
    assert crawl.late["hostile"] + crawl.refused["hostile"] + crawl.extracted["hostile"] >= 20


def test_a_crawl_of_one_site_has_all_workers_and_every_page_extracted() -> None:
    for seconds in (QUICK, 0.8 * LIMIT):
        crawl = Crawl(workers=4).run([("site", seconds)] * 200)
        assert crawl.extracted["site"] == 200
        assert crawl.clock.now <= 200 * seconds / 4 + 2 * seconds


def strike(turns: FairQueue, clock: Clock, site: str = "site") -> bool:
    """Have a page be too late; False if it was refused."""
    answers: list[bool] = []
    turn = turns.ask(site, answers.append)
    clock.now += LIMIT * answers[0]
    turns.end(turn, LIMIT * answers[0], late=answers[0])
    return answers[0]


def test_suspensions_end_and_good_pages_redeem_a_site() -> None:
    clock = Clock()
    turns = FairQueue(2, LIMIT, clock=clock)
    assert all(strike(turns, clock) for _ in range(STRIKES))
    for _ in range(3):
        began = clock.now
        assert not strike(turns, clock)
        clock.now = began + PAUSE - 1
        assert not strike(turns, clock)
        clock.now = began + PAUSE
        assert strike(turns, clock)  # which suspends it again
    clock.now += PAUSE
    for _ in range(30):
        turns.end(turns.ask("site", lambda granted: None), QUICK)
    assert all(strike(turns, clock) for _ in range(STRIKES))
    assert not strike(turns, clock)


def test_memory_is_bounded_and_busy_sites_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scrapy_neardup.extraction.fair_queue.MAX_SITES", 5)
    turns = FairQueue(3, LIMIT)
    answers: list[bool] = []
    busy = [turns.ask("busy", answers.append) for _ in range(2)]
    for number in range(100):
        turns.end(turns.ask(f"site{number}", lambda granted: None), QUICK)
    assert len(turns._sites) == 5
    assert answers == [True]
    turns.end(busy[0], QUICK)
    assert answers == [True, True]


@examples(200)
@given(st.integers(1, 4), st.lists(st.sampled_from(["ask", "end", "late", "leave"]), max_size=60), st.data())
def test_every_page_is_answered_once_and_may_leave_at_any_time(
    places: int, steps: list[str], data: st.DataObject
) -> None:
    clock = Clock()
    turns = FairQueue(places, LIMIT, clock=clock)
    pages: list[tuple[Turn, list[bool]]] = []
    left: list[tuple[list[bool], list[bool]]] = []

    def end(place: int, step: str) -> None:
        turn, answers = pages.pop(place)
        left.append((answers, [*answers]))
        turns.end(turn, {"end": QUICK, "late": LIMIT, "leave": 0.0}[step], late=step == "late")

    for step in steps:
        clock.now += data.draw(st.sampled_from([QUICK, 2.0, 1000.0]))
        if step == "ask":
            answers: list[bool] = []
            pages.append((turns.ask(data.draw(st.sampled_from("abcd")), answers.append), answers))
        elif pages:
            end(data.draw(st.integers(0, len(pages) - 1)), step)
        granted = sum(answers == [True] for _, answers in pages)
        assert granted <= places
    while pages:
        end(next(place for place, (_, answers) in enumerate(pages) if answers), "end")
    # Nothing is decided of one that has left, and all others had one answer; all places are free again.
    assert all(after == before and len(after) <= 1 for after, before in left)
    clock.now += PAUSE
    answers = []
    for number in range(places):
        turns.ask(number, answers.append)
    assert answers == [True] * places
