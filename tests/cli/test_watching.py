"""Without a terminal a line each half minute tells how far an audit is; Ctrl-C ends it without a trace."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from rich.progress import Progress, TaskID

from scrapy_neardup.audit.sources import Origin
from scrapy_neardup.cli.watching import plain_progress, watching
from tests.helpers.commands import COMMAND


def test_a_line_every_half_minute() -> None:
    said: list[str] = []
    now = 0.0
    watch = plain_progress(said.append, every=30, clock=lambda: now)
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


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    feed, cache = tmp_path / "feed.jl", tmp_path / "cache"
    feed.write_text("x" * 40)
    entry = cache / "ab" / "abcd"
    entry.mkdir(parents=True)
    for name, size in (("meta", 2), ("response_body", 50), ("request_headers", 8)):
        (entry / name).write_bytes(b"x" * size)
    monkeypatch.setattr("scrapy_neardup.cli.watching._PAUSE", 0)
    monkeypatch.setattr("sys.stderr", shown := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    told: list[tuple[float, float | None]] = []
    update = Progress.update

    def noted(self: Progress, task: TaskID, **fields: Any) -> None:
        told.append((fields["completed"], fields["total"]))
        update(self, task, **fields)

    monkeypatch.setattr(Progress, "update", noted)
    with watching([str(feed), str(cache)]) as watch:
        with feed.open("rb", buffering=0) as file:
            file.read(30)
            watch("Reading", 1, Origin(str(feed), "line 1"))
        watch("Reading", 2, Origin(str(cache), "ab/abcd"))
        watch("Comparing", 9, None)
    assert [done for done, _ in told] == [30, 100]
    assert {total for _, total in told} == {100}
    assert "Reading" in shown.getvalue()
    assert "Comparing" in shown.getvalue()


def test_the_command_line_imports_little_before_it_runs() -> None:
    """What takes long is imported where Ctrl-C is caught."""
    code = (
        "import sys, scrapy_neardup.cli; print({'numpy', 'lmdb', 'lxml', 'rich', 'scrapy'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.slow
@pytest.mark.parametrize("after", [1.0, 2.5, 5.0])
def test_ctrl_c_ends_an_audit_of_pages_with_all_its_processes(tmp_path: Path, after: float) -> None:
    page = (
        "<html><body>"
        + "<p>Some words of a page that is extracted for a while. </p>" * 400
        + "</body></html>"
    )
    for number in range(300):
        (tmp_path / f"{number}.html").write_text(f"{page}<p>{number}</p>")
    process = subprocess.Popen(
        [*COMMAND, "audit", str(tmp_path), "--out", str(tmp_path / "out")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    time.sleep(after)
    children = _below(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    started = time.monotonic()
    _, said = process.communicate(timeout=30)
    assert time.monotonic() - started < 6  # two seconds, three times over
    assert "Traceback" not in said
    assert process.returncode == 130
    time.sleep(0.2)
    assert not [child for child in children if _runs(child)]


def _below(pid: int) -> list[int]:
    """Return the processes that *pid* has started, and those that they have started."""
    parents: dict[int, list[int]] = {}
    for name in (path.name for path in Path("/proc").iterdir()):
        if name.isdecimal() and (fields := _stat(int(name))):
            parents.setdefault(int(fields[1]), []).append(int(name))
    found, waiting = [], [pid]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


def _runs(pid: int) -> bool:
    fields = _stat(pid)
    return bool(fields) and fields[0] != "Z"


def _stat(pid: int) -> list[str]:
    """Return state, parent and more of a process; [] if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
