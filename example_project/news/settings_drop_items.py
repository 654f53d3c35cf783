"""Items of duplicates are dropped, their links followed: the default, written out."""

from __future__ import annotations

from news.settings import *

NEARDUP_POLICY = "drop_items"
