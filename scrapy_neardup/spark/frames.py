"""Frames that are kept on disk between the steps of an audit; what kernels make of Arrow tables and arrays.

A kernel is a function of a batch, or of a table of whole groups of rows, that returns a batch.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Observation
from pyspark.sql import functions as F  # noqa: N812

from scrapy_neardup.audit.crawl import Crawl
from scrapy_neardup.audit.names import Names
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.index import Documents

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from scrapy_neardup.audit.options import AuditOptions
    from scrapy_neardup.index import Header

    Kernel = Callable[..., pa.RecordBatch]
    Rows = NDArray[np.int64]

#: Pages that come together in a table of whole groups, about.
ROWS = 1 << 12
#: Bytes of a row group of Parquet. Each task holds one in memory while it writes, and one while it reads: of
#: the 128 MiB that are usual, two tasks would fill the memory of a small executor.
ROW_GROUP = 1 << 23
#: Of so many pages each task may hold a number or two: some 100 MB.
_HELD = 1 << 21
_KINDS = {
    "long": pa.int64(), "int": pa.int32(), "string": pa.string(), "float": pa.float32(),
    "double": pa.float64(), "boolean": pa.bool_(), "binary": pa.binary(),
    "array<string>": pa.list_(pa.string()), "array<long>": pa.list_(pa.int64()),
}  # fmt: skip


def column_names(columns: str) -> tuple[str, ...]:
    """Return the names of *columns* as Spark writes them: ``name type, name type``."""
    return (*schema_of(columns).names,)


def schema_of(columns: str) -> pa.Schema:
    """Return Arrow's schema for *columns*, written as for `column_names`."""
    return pa.schema([(name, _KINDS[kind]) for name, kind in map(str.split, columns.split(", "))])


def batch_of(columns: dict[str, Any], schema: str) -> pa.RecordBatch:
    """Return a batch with the columns of a *schema*, see `column_names`: null where *columns* lack one."""
    wanted, empty = schema_of(schema), [None] * max(map(len, columns.values()))
    arrays = [_array(columns.get(field.name, empty), field.type) for field in wanted]
    return pa.RecordBatch.from_arrays(arrays, schema=wanted)


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.Array):
        return values if values.type == kind else values.cast(kind)
    if (isinstance(values, np.ndarray) and values.ndim > 1) or pa.types.is_binary(kind):
        values = [each if isinstance(each, bytes) or each is None else each.tobytes() for each in values]
    return pa.array(values, kind)


def numbers(table: pa.Table | pa.RecordBatch, name: str) -> NDArray[Any]:
    """Return a column of numbers or booleans."""
    found: NDArray[Any] = table.column(name).to_numpy(zero_copy_only=False)
    return found


def texts(table: pa.Table | pa.RecordBatch, name: str) -> list[Any]:
    """Return a column as Python has it."""
    found: list[Any] = table.column(name).to_pylist()
    return found


def keys_of(table: pa.Table | pa.RecordBatch, header: Header) -> NDArray[np.uint64]:
    """Return keys as `Documents` have them, zero for none: uint64[keys, n]."""
    found = _joined(texts(table, "keys"), 8 * header.keys, np.uint64)
    return np.ascontiguousarray(found.reshape(-1, header.keys).T)


def records_of(table: pa.Table | pa.RecordBatch, header: Header) -> NDArray[Any]:
    """Return records, zero for none: a structured array of n, which may be written to."""
    return _joined(texts(table, "record"), header.dtype.itemsize, header.dtype)


def _joined(parts: list[bytes | None], size: int, kind: Any) -> NDArray[Any]:
    return np.frombuffer(bytearray(b"".join(each or bytes(size) for each in parts)), kind)


def crawl_of(table: pa.Table | pa.RecordBatch, settings: AuditOptions) -> Crawl:
    """Return the pages of a *table* as the audit has them; columns that it lacks are empty."""
    keys, records, count = keys_of(table, settings.header), records_of(table, settings.header), table.num_rows
    has = {*table.schema.names}
    urls, titles, declared, alternates = (
        texts(table, name) if name in has else [""] * count
        for name in ("url", "title", "declared", "alternates")
    )
    return Crawl(
        ids=np.arange(count),
        roots=[""] * count,
        urls=urls,
        titles=titles,
        declared=declared,
        alternates=alternates,
        noindex=numbers(table, "noindex") if "noindex" in has else np.zeros(count, bool),
        fetched=numbers(table, "fetched") if "fetched" in has else np.full(count, np.nan),
        documents=Documents(keys, records, [], texts(table, "note")),
        wall=numbers(table, "wall"),
        long=records["tokens"] >= max(settings.min_tokens, 1),
        names=Names(*(texts(table, name) if name in has else [] for name in Names._fields)),
    )


