"""Of near-identical documents that processes file at the same moment, exactly one is kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("redis", reason="redis-py is not installed: pip install 'scrapy-neardup[redis]'")

if TYPE_CHECKING:
    from tests.index.redis_server import RedisServer

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("rivals", "threads", "failing"), [(2, 1, 0.0), (4, 1, 0.4), (2, 4, 0.4)])
def test_one_of_each_group_is_kept(
    redis_server: RedisServer, rivals: int, threads: int, failing: float
) -> None:
    turns = 150 // threads
    url = redis_server.url(f"rivals{rivals}{threads}{failing}")
    redis_server.send("FLUSHALL")  # the barrier of the run before
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, str(Path(__file__).parent / "rivals.py"), url]
    processes = [
        subprocess.Popen(
            [*command, *map(str, (own, rivals, turns, failing, threads))],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for own in range(rivals)
    ]
    confirmed: Counter[int] = Counter()
    failed: Counter[int] = Counter()
    for process in processes:
        out, _ = process.communicate(timeout=100)
        assert process.returncode == 0
        ours, lost, _ = json.loads(out)
        confirmed.update(ours)
        failed.update(lost)
    assert [turn for turn in range(turns) if confirmed[turn] > 1] == []
    # All were lost only where the pages of all have failed.
    assert [turn for turn in range(turns) if not confirmed[turn] and failed[turn] < rivals * threads] == []
    if not failing:
        assert len(confirmed) == turns
