"""Data inside an HTML file: blocks of gzip in base64, which cannot close a tag and are unpacked on demand."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence
    from concurrent.futures import Future

    from numpy.typing import NDArray

#: Strings in a block.
STRINGS = 10_000
#: Blocks that are packed at a time.
_PACKED = 2
#: How thoroughly: level 6 takes more than twice the time, for 4 % fewer bytes.
_LEVEL = 4
_SURROGATE = re.compile("[\ud800-\udfff]")


def pack(content: bytes) -> str:
    """Return gzip in base64; the same text for the same content."""
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, 31)
    return base64.b64encode(packer.compress(content) + packer.flush()).decode("ascii")


def block(name: str, content: bytes) -> str:
    """Return the element that holds *content* under *name*."""
    return f'<script type="application/octet-stream" id="data-{name}">{pack(content)}</script>\n'


def json_block(name: str, content: Any) -> str:
    """Return a block of JSON in UTF-8; halves of surrogate pairs, which UTF-8 cannot hold, become U+FFFD."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return block(name, _SURROGATE.sub("\ufffd", text).encode())


def column_block(name: str, values: NDArray[Any], dtype: str) -> str:
    """Return a block of numbers of the little-endian *dtype*."""
    return block(name, np.ascontiguousarray(values, dtype).tobytes())


def json_blocks(name: str, contents: Iterable[Any]) -> Generator[str, None, None]:
    """Yield a block for each of *contents*: name-0, name-1 and so on. Two are packed at a time.

    So one more of *contents* is taken than is yielded.
    """
    waiting: deque[Future[str]] = deque()
    with ThreadPoolExecutor(_PACKED, "neardup-pack") as threads:
        for number, content in enumerate(contents):
            waiting.append(threads.submit(json_block, f"{name}-{number}", content))
            if len(waiting) == _PACKED:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def string_blocks(name: str, strings: Sequence[str]) -> Iterator[str]:
    """Yield the blocks of *strings*, `STRINGS` in each: name-0, name-1 and so on."""
    return json_blocks(name, (strings[start : start + STRINGS] for start in range(0, len(strings), STRINGS)))
