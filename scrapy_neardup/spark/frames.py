"""Frames that are kept on disk between the steps of an audit, and groups of rows as Arrow tables."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.audit.crawl import Crawl
from scrapy_neardup.audit.names import Names
from scrapy_neardup.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame, SparkSession

    from scrapy_neardup.audit.settings import AuditOptions
    from scrapy_neardup.index import Documents, Header

    Kernel = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

#: What a page is compared by, as Spark has it.
DOCUMENT = (
    "row long, keys binary, record binary, wall boolean, own string, head string, common array<string>, "
    "page string, rare boolean, general boolean, note binary"
)


def column_names(columns: str) -> tuple[str, ...]:
    """Return the names of *columns* as Spark writes them: ``name type, name type``."""
    return tuple(part.split()[0] for part in columns.split(", "))


DOCUMENT_COLUMNS = column_names(DOCUMENT)


def numbers(table: pa.Table | pa.RecordBatch, name: str) -> NDArray[Any]:
    """Return a column of numbers or booleans."""
    found: NDArray[Any] = _whole(table, name).to_numpy(zero_copy_only=False)
    return found


def texts(table: pa.Table | pa.RecordBatch, name: str) -> list[Any]:
    """Return a column as Python has it. Equal texts of a batch are one object: groups share titles."""
    import pyarrow as pa

    found: list[Any] = []
    for part in _parts(table, name):
        if pa.types.is_string(part.type):
            encoded = part.dictionary_encode()
            values = [*encoded.dictionary.to_pylist(), None]
            found += [values[place] for place in encoded.indices.fill_null(len(values) - 1).to_pylist()]
        else:
            found += part.to_pylist()
    return found


def joined(table: pa.Table | pa.RecordBatch, name: str) -> bytes:
    """Return the bytes of a column without nulls, one value after the other."""
    return b"".join(map(_bytes_of, _parts(table, name)))


def keys_of(table: pa.Table | pa.RecordBatch, header: Header, name: str = "keys") -> NDArray[np.uint64]:
    """Return keys as `Documents` have them: uint64[keys, n]."""
    found = np.frombuffer(joined(table, name), np.uint64).reshape(-1, header.keys)
    return np.ascontiguousarray(found.T)


def records_of(table: pa.Table | pa.RecordBatch, header: Header, name: str = "record") -> NDArray[Any]:
    """Return records: a structured array of n, which may be written to."""
    return np.frombuffer(bytearray(joined(table, name)), header.dtype)


def pieces(values: NDArray[Any]) -> list[bytes]:
    """Return the bytes of each of n rows of *values*."""
    data, size = np.ascontiguousarray(values).tobytes(), len(values) and values.nbytes // len(values)
    return [data[start : start + size] for start in range(0, len(data), size or 1)]


def signed(values: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return 64-bit keys as Spark holds them; they differ where *values* differ."""
    return np.ascontiguousarray(values).view(np.int64)


