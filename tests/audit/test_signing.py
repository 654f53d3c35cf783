"""Signing processes: the same signatures in the same order, and none is left, whatever ends their parent."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter, deque
from pathlib import Path

import pytest

from scrapy_neardup.audit.reading import ALONE, CHUNK, SignerDied, spread
from tests.helpers.processes import COMMAND, children, wait_for_none

from .corpora import text

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc"),
]

#: Fewer texts are signed by the process that asks.
MANY = ALONE * CHUNK


def audit_in_the_middle(folder: Path, kind: str) -> subprocess.Popen[str]:
    """Start an audit of its own process group that signs or extracts for long; return it as it does."""
    words = {"text": lambda n: text(n, 2000), "html": lambda n: f"<p>Words of a.example, {n}." * 400}[kind]
    rows = [json.dumps({"url": f"https://a.example/{n}", kind: words(n)}) + "\n" for n in range(50)]
    source = folder / "feed.jl"
    with source.open("w") as file:
        for number in range(400):
            file.writelines(row.replace("a.example", f"{number}.example") for row in rows)
    process = subprocess.Popen(
        [*COMMAND, "audit", str(source), "--out", str(folder / "out")],
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while len(found := children(process.pid)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(found) >= 2
    return process


def test_killed_audit_leaves_no_process(tmp_path: Path) -> None:
    process = audit_in_the_middle(tmp_path, "text")
    time.sleep(0.5)
    assert process.poll() is None
    started = children(process.pid)
    process.kill()
    process.communicate(timeout=20)
    wait_for_none(started)


@pytest.mark.parametrize(("kind", "pause"), [("text", 2), ("html", 0), ("html", 2)])
def test_interrupted_audit_ends_with_one_line_and_all_its_processes(
    tmp_path: Path, kind: str, pause: float
) -> None:
    process = audit_in_the_middle(tmp_path, kind)
    time.sleep(pause)
    started = children(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)  # takes a tenth of a second; with pages, up to two
    assert (out, err) == ("", "Interrupted: run it again, and an audit goes on.\n")
    assert process.returncode == 130
    wait_for_none(started, 0.2)


def slow(texts: list[tuple[str]]) -> list[tuple[str, int]]:
    """So that the processes have started before all is done."""
    time.sleep(0.05)
    return [(each, os.getpid()) for (each,) in texts]


#: More than are signed in a minute.
TEXTS = [(str(number),) for number in range(1200 * CHUNK)]


def test_results_come_in_order_and_processes_end_with_them() -> None:
    before, met = children(os.getpid()), Counter[int]()
    found = spread(TEXTS, slow, 3)
    for (wanted,), (got, pid) in zip(TEXTS, found, strict=False):
        assert got == wanted
        met[pid] += 1
        if len(met) > 2:
            break
    started = children(os.getpid()) - before
    assert met.keys() - {os.getpid()} <= started
    assert met[os.getpid()] >= MANY
    assert len(started) <= 3
    found.close()
    wait_for_none(started, 0)
    assert {pid for _, pid in spread(TEXTS[:MANY], slow, 3)} == {os.getpid()}


def test_a_script_that_starts_an_audit_is_not_run_once_more_by_its_processes(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from scrapy_neardup.audit.reading import spread\n"
        "from scrapy_neardup.fingerprint import Fingerprinter\n"
        "print('started', flush=True)\n"
        f"texts = (f'text {{n}}' for n in range({MANY + 5000}))\n"
        "print(len(list(spread(texts, Fingerprinter().signatures, 2))))\n"
    )
    started = [sys.executable, str(script)]
    done = subprocess.run(started, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == (f"started\n{MANY + 5000}\n", "")


def test_process_that_is_killed_is_no_hang() -> None:
    found, before = spread(TEXTS, slow, 2), children(os.getpid())
    while (pid := next(found)[1]) == os.getpid():
        pass
    started = children(os.getpid()) - before
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(SignerDied, match="run the audit again"):
        deque(found, 0)
    wait_for_none(started, 0)
