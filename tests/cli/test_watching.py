"""Without a terminal a line each half minute tells how far an audit is; Ctrl-C ends it without a trace."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from scrapy_neardup.audit.sources.records import Origin
from scrapy_neardup.cli.output import watching
from tests.helpers.processes import COMMAND, children, wait_for_none

if TYPE_CHECKING:
    from pathlib import Path


def test_a_line_every_half_minute() -> None:
    said: list[str] = []
    now = 0.0
    with watching(said.append, lambda: now) as watch:
        for page in range(100):
            now = page
            watch("Reading", page + 1, Origin("feed\x1b.jl", f"line {page}"))
        now = 125
        watch("Comparing", 2_000_000, None)
    assert said == [
        "Reading, 31 pages, 30 seconds: feed\N{REPLACEMENT CHARACTER}.jl, line 30",
        "Reading, 61 pages, 60 seconds: feed\N{REPLACEMENT CHARACTER}.jl, line 60",
        "Reading, 91 pages, 90 seconds: feed\N{REPLACEMENT CHARACTER}.jl, line 90",
        "Comparing, 2,000,000 pairs, 125 seconds",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("after", [1.0, 2.5, 5.0])
def test_ctrl_c_ends_an_audit_of_pages_with_all_its_processes(tmp_path: Path, after: float) -> None:
    page = "<html><body>" + "<p>Some words of a page that is extracted for a while. </p>" * 400
    for number in range(300):
        (tmp_path / f"{number}.html").write_text(f"{page}<p>{number}</p>")
    process = subprocess.Popen(
        [*COMMAND, "audit", str(tmp_path), "--out", str(tmp_path / "out")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    time.sleep(after)
    started = children(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    interrupted = time.monotonic()
    _, said = process.communicate(timeout=30)
    assert time.monotonic() - interrupted < 6  # two seconds, three times over
    assert "Traceback" not in said
    assert process.returncode == 130
    wait_for_none(started, 0.2)