def parted(table: pa.Table | pa.RecordBatch) -> tuple[pa.Table | pa.RecordBatch, pa.Table, Rows]:
    """Part a table: its pages by their rows, its pairs, and the places of their pages, int64[2, m]."""
    is_pair = pc.is_valid(table.column("a"))
    pairs, pages = table.filter(is_pair), table.filter(pc.invert(is_pair)).sort_by("row")
    sides = np.stack([numbers(pairs, name) for name in "ab"])
    return pages, pairs, np.searchsorted(numbers(pages, "row"), sides)


class Workspace:
    """The folder of an audit on a file system that all executors see, with a frame for each step.

    A frame that is kept is not made again when an executor is lost, and numbers of its rows stay.
    """

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self.spark = spark
        self.folder = folder.rstrip("/")
        #: Whether the pages are so few that one task compares them.
        self.alone = False
        #: What was counted of what was kept.
        self.counted: dict[str, Any] = {}

    def path(self, name: str) -> str:
        """Return the path of what is kept under a name."""
        return f"{self.folder}/{name}"

    def keep(self, frame: DataFrame, name: str, **counts: str) -> DataFrame:
        """Write *frame* as Parquet in place of what is there; return what is read from it.

        *counts*, expressions of Spark's that aggregate rows, are found on the way.
        """
        if counts:
            seen = Observation()
            frame = frame.observe(seen, *(F.expr(what).alias(each) for each, what in counts.items()))
        # Texts, keys and records hardly ever repeat: a dictionary of them is made only to be given up.
        binary = [column for column, kind in frame.dtypes if kind == "binary"]
        writer = frame.write.options(**{f"parquet.enable.dictionary#{column}": "false" for column in binary})
        writer.mode("overwrite").option("parquet.block.size", ROW_GROUP).parquet(self.path(name))
        if counts:
            self.counted |= seen.get
        return self.spark.read.schema(frame.schema).parquet(self.path(name))

    def again(self, frame: DataFrame, name: str) -> DataFrame:
        """Return *frame* for several steps: kept, unless the pages are few, of which one step needs it."""
        return frame.repartition(1) if self.alone else self.keep(frame, name)

    def held(self, few: DataFrame) -> DataFrame:
        """Return some bytes a page so that each task has all of them, and what they are joined with stays."""
        return F.broadcast(few) if self.counted["pages"] <= _HELD else few

    def numbered(self, frame: DataFrame, by: Sequence[str], name: str) -> DataFrame:
        """Return *frame* with a ``row``, int64 that ascend in the order *by*, with gaps; kept if many."""
        found = self.ordered(frame, *by).withColumn("row", F.monotonically_increasing_id())
        return found if self.alone else self.keep(found, name)

    def ordered(self, frame: DataFrame, *by: str) -> DataFrame:
        """Return *frame* in the order *by*, part after part."""
        return (frame.coalesce(1) if self.alone else frame.repartitionByRange(*by)).sortWithinPartitions(*by)

    def exists(self, name: str) -> bool:
        """Tell whether something is kept under a name."""
        path, system = self._locate(self.path(name))
        return bool(system.exists(path))

    def remove(self, name: str) -> None:
        """Remove what is kept under a name, if there is anything."""
        path, system = self._locate(self.path(name))
        system.delete(path, True)

    def write_text(self, name: str, content: str) -> None:
        """Write one file of text in place of what is there."""
        path, system = self._locate(self.path(name))
        with closing(system.create(path, True)) as stream:
            stream.write(bytearray(content.encode()))

    def read_text(self, path: str) -> str:
        """Return the content of a file of text. Raises `ConfigurationError` if there is none."""
        place, system = self._locate(path)
        if not system.exists(place):
            raise ConfigurationError(f"There is no {path}: name the folder of an audit on Spark.")
        with closing(system.open(place)) as stream:
            return bytes(stream.readAllBytes()).decode()

    def _locate(self, name: str) -> tuple[Any, Any]:
        jvm: Any = self.spark._jvm
        path = jvm.org.apache.hadoop.fs.Path(name)
        return path, path.getFileSystem(self.spark._jsparkSession.sessionState().newHadoopConf())


def mapped(frame: DataFrame, kernel: Kernel, schema: str, *given: Any) -> DataFrame:
    """Return what *kernel* makes of each batch of rows and what is *given* besides."""
    return frame.mapInArrow(
        lambda batches: (kernel(batch, *given) for batch in batches if batch.num_rows), schema
    )


def in_groups(
    frame: DataFrame, by: Sequence[str], pages: int, kernel: Kernel, schema: str, *given: Any
) -> DataFrame:
    """Return what *kernel* makes of tables in which all rows that are equal in *by* are together.

    Of so many *pages*, some `ROWS` come into each table; a larger group makes a larger one. If *by* names
    nothing, all rows come into one.
    """
    if not by:
        whole = frame.coalesce(1)  # without a shuffle
        return whole.mapInArrow(
            lambda rows: [kernel(pa.Table.from_batches(some), *given) for some in [[*rows]] if some], schema
        )
    bucket = F.pmod(F.xxhash64(*by), F.lit(pages // ROWS + 1))
    return frame.groupBy(bucket).applyInArrow(
        lambda table: pa.Table.from_batches([kernel(table, *given)]), schema
    )
