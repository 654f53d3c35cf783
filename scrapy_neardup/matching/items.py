"""What items say. An item is dropped only if an item of the page that it repeats says the same.

Each item is described by its fields: short values by hashes, long texts by a small sketch. The descriptions
of a page's items are packed into a few bytes, its *note*, which the index keeps with the page's document.
"""

from __future__ import annotations

import re
import struct
import time
import unicodedata
from collections import Counter, OrderedDict, defaultdict
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import mmh3
from itemadapter import ItemAdapter

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from scrapy_neardup.verdict import Repeated

#: At most so many items of a page are described, in so many bytes together. A page with more is a list whose
#: further items repeat nothing.
MOST_ITEMS, MOST_BYTES = 64, 4096
#: Fields of an item that are described one by one; the others are described together.
_MOST_FIELDS = 40
#: A value with more words than this is a text, which is compared as texts are; so is one with more characters
#: than this, and few spaces.
_WORDS, _CHARACTERS = 40, 200
#: Texts say the same if at most so many of the 64 bits of their sketches differ: some eight edited words.
_BITS = 12
#: A time that is no further than this from now, in seconds, is the moment of crawling.
_MOMENT = 120
#: A field is learned to say nothing from so many pages; what it has said is remembered up to a number.
_PAGES, _MOST_VALUES = 3, 1000
#: How deep lists and dicts in a field are looked at.
_DEPTH = 8
#: What stands between the title of a page and the name of its site.
_SEPARATOR = re.compile(r" *(?:[|\u00b7]|::) *")
_DIGIT, _NUMBER = re.compile(r"\d"), re.compile(r"\d+")
_FOREIGN_DIGIT = re.compile(r"[^\D0-9]")
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//\S+|/\S+\.[a-z0-9]{2,5}", re.IGNORECASE)
#: What may be an identifier, of a session or a visit; and how many runs of letters or digits that has.
_IDENTIFIER, _RUNS = re.compile(r"[0-9a-z]{8,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE), 4
_RUN_OF = re.compile(r"\d+|[a-z]+", re.IGNORECASE)
#: How the fields begin that hold what this package says of a page, and the keys of such a value.
_OWN, _OWN_KEYS = "neardup", {"url", "kind", "distance", "similarity", "policy"}
#: What is packed of a field: the hash of its name, its length, and its value. That is nothing of the moment
#: of crawling, the hashes of up to `_PARTS` parts of a short value, or a text, whose length is another one.
_FIELD, _PART, _PARTS = struct.Struct("<HB"), 4, 14
_TEXT = struct.Struct("<QIx")
#: Number of items in a note that stands for more than are described.
_MORE = 255


class Described(NamedTuple):
    """An item, as it is compared."""

    #: What each field says, packed, by the hash of its name.
    said: Mapping[int, bytes]
    #: The value of each field, for people; empty for an item that was read from a note.
    shown: Mapping[int, str]


class Difference(NamedTuple):
    """A field in which an item differs from the one that is most like it."""

    field: str
    value: str | None
    #: The value of the other item; None if there is none, or if it is no longer known.
    stored: str | None


@dataclass
class _History:
    """How a field has changed from one URL of a page to another."""

    #: The pages; and the values, each with the URL of the page that has it.
    pages: set[str] = field(default_factory=set)
    values: dict[str, str] = field(default_factory=dict)
    #: Whether a change has said something.
    telling: bool = False


@dataclass
class ItemNotes:
    """Describes the items of one spider, and tells which say the same.

    Fields that are *ignored* never count. Neither do URLs, the moment of crawling, the marks of this package,
    and fields that were seen to change from one URL of a page to the next, such as identifiers
    of a session: see `learn`.
    """

    ignored: Collection[str] = ()
    #: Names of the fields that were learned to say nothing.
    learned: set[str] = field(default_factory=set)
    _histories: defaultdict[str, _History] = field(default_factory=lambda: defaultdict(_History))
    _names: dict[int, str] = field(default_factory=dict)
    _shown: OrderedDict[str, list[Described]] = field(default_factory=OrderedDict)

    def describe(self, item: object) -> Described:
        """Describe an item of any class that itemadapter knows; any other object by its ``str()``."""
        adapted = ItemAdapter(item).items() if ItemAdapter.is_item(item) else [("", item)]
        said: dict[int, bytes] = {}
        shown: dict[int, str] = {}
        for number, (name, value) in enumerate(sorted(adapted, key=lambda named: str(named[0]))):
            if name in self.ignored or name in self.learned or _is_own(str(name), value):
                continue
            for part, packed in _fields(value):
                key = _key(f"{name}{part}" if number < _MOST_FIELDS else "")
                if key in said:  # two names of one hash, or the fields that are described together
                    packed = _hash(said[key] + packed)
                said[key] = packed
                self._names[key] = str(name)
                shown[key] = _display(value)
        return Described(said, shown)

    def difference(self, item: Described, other: Described) -> list[Difference]:
        """Return the fields in which two items differ."""
        return [
            Difference(self._names.get(key, ""), item.shown.get(key), other.shown.get(key))
            for key in self.differing(item, other, self.skipped)
        ]

    @property
    def skipped(self) -> set[int]:
        """The keys of fields that say nothing; a note may be older than what was learned."""
        return {_key(f"{name}{part}") for name in (*self.ignored, *self.learned) for part in ("", "\n")}

    @staticmethod
    def differing(item: Described, other: Described, skipped: Collection[int]) -> list[int]:
        """Return the keys of the fields in which two items differ."""
        return [
            key
            for key in sorted(item.said.keys() | other.said.keys())
            if item.said.get(key) != other.said.get(key)
            and key not in skipped
            and not _same(item.said.get(key), other.said.get(key))
        ]

    def remember(self, url: str, items: Sequence[Described], most: int = 2048) -> None:
        """Keep the values of a page's items for a while, so that a report can show them."""
        self._shown[url] = [*items[:MOST_ITEMS]]
        self._shown.move_to_end(url)
        if len(self._shown) > most:
            self._shown.popitem(last=False)

    def stored(self, url: str, note: bytes) -> list[Described]:
        """Return the items of a stored page: with their values if they are still known."""
        packed = unpack(note)
        known = self._shown.get(url, ())
        if len(known) >= len(packed) and all(
            ours.said == theirs.said for ours, theirs in zip(known, packed, strict=False)
        ):
            return [*known]
        return packed

    def learn(self, differences: Sequence[Difference], page: str, url: str) -> str | None:
        """Learn from an item that differs from that of a stored page, which is the same page but for its URL.

        *page* is the URL of the stored page, *url* that of the new one; they show the same in every line. A
        field says nothing if it alone has changed in three pages, each time from one identifier to another
        that no other page has: so prices, names and sizes, which a page may have in a script only, are never
        learned. Returns the name of a field that is learned now.
        """
        if len(differences) != 1 or len(self._histories) > _MOST_VALUES:
            return None
        change = differences[0]
        if not (_is_identifier(change.value) and _is_identifier(change.stored)):
            return None
        history = self._histories[change.field]
        value = str(change.value)
        if history.values.setdefault(value, url) != url or len(history.values) > _MOST_VALUES:
            history.telling = True
        history.pages.add(page)
        if len(history.pages) >= _PAGES and not history.telling:
            self.learned.add(change.field)
            return change.field
        return None


class Found(NamedTuple):
    """What comparing an item with those of the stored pages has found."""

    #: ``differs``: no stored item says the same. ``undecided``: that depends on whether it is the only item.
    kind: Literal["same", "differs", "undecided"]
    #: The page with the item that is most like it, how many fields that item has, and what differs.
    closest: Repeated | None = None
    fields: int = 0
    differences: Sequence[Difference] = ()


class RepeatedItems:
    """The items of the stored pages that a page repeats.

    Those that are pending are left out: they are asked about again when the page is filed.
    """

    def __init__(self, notes: ItemNotes, repeats: Sequence[Repeated]) -> None:
        self._notes = notes
        self._pages = [(page, notes.stored(page.url, page.note)) for page in repeats if not page.pending]

    @property
    def compared(self) -> frozenset[tuple[str, bytes]]:
        """URL and note of each of the pages."""
        return frozenset((page.url, page.note) for page, _ in self._pages)

    def find(self, item: Described, *, several: bool) -> Found:
        """Look for an item that says the same as *item*, whose page has *several* or no other one."""
        if any(item.said == stored.said for _, items in self._pages for stored in items):
            return Found("same")
        skipped = self._notes.skipped
        closest: tuple[list[int], Repeated, Described] | None = None
        pairs = ((page, stored) for page, items in self._pages for stored in items)
        for page, stored in islice(pairs, MOST_ITEMS):
            keys = self._notes.differing(item, stored, skipped)
            if not keys:
                return Found("same")
            if closest is None or len(keys) < len(closest[0]):
                closest = keys, page, stored
        found = Found("differs")
        if closest is not None:
            _, page, stored = closest
            found = Found("differs", page, len(stored.said), self._notes.difference(item, stored))
        return found._replace(kind="undecided") if self._text_decides() and not several else found

    def _text_decides(self) -> bool:
        """Whether the text tells what a single item of the page says.

        It does if all pages are of other sites, none of them is a list, the items of one site have the same
        short values, and some page has an item, or it is not known whether it has. Items of one site that
        differ in long texts alone are versions of a story.
        """
        said: dict[int, frozenset[tuple[int, bytes]]] = {}
        known = False
        for page, items in self._pages:
            short = frozenset(
                each for item in items for each in item.said.items() if len(each[1]) != _TEXT.size
            )
            if page.one_site or is_list(page.note) or said.setdefault(page.site, short) != short:
                return False
            known |= bool(items) or not page.note
        return known


def pack(items: Sequence[Described]) -> bytes:
    """Pack the items of a page into its note. A page without items has one, too."""
    parts: list[bytes] = []
    for item in items[:MOST_ITEMS]:
        fields = (_FIELD.pack(key, len(value)) + value for key, value in sorted(item.said.items()))
        parts.append(bytes([len(item.said)]) + b"".join(fields))
    while sum(map(len, parts)) > MOST_BYTES - 2:
        parts.pop()
    count = len(parts) if len(parts) == len(items) else _MORE
    return bytes([count, len(parts)]) + b"".join(parts)


def unpack(note: bytes) -> list[Described]:
    """Return the items of a note; none of an empty one, which says that nothing is known of any."""
    items: list[Described] = []
    at = 2
    for _ in range(note[1] if note else 0):
        fields, at = note[at], at + 1
        said = {}
        for _ in range(fields):
            key, size = _FIELD.unpack_from(note, at)
            at += _FIELD.size + size
            said[key] = note[at - size : at]
        items.append(Described(said, {}))
    return items


def is_list(note: bytes) -> bool:
    """Whether the page of a note has several items."""
    return bool(note) and note[0] > 1


def is_variant(url: str, other: str) -> bool:
    """Whether one of two URLs has the path of the other and all of its parameters."""
    try:
        one, two = urlsplit(url), urlsplit(other)
        parameters, others = ({*parse_qsl(each.query, keep_blank_values=True)} for each in (one, two))
    except ValueError:
        return False
    if (one.netloc, one.path.rstrip("/")) != (two.netloc, two.path.rstrip("/")):
        return False
    return parameters <= others or others <= parameters


def _same(one: bytes | None, other: bytes | None) -> bool:
    """Whether two values say the same: equal ones, nearly equal texts, a title with and without its site."""
    if one == other or not one or not other:
        return one == other
    if len(one) == len(other) == _TEXT.size:
        (sketch, numbers), (other_sketch, other_numbers) = _TEXT.unpack(one), _TEXT.unpack(other)
        return bool(numbers == other_numbers) and (sketch ^ other_sketch).bit_count() <= _BITS
    if _TEXT.size in (len(one), len(other)):
        return False
    parts, others = ({value[at : at + _PART] for at in range(0, len(value), _PART)} for value in (one, other))
    return parts < others or others < parts


def _key(name: str) -> int:
    return mmh3.hash(name.encode("utf-8", "surrogatepass"), signed=False) & 0xFFFF


def _hash(value: str | bytes) -> bytes:
    data = value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")
    return mmh3.hash(data, signed=False).to_bytes(_PART, "little")


def _fields(value: object) -> Iterator[tuple[str, bytes]]:
    """Yield what a field says: its short values, and its text. Nothing for what says nothing."""
    if _is_moment(value):
        yield "", b""
        return
    texts: list[str] = []
    short: list[str] = []
    for path, leaf in _leaves(value):
        text = _normalised(leaf)
        if _is_long(text):
            texts.append(text)
        elif text and not _URL.fullmatch(text):
            short.append(path + text)
    if len(short) == 1 and short[0][:1] != ".":
        yield "", b"".join(map(_hash, _parted(short[0])))
    elif short:
        yield "", _hash("\0".join(sorted(short)))
    if texts:
        yield "\n", _text(" ".join(texts))


def _is_identifier(value: str | None) -> bool:
    """Whether a machine has drawn a value: letters and digits by turns, as in no word and no price."""
    return bool(value and _IDENTIFIER.fullmatch(value)) and len(_RUN_OF.findall(value or "")) >= _RUNS


def _parted(value: str) -> list[str]:
    """Split a title from the name of its site: "Red kettle | Shop" says what "Red kettle" says.

    A part with a number is no name of a site; and a list, such as of sizes or of a path, is no title.
    """
    first, *rest = _SEPARATOR.split(value)
    if len(first) < 4 or len(rest) > 1:
        return [value]
    names = [part for part in rest if part and not _DIGIT.search(part)][: _PARTS - 1]
    return [" | ".join((first, *(part for part in rest if part not in names))), *names]


def _leaves(value: object, path: str = "", depth: int = 0) -> Iterator[tuple[str, object]]:
    """Yield each value within dicts, lists and items, with the path to it; a set has one path for all."""
    if isinstance(value, (str, bytes)) or depth > _DEPTH:
        yield path, value
    elif ItemAdapter.is_item(value):
        for name, each in ItemAdapter(value).items():
            yield from _leaves(each, f"{path}.{name}=", depth + 1)
    elif isinstance(value, (list, tuple)) and len(value) > 1:
        for number, each in enumerate(value):
            yield from _leaves(each, f"{path}.{number}=", depth + 1)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for each in value:
            yield from _leaves(each, path, depth + 1)
    else:
        yield path, value


def _normalised(value: object) -> str:
    """Return the text of a single value, without case and with one space between its words; "" for none."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    text = str(value)
    text = text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()
    return " ".join(text.split())


def _is_own(name: str, value: object) -> bool:
    """Whether a field has what this package says of the page: an original and its copy differ in that."""
    return name.startswith(_OWN) or (isinstance(value, dict) and value.keys() == _OWN_KEYS)


def _is_long(text: str) -> bool:
    return len(text) > _CHARACTERS and (text.count(" ") > _WORDS or text.count(" ") * 25 < len(text))


def _text(text: str) -> bytes:
    """Pack a text: an odd sketch of its words, and a hash of its numbers.

    A bit of an odd sketch says whether an odd number of words has it (Mitzenmacher, Pagh and Pham, WWW 2014),
    so few bits differ if few words do. Of a text without spaces each two characters are a word.
    """
    if not text.isascii():
        text = _FOREIGN_DIGIT.sub(lambda digit: str(unicodedata.digit(digit[0])), text)
    spaced = text.count(" ") * 25 >= len(text)
    words = text.split(" ") if spaced else [text[at : at + 2] for at in range(len(text) - 1)]
    sketch, seen = 0, Counter[str]()
    for word in words:
        seen[word] += 1  # of a word that occurs twice, both would cancel out
        counted = f"{word} {seen[word]}" if seen[word] > 1 else word
        sketch ^= 1 << (mmh3.hash(counted.encode("utf-8", "surrogatepass"), signed=False) & 63)
    numbers = [word for word in words if _DIGIT.search(word)] if spaced else _NUMBER.findall(text)
    return _TEXT.pack(sketch, mmh3.hash(" ".join(numbers).encode(errors="replace"), signed=False))


def _is_moment(value: object) -> bool:
    """Whether *value* is the time of now: as a datetime, a number of seconds or parts of them, or as text."""
    try:
        time_ = _read_time(value) if isinstance(value, str) else value
        if isinstance(time_, datetime):  # without a zone it may be local or universal time
            times = [time_.timestamp(), time_.replace(tzinfo=time_.tzinfo or timezone.utc).timestamp()]
        elif isinstance(time_, (int, float)):
            times = [time_ / unit for unit in (1, 1e3, 1e6, 1e9)]
        else:
            return False
    except (OverflowError, ValueError, OSError, TypeError, IndexError):  # no clock shows such a time
        return False
    return any(abs(each - time.time()) <= _MOMENT for each in times)


def _read_time(text: str) -> datetime | float | None:
    """Read a time with its seconds; a date alone is no moment. Raises ValueError."""
    if not 10 <= len(text) <= 40:
        return None
    if text.replace(".", "", 1).isdecimal():
        return float(text)
    if text.count(":") < 2:
        return None
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return parsedate_to_datetime(text)


def _display(value: object) -> str:
    if isinstance(value, (datetime, date)):
        value = value.isoformat()
    text = str(value)
    return text if len(text) <= 120 else f"{text[:119]}…"
