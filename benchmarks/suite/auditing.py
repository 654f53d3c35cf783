"""The audit of a finished crawl, texts in and report out, against the pairs of datasketch in one process."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

import psutil

from scrapy_neardup.fingerprint.tokens import tokenise

from . import inputs
from .measuring import REPEATS, Finding, Form, Goal, interleave

#: Documents of which datasketch gets as many; its time for more is extrapolated.
SAMPLE = 10_000
#: How many times faster than the peer the whole audit is to be, report included.
DATASKETCH = Goal(4.5, ratio=True)


def measure(form: Form) -> Iterator[Finding]:
    for size in (1_000, 4_000) if form.quick else (10_000, 100_000):
        yield from audits(form, size)


def audits(form: Form, size: int) -> Iterator[Finding]:
    sample = min(size, SAMPLE // 40 if form.quick else SAMPLE)
    feed, out = write_feed(form, size), form.folder / "audit"
    peaks: dict[str, float] = {}
    tasks = {
        "ours": lambda: audited(feed, out, peaks),
        "datasketch": lambda: by_datasketch(form, sample) * size / sample,
    }
    found = interleave(REPEATS if size < 100_000 else 1, tasks)
    note = f"one document in ten a copy; {', '.join(f'{name} {peak:.2f} GB' for name, peak in peaks.items())}"
    work, ours = "audit of texts", found["ours"]
    peer = f"datasketch MinHashLSH, one process{', extrapolated' if sample < size else ''}"
    yield Finding(work, size, "s", ours, peer, found["datasketch"], DATASKETCH, note)
    if size == 100_000:
        memory = (peaks["ours"],)
        yield Finding(f"{work}: memory of all processes together", size, "GB", memory, goal=Goal(0.4))


def documents(form: Form) -> Iterator[str]:
    """Yield texts without end: real ones, then rewritten ones, one in ten twice."""
    texts = inputs.texts(form.data)
    for variant in range(inputs.VARIANTS):
        for number, text in enumerate(texts):
            yield inputs.rewrite(text, variant)
            if number % 9 == 8:
                yield inputs.rewrite(text, variant) + " Copied with one more sentence at the end of it all."


def write_feed(form: Form, size: int) -> Path:
    path = form.folder / f"audit-{size}.jl"
    if not path.exists():
        with path.open("w", encoding="utf-8") as file:
            for url, text in zip(inputs.urls(size), islice(documents(form), size), strict=False):
                file.write(json.dumps({"url": url, "text": text}) + "\n")
    return path


def audited(feed: Path, out: Path, peaks: dict[str, float]) -> float:
    """Seconds of the command, start of Python included."""
    shutil.rmtree(out, ignore_errors=True)
    command = "from scrapy_neardup.cli import main; main()"
    return run([sys.executable, "-c", command, "audit", str(feed), "--out", str(out)], "ours", peaks)


def run(
    command: list[str], name: str, peaks: dict[str, float], cpu: dict[psutil.Process, float] | None = None
) -> float:
    """Return the seconds that *command* takes; note the most memory of its processes, and *cpu* of each."""
    start = time.perf_counter()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **quiet) as process:
        watched = psutil.Process(process.pid)
        while process.poll() is None:
            peaks[name] = max(peaks.get(name, 0), _memory(watched, {} if cpu is None else cpu))
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.2)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return time.perf_counter() - start


def _memory(process: psutil.Process, cpu: dict[psutil.Process, float]) -> float:
    """GB of a process and its children, what they share counted for each; note their seconds."""
    total = 0
    with suppress(psutil.Error):
        for each in (process, *process.children(recursive=True)):
            with suppress(psutil.Error):
                total += each.memory_info().rss
                cpu[each] = sum(each.cpu_times()[:2])
    return total / 1e9


def by_datasketch(form: Form, sample: int) -> float:
    """Seconds for a sample, words ready."""
    import datasketch

    words = [tokenise(text).words for text in islice(documents(form), sample)]
    start = time.perf_counter()
    lsh = datasketch.MinHashLSH(threshold=0.5, num_perm=128)
    for number, each in enumerate(words):
        minhash = datasketch.MinHash(128)
        minhash.update_batch([" ".join(each[i : i + 5]).encode() for i in range(max(1, len(each) - 4))])
        lsh.query(minhash)
        lsh.insert(number, minhash)
    return time.perf_counter() - start
