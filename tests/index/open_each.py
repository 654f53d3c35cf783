"""Cut copies of an index to some sizes, open each in a child: python open_each.py INDEX FOLDER SIZE ..."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np

from scrapy_neardup.errors import NearDupError
from scrapy_neardup.index import LmdbIndex

index, folder, *sizes = sys.argv[1:]
for size in map(int, sizes):
    copy = Path(folder) / str(size)
    shutil.copytree(index, copy)
    os.truncate(copy / "data.mdb", size)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            opened = LmdbIndex(copy, None)
            matches = opened.search(0, np.arange(500, dtype=np.uint64), 7)
            opened.fetch(matches.document)
            opened.compact()
            opened.close()
            outcome = "opened"
        except NearDupError as error:
            outcome = type(error).__name__
        except BaseException as error:  # noqa: BLE001
            outcome = repr(error)
        os.write(writing, outcome.encode())
        os._exit(0)
    os.close(writing)
    _, status = os.waitpid(child, 0)
    answer = os.read(reading, 4096).decode()
    os.close(reading)
    shutil.rmtree(copy)
    print(json.dumps((size, answer if not status else f"killed by {os.WTERMSIG(status)}")), flush=True)
