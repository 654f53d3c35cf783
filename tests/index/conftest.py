"""LMDB that fails, for all tests of the index."""

from __future__ import annotations

import pytest

from .flaky import Flaky


@pytest.fixture
def flaky(monkeypatch: pytest.MonkeyPatch) -> Flaky:
    return Flaky(monkeypatch)
