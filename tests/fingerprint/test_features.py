"""Features are plain values, and wrong ones are refused with the remedy."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprint import Features


def test_values_are_plain_and_make_the_same_features_again() -> None:
    values = asdict(Features())
    assert all(type(value) in (int, float, str, bool) for value in values.values())
    assert Features(**values) == Features()


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"shingle": 0}, "at least 1"),
        ({"sketch_shingle": 0}, "at least 1"),
        ({"weight": "idf"}, "set, sqrt, log, tf"),
        ({"min_paragraph": -1}, "min_paragraph"),
        ({"units": "letters"}, "tokens, characters, not 'letters'"),
        ({"version": 6}, "version 7, not 6"),
        ({"version": 8}, "version 7, not 8"),
    ],
)
def test_a_wrong_value_is_refused(values: dict[str, object], named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        Features(**values)  # type: ignore[arg-type]
