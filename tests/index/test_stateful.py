"""After any interleaving of what processes can do to an index, its answers equal those of a dictionary."""

from __future__ import annotations

from pathlib import Path

import pytest

from torture.exercises import model

#: Of eight seeds one is for a server, whose tests are elsewhere.
SEEDS = [1, 2, 3, 5, 6, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(10, 16))]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_steps(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents are filed, confirmed, released, removed, flushed, merged, indexes opened again, checked."""
    monkeypatch.setattr(model, "STEPS", {"lmdb": 500})
    outcome = model.run(seed, tmp_path)
    assert outcome.violations == []
    assert outcome.counts["searches compared"] > 50
