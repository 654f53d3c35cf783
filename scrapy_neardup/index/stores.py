"""Opening an index by its name: a directory, or a URL whose scheme says which back-end holds it."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from scrapy_neardup.errors import ConfigurationError

from .lmdb.index import open_directory

if TYPE_CHECKING:
    import os
    from collections.abc import Collection

    from .header import Header
    from .protocol import Index

#: The schemes of URLs of indexes on a server.
SERVERS = ("redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster")
#: The module that opens the URLs of each scheme by its function ``open_url``, which takes what `open_index`
#: does.
BACKENDS = {"memory": ".memory", **dict.fromkeys(SERVERS, ".redis")}
#: What is taken for a URL: a scheme that is known, or any with two slashes.
_URL = re.compile(rf"(?:file|{'|'.join(map(re.escape, BACKENDS))}):|[a-z][a-z0-9+.-]+://", re.IGNORECASE)


def open_index(
    where: str | os.PathLike[str] | None,
    wanted: Header | None,
    *,
    ignore: Collection[str] = (),
    window: float = 0,
    reset: bool = False,
) -> Index:
    """Open the index *where*: a directory, ``file:///directory``, ``memory:``, ``redis://host``.

    None stands for a scratch index; a path object is always a directory. *wanted* is the header that the
    index must have, but for the parameters named in *ignore*; a new index is made with it. With None any
    header will do, and there must be an index. With *reset* an index that is there is deleted first.
    Documents whose ``time`` is more than *window* seconds ago may go, unless that is 0. Each call needs its
    own `close`. Raises `ConfigurationError`, `IndexUnavailable`, `IndexCorrupted`, `IndexMismatch`.
    """
    if isinstance(where, str) and _URL.match(where):
        scheme, host, path, query, fragment = urlsplit(where)
        if scheme in BACKENDS:
            backend = import_module(BACKENDS[scheme], __package__)
            index: Index = backend.open_url(where, wanted, ignore=ignore, window=window, reset=reset)
            return index
        if scheme != "file" or host not in ("", "localhost") or path[:1] != "/" or query or fragment:
            raise ConfigurationError(
                f"No index can be opened by the URL {where}: use the path of a directory of this machine, or "
                f"file:///the/directory, {', '.join(f'{name}:' for name in sorted(BACKENDS))}"
            )
        where = Path(url2pathname(path))
    return open_directory(where, wanted, ignore=ignore, window=window, reset=reset)
