"""Of near-identical documents that processes file at the same moment, exactly one is kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.index.conformance import HEADER, LOOKUPS, documents, outcome, pending_of, urls_near

pytest.importorskip("redis", reason="redis-py is not installed: pip install 'scrapy-neardup[redis]'")

from scrapy_neardup.index.redis import Address, RedisIndex

if TYPE_CHECKING:
    from tests.index.redis_server import RedisServer

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, str(HERE / script), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


@pytest.mark.parametrize(
    ("rivals", "threads", "failing"), [(2, 1, 0.0), (2, 1, 0.4), (4, 1, 0.4), (2, 4, 0.0), (2, 4, 0.4)]
)
def test_one_of_each_group_is_kept(
    redis_server: RedisServer, rivals: int, threads: int, failing: float
) -> None:
    turns = 150 // threads
    url = redis_server.url(f"rivals{rivals}{threads}{failing}")
    redis_server.send("FLUSHALL")  # the barrier of the run before
    processes = [start("rivals.py", url, own, rivals, turns, failing, threads) for own in range(rivals)]
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


def test_what_a_killed_process_holds_lapses_and_leaves_nothing_behind(redis_server: RedisServer) -> None:
    address = Address.parse(redis_server.url("killed"))
    with closing(RedisIndex(address, HEADER, lease_seconds=60)) as index:
        process = start("holder.py", redis_server.url("killed"), 2.0)
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        handle = pending_of(index, 1)
        process.kill()
        process.communicate()
        assert handle.confirmed is None
        assert outcome(handle) is False
        assert urls_near(index, 1) == []
        deadline = time.monotonic() + 20
        while redis_server.send("KEYS neardup:{killed}:b*") != b"*0\r\n" and time.monotonic() < deadline:
            time.sleep(0.05)
        assert redis_server.send("KEYS neardup:{killed}:b*") == b"*0\r\n"
        assert index.find(documents([1], 9), LOOKUPS).stored.urls == []
