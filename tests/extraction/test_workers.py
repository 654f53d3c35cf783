"""Whatever a page does to its worker, its future resolves in time and the pool goes on.

Nothing outlives the crawl.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

import scrapy_neardup
from scrapy_neardup.extraction import Extraction, Page, Workers, load_extractor
from scrapy_neardup.extraction import workers as extraction_workers
from scrapy_neardup.extraction.base import Job
from scrapy_neardup.extraction.workers import ForkServer, Worker
from scrapy_neardup.fingerprint import Fingerprinter
from tests.helpers.kept_servers import KeptServer
from tests.helpers.processes import wait_for_none

from .hostile import ENGLISH, article

MB = 1 << 20
ROOT = Path(scrapy_neardup.__file__).parents[1]

#: An extractor that does what the page asks for.
OBEDIENT = """
import ctypes, os, signal, sys, time

calls = 0

def extract(html, url):
    global calls
    calls += 1
    word, _, rest = html.partition(" ")
    if word == "sleep": time.sleep(float(rest))
    if word == "segv": os.kill(os.getpid(), signal.SIGSEGV)
    if word == "kill": os.kill(os.getpid(), signal.SIGKILL)
    if word == "exit": os._exit(0)
    if word == "sysexit": sys.exit(3)
    if word == "eat": bytearray(int(rest) << 20)
    if word == "hoard": globals().setdefault("hoard", []).append(bytearray(int(rest) << 20))
    if word == "stuck": ctypes.PyDLL(None).sleep(1000)  # holds the GIL: no Python signal handler runs
    if word == "raise": raise ValueError(rest)
    if word == "print": print("out of an extractor")
    return f"{calls} calls in {os.getpid()}"
