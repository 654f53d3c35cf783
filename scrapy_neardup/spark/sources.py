"""Which files Spark reads, and which the audit's own readers read on the executors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scrapy_neardup.audit.inputs import find_inputs
from scrapy_neardup.audit.model import Input
from scrapy_neardup.audit.settings import AuditOptions
from scrapy_neardup.audit.sources.fields import Fields
from scrapy_neardup.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_neardup.audit.sources import Options


class Sources(NamedTuple):
    """What is to be read, by who reads it."""

    #: Files of JSON lines, for Spark.
    lines: list[str]
    #: Files and folders of Parquet, for Spark; those of one list have the same columns.
    tables: list[list[str]]
    #: All else, for the audit's own readers.
    others: list[Input]


#: What only the audit's own readers read, and only from paths.
_FOREIGN = {".warc", ".wet", ".wacz", ".arc", ".html", ".htm", ".xhtml", ".csv", ".tsv", ".xz"}


def find_paths(paths: Sequence[str], options: Options) -> Sources:
    """Return what *paths* name, each once. Raises `SourceUnavailable` and `ConfigurationError`.

    JSON lines and Parquet are read by Spark, from any file system that it knows, in parts. All else is read
    by the audit's own readers, a file in one piece, from a path that all executors see. So are files that
    Spark would not read as these do.
    """
    found = Sources([], [], [])
    fields = Fields(options)
    tables: dict[str, list[str]] = {}
    here: list[str] = []
    for path in dict.fromkeys(paths):
        if "://" in path:
            name = path.rpartition("/")[2]
            if {*Path(name).suffixes} & _FOREIGN:
                raise ConfigurationError(
                    f"{path} is not read from there: copy it to a path that all executors see, and name that."
                )
            if "parquet" in name:
                found.tables.append([path])
            else:
                found.lines.append(path)
        elif _is_table(Path(path)):
            found.tables.append([_url(path)])
        else:
            here.append(path)
    for each in find_inputs(here, AuditOptions()) if here else ():
        if each.kind == "index":
            raise ConfigurationError(
                f"{each.name} is an index: an audit on Spark reads pages. Run it without --engine spark."
            )
        plain = _is_plain(each.name)
        if plain and each.kind == "json lines" and not each.name.endswith(".xz"):  # which Spark cannot read
            found.lines.append(_url(each.name))
        elif plain and each.kind == "parquet" and (columns := _columns_of(each.name, fields)):
            tables.setdefault(columns, []).append(_url(each.name))
        else:
            found.others.append(Input(str(Path(each.name).resolve()), each.kind))
    found.tables.extend(tables.values())
    return found


def _is_table(path: Path) -> bool:
    """Tell whether *path* is a folder of Parquet alone, as Spark writes one."""
    names = [each.name for each in path.iterdir() if each.name[0] not in "._"] if path.is_dir() else []
    return bool(names) and all(name.endswith(".parquet") for name in names)


def _is_plain(path: str) -> bool:
    """Tell whether Spark takes *path* for the name of one file, and does not pass over it as hidden."""
    where = Path(path).resolve()
    return where.name[:1] not in "._" and not set("*?[]{}\\") & {*str(where)}


def _columns_of(path: str, fields: Fields) -> str:
    """Return the names and types of a table's columns; "" if it is damaged or has none with a text."""
    import pyarrow as pa
    import pyarrow.parquet

    try:
        schema = pa.parquet.read_schema(path)
    except (pa.ArrowException, OSError):
        return ""
    return str(schema.remove_metadata()) if fields.columns(schema.names) else ""


def _url(path: str) -> str:
    return f"file://{Path(path).resolve()}"  # Hadoop's paths have no escapes
