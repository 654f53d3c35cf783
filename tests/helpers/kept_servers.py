"""Servers of extracting processes that tests share: most tests would take less time than the start of one."""

from __future__ import annotations

import pickle
import sys
from functools import lru_cache

from scrapy_neardup.extraction.base import Job
from scrapy_neardup.extraction.workers import ForkServer, StartError, Worker


class KeptServer(ForkServer):
    """Stands for the server that all pools of the same job share, and that outlives them."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._shared = _server(pickle.dumps(job), tuple(map(str, sys.path)))

    def fork(self) -> Worker:
        if self._closed:
            raise StartError("closed")
        return self._shared.fork()

    def close(self) -> None:
        self._closed = True


@lru_cache(maxsize=4)
def _server(job: bytes, path: tuple[str, ...]) -> ForkServer:
    """Return the server for a pickled *job* with this *path* of modules. It ends with this process."""
    return ForkServer(pickle.loads(job))
