"""The callback is not called for duplicates, so their links are not followed either."""

from __future__ import annotations

from news.settings import *

NEARDUP_POLICY = "drop_page"
