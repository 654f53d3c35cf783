"""The audit on Spark: the same rules and the same result, for crawls that no single machine holds.

>>> from scrapy_neardup.spark import audit
>>> audit(spark.read.parquet("s3a://crawl/pages"), "s3a://crawl/audit")  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from scrapy_neardup.errors import DependencyUnavailable

if TYPE_CHECKING:
    from .run import SparkAudit, audit, audit_paths, make_index, start_session

__all__ = ["SparkAudit", "audit", "audit_paths", "make_index", "require_spark", "start_session"]

#: The least release of PySpark whose Arrow batches and conversions are those that this package asks for.
_LEAST = 4


def require_spark() -> None:
    """Raise `DependencyUnavailable` if PySpark is missing or too old."""
    try:
        release = version("pyspark")
    except PackageNotFoundError:
        release = ""
    if not release or int(release.partition(".")[0]) < _LEAST:
        remedy = f"not {release or 'none'}: run `pip install 'scrapy-neardup[spark]'`."
        raise DependencyUnavailable(f"An audit on Spark needs PySpark {_LEAST}, {remedy}")


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require_spark()
    return getattr(import_module(".run", __name__), name)
