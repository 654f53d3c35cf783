"""A package that does not fit is named at the start, by a Detector and by a crawl, and not by every page."""

from __future__ import annotations

import ast
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from scrapy_neardup import DependencyUnavailable
from scrapy_neardup.dependencies import dependencies_in_use

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow

#: An older tldextract, which knows registered_domain alone.
OLD_TLDEXTRACT = """
class ExtractResult:
    subdomain, domain, suffix, registered_domain = "", "example", "com", "example.com"

class TLDExtract:
    def __init__(self, suffix_list_urls, cache_dir, include_psl_private_domains):
        pass

    def __call__(self, host):
        return ExtractResult()
"""
OTHER_NORMALIZER = """
class Matches:
    pass

def from_bytes(body, cp_isolation):
    return Matches()
"""
DETECTOR = "from scrapy_neardup import Detector; Detector.open()"
CRAWL = """
from scrapy import Spider
from scrapy.crawler import AsyncCrawlerProcess

class Some(Spider):
    name = "some"
    start_urls = ["data:text/html,<p>page"]

    def parse(self, response):
        print("a page has come")

process = AsyncCrawlerProcess({
    "ADDONS": {"scrapy_neardup.Addon": 700}, "NEARDUP_EXTRACTOR": EXTRACTOR, "TWISTED_REACTOR_ENABLED": False,
})
done = process.crawl(Some)
process.start()
done.result()
"""


def run(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run *script* where modules in *folder* hide those that are installed."""
    return subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(folder)!r})\n{script}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def last_line(ended: subprocess.CompletedProcess[str]) -> str:
    assert ended.returncode == 1
    assert "a page has come" not in ended.stdout
    return ended.stderr.rstrip().splitlines()[-1]


@pytest.mark.parametrize("script", [DETECTOR, f"EXTRACTOR = 'plain'\n{CRAWL}"])
def test_an_old_tldextract(tmp_path: Path, script: str) -> None:
    (tmp_path / "tldextract.py").write_text(OLD_TLDEXTRACT)
    line = last_line(run(tmp_path, script))
    assert line.startswith("scrapy_neardup.errors.DependencyUnavailable: The package tldextract ")
    assert "no attribute 'top_domain_under_public_suffix'" in line
    assert line.endswith("run pip install --upgrade tldextract scrapy-neardup.")


def test_a_package_of_the_workers(tmp_path: Path) -> None:
    """This process itself does not need it."""
    (tmp_path / "charset_normalizer.py").write_text(OTHER_NORMALIZER)
    line = last_line(run(tmp_path, f"EXTRACTOR = 'plain'\n{CRAWL}"))
    assert "DependencyUnavailable: The package charset-normalizer " in line
    assert "has no attribute 'best'" in line


@pytest.mark.parametrize("extractor", ["segment", "trafilatura"])
@pytest.mark.parametrize(
    ("module", "named"),
    [
        ("raise ImportError('no part of it')", "no part of it"),
        ("", "has no attribute '__version__'"),
        ("__version__ = '0.9'", "has no attribute 'extract'"),
    ],
)
def test_an_extractor_that_does_not_fit(tmp_path: Path, module: str, named: str, extractor: str) -> None:
    (tmp_path / "trafilatura.py").write_text(module)
    line = last_line(run(tmp_path, f"EXTRACTOR = {extractor!r}\n{CRAWL}"))
    assert "trafilatura" in line
    assert named in line
    assert "pip install --upgrade trafilatura" in line


def of_another_lmdb() -> None:
    import lmdb

    lmdb.no_such_function()


def missing() -> None:
    __import__("no_such_package.part")


@pytest.mark.parametrize(
    ("call", "named"), [(of_another_lmdb, r"lmdb [0-9.]+"), (missing, "no_such_package")]
)
def test_the_package_is_named(call: Callable[[], None], named: str) -> None:
    with (
        pytest.raises(DependencyUnavailable, match=f"^The package {named} does not fit"),
        dependencies_in_use(),
    ):
        call()


@pytest.mark.parametrize(
    "error", [ZeroDivisionError(), ImportError("nothing named"), AttributeError(obj=None)]
)
def test_other_errors_are_left_alone(error: Exception) -> None:
    with pytest.raises(type(error)), dependencies_in_use():
        raise error


def test_a_process_that_extracts_imports_neither_scrapy_nor_what_only_the_index_needs() -> None:
    script = "import sys, scrapy_neardup.extraction.task; print([*sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert {"scrapy", "twisted", "tldextract", "requests"} & set(ast.literal_eval(done.stdout)) == set()
