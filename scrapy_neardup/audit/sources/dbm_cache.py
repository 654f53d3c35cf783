"""Scrapy's HTTP cache as `DbmCacheStorage` writes it.

Its entries are pickles, which can run any code. So they are read only if the user says that they can be
trusted.
"""

from __future__ import annotations

import dbm
import pickle
from typing import TYPE_CHECKING, Any

from .contents import page_of_response
from .fields import clean, seconds
from .limits import MAX_RECORD, Unreadable, megabytes
from .records import BrokenRecord, Origin, SourceUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from .records import Options, Record

_DATA, _TIME = b"_data", b"_time"
#: The suffixes that Python's dbm modules append to the name of a database: of its main file, and of further
#: files.
_FIRST, _OTHERS = (".dat", ".pag", ".db"), (".bak", ".dir")


def is_dbm(path: Path) -> bool:
    """Whether *path* is a database of the kinds that Python knows, or the first of its files."""
    return _is_database(_database(path, _FIRST))


def is_dbm_folder(path: Path) -> bool:
    """Whether there is nothing but databases in the directory *path*."""
    files = list(path.iterdir())
    return bool(files) and all(
        each.is_file() and _is_database(_database(each, _FIRST + _OTHERS)) for each in files
    )


def first_file(path: Path) -> Path:
    """Return the main file of a database that *path* names without the suffix of its files; else *path*."""
    if path.suffix == ".db" and not path.exists():
        found = (path.with_name(path.name + suffix) for suffix in _FIRST)
        return next((each for each in found if each.is_file()), path)
    return path


def require_trust(label: str, trusted: bool) -> None:
    """Raise `SourceUnavailable` for a cache of pickles that the user has not said to be *trusted*."""
    if not trusted:
        raise SourceUnavailable(
            f"{label} holds pickles, which can run any code: pass --trust-pickle if they are your own."
        )


def read_dbm(path: Path, label: str, options: Options) -> Iterator[Record]:
    """Yield the pages of a spider's cache, or of all in a folder, in the order of their fingerprints."""
    require_trust(label, options.trust_pickle)
    if not path.is_dir():
        yield from _read(path, label)
        return
    for each in sorted(path.iterdir()):
        if is_dbm(each):
            yield from _read(each, clean(str(each)))


def _read(path: Path, label: str) -> Iterator[Record]:
    with dbm.open(str(_database(path, _FIRST)), "r") as opened:
        database: Any = opened  # its type is that of one of four modules
        for key in sorted(key for key in database.keys() if key.endswith(_DATA)):  # noqa: SIM118
            origin = Origin(label, key[: -len(_DATA)].decode("ascii", "replace"))
            try:
                yield _page(database, key, origin)
            except Exception as error:  # noqa: BLE001  # unpickling raises anything
                yield BrokenRecord(origin, f"{type(error).__name__}: {error}")


def _is_database(path: Path) -> bool:
    if path.suffix != ".db":
        return False
    # Whoever opens a pipe waits for ever.
    files = [path, *(path.with_name(path.name + suffix) for suffix in (".db", *_FIRST, *_OTHERS))]
    return all(each.is_file() or not each.exists() for each in files) and bool(dbm.whichdb(str(path)))


def _database(path: Path, suffixes: Sequence[str]) -> Path:
    """Return the name by which to open the database that the file *path* belongs to."""
    if path.suffix in suffixes and path.stem.endswith(".db"):
        return path.with_suffix("")
    return path


def _page(database: Any, key: bytes, origin: Origin) -> Record:
    data = database[key]
    if len(data) > MAX_RECORD:
        raise Unreadable(f"more than {megabytes(MAX_RECORD)}")
    response = pickle.loads(data)  # noqa: S301
    headers = {_text(name).lower(): _text(value) for name, value in response["headers"].items()}
    when = database.get(key[: -len(_DATA)] + _TIME, b"").decode("ascii", "replace")
    url, status, body = clean(_text(response["url"])), int(response["status"]), bytes(response["body"])
    return page_of_response(url, status, headers, body, seconds(when), origin)


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_text, value))
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
