"""Signatures are refused where NumPy multiplies matrices wrongly."""

from __future__ import annotations

import numpy as np
import pytest

from scrapy_neardup import Fingerprinter
from scrapy_neardup.errors import DependencyUnavailable
from scrapy_neardup.fingerprint.simhash import require_sound_products


def test_products_are_sound_here() -> None:
    require_sound_products.__wrapped__()


def test_half_of_each_sum_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """What OpenBLAS did on an emulated processor."""
    monkeypatch.setattr(np, "matmul", lambda one, other: one[:, ::2].dot(other[::2]))
    require_sound_products.cache_clear()
    with pytest.raises(DependencyUnavailable, match="multiplies matrices wrongly on this machine: install"):
        Fingerprinter()
    monkeypatch.undo()
    Fingerprinter()
