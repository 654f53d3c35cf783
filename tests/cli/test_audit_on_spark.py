"""What is said before Spark is started."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from scrapy_neardup.cli import main
from scrapy_neardup.errors import DependencyUnavailable
from scrapy_neardup.spark.session import require_spark
from tests.audit.corpora import crawl, feed

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--engine", "spark", "--format", "csv"], "writes Parquet"),
        (["--engine", "spark", "--trust-pickle"], "does not unpickle"),
        (["--master", "local[2]"], "for --engine spark"),
        (["--earlier", "before"], "for --engine spark"),
    ],
)
def test_options_that_do_not_go_together(tmp_path: Path, options: list[str], said: str) -> None:
    pages = feed(tmp_path / "a.jl", crawl(1))
    result = CliRunner().invoke(main, ["audit", str(pages), "--out", str(tmp_path / "out"), *options])
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())
    assert not (tmp_path / "out").exists()


def test_a_missing_package_is_named_with_the_extra_that_brings_it() -> None:
    with pytest.raises(
        DependencyUnavailable, match=r"needs pyspark: run `pip install 'scrapy-neardup\[spark\]'`"
    ):
        require_spark(lambda name: None)
