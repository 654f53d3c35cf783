"""The audit on Spark: the same rules and the same result, for crawls that no single machine holds.

>>> from scrapy_neardup.spark import audit
>>> audit(spark.read.parquet("s3a://crawl/pages"), "s3a://crawl/audit")  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_neardup.dependencies import importing_late

if TYPE_CHECKING:
    from .run import SparkAudit, audit, audit_paths, make_index, start_session

__all__ = ["SparkAudit", "audit", "audit_paths", "make_index", "start_session"]

# Without PySpark the names of the package can be seen.
__getattr__ = importing_late(__name__, dict.fromkeys(__all__, ".run"))
