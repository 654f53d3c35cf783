"""The commands for an index on a server: what it holds, forgetting, and the way to a disk and back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from .test_cli import fill, run, stored
from .test_cli import url as page

pytest.importorskip("redis", reason="redis-py is not installed: pip install 'scrapy-neardup[redis]'")

if TYPE_CHECKING:
    from tests.index.redis_server import RedisServer

pytestmark = pytest.mark.slow


def test_info_check_prune_and_forget(redis_server: RedisServer) -> None:
    url = redis_server.url("commands")
    fill(url, range(10), days_ago=5)
    fill(url, range(10, 30))
    facts = json.loads(run("index", "info", url, "--json").stdout)
    assert (facts["documents"], facts["pending"], facts["name"]) == (30, 0, "commands")
    assert "30" in run("index", "info", url).stdout
    assert (run("index", "check", url).exit_code, run("index", "check", url).stdout.count("sound")) == (0, 1)
    assert "10 documents are older" in run("index", "prune", url, "--older-than", 3, "--dry-run").stdout
    assert "Forgot 10 documents" in run("index", "prune", url, "--older-than", 3).stdout
    assert "Forgot 1 documents" in run("index", "forget", url, page(12)).stdout
    assert run("index", "forget", url, "--host", "host1.example").exit_code == 0
    assert stored(url, range(30)) == {number for number in range(10, 30) if number % 3 != 1 and number != 12}
    assert run("index", "check", url).exit_code == 0
    assert run("index", "compact", url).exit_code == 2
    assert run("index", "info", redis_server.url("none")).exit_code == 2