"""


Pool = Callable[..., Workers]


@pytest.fixture
def pool(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pool]:
    """Make pools of one process of the obedient extractor, unless something else is asked for."""
    folder = tmp_path_factory.getbasetemp() / "extractor"  # one for all tests, so that they share a server
    folder.mkdir(exist_ok=True)
    (folder / "obedient.py").write_text(OBEDIENT)
    monkeypatch.syspath_prepend(folder)
    usual = {"processes": 1, "timeout": 1.0, "memory": 256 * MB}
    with ExitStack() as opened:

        def make(
            extractor: str = "obedient.extract", server: type[ForkServer] = KeptServer, **options: Any
        ) -> Workers:
            options = {"server": server(extractor)} | usual | options
            return opened.enter_context(closing(Workers(Fingerprinter(), extractor, **options)))

        yield make


def page(body: str | bytes, content_type: str | None = "text/html") -> Page:
    return Page(body.encode() if isinstance(body, str) else body, "http://a/", content_type)


def answer(workers: Workers, body: str | bytes, source: str = "") -> Extraction:
    return workers.submit(page(body), source).result(60)


def pids(workers: Workers) -> list[int]:
    return sorted(worker.pid for worker in workers._workers if worker.pid)


def kill(pid: int) -> None:
    """Kill a worker, and wait until it is dead."""
    os.kill(pid, signal.SIGKILL)
    wait_for_none({pid})


def test_the_signature_is_that_of_the_text(pool: Pool) -> None:
    result = answer(pool("trafilatura", timeout=10), html := article(ENGLISH))
    assert result.signature == Fingerprinter().signature(load_extractor("trafilatura")(html, None) or "")
    assert 0 < result.seconds < 10


def test_others_are_served_while_a_page_hangs(pool: Pool) -> None:
    workers = pool(processes=2, timeout=2)
    answer(workers, "warm")
    started = time.monotonic()
    hanging = workers.submit(page("stuck"))
    assert [answer(workers, f"fine {number}").reason for number in range(10)] == [None] * 10
    assert not hanging.done()
    assert hanging.result(10).reason == "timeout"
    assert 2 <= time.monotonic() - started < 3


@pytest.mark.parametrize(
    ("order", "reason"),
    [("sleep 1000", "timeout"), ("stuck", "timeout"), ("segv", "crash"), ("kill", "crash"), ("exit", "crash"),
     ("sysexit", "crash"), ("eat 2000", "memory"), ("raise it", "failed"), ("print", None)],
)  # fmt: skip
def test_trouble_of_one_page_is_its_own(pool: Pool, order: str, reason: str | None) -> None:
    workers = pool()
    answer(workers, "warm")
    started = time.monotonic()
    trouble, after = workers.submit(page(order)), workers.submit(page("fine"))
    assert trouble.result(5).reason == reason
    assert time.monotonic() - started < 2
    assert after.result(5).reason is None
    assert len(pids(workers)) == 1


def test_a_source_of_slow_pages_gets_less_time_for_each_and_quick_ones_pass(pool: Pool) -> None:
    """An archive of many small bombs would hold an audit up for the time limit with each."""
    workers = pool(timeout=3)
    answer(workers, "warm")
    started = time.monotonic()
    answers = [workers.submit(page(f"sleep 10{number}"), "a.warc") for number in range(10)]
    assert {each.result(60).reason for each in answers} == {"timeout"}
    assert time.monotonic() - started < 15  # of 30
    assert None in {answer(workers, f"quick {n}", "a.warc").reason for n in range(3)}
    assert answer(workers, "sleep 1", "b.warc").reason is None


def test_body_over_the_memory_limit_is_that_page_s_trouble(pool: Pool) -> None:
    workers = pool(timeout=10, memory=32 * MB)
    assert answer(workers, b"x" * (100 * MB)).reason == "memory"
    assert answer(workers, "fine").reason is None


def test_worker_that_has_grown_is_replaced(pool: Pool) -> None:
    workers = pool(memory=200 * MB)
    for number in range(8):
        assert answer(workers, f"hoard {40 + number}").reason is None


def test_idle_worker_and_server_may_be_killed(pool: Pool) -> None:
    workers = pool(server=ForkServer)
    assert answer(workers, "one").reason is None
    kill(pids(workers)[0])
    assert answer(workers, "two").reason is None
    kill(workers._server._process.pid)
    kill(pids(workers)[0])
    reasons = [answer(workers, body).reason for body in ("three", "four")]
    assert reasons in ([None, None], ["crash", None])  # its end may be noticed with the page in hand
    os.kill(pids(workers)[0], signal.SIGSTOP)
    stopped = answer(workers, b"x" * MB)  # which nobody reads to its end
    assert (stopped.reason, stopped.seconds < 3) == ("timeout", True)


class Deadly(KeptServer):
    """All its workers are killed before they get a page, while that is so."""

    kills = True

    def fork(self, job: Job) -> Worker:
        worker = super().fork(job)
        if self.kills and worker.pid is not None:
            kill(worker.pid)
        return worker


def test_processes_that_always_end_between_two_pages_are_not_forked_without_end(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers = pool(server=Deadly)
    assert [answer(workers, body).reason for body in "ab"] == ["crash", "crash"]
    monkeypatch.setattr(Deadly, "kills", False)
    assert [answer(workers, body).reason for body in "ab"] == [None, None]


def test_a_server_that_stands_still_is_replaced(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    workers = pool(server=ForkServer)
    assert answer(workers, "one").reason is None
    first = workers._server._process
    with monkeypatch.context() as patch:
        patch.setattr("scrapy_neardup.extraction.workers.START_TIMEOUT", 0.3)
        os.kill(first.pid, signal.SIGSTOP)
        kill(pids(workers)[0])
        # The end of the worker may be noticed with the page in hand.
        assert "crash" in {answer(workers, body).reason for body in ("two", "three")}
    assert [answer(workers, body).reason for body in ("four", "five")][1] is None
    assert workers._server._process is not first


def test_same_body_is_extracted_once(pool: Pool) -> None:
    workers = pool()
    first = answer(workers, "one")
    again = workers.submit(page("one"))
    assert again.done()
    assert (again.result().signature, again.result().seconds) == (first.signature, 0)
    # Another charset may be another text.
    other = workers.submit(page("one", "text/html; charset=utf-8")).result(60)
    assert other.signature != first.signature


def test_results_are_bounded(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scrapy_neardup.extraction.workers.MAX_RESULTS", 3)
    monkeypatch.setattr("scrapy_neardup.extraction.workers.MAX_CHARACTERS", len(article(ENGLISH)))
    workers = pool("plain", keep_text=True, timeout=10)
    bodies = [article(f"{ENGLISH} {number}", times=1) for number in range(10)]
    bodies.insert(8, article(ENGLISH, times=9))  # too long to be kept
    assert all(answer(workers, body).text is not None for body in bodies)
    kept = [workers.submit(page(body)).done() for body in reversed(bodies)]
    assert kept[:5] == [True, True, False, True, False]


def test_submit_from_many_threads(pool: Pool) -> None:
    workers = pool(processes=2)
    expected = {"fine": None, "raise": "failed", "segv": "crash"}

    def submit(thread: int) -> list[bool]:
        orders = [
            ("fine", "raise", "fine", "segv")[n % 4] + f" {n % 40}" for n in range(thread, thread + 100)
        ]
        futures = [workers.submit(page(order)) for order in orders]
        return [f.result(60).reason == expected[o.split()[0]] for o, f in zip(orders, futures, strict=True)]

    with ThreadPoolExecutor(8) as threads:
        assert all(ok for answers in threads.map(submit, range(8)) for ok in answers)


def test_pools_leave_nothing_behind(pool: Pool) -> None:
    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before, threads = descriptors(), threading.active_count()
    for number in range(3):
        workers = pool(processes=2, server=ForkServer)
        assert answer(workers, f"segv {number}").reason == "crash"
        workers.close()
    assert descriptors() == before
    assert threading.active_count() == threads


def test_close_is_quick_and_answers_what_waits(pool: Pool) -> None:
    workers = pool(processes=2, timeout=60, server=ForkServer)
    answer(workers, "warm")
    while len(pids(workers)) < 2:
        time.sleep(0.01)
    processes = [*pids(workers), workers._server._process.pid]  # type: ignore[union-attr]
    futures = [workers.submit(page(f"sleep 50{number}")) for number in range(6)]
    time.sleep(0.2)
    started = time.monotonic()
    workers.close()
    assert time.monotonic() - started < 5  # of 50 that the pages would have taken
    results = [future.result(0) for future in futures]
    assert [(each.reason, each.detail) for each in results] == [("crash", "the workers were closed")] * 6
    wait_for_none({*processes})
    assert workers.submit(page("late")).result(0).reason == "crash"
    assert workers.submit(page("warm")).result(0).reason is None
    workers.close()


def test_a_server_whose_crawl_ends_before_it_says_what_to_do_ends_in_silence() -> None:
    """Ctrl-C twice at the start of a crawl ended in a traceback of another process."""
    ours, theirs = socket.socketpair()
    with theirs:
        server = subprocess.Popen(
            [sys.executable, "-c", "from scrapy_neardup.extraction.task import main; main('plain')"],
            stdin=theirs, stderr=subprocess.PIPE, env=environment(),
        )  # fmt: skip
    ours.close()
    assert server.communicate(timeout=30)[1] == b""
    assert server.returncode == 0


@pytest.mark.parametrize("timeout", [1e7, 1e300])
def test_a_time_limit_may_be_longer_than_the_system_can_wait(pool: Pool, timeout: float) -> None:
    workers = pool(timeout=timeout)
    assert [answer(workers, body).reason for body in "ab"] == [None, None]


def no_memory(*_: object) -> None:
    raise MemoryError


def no_thread(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


@pytest.mark.parametrize(
    ("where", "name", "what", "detail"),
    [
        (sys, "executable", None, "could be started"),  # as in some programs that embed Python
        (threading.Thread, "start", no_thread, "can't start new thread"),
        (extraction_workers.pickle, "loads", no_memory, "MemoryError()"),
    ],
)
def test_whatever_fails_here_is_answered_and_the_pool_goes_on(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, where: object, name: str, what: object, detail: str
) -> None:
    workers = pool(processes=2, server=ForkServer)
    if where is extraction_workers.pickle:  # at once it would be no worker that answers
        assert answer(workers, "a").reason is None
    with monkeypatch.context() as patch:
        patch.setattr(where, name, what)
        result = answer(workers, "b")
        assert result.reason == "crash"
        assert detail in (result.detail or "")
    assert answer(workers, "c").reason is None


# Scripts as users write them: no ``if __name__ == "__main__"``.
SCRIPT = """
import os, sys, time
from scrapy_neardup.extraction import Page, Workers
from scrapy_neardup.fingerprint import Fingerprinter
print("main", flush=True)
workers = Workers(Fingerprinter(), {extractor!r}, processes=2, timeout={timeout}, memory=1 << 28)
print(workers.submit(Page(b"fine", "http://a/", None)).result(60).reason, flush=True)
"""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def ran(folder: Path, *command: str, given: str = "") -> str:
    """Run Python in *folder*, to which it says nothing but what it prints; return that."""
    done = subprocess.run(
        [sys.executable, *command], input=given, cwd=folder, env=environment(), capture_output=True,
        text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("how", ["file", "stdin", "-c", "-m"])
def test_unguarded_script_runs_once(tmp_path: Path, how: str) -> None:
    (tmp_path / "obedient.py").write_text(OBEDIENT)
    script = SCRIPT.format(extractor="obedient.extract", timeout=5) + "workers.close()\n"
    (tmp_path / "crawl.py").write_text(script)
    command = {"file": ["crawl.py"], "stdin": ["-"], "-c": ["-c", script], "-m": ["-m", "crawl"]}[how]
    assert ran(tmp_path, *command, given=script if how == "stdin" else "") == "main\nNone\n"


def test_script_that_forgets_to_close_ends(tmp_path: Path) -> None:
    script = SCRIPT.format(extractor="plain", timeout=5) + "print(*[each.pid for each in workers._workers])\n"
    processes = ran(tmp_path, "-c", script).split("\n")[2].split()
    wait_for_none({*map(int, processes)})


def test_daemonic_process_may_crawl(tmp_path: Path) -> None:
    script = SCRIPT.format(extractor="plain", timeout=5)
    (tmp_path / "task.py").write_text(f"def run():\n    exec({script!r})\n")
    script = (
        "import multiprocessing as mp, task\nif __name__ == '__main__':\n"
        "    p = mp.get_context('fork').Process(target=task.run, daemon=True); p.start(); p.join(30)\n"
    )
    assert ran(tmp_path, "-c", script) == "main\nNone\n"


WATCHED = (
    SCRIPT
    + """