def unsigned(values: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Undo `signed`."""
    return np.ascontiguousarray(values).view(np.uint64)


def names_of(table: pa.Table | pa.RecordBatch, end: str = "") -> Names:
    """Return the names of the pages in columns whose names have that *end*."""
    together: dict[tuple[str, ...], frozenset[str]] = {}
    common = [together.setdefault(tuple(words), frozenset(words)) for words in texts(table, f"common{end}")]
    columns = ("own", "head", "page", "rare", "general")
    own, head, page, rare, general = (texts(table, f"{name}{end}") for name in columns)
    return Names(own, head, common, page, rare, general)


def merged_names(one: Names, other: Names) -> Names:
    """Return the names of the pages of both."""
    every: Any = zip(one, other, strict=True)
    return Names(*(a + b for a, b in every))


def crawl_of(
    documents: Documents,
    wall: NDArray[np.bool_],
    names: Names | None,
    settings: AuditOptions,
    **known: Any,
) -> Crawl:
    """Return n pages as the audit has them; what is not *known* of them is empty."""
    count = len(documents.records)
    nothing = {name: [""] * count for name in ("roots", "urls", "titles", "declared", "alternates")}
    empty: dict[str, Any] = {"noindex": np.zeros(count, bool), "fetched": np.full(count, np.nan)}
    return Crawl(
        **{
            "ids": np.arange(count),
            **nothing,
            **empty,
            "documents": documents,
            "wall": wall,
            "long": documents.records["tokens"] >= max(settings.min_tokens, 1),
            "names": names,
            **known,
        }
    )


def schema_of(columns: str) -> pa.Schema:
    """Return the Arrow schema of *columns*, written as for `column_names`."""
    import pyarrow as pa

    kinds = {
        "long": pa.int64(), "int": pa.int32(), "string": pa.string(), "float": pa.float32(),
        "double": pa.float64(), "boolean": pa.bool_(), "binary": pa.binary(),
        "array<string>": pa.list_(pa.string()),
    }  # fmt: skip
    return pa.schema([(name, kinds[kind]) for name, kind in map(str.split, columns.split(", "))])


def _parts(table: pa.Table | pa.RecordBatch, name: str) -> list[pa.Array]:
    column = table.column(name)
    return getattr(column, "chunks", [column])


def _bytes_of(values: pa.Array) -> memoryview:
    """Return the bytes of *values* without nulls as they lie in memory."""
    import pyarrow as pa

    values = values.cast(pa.binary())  # Spark may be set to larger types
    _, ends, data = values.buffers()
    if data is None or not len(values):
        return memoryview(b"")
    first, last = np.frombuffer(ends, np.int32)[[values.offset, values.offset + len(values)]]
    return memoryview(data)[first:last]


def _whole(table: pa.Table | pa.RecordBatch, name: str) -> Any:
    column = table.column(name)
    return column.combine_chunks() if hasattr(column, "combine_chunks") else column


#: Rows that a table of whole groups has at least, if there are so many.
ROWS = 1 << 14
#: Bytes of signatures, or of joined rows, that a part has at least, if there are more parts than tasks run
#: at a time.
PART = 1 << 25
#: Bytes of a row group of Parquet. Each task holds one in memory while it writes, and one while it reads: of
#: the 128 MiB that are usual, two tasks would fill the memory of a small executor.
ROW_GROUP = 1 << 23
#: Spark's own setting: how many parts frames are cut into when they are joined or counted.
PARTITIONS = "spark.sql.shuffle.partitions"
#: A number that Spark gives a row: that of its partition, and below so many bits its place there.
PLACE_BITS = 33


class Workspace:
    """The folder of an audit on a file system that all executors see, with a frame for each step.

    A frame that is kept is not made again when an executor is lost, and numbers of its rows stay.
    """

    def __init__(self, spark: SparkSession, folder: str, partitions: int | None) -> None:
        self.spark = spark
        self.folder = folder.rstrip("/")
        self._given = partitions
        self._most = int(str(spark.conf.get(PARTITIONS)))
        #: How many parts frames are cut into when they are sorted or joined.
        self.partitions = partitions or self._most

    @contextmanager
    def parts(self, size: int) -> Iterator[None]:
        """Within, cut frames into as many parts as *size* bytes ask for, unless a number was given."""
        before, usual = self.partitions, str(self.spark.conf.get(PARTITIONS))
        tasks = self.spark.sparkContext.defaultParallelism
        self.partitions = self._given or parts_for(size, tasks, self._most)
        self.spark.conf.set(PARTITIONS, str(self.partitions))
        try:
            yield
        finally:
            self.partitions = before
            self.spark.conf.set(PARTITIONS, usual)

    def path(self, name: str) -> str:
        """Return the path of what is kept under a name."""
        return f"{self.folder}/{name}"

    def keep(self, frame: DataFrame, name: str) -> DataFrame:
        """Write *frame* as Parquet in place of what is there; return what is read from it."""
        self.write(frame, name)
        return self.read(name, frame)

    def write(self, frame: DataFrame, name: str) -> None:
        """Write *frame* as Parquet in place of what is there."""
        frame.write.mode("overwrite").option("parquet.block.size", ROW_GROUP).parquet(self.path(name))

    def read(self, name: str, like: DataFrame) -> DataFrame:
        """Return the frame that is kept under a name, with the columns of another one."""
        return self.spark.read.schema(like.schema).parquet(self.path(name))

    def exists(self, name: str) -> bool:
        """Tell whether something is kept under a name."""
        path, system = self._locate(self.path(name))
        return bool(system.exists(path))

    def remove(self, name: str) -> None:
        """Remove what is kept under a name, if there is anything."""
        path, system = self._locate(self.path(name))
        system.delete(path, True)

    def size(self, name: str) -> int:
        """Return the bytes of the files of what is kept under a name."""
        path, system = self._locate(self.path(name))
        return int(system.getContentSummary(path).getLength())

    def write_text(self, name: str, content: str) -> None:
        """Write one file of text in place of what is there."""
        path, system = self._locate(self.path(name))
        stream = system.create(path, True)
        try:
            stream.write(bytearray(content.encode()))
        finally:
            stream.close()

    def numbered(self, frame: DataFrame, by: Sequence[Column | str], name: str) -> DataFrame:
        """Keep *frame* with a column ``row``: int64 that ascend in the order *by*, with gaps."""
        from pyspark.sql import functions as F  # noqa: N812

        ordered = frame.repartitionByRange(self.partitions, *by).sortWithinPartitions(*by)
        return self.keep(ordered.withColumn("row", F.monotonically_increasing_id()), name)

    def grouped(self, frame: DataFrame, keys: Sequence[str], order: Sequence[str] = ()) -> DataFrame:
        """Return *frame* with all rows of equal *keys* one after the other, in *order*."""
        return frame.repartition(self.partitions, *keys).sortWithinPartitions(*keys, *order)

    def read_text(self, path: str) -> str:
        """Return the content of a file of text. Raises `ConfigurationError` if there is none."""
        place, system = self._locate(path)
        if not system.exists(place):
            raise ConfigurationError(f"There is no {path}: name the folder of an audit on Spark.")
        return "\n".join(row[0] for row in self.spark.read.text(path).collect())

    def _locate(self, name: str) -> tuple[Any, Any]:
        jvm: Any = self.spark._jvm
        path = jvm.org.apache.hadoop.fs.Path(name)
        return path, path.getFileSystem(self.spark._jsparkSession.sessionState().newHadoopConf())


def parts_for(size: int, tasks: int, most: int) -> int:
    """Return how many parts *size* bytes are cut into, where *tasks* run at a time.

    A part costs every step some time, however little is in it. There are *most* at the most.
    """
    return min(most, max(tasks, -(-size // PART)))


def mapped(
    frame: DataFrame, kernel: Callable[..., Iterator[pa.RecordBatch]], schema: str, *given: Any
) -> DataFrame:
    """Return what *kernel* makes of the Arrow batches of each partition and what is *given* besides."""
    return frame.mapInArrow(partial(_run, kernel, given), schema)


def _run(
    kernel: Callable[..., Iterator[pa.RecordBatch]], given: tuple[Any, ...], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    yield from kernel(batches, *given)


def whole_groups(
    batches: Iterable[pa.RecordBatch], keys: Sequence[str], rows: int = ROWS
) -> Iterator[pa.Table]:
    """Yield the rows of *batches* as tables of *rows* or more, so that no group of equal *keys* is cut.

    Equal keys come one after the other. Only a group of more rows than that makes a larger table.
    """
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        waiting.append(batch)
        count += batch.num_rows
        if count < rows:
            continue
        cut = _last_start(batch, keys)
        same = cut == 0 and len(waiting) > 1 and _same(waiting[-2], batch, keys)
        if cut or not same:
            done = [*waiting[:-1], batch.slice(0, cut)] if cut else waiting[:-1]
            waiting = [batch.slice(cut)]
            count = batch.num_rows - cut
            if done:
                yield _given_away(done)
    if waiting:
        yield _given_away(waiting)


def _given_away(batches: list[pa.RecordBatch]) -> pa.Table:
    """Return *batches* as one table, and forget them here: a group of millions is to be held once."""
    import pyarrow as pa

    table = pa.Table.from_batches(batches)
    batches.clear()
    return table


def _last_start(batch: pa.RecordBatch, keys: Sequence[str]) -> int:
    """Return the first row of the last group of *batch*."""
    new = np.zeros(max(batch.num_rows - 1, 0), bool)
    for key in keys:
        new |= _differences(batch.column(key))
    places = np.flatnonzero(new)
    return int(places[-1]) + 1 if len(places) else 0


def _differences(column: pa.Array) -> NDArray[np.bool_]:
    """Tell which values of *column* (n) differ from the one before; bool[n - 1]."""
    import pyarrow.compute as pc

    found = pc.not_equal(column.slice(1), column.slice(0, len(column) - 1))
    return np.asarray(found.fill_null(False).to_numpy(zero_copy_only=False), bool)


def _same(before: pa.RecordBatch, after: pa.RecordBatch, keys: Sequence[str]) -> bool:
    return all(before.column(key)[-1].as_py() == after.column(key)[0].as_py() for key in keys)
