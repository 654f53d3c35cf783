"""How many examples Hypothesis tries: all in `make test-all`, a quarter in `make test`."""

from hypothesis import settings

#: Those of a test that names no number.
THOROUGH, QUICK = 100, 25


def examples(count: int) -> settings:
    """Return the settings of a test that tries *count* examples in `make test-all`."""
    return settings(max_examples=count * settings.default.max_examples // THOROUGH)
