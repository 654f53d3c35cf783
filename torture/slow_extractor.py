"""An extractor that takes its time, as one that asks a server or a model does."""

from __future__ import annotations

import re
import time

#: Seconds for each page.
SECONDS = 0.02
_TAG = re.compile(r"<[^<>]*>")


def slow(html: str, url: str | None) -> str:
    time.sleep(SECONDS)
    return _TAG.sub("\n", html)
