"""A page counts as stored only if all of its output is."""

from __future__ import annotations

from types import SimpleNamespace

from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_neardup.plugin.page import Page
from scrapy_neardup.plugin.settings import CrawlOptions

COUNTS = st.integers(0, 3)


def page(**fields):
    state = Page(SimpleNamespace(config=CrawlOptions()))
    for name, value in fields.items():
        setattr(state, name, value)
    return state


@given(
    ended=st.booleans(),
    failed=st.booleans(),
    running=st.integers(0, 2),
    yielded=COUNTS,
    passed=COUNTS,
    stored=COUNTS,
    dropped=COUNTS,
)
@example(True, False, 0, 0, 0, 0, 0)  # a list of links
@example(True, False, 0, 1, 1, 1, 0)
@example(True, False, 0, 2, 2, 1, 1)  # a pipeline has dropped one
@example(True, False, 0, 1, 1, 0, 1)  # or the only one
@example(True, False, 0, 2, 2, 1, 0)  # one is still on its way, or was swallowed
@example(True, False, 0, 1, 0, 0, 0)  # another middleware has kept it
@example(True, False, 0, 0, 1, 1, 0)  # or has put one in
@example(True, False, 0, 1, 1, 2, 0)  # or made two of one
@example(True, False, 1, 1, 1, 1, 0)
def test_when_a_page_is_stored(ended, failed, running, yielded, passed, stored, dropped):
    state = page(
        ended=ended,
        failed=failed,
        outputs_running=running,
        yielded_items=yielded,
        passed_items=passed,
        stored_items=stored,
        dropped_items=dropped,
    )
    over = ended and not failed and running == 0
    none_vanished = stored + dropped >= passed
    never_had_any = yielded == 0 and passed == 0
    assert state.is_stored == (over and none_vanished and (stored > 0 or never_had_any))


def test_a_new_page_is_not_stored():
    assert not page().is_stored
    assert page(ended=True).is_stored


def test_a_page_that_was_asked_for_again_is_stored_only_with_an_item():
    assert not page(ended=True, asked_again=True).is_stored
    counts = dict.fromkeys(("yielded_items", "passed_items", "stored_items"), 1)
    assert page(ended=True, asked_again=True, **counts).is_stored


def test_a_page_of_which_an_item_has_vanished_is_not_stored():
    state = page(ended=True, yielded_items=2, passed_items=2, stored_items=1)
    assert not state.is_stored
    state.dropped_items += 1
    assert state.is_stored
