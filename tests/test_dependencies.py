"""A process imports no more than it needs."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest


@pytest.mark.slow
def test_a_process_that_extracts_imports_neither_scrapy_nor_what_only_the_index_needs() -> None:
    script = "import sys, scrapy_neardup.extraction.task; print([*sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert {"scrapy", "twisted", "tldextract", "requests"} & set(ast.literal_eval(done.stdout)) == set()
