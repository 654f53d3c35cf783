"""Whatever a page does to its worker, its future resolves in time and the pool goes on.

Nothing outlives the crawl.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import scrapy_neardup
from scrapy_neardup.extraction import Page, Workers, load_extractor
from scrapy_neardup.extraction.workers import ForkServer
from scrapy_neardup.fingerprint import Fingerprinter
from tests.helpers.kept_servers import KeptServer

from .hostile import ENGLISH, article, spanning_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the module of an extractor."""
    folder = tmp_path_factory.mktemp("extractor")
    (folder / "obedient.py").write_text(OBEDIENT)
    return folder


@pytest.fixture
def obedient(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.syspath_prepend(folder)
    return "obedient.extract"


@pytest.fixture
def pool() -> Iterator[Callable[..., Workers]]:
    opened: list[Workers] = []

    def make(
        extractor: str, *, processes: int = 1, timeout: float = 1.0, memory: int = 256 * MB, **options: Any
    ) -> Workers:
        options = {"server": KeptServer, **options}
        workers = Workers(
            Fingerprinter(), extractor, processes=processes, timeout=timeout, memory=memory, **options
        )
        opened.append(workers)
        return workers

    yield make
    for workers in opened:
        workers.close()


def page(body: str | bytes, content_type: str | None = "text/html") -> Page:
    return Page(body.encode() if isinstance(body, str) else body, "http://a/", content_type)


def pids(workers: Workers) -> list[int]:
    return sorted(worker.pid for worker in workers._workers if worker.pid)


def wait_until(condition: Callable[[], bool], seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def kill(pid: int) -> None:
    """Kill a worker, and wait until it is dead."""
    os.kill(pid, signal.SIGKILL)
    assert wait_until(lambda: gone(pid))


def gone(pid: int) -> bool:
    """Whether the process has ended; a zombie has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_signature_is_that_of_the_extracted_text(pool: Callable[..., Workers]) -> None:
    html = article(ENGLISH)
    result = pool("trafilatura", timeout=10).submit(page(html)).result(60)
    text = load_extractor("trafilatura")(html, None)
    assert text is not None
    assert result.signature == Fingerprinter().signature(text)
    assert result.reason is None
    assert 0 < result.seconds < 10


def test_spanning_table_ends_in_time_while_others_are_served(pool: Callable[..., Workers]) -> None:
    workers = pool("trafilatura", processes=2, timeout=3)
    assert workers.submit(page(article(ENGLISH))).result(60).reason is None
    started = time.monotonic()
    hanging = workers.submit(page(spanning_table()))
    for number in range(10):
        assert workers.submit(page(article(f"{ENGLISH} {number}"))).result(3).reason is None
    assert not hanging.done()
    assert hanging.result(10).reason == "timeout"
    assert 3 <= time.monotonic() - started < 4
    assert workers.submit(page(article(f"{ENGLISH} after"))).result(3).reason is None


@pytest.mark.parametrize(
    ("order", "reason"),
    [("sleep 1000", "timeout"), ("stuck", "timeout"), ("segv", "crash"), ("kill", "crash"), ("exit", "crash"),
     ("sysexit", "crash"), ("eat 2000", "memory"), ("raise it", "failed"), ("print", None)],
)  # fmt: skip
def test_trouble_of_one_page_is_its_own(
    pool: Callable[..., Workers], obedient: str, order: str, reason: str | None
) -> None:
    workers = pool(obedient)
    workers.submit(page("warm")).result(60)
    started = time.monotonic()
    trouble = workers.submit(page(order))
    after = workers.submit(page("fine"))
    assert trouble.result(5).reason == reason
    assert time.monotonic() - started < 2
    assert after.result(5).reason is None
    assert len(pids(workers)) == 1


def test_a_source_of_slow_pages_gets_less_time_for_each_and_quick_ones_pass(
    pool: Callable[..., Workers], obedient: str
) -> None:
    """An archive of many small bombs would hold an audit up for the time limit with each."""
    workers = pool(obedient, timeout=3)
    workers.submit(page("warm")).result(60)
    started = time.monotonic()
    answers = [workers.submit(page(f"sleep 10{number}"), "a.warc") for number in range(10)]
    assert {answer.result(60).reason for answer in answers} == {"timeout"}
    assert time.monotonic() - started < 15  # of 30
    assert None in {workers.submit(page(f"quick {n}"), "a.warc").result(60).reason for n in range(3)}
    assert workers.submit(page("sleep 1"), "b.warc").result(60).reason is None


def test_body_over_the_memory_limit_is_that_page_s_trouble(
    pool: Callable[..., Workers], obedient: str
) -> None:
    workers = pool(obedient, timeout=10, memory=32 * MB)
    assert workers.submit(page(b"x" * (100 * MB))).result(60).reason == "memory"
    assert workers.submit(page("fine")).result(60).reason is None


def test_worker_that_has_grown_is_replaced(pool: Callable[..., Workers], obedient: str) -> None:
    workers = pool(obedient, memory=200 * MB)
    for number in range(8):
        assert workers.submit(page(f"hoard {40 + number}")).result(60).reason is None


def test_idle_worker_and_server_may_be_killed(pool: Callable[..., Workers], obedient: str) -> None:
    workers = pool(obedient, server=ForkServer)
    assert workers.submit(page("one")).result(60).reason is None
    kill(pids(workers)[0])
    assert workers.submit(page("two")).result(60).reason is None
    server_process = workers._server._process
    assert server_process is not None
    server_process.kill()
    server_process.wait()
    kill(pids(workers)[0])
    first, second = (workers.submit(page(body)).result(60).reason for body in ("three", "four"))
    assert second is None
    assert first in (None, "crash")  # the end of the server may be noticed with the page in hand


def test_a_server_that_stands_still_is_replaced(
    pool: Callable[..., Workers], obedient: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers = pool(obedient, server=ForkServer)
    assert workers.submit(page("one")).result(60).reason is None
    first = workers._server._process
    assert first is not None
    with monkeypatch.context() as patch:
        patch.setattr("scrapy_neardup.extraction.workers.START_TIMEOUT", 0.3)
        os.kill(first.pid, signal.SIGSTOP)
        kill(pids(workers)[0])
        # The end of the worker may be noticed with the page in hand.
        assert "crash" in {workers.submit(page(body)).result(60).reason for body in ("two", "three")}
    assert [workers.submit(page(body)).result(60).reason for body in ("four", "five")][1] is None
    assert workers._server._process is not first


def test_same_body_is_extracted_once(pool: Callable[..., Workers], obedient: str) -> None:
    workers = pool(obedient)
    first = workers.submit(page("one")).result(60)
    again = workers.submit(page("one"))
    assert again.done()
    assert (again.result().signature, again.result().seconds) == (first.signature, 0)
    # Another charset may be another text.
    other = workers.submit(page("one", "text/html; charset=utf-8")).result(60)
    assert other.signature != first.signature


def test_results_are_bounded(
    pool: Callable[..., Workers], obedient: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrapy_neardup.extraction.workers.MAX_RESULTS", 3)
    workers = pool(obedient)
    for number in range(10):
        workers.submit(page(f"fine {number}")).result(60)
    assert len(workers._results) == 3
    assert workers.submit(page("fine 9")).done()
    assert not workers.submit(page("fine 0")).done()


def test_long_texts_are_not_kept_with_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scrapy_neardup.extraction.workers.MAX_CHARACTERS", len(article(ENGLISH)))
    options: dict[str, Any] = {"processes": 1, "timeout": 10, "memory": 256 * MB, "keep_text": True}
    with closing(Workers(Fingerprinter(), "plain", **options)) as workers:
        for times, kept in ((1, True), (9, False)):
            body = page(article(ENGLISH, times=times))
            assert workers.submit(body).result(60).text is not None
            assert workers.submit(body).done() is kept


def test_submit_from_many_threads(pool: Callable[..., Workers], obedient: str) -> None:
    workers = pool(obedient, processes=2)
    expected = {"fine": None, "raise": "failed", "segv": "crash"}

    def submit(thread: int) -> list[bool]:
        orders = [
            ("fine", "raise", "fine", "segv")[n % 4] + f" {n % 40}" for n in range(thread, thread + 100)
        ]
        futures = [workers.submit(page(order)) for order in orders]
        return [f.result(60).reason == expected[o.split()[0]] for o, f in zip(orders, futures, strict=True)]

    with ThreadPoolExecutor(8) as threads:
        assert all(ok for answers in threads.map(submit, range(8)) for ok in answers)


def test_pools_leave_nothing_behind(pool: Callable[..., Workers], obedient: str) -> None:
    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before, threads = descriptors(), threading.active_count()
    for number in range(3):
        workers = pool(obedient, processes=2, server=ForkServer)
        assert workers.submit(page(f"segv {number}")).result(60).reason == "crash"
        workers.close()
    assert descriptors() == before
    assert threading.active_count() == threads


def test_close_is_quick_and_answers_what_waits(pool: Callable[..., Workers], obedient: str) -> None:
    workers = pool(obedient, processes=2, timeout=60, server=ForkServer)
    workers.submit(page("warm")).result(60)
    assert wait_until(lambda: len(pids(workers)) == 2)
    processes = [*pids(workers), workers._server._process.pid]  # type: ignore[union-attr]
    futures = [workers.submit(page(f"sleep 50{number}")) for number in range(6)]
    time.sleep(0.2)
    started = time.monotonic()
    workers.close()
    assert time.monotonic() - started < 5  # of 50 that the pages would have taken
    assert [future.result(0).reason for future in futures] == ["crash"] * 6
    assert {future.result(0).detail for future in futures} == {"the workers were closed"}
    assert wait_until(lambda: all(map(gone, processes)))
    assert workers.submit(page("late")).result(0).reason == "crash"
    assert workers.submit(page("warm")).result(0).reason is None
    workers.close()


def test_a_server_whose_crawl_ends_before_it_says_what_to_do_ends_in_silence() -> None:
    """Ctrl-C twice at the start of a crawl ended in a traceback of another process."""
    ours, theirs = socket.socketpair()
    with theirs:
        server = subprocess.Popen(
            [sys.executable, "-c", "from scrapy_neardup.extraction.task import main; main()"],
            stdin=theirs, stderr=subprocess.PIPE, env=environment(),
        )  # fmt: skip
    ours.close()
    assert server.communicate(timeout=30)[1] == b""
    assert server.returncode == 0


@pytest.mark.parametrize("timeout", [1e7, 1e300])
def test_a_time_limit_may_be_longer_than_the_system_can_wait(
    pool: Callable[..., Workers], obedient: str, timeout: float
) -> None:
    workers = pool(obedient, timeout=timeout)
    assert workers.submit(page("a")).result(60).signature is not None
    assert workers.submit(page("b")).result(60).signature is not None


def test_whatever_keeps_a_server_from_starting_is_answered(
    pool: Callable[..., Workers], obedient: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers = pool(obedient, server=ForkServer)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", None)  # as in some programs that embed Python
        result = workers.submit(page("a")).result(60)
        assert result.reason == "crash"
        assert "could be started" in (result.detail or "")
    assert workers.submit(page("b")).result(60).signature is not None


def test_whatever_an_answer_leads_to_the_pool_goes_on(
    pool: Callable[..., Workers], obedient: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers = pool(obedient)
    assert workers.submit(page("a")).result(60).signature is not None
    with monkeypatch.context() as patch:

        def no_memory(_: Connection) -> None:
            raise MemoryError

        patch.setattr(Connection, "recv", no_memory)
        result = workers.submit(page("b")).result(60)
        assert (result.reason, result.detail) == ("crash", "MemoryError()")
    assert workers.submit(page("c")).result(60).signature is not None


def test_a_pool_without_threads_answers_and_tries_again(
    pool: Callable[..., Workers], obedient: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    workers = pool(obedient, processes=2)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", fail)
        result = workers.submit(page("a")).result(60)
        assert result.reason == "crash"
        assert "can't start new thread" in (result.detail or "")
    assert workers.submit(page("b")).result(60).signature is not None


# Scripts as users write them: no ``if __name__ == "__main__"``.
SCRIPT = """
import os, sys, time
from scrapy_neardup.extraction import Page, Workers
from scrapy_neardup.fingerprint import Fingerprinter
print("main", flush=True)
workers = Workers(Fingerprinter(), {extractor!r}, processes=2, timeout={timeout}, memory=1 << 28)
print(workers.submit(Page(b"fine", "http://a/", None)).result(60).reason, flush=True)
"""


def environment(*folders: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [ROOT, *folders]))}


@pytest.mark.parametrize("how", ["file", "stdin", "-c", "-m"])
def test_unguarded_script_runs_once(tmp_path: Path, how: str) -> None:
    (tmp_path / "obedient.py").write_text(OBEDIENT)
    script = SCRIPT.format(extractor="obedient.extract", timeout=5) + "workers.close()\n"
    (tmp_path / "crawl.py").write_text(script)
    command = {"file": ["crawl.py"], "stdin": ["-"], "-c": ["-c", script], "-m": ["-m", "crawl"]}[how]
    done = subprocess.run(
        [sys.executable, *command], input=script if how == "stdin" else "", cwd=tmp_path, env=environment(),
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr, done.returncode) == ("main\nNone\n", "", 0)


def test_script_that_forgets_to_close_ends(tmp_path: Path) -> None:
    script = (
        SCRIPT.format(extractor="plain", timeout=5) + "print(*[worker.pid for worker in workers._workers])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == ""
    assert wait_until(lambda: all(gone(int(pid)) for pid in done.stdout.split("\n")[2].split()))


def test_daemonic_process_may_crawl(tmp_path: Path) -> None:
    (tmp_path / "task.py").write_text(
        f"def run():\n    exec({SCRIPT.format(extractor='plain', timeout=5)!r})\n"
    )
    script = (
        "import multiprocessing as mp, task\nif __name__ == '__main__':\n"
        "    p = mp.get_context('fork').Process(target=task.run, daemon=True); p.start(); p.join(30)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment(), capture_output=True, text=True,
        timeout=60,
        check=True,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("main\nNone\n", "")


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


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Callable[..., tuple[subprocess.Popen[str], list[int]]]]:
    (tmp_path / "obedient.py").write_text(OBEDIENT)
    started: list[subprocess.Popen[str]] = []

    def start(*, busy: int, timeout: float) -> tuple[subprocess.Popen[str], list[int]]:
        script = WATCHED.format(extractor="obedient.extract", timeout=timeout, busy=busy)
        process = subprocess.Popen(
            [sys.executable, "-c", script], cwd=tmp_path, env=environment(), text=True,
            start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        started.append(process)
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(3)]
        return process, [int(pid) for pid in lines[2].split()]

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("busy", [0, 1, 2])
def test_ctrl_c_reaches_the_crawl_only(
    watched: Callable[..., tuple[subprocess.Popen[str], list[int]]], busy: int
) -> None:
    process, processes = watched(busy=busy, timeout=60)
    time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert (out, err) == ("closed\n", "")
    assert wait_until(lambda: all(map(gone, processes)))


@pytest.mark.parametrize("busy", [0, 2])
def test_no_process_outlives_a_killed_crawl(
    watched: Callable[..., tuple[subprocess.Popen[str], list[int]]], busy: int
) -> None:
    process, processes = watched(busy=busy, timeout=1.5)
    assert len(processes) == 3
    process.kill()
    assert process.communicate(timeout=10)[1] == ""
    assert wait_until(lambda: all(map(gone, processes)), 4)
