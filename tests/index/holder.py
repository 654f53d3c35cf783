"""Reserves a document and waits. Arguments: URL of the index, seconds of a lease."""

from __future__ import annotations

import sys
import time

from scrapy_neardup.index.redis import Address, RedisIndex
from tests.index.conformance import HEADER, documents, reserve

index = RedisIndex(Address.parse(sys.argv[1]), HEADER, lease_seconds=float(sys.argv[2]))
reserve(index, documents([1]))
print("held", flush=True)
time.sleep(100)
