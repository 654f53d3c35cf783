"""What is said of two texts that are alike enough, and no near-duplicates."""

from __future__ import annotations

from typing import Any

import pytest

from scrapy_neardup.audit.thresholds import apart

TOLD: dict[str, Any] = {
    "alike": True,
    "one_site": True,
    "replaced": 20.0,
    "replaced_forgiven": 29.0,
    "length": 1.0,
    "length_asked": 0.7,
}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, ""),
        ({"replaced": 30.0}, "another page of the site: of its runs of words about 30 stand"),
        ({"replaced": 30.0, "one_site": False}, ""),
        ({"length": 0.69}, "a part: 69% as long as the stored one, where 70% is asked"),
        ({"length": 0.69, "alike": False, "elsewhere": True}, "a part"),
        ({"length": 0.69, "alike": False}, ""),
    ],
)
def test_what_keeps_them_apart(changed: dict[str, Any], said: str) -> None:
    told = apart(TOLD | changed)
    assert told.startswith(said)
    assert bool(told) == bool(said)
