"""The audit on Spark: the same rules and the same result, for crawls that no single machine holds.

>>> from scrapy_neardup.spark import audit
>>> audit(spark.read.parquet("s3a://crawl/pages"), "s3a://crawl/audit")  # doctest: +SKIP
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from scrapy_neardup.errors import DependencyUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession

    from .run import SparkAudit, audit, audit_paths, make_index

__all__ = ["SparkAudit", "audit", "audit_paths", "make_index", "require_spark", "start_session"]

#: The least release of PySpark whose Arrow batches and conversions are those that this package asks for.
_LEAST = 4
#: Of Java that lives for one audit. Its second compiler would take a third of the processor time of a small
#: crawl. The first one alone would have less room for its code, and spend its time on clearing it.
#: An array of half a region takes whole regions of the heap: without the last option a buffer of 1 MB, of
#: which there is one for each spilled file, takes 2 MB of a heap of less than 4 GB.
_ONE_AUDIT = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:G1HeapRegionSize=4m"
#: Spilled files are merged with one buffer of 1 MB each, not three: Spark counts none of them as its memory.
_READ_AHEAD = "spark.unsafe.sorter.spill.read.ahead.enabled"
#: Variables that say that Spark is set up here: by spark-submit, or by an installation of its own.
_SET_UP = {"PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR", "SPARK_HOME"}


def _release() -> str:
    from pyspark import __version__

    return str(__version__)


def require_spark(find: Callable[[str], object] = find_spec, release: Callable[[], str] = _release) -> None:
    """Raise `DependencyUnavailable` if PySpark, or what it exchanges data by, is missing or too old.

    *find* returns None for a package that is not installed, *release* the version of PySpark.
    """
    if missing := [name for name in ("pyspark", "pyarrow", "pandas") if find(name) is None]:
        raise DependencyUnavailable(
            f"An audit on Spark needs {missing[0]}: run `pip install 'scrapy-neardup[spark]'`."
        )
    if int((found := release()).partition(".")[0]) < _LEAST:
        raise DependencyUnavailable(
            f"An audit on Spark needs PySpark {_LEAST}, and this is {found}: run "
            "`pip install 'scrapy-neardup[spark]'`."
        )


def start_session(master: str | None, settings: Mapping[str, str] | None) -> SparkSession:
    """Return a session on *master*, with Spark's *settings*; the one that this process has stays as it is.

    None stands for the master that Spark is set up for, or else for all processors of this machine. Raises
    `DependencyUnavailable`.
    """
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("scrapy-neardup audit").config(_READ_AHEAD, "false")
    if master is None and not _SET_UP & {*os.environ}:
        master = "local[*]"
    if master is not None:
        builder = builder.master(master)
        if master.startswith("local"):
            # Tasks run this interpreter, not whichever is found first.
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            builder = builder.config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
            builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
            builder = builder.config("spark.driver.defaultJavaOptions", _ONE_AUDIT)
    for name, value in (settings or {}).items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except Exception as error:  # what PySpark raises without Java is no class of its own in all releases
        if "JAVA_GATEWAY_EXITED" in str(error):
            raise DependencyUnavailable(
                "Spark needs Java 17 or newer: install it, and set JAVA_HOME."
            ) from error
        raise


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require_spark()
    return getattr(import_module(".run", __name__), name)
