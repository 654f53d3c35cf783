"""Servers of extracting processes that tests share: most tests would take less time than the start of one."""

from __future__ import annotations

import sys
from functools import lru_cache

from scrapy_neardup.extraction.base import Job
from scrapy_neardup.extraction.workers import ForkServer, StartError, Worker


class KeptServer(ForkServer):
    """Stands for the server that all pools of the same extractor share, and that outlives them."""

    def start(self) -> None:
        """Do nothing."""

    def fork(self, job: Job) -> Worker:
        if self._closed:
            raise StartError("closed")
        return _server(self._extractor, tuple(map(str, sys.path))).fork(job)

    def close(self) -> None:
        self._closed = True


@lru_cache(maxsize=4)
def _server(extractor: str, path: tuple[str, ...]) -> ForkServer:
    """Return the server of an *extractor* with this *path* of modules. It ends with this process."""
    return ForkServer(extractor)
