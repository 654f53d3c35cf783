"""What is said before Spark is started."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from scrapy_neardup.cli import main
from scrapy_neardup.cli.audit import cause_in
from scrapy_neardup.errors import DependencyUnavailable
from scrapy_neardup.spark import require_spark

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("options", [["--master", "local[2]"], ["--earlier", "before"]])
def test_options_that_do_not_go_together(tmp_path: Path, options: list[str]) -> None:
    result = CliRunner().invoke(main, ["audit", "a.jl", "--out", str(tmp_path / "out"), *options])
    assert result.exit_code == 2
    assert "for --engine spark" in " ".join(result.output.split())
    assert not (tmp_path / "out").exists()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scrapy_neardup.spark.version", lambda name: "3.5.1")
    with pytest.raises(DependencyUnavailable, match=r"needs PySpark 4, and this is 3\.5\.1"):
        require_spark()


def test_the_cause_of_a_failure_is_at_the_bottom_of_its_trace() -> None:
    python = "An exception was thrown.\nTraceback:\n  File 'worker.py', line 1\nValueError: no such thing\n\n"
    java = ": java.io.IOException: a job has failed\n\tat a.b.C(D.java:1)\n"
    java += "Caused by: java.net.ConnectException: refused\n\tat a.b.C(D.java:2)\n\t... 20 more\n"
    assert cause_in(python) == "ValueError: no such thing"
    assert cause_in(java) == "java.net.ConnectException: refused"
