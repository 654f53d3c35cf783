"""What the tests of extraction share."""

from __future__ import annotations

import random

import pytest


@pytest.fixture(autouse=True)
def _seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The seed of an index, which borderline pairs depend on, is the same in each run."""
    monkeypatch.setattr("secrets.randbits", random.Random(1).getrandbits)
