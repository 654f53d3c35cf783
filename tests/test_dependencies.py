"""A package that does not fit is named at the start; a process imports no more than it needs."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from scrapy_neardup import DependencyUnavailable, Detector
from scrapy_neardup.dependencies import dependencies_in_use


def test_a_missing_package_is_named_by_a_detector(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(url: str) -> int:
        __import__("no_such_package.part")
        return 0

    monkeypatch.setattr("scrapy_neardup.matching.records.site_key", missing)
    with pytest.raises(DependencyUnavailable, match=r"^The package no_such_package is missing, or .*[.]$"):
        Detector.open()


@pytest.mark.parametrize("error", [ZeroDivisionError(), ImportError("nothing named"), AttributeError()])
def test_other_errors_are_left_alone(error: Exception) -> None:
    with pytest.raises(type(error)), dependencies_in_use():
        raise error


@pytest.mark.slow
def test_a_process_that_extracts_imports_neither_scrapy_nor_what_only_the_index_needs() -> None:
    script = "import sys, scrapy_neardup.extraction.task; print([*sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert {"scrapy", "twisted", "tldextract", "requests"} & set(ast.literal_eval(done.stdout)) == set()
