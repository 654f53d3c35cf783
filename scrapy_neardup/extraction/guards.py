"""Cheap looks at a page that an extractor would not understand, in time linear in its size."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
from lxml import etree

from .decoding import parsed

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: libxml2 drops without a word whatever lies deeper than 255 elements, and with it trafilatura does.
MAX_NESTING = 250
#: The parser adds html and body where they are left out.
_IMPLIED = 2

_HTML_TYPES = frozenset(("text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"))

_MAGIC = (
    b"%PDF-", b"\x89PNG\r\n", b"GIF87a", b"GIF89a", b"\xff\xd8\xff", b"PK\x03\x04", b"\x1f\x8b", b"BZh",
    b"Rar!",
    b"\xfd7zXZ\x00", b"7z\xbc\xaf\x27\x1c", b"\x28\xb5\x2f\xfd", b"RIFF", b"OggS", b"ID3", b"\x7fELF",
    b"MZ\x90",
    b"wOFF", b"wOF2", b"\x00\x00\x01\x00", b"\xd0\xcf\x11\xe0", b"II*\x00", b"MM\x00*", b"{\\rtf", b"%!PS",
)  # fmt: skip
#: Control characters that no text has; escape is part of ISO-2022-JP.
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
_MAX_CONTROL_SHARE = 0.1
_SAMPLE = 1 << 14  # characters

_TAG = re.compile(
    r"<(?!/?(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr)\b)(/?)[a-z]",
    re.IGNORECASE,
)
_LOWER = np.uint8(0x20)  # the bit that makes an ASCII letter lower case
_LETTER = 0x1F  # and those that tell letters apart


def _void_names() -> NDArray[np.bool_]:
    """Tell which names of elements have no content, by the `_LETTER` bits of their first three letters.

    Returns bool[32, 32, 32]. A name of two letters has all third letters, for no other name begins with it.
    """
    void = np.zeros((32, 32, 32), np.bool_)
    for start in b"are bas br col emb hr img inp lin met par sou tra wbr".split():
        void[tuple(letter & _LETTER for letter in start)] = True
    return void


_VOID = _void_names()


def is_html_type(content_type: str) -> bool:
    """Whether a ``Content-Type`` is that of HTML pages, whatever parameters it has."""
    return content_type.partition(";")[0].strip().lower() in _HTML_TYPES


def is_binary(body: bytes) -> bool:
    """Whether *body* begins like an image, a document, an archive or a program."""
    return body.lstrip(b"\r\n\t ").startswith(_MAGIC)


def is_noise(text: str) -> bool:
    """Whether the beginning of a decoded page is mostly what no text consists of."""
    sample = text[:_SAMPLE]
    return len(_CONTROL.findall(sample)) > len(sample) * _MAX_CONTROL_SHARE


def is_too_deep(html: str) -> bool:
    """Whether elements of the page nest deeper than ``MAX_NESTING``.

    Each of three looks may find too much, and is then checked by the next, which takes some five times as
    long: open minus closed tags is too high for ``<br>`` and others that have no end; without those, where
    end tags are left out, as of ``<p>`` and ``<li>``; the parser knows.
    """
    most = MAX_NESTING - _IMPLIED
    return _open_tags(html) > most and _open_elements(html) > most and _parsed_depth(html) > MAX_NESTING


def _open_tags(html: str) -> int:
    """Return how many tags are open at most, if every one has an end."""
    data = np.frombuffer(html.encode("utf-8", "replace") + b"    ", np.uint8)
    tags = np.flatnonzero(data[:-4] == ord("<")) + 1
    steps = _are_letters(data[tags] | _LOWER).astype(np.int64)
    ends = np.flatnonzero(data[tags] == ord("/"))
    names = [data[tags[ends] + place] for place in (1, 2, 3)]
    closing = _are_letters(names[0] | _LOWER) & ~_VOID[tuple(name & _LETTER for name in names)]
    steps[ends] = -closing.astype(np.int64)
    depths = np.cumsum(steps)
    return int((depths - np.minimum.accumulate(np.minimum(depths, 0))).max(initial=0))


def _are_letters(lower: NDArray[np.uint8]) -> NDArray[np.bool_]:
    return (lower >= ord("a")) & (lower <= ord("z"))


def _open_elements(html: str) -> int:
    """Return how many elements that can have content are open at most, if every one has an end tag."""
    steps = (-1 if slash else 1 for slash in _TAG.findall(html))
    return max(accumulate(steps, lambda depth, step: max(depth + step, 0), initial=0))


def _parsed_depth(html: str) -> int:
    root = parsed(html, huge_tree=True)
    if root is None:
        return 0
    steps = (1 if event == "start" else -1 for event, _ in etree.iterwalk(root, events=("start", "end")))
    return max(accumulate(steps, initial=0))
