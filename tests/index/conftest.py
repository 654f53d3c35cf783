"""LMDB that fails, for all tests of the index."""

import pytest

from .flaky import Flaky


@pytest.fixture
def flaky(monkeypatch: pytest.MonkeyPatch) -> Flaky:
    return Flaky(monkeypatch)
