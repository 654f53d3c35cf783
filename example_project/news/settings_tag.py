"""Duplicates are stored like all other pages, with the match in their field ``neardup``."""

from __future__ import annotations

from news.settings import *

NEARDUP_POLICY = "tag"
