"""The commands for an index on a server: what it holds, forgetting, and the way to a disk and back."""

from __future__ import annotations

import json
import random
import time
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from scrapy_neardup.cli import main
from scrapy_neardup.detector import Detector

pytest.importorskip("redis", reason="redis-py is not installed: pip install 'scrapy-neardup[redis]'")

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from tests.index.redis_server import RedisServer

pytestmark = pytest.mark.slow

DAY = 86_400


def text(number: int) -> str:
    return " ".join(f"w{random.Random(number).getrandbits(32):x}{place}" for place in range(60))


def page(number: int) -> str:
    return f"https://host{number % 3}.example/{number}"


def fill(where: Path | str, numbers: range, days_ago: float = 0) -> None:
    with Detector.open(where, extractor="plain 1") as opened:
        detector = Detector(opened.index, clock=lambda: time.time() - days_ago * DAY)
        for number in numbers:
            assert detector.add(text(number), url=page(number)).kind == "unique"


def stored(where: Path | str, numbers: range) -> set[int]:
    with Detector.open(where) as detector:
        return {
            number for number in numbers if detector.check(text(number), url=page(number)).kind == "revisit"
        }


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(main, ["index", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def test_info_check_prune_and_forget(redis_server: RedisServer) -> None:
    url = redis_server.url("commands")
    fill(url, range(10), days_ago=5)
    fill(url, range(10, 30))
    facts = json.loads(run("info", url, "--json").stdout)
    assert (facts["documents"], facts["pending"], facts["name"]) == (30, 0, "commands")
    assert "30" in run("info", url).stdout
    assert (run("check", url).exit_code, run("check", url).stdout.count("sound")) == (0, 1)
    assert "10 documents are older" in run("prune", url, "--older-than", 3, "--dry-run").stdout
    assert "Forgot 10 documents" in run("prune", url, "--older-than", 3).stdout
    assert "Forgot 1 documents" in run("forget", url, page(12)).stdout
    assert run("forget", url, "--host", "host1.example").exit_code == 0
    assert stored(url, range(30)) == {number for number in range(10, 30) if number % 3 != 1 and number != 12}
    assert run("check", url).exit_code == 0
    assert run("compact", url).exit_code == 2
    assert run("info", redis_server.url("none")).exit_code == 2


def test_check_finds_what_is_missing(redis_server: RedisServer) -> None:
    url = redis_server.url("damaged")
    fill(url, range(3))
    with Detector.open(url) as detector:
        prefix = detector.index.address.prefix  # type: ignore[attr-defined]
        (bucket, *_) = detector.index.server.call("KEYS", prefix.replace(b"[", b"\\[") + b"b*")  # type: ignore[attr-defined]
        detector.index.server.call("DEL", bucket)  # type: ignore[attr-defined]
    result = run("check", url, "--json")
    assert (result.exit_code, len(json.loads(result.stdout)["problems"])) == (1, 1)
