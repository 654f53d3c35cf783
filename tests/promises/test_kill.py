"""Promise 1 and 2: a crawl killed with SIGKILL at random moments loses no page and never damages its index.

NEARDUP_KILLS sets how often (4).
"""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from scrapy_neardup import Detector
from scrapy_neardup.index.lmdb.commands import check
from scrapy_neardup.matching.records import find_urls

from .site import Site

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("NEARDUP_KILLS", "4"))
STORIES = 60


def start(site: Site, folder: Path, seed: int) -> subprocess.Popen[str]:
    script = Path(__file__).with_name("crawl.py")
    arguments = [site.url, str(STORIES), str(folder / "index"), str(folder / "items.jl"), str(seed)]
    return subprocess.Popen(
        [sys.executable, str(script), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def items(folder: Path) -> list[dict[str, Any]]:
    path = folder / "items.jl"
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]


@pytest.mark.timeout(60 + 10 * KILLS)
def test_killed_at_random_moments(tmp_path: Path) -> None:
    dice = random.Random(7)
    in_mid_crawl = 0
    with Site() as site:
        for kill in range(KILLS):
            before = len(items(tmp_path))
            process = start(site, tmp_path, kill)
            deadline = time.monotonic() + 30
            while len(items(tmp_path)) == before and time.monotonic() < deadline and process.poll() is None:
                time.sleep(0.02)
            time.sleep(dice.uniform(0, 2.5))
            process.kill()
            killed = time.time()
            process.communicate()
            stored = items(tmp_path)
            in_mid_crawl += len(stored) - before < STORIES

            with Detector.open(tmp_path / "index") as detector:
                assert list(check(detector.index)) == []
                # Of this crawl: a page forgotten in an earlier one may not come back.
                for item in stored[before:]:
                    if item["time"] < killed - 1:
                        found, _ = find_urls(detector.index, [item["url"]])
                        assert len(found) == 1, f"kill {kill}: {item} was forgotten"

        process = start(site, tmp_path, KILLS)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert {item["story"] for item in items(tmp_path)} == set(range(STORIES))
    stats = json.loads(output)
    assert stats["neardup/checked"] == 2 * STORIES
    assert not [name for name in stats if name.startswith("neardup/error")]
    assert in_mid_crawl > KILLS // 4, "the kills came too late to show anything"