import signal
import socket
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a job in the background inherits as ignored
futures = [workers.submit(Page(b"sleep 100%d" % n, "http://a/", None)) for n in range({busy})]
while len(workers._workers) < 2: time.sleep(0.01)
print(*[worker.pid for worker in workers._workers], workers._server._process.pid, flush=True)
try:
    time.sleep(60)
except KeyboardInterrupt:
    workers.close()
    print("closed", flush=True)
"""
)


@contextmanager
def watched(folder: Path, busy: int, timeout: float) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """Start a crawl with so many busy workers; yield it and the processes that it has started."""
    (folder / "obedient.py").write_text(OBEDIENT)
    script = WATCHED.format(extractor="obedient.extract", timeout=timeout, busy=busy)
    process = subprocess.Popen(
        [sys.executable, "-c", script], cwd=folder, env=environment(), text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(3)]
        yield process, [int(pid) for pid in lines[2].split()]
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("busy", [0, 1, 2])
def test_ctrl_c_reaches_the_crawl_only(tmp_path: Path, busy: int) -> None:
    with watched(tmp_path, busy, timeout=60) as (process, processes):
        time.sleep(0.2)
        os.killpg(process.pid, signal.SIGINT)
        assert process.communicate(timeout=10) == ("closed\n", "")
        wait_for_none({*processes})


@pytest.mark.parametrize("busy", [0, 2])
def test_no_process_outlives_a_killed_crawl(tmp_path: Path, busy: int) -> None:
    with watched(tmp_path, busy, timeout=1.5) as (process, processes):
        assert len(processes) == 3
        process.kill()
        assert process.communicate(timeout=10)[1] == ""
        wait_for_none({*processes}, 4)
