"""What items say. An item is dropped only if an item of the page that it repeats says the same.

Each item is described by its fields: short values by hashes, long texts by a small sketch. The descriptions
of a page's items are packed into a few bytes, its *note*, which the index keeps with the page's document.
"""

from __future__ import annotations

import json
import re
import struct
import time
import unicodedata
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from email.utils import parsedate_to_datetime
from functools import cached_property, lru_cache
from itertools import chain, islice
from operator import itemgetter
from typing import Any, Literal, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import mmh3

from scrapy_neardup.fingerprint.normalise import composed
from scrapy_neardup.verdict import Repeated

#: An item as it is compared: what each field says, packed, by the hash of its name.
Described = dict[int, bytes]
_Outline = frozenset[tuple[int, bytes]]

#: At most so many items of a page are described, in so many bytes together. A page with more is a list whose
#: further items repeat nothing. An item with more fields is described as a whole.
MOST_ITEMS, MOST_BYTES, _MOST_FIELDS = 64, 4096, 255
#: What has more parts, or characters, is compared as a whole: the event loop waits for each item.
MOST_PARTS, _MOST_CHARACTERS = 2000, 1 << 16
#: A value of more characters is a text if it has more words or hardly any spaces; texts are sketched.
_CHARACTERS, _WORDS = 200, 40
#: Long texts of exact copies say the same if at most so many bits of sketches differ, one for so many words.
_BITS, _WORDS_A_BIT = 12, 10
#: A time that is no further than this from now, in seconds, is the moment of crawling.
_MOMENT = 120
#: Pages from which a field is learned to say nothing; values that are remembered at most for that, and for
#: reports; items among which the most similar one is looked for; how deep lists within lists are read.
_PAGES, _DRAWN, _SHOWN, _COMPARED, _DEPTH = 3, 1000, 1 << 14, 1000, 8
#: Characters of a value that are remembered for reports.
_LONGEST = 500
#: Fields with titles: their case does not matter, and the name of the site may follow after a separator.
_TITLE, _SEPARATOR = re.compile(r"title|head(line|ing)|^name$", re.IGNORECASE), re.compile(r" *(?:[|·]|::) *")
_NUMBER = re.compile(r"\d+")
#: A number: sign, digits in groups or at most seven in a row (more are dates, identifiers), and decimals.
_AMOUNT = re.compile(
    r"(?<!\d)([-\u2212\u2013]?)(?:([1-9]\d{0,2}([.,'’٬ ])(?:\d{2,3}\3)*\d{3}|\d{1,7})(?:[.,٫](\d+))?"
    r"|(?<!\w)[.,٫](\d+))(?!\d)"
)
#: An amount is a number with a sign of a currency, or with at most so many letters of a unit, in at most so
#: many characters, in a field that is not named like an identifier.
_LETTERS, _BRIEF, _ID = 3, 40, re.compile(r"(?:^|[^a-z])id$|I[dD]$")
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//\S+|/\S+\.[a-z0-9]{2,5}", re.IGNORECASE)
#: What may be an identifier of a session, longer than the number of an article; how many runs it has.
_IDENTIFIER = re.compile(r"[0-9a-z]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_RUN, _RUNS = re.compile(r"\d+|[a-z]+", re.IGNORECASE), 4
#: The keys of a mark that this package sets on items; the names of such fields begin with ``neardup``.
_OWN = {"url", "kind", "distance", "similarity", "policy"}
#: A field is packed as the hash of its name, a length and a value. The value is a hash of `_HASH` bytes, that
#: of a site's name may follow (in titles), or parts of hashes of amount and unit; or it is a packed text,
#: which has another length.
_FIELD, _HASH, _TEXT = struct.Struct("<HB"), 4, struct.Struct("<QIBI")
_COUNTED, _UNIT = _HASH + 2, 3
#: The number in the note of a page with more items than are described.
_MORE = 255


class Difference(NamedTuple):
    """A field in which an item differs from the one that is most like it."""

    field: str
    #: What the two say, for people; None if they say nothing, or if that is no longer known.
    value: str | None
    stored: str | None


@dataclass
class ItemNotes:
    """Describes the items of one spider, and tells which say the same.

    Fields that are *ignored* never count. Neither do URLs, the moment of crawling, the marks of this package,
    and fields that change from one URL of a page to the next, such as identifiers of a session: see `learn`.
    """

    ignored: Collection[str] = ()
    #: Names of the fields that were learned to say nothing.
    learned: set[str] = field(default_factory=set)
    #: The pages of identifiers by field; None for a field that has one on several pages.
    _drawn: dict[str, dict[str, str] | None] = field(default_factory=dict)
    _names: dict[int, str] = field(default_factory=dict)
    _shown: OrderedDict[tuple[int, bytes | None], str] = field(default_factory=OrderedDict)

    def describe(self, item: object) -> Described:
        """Describe an item of any class that itemadapter knows; any other object by its ``str()``."""
        fields = fields_of(item)
        adapted = [("", item)] if fields is None or len(fields) > MOST_PARTS else fields.items()
        said: Described = {}
        for name, value in sorted(((str(name), value) for name, value in adapted), key=itemgetter(0)):
            own = name.startswith("neardup") or (isinstance(value, dict) and value.keys() == _OWN)
            if own or name in self.ignored or name in self.learned:
                continue
            for part, packed in _fields(name, value):
                key = _key(name + part)
                if key in said:  # two names of one hash
                    packed = _hash(said[key] + packed)
                said[key], self._names[key] = packed, name
                shown = value.isoformat() if isinstance(value, date) else str(value)
                self._shown[key, packed] = shown[:_LONGEST]
                self._shown.move_to_end((key, packed))
        while len(self._shown) > _SHOWN:
            self._shown.popitem(last=False)
        return said if len(said) <= _MOST_FIELDS else {0: _hash(repr(sorted(said.items())))}

    @property
    def skipped(self) -> frozenset[int]:
        """The keys of the fields that say nothing; a note may be older than what was learned."""
        return frozenset(_key(name + part) for name in (*self.ignored, *self.learned) for part in ("", "\n"))

    def difference(self, item: Described, other: Described, exact: bool = True) -> list[Difference]:
        """Return the fields in which two items differ, perhaps of *exact* copies; amounts first."""
        keys = sorted(_differing(item, other, exact), key=lambda key: not _other_amount(item, other, key))
        shown = [[self._shown.get((key, each.get(key))) for each in (item, other)] for key in keys]
        return [
            Difference(self._names.get(key, ""), _cut(value, stored), _cut(stored, value))
            for key, (value, stored) in zip(keys, shown, strict=True)
        ]

    def learn(self, differences: Sequence[Difference], page: str) -> str | None:
        """Learn from an item that differs from that of the same *page* under another URL.

        A field says nothing if it alone has changed in three pages, each time from one identifier to another
        that no other page has. Identifiers have letters and digits by turns, as no word, price or size has.
        Returns the name of a field that is learned now.
        """
        if len(differences) != 1 or not all(
            each and _IDENTIFIER.fullmatch(each) and len(_RUN.findall(each)) >= _RUNS
            for each in differences[0][1:]
        ):
            return None
        name, *values = differences[0]
        drawn = self._drawn.setdefault(name, {})
        if drawn is None or any(drawn.setdefault(str(each), page) != page for each in values):
            self._drawn[name] = None
        elif len({*drawn.values()}) >= _PAGES:
            self.learned.add(name)
            return name
        elif len(drawn) > _DRAWN:
            self._drawn[name] = None
        return None


class Closest(NamedTuple):
    """The item that is most like one that no stored item repeats."""

    #: Its page, and how many fields it has; None if the pages have no item.
    page: Repeated | None = None
    fields: int = 0
    differences: Sequence[Difference] = ()


class RepeatedItems:
    """The items of the stored pages that a page repeats; pending ones are asked about again later."""

    def __init__(self, notes: ItemNotes, repeats: Sequence[Repeated]) -> None:
        self._notes = notes
        #: URL of the page with the stored item that says the same as the one looked for last that has one.
        self.said_by: str | None = None
        skipped = notes.skipped
        self._pages = [(page, _by_outline(page.note, skipped)) for page in repeats if not page.pending]

    @property
    def compared(self) -> frozenset[tuple[str, bytes]]:
        """URL and note of each of the pages."""
        return frozenset((page.url, page.note) for page, _ in self._pages)

    @property
    def are_lists(self) -> bool:
        """Whether one of the pages has several items."""
        return any(page.note[:1] > b"\1" for page, _ in self._pages)

    def find(self, item: Described, *, several: bool) -> Literal["same", "differs", "undecided"]:
        """Tell whether a stored item says the same as *item*, whose page has *several* or no other one.

        ``undecided``: it is the same if it remains the only item of its page, and differs if not.
        """
        outline = _outline(item)
        alike = [(each, page) for page, items in self._pages for each in items.get(outline, ())]
        equal = (page for each, page in alike if item == each)
        nearly = (page for each, page in alike[:MOST_ITEMS] if not _differing(item, each, page.exact))
        if (page := next(chain(equal, nearly), None)) is not None:
            self.said_by = page.url
            return "same"
        # Each stored item may have another amount, such as a price, in a field that both have.
        decided = several or not self._text_decides
        if not decided and self._items:
            decided = all(other_amounts(item, each, page.url) for page, each in self._items)
        return "differs" if decided else "undecided"

    def closest(self, item: Described) -> Closest:
        """Return the item that is most like *item*, which differs from all; of many, one of the first."""
        pairs = self._items[:_COMPARED]
        best = max(pairs, key=lambda pair: len(item.items() & pair[1].items()), default=None)
        if best is None:
            return Closest()
        return Closest(best[0], len(best[1]), self._notes.difference(item, best[1], best[0].exact))

    @property
    def varied(self) -> bool:
        """Whether items tell the pages apart: the first ones of two of them differ."""
        first = [next(iter(items.values()))[0] for _, items in self._pages if items]
        return any(_differing(first[0], each) for each in first[1:])

    def contradicts(self, item: Described) -> bool:
        """Whether each stored item of its own site says something else in a field that both have."""
        own = [each for page, each in self._items if page.one_site]
        return bool(own) and all(
            any(not _same(item[key], each[key]) for key in item.keys() & each.keys()) for each in own
        )

    @cached_property
    def _items(self) -> list[tuple[Repeated, Described]]:
        """Each stored item, with its page."""
        return [(page, each) for page, items in self._pages for each in chain(*items.values())]

    @cached_property
    def _text_decides(self) -> bool:
        """Whether the text tells what a single item of the page says.

        It does if all pages are of other sites, none of them is a list, the items of one site have the same
        short values, and some page has an item, or it is not known whether it has. Items of one site that
        differ in long texts alone are versions of a story.
        """
        if self.are_lists or any(page.one_site for page, _ in self._pages):
            return False
        short = {(page.site, outline) for page, items in self._pages for outline in items or [frozenset()]}
        known = any(items or not page.note for page, items in self._pages)
        return known and len(short) == len({site for site, _ in short})


def pack(items: Sequence[Described], behind: bytes = b"", *, more: bool = False) -> bytes:
    """Pack the items of a page into its note, a few bytes *behind* them. A page without any has one, too.

    A page may have *more* than these.
    """
    parts: list[bytes] = []
    for item in items[:MOST_ITEMS]:
        fields = (_FIELD.pack(key, len(value)) + value for key, value in sorted(item.items()))
        parts.append(bytes([len(item)]) + b"".join(fields))
    while sum(map(len, parts)) > MOST_BYTES - 2 - len(behind):
        parts.pop()
    count = _MORE if more or len(parts) < len(items) else len(parts)
    return bytes([count, len(parts)]) + b"".join(parts) + behind


def unpack(note: bytes) -> tuple[list[Described], bytes]:
    """Return the items of a note, and what it has behind them; an empty one says that nothing is known."""
    items: list[Described] = []
    at = 2
    for _ in range(note[1] if note else 0):
        item: Described = {}
        fields, at = note[at], at + 1
        for _ in range(fields):
            key, size = _FIELD.unpack_from(note, at)
            at += _FIELD.size + size
            item[key] = note[at - size : at]
        items.append(item)
    return items, note[at:]


def is_variant(url: str, other: str) -> bool:
    """Whether one of two URLs has the path of the other and all of its parameters."""
    one, two = urlsplit(url), urlsplit(other)
    parameters, others = ({*parse_qsl(each.query, keep_blank_values=True)} for each in (one, two))
    same_page = (one.netloc, one.path.rstrip("/")) == (two.netloc, two.path.rstrip("/"))
    return same_page and (parameters <= others or others <= parameters)


def _differing(item: Described, other: Described, exact: bool = True) -> list[int]:
    """Return the keys of the fields in which two items differ."""
    keys = sorted(item.keys() | other.keys())
    return [key for key in keys if not _same(item.get(key, b""), other.get(key, b""), exact)]


def _same(one: bytes, other: bytes, exact: bool = True) -> bool:
    """Whether two values say the same: equal ones, or a title with and without its site.

    Texts of *exact* copies do if they are nearly equal: what differs stands around the main text.
    """
    if exact and len(one) == len(other) == _TEXT.size:
        (sketch, numbers, bits, _), (other_sketch, other_numbers, other_bits, _) = map(
            _TEXT.unpack, (one, other)
        )
        same = bool(numbers == other_numbers)
        return same and (sketch ^ other_sketch).bit_count() <= min(bits, other_bits)
    told = len(one) != len(other) and _TEXT.size not in (len(one), len(other))  # one says more
    return one == other or (told and one[:_HASH] == other[:_HASH])


def other_amounts(item: Described, stored: Described, url: str = "") -> bool:
    """Whether two items have another amount, such as a price, in a field that both have."""
    return any(_other_amount(item, stored, key, url) for key in item.keys() & stored.keys())


def _other_amount(item: Described, stored: Described, key: int, url: str = "") -> bool:
    """Whether two items have another amount each in a field; a number that is in *url* is none."""
    one, two = item.get(key, b""), stored.get(key, b"")
    if not {len(one), len(two)} <= {_COUNTED, _COUNTED + _UNIT}:
        return False
    number, units = two[_HASH:_COUNTED], {one[_COUNTED:], two[_COUNTED:]} - {b""}
    if one[_HASH:_COUNTED] == number:
        return len(units) > 1
    return all(_hash(each)[: _COUNTED - _HASH] != number for each in _NUMBER.findall(url))


def _outline(item: Described) -> _Outline:
    """Return what two items that say the same have in common: all but texts and names of sites."""
    return frozenset(
        [(key, b"" if len(value) == _TEXT.size else value[:_HASH]) for key, value in item.items()]
    )


@lru_cache(maxsize=128)
def _by_outline(note: bytes, skipped: frozenset[int]) -> dict[_Outline, list[Described]]:
    """Return the items of a note by their outlines, without the fields that are *skipped*."""
    found: dict[_Outline, list[Described]] = {}
    for item in unpack(note)[0]:
        for key in skipped & item.keys():
            del item[key]
        found.setdefault(_outline(item), []).append(item)
    return found


def _key(name: str) -> int:
    return mmh3.hash(name.encode("utf-8", "surrogatepass"), signed=False) & 0xFFFF


def _hash(value: str | bytes) -> bytes:
    data = value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")
    return mmh3.hash(data, signed=False).to_bytes(_HASH, "little")


def _fields(name: str, value: object) -> Iterator[tuple[str, bytes]]:
    """Yield what a field says: its short values, and its text. Nothing for what says nothing."""
    texts, short = list[tuple[str, str]](), list[str]()
    found = [*islice(leaves(value), MOST_PARTS + 1)]
    for path, leaf in found if len(found) <= MOST_PARTS else [("", json.dumps(value, default=_whole))]:
        text = "\0now" if _is_moment(leaf) else _plain(leaf)
        if len(text) > _CHARACTERS and (text.count(" ") > _WORDS or not _is_spaced(text)):
            texts.append((path, text))
        elif text and not _URL.fullmatch(text):
            short.append(f"{path}\0{text}" if path else text)
    if len(short) == 1 and _TITLE.search(name):
        title, *site = _SEPARATOR.split(short[0].lower())
        # A part with a number is no name of a site, and a short one is rather a size.
        named = len(site) == 1 and len(title) > 3 and not _NUMBER.search(site[0])
        yield "", _hash(title) + _hash(site[0]) if named else _hash(short[0].lower())
    elif short:
        number, unit = _amount(short[0]) if len(short) == 1 and not _ID.search(name) else ("", "")
        said = _hash("\0\0".join(sorted(short)))
        amount = _hash(number)[: _COUNTED - _HASH] if number else b""
        yield "", said + amount + (_hash(unit)[:_UNIT] if unit else b"")
    if texts:
        paths = "".join(f"\0{path}" for path, _ in texts if path)
        yield "\n", _text(" ".join(text for _, text in texts), paths)


def fields_of(value: object) -> MutableMapping[str, Any] | None:
    """Return the fields of an item, which can be set; None for what is no item of a class that is known."""
    if type(value) is dict:
        return value
    # To import it takes a tenth of a second where Pydantic is installed.
    from itemadapter import ItemAdapter

    return ItemAdapter(value) if ItemAdapter.is_item(value) else None


def leaves(value: object, path: str = "", depth: int = 0) -> Iterator[tuple[str, object]]:
    """Yield each value within dicts, lists and items, with the path to it; a set has one path for all."""
    if value is None or isinstance(value, (str, bytes, int, float)) or depth > _DEPTH:
        yield path, value
    elif isinstance(value, (list, tuple)) and len(value) > 1:
        for number, each in enumerate(value):
            yield from leaves(each, f"{path}.{number}", depth + 1)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for each in value:
            yield from leaves(each, path, depth + 1)
    elif (fields := fields_of(value)) is not None:
        for name, each in fields.items():
            yield from leaves(each, f"{path}.{name}", depth + 1)
    elif (told := _told(value)) is not value:
        yield from leaves(told, path, depth + 1)
    else:
        yield path, value


def _told(value: object) -> object:
    """Return what an array or table holds: ``str()`` leaves out the middle; anything else as it is."""
    tell = getattr(value, "tolist", None) or getattr(value, "to_dict", None)
    return value if tell is None else tell()


def _whole(value: object) -> object:
    return str(value) if (told := _told(value)) is value else told


def _plain(value: object) -> str:
    """Return the text of a single value, with one space between its words if it is not long; "" for none."""
    if value is None:
        return ""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return text if len(text) > _MOST_CHARACTERS else " ".join(composed(text).split())


def _amount(text: str) -> tuple[str, str]:
    """Return the number of a price or size (of a price all), and the letters and signs such as % beside."""
    if len(text) > _BRIEF:
        return "", ""
    found = [*_AMOUNT.finditer(text)]
    priced = any(unicodedata.category(each) == "Sc" for each in text)
    if not (priced or (len(found) == 1 and sum(map(str.isalpha, text)) <= _LETTERS)):
        return "", ""
    numbers = []
    for sign, whole, _, decimals, alone in (each.groups("") for each in found):
        digits = f"{''.join(_NUMBER.findall(whole)) or 0}.{decimals or alone or 0}"
        numbers.append(f"{float('-' * bool(sign) + digits) + 0.0:.12g}")
    beside = (
        each for each in _AMOUNT.sub("", text) if each.isalnum() or unicodedata.bidirectional(each) == "ET"
    )
    return " ".join(numbers), "".join(sorted(beside))


def _is_spaced(text: str) -> bool:
    return text.count(" ") * 25 >= len(text)


def _text(text: str, paths: str) -> bytes:
    """Pack a text: an odd sketch of its words, a hash of its numbers, how many bits may differ, and its hash.

    A bit of an odd sketch says whether an odd number of words has it (Mitzenmacher, Pagh and Pham, WWW 2014),
    so few bits differ if few words do. Of a text without spaces each two characters are a word. Very long
    texts must be equal.
    """
    whole = mmh3.hash((text + paths).encode("utf-8", "surrogatepass"), signed=False)
    if len(text) > _MOST_CHARACTERS:
        return _TEXT.pack(whole, 0, 0, whole)
    spaced = _is_spaced(text)
    words = text.split(" ") if spaced else [text[at : at + 2] for at in range(len(text) - 1)]
    sketch = 0
    for word, count in Counter(words).items():
        for number in range(1, count + 1):  # of a word that occurs twice, both would cancel out
            counted = f"{word} {number}"
            sketch ^= 1 << (mmh3.hash(counted.encode("utf-8", "surrogatepass"), signed=False) & 63)
    numbers = [word for word in words if _NUMBER.search(word)] if spaced else _NUMBER.findall(text)
    told = mmh3.hash(" ".join(numbers).encode("utf-8", "surrogatepass"), signed=False)
    return _TEXT.pack(sketch, told, min(_BITS, len(words) // _WORDS_A_BIT), whole)


def _is_moment(value: object) -> bool:
    """Whether *value* is the time of now: as a datetime, a number of seconds or parts of them, or as text."""
    try:
        if isinstance(value, str) and 10 <= len(value) <= 40:
            if value.replace(".", "", 1).isdecimal():
                value = float(value)
            elif value.count(":") > 1 and "://" not in value:  # a date alone is no moment
                iso = value.replace("Z", "+00:00") if value[:4].isdecimal() else ""
                value = datetime.fromisoformat(iso) if iso else parsedate_to_datetime(value)
        if isinstance(value, datetime):  # without a zone it may be local or universal time
            times = [value.timestamp(), value.replace(tzinfo=value.tzinfo or timezone.utc).timestamp()]
        elif isinstance(value, (int, float)):
            times = [value / unit for unit in (1, 1e3, 1e6, 1e9)]
        else:
            return False
    except (OverflowError, ValueError, OSError, TypeError, IndexError):  # no clock shows such a time
        return False
    return any(abs(each - time.time()) <= _MOMENT for each in times)


def _cut(value: str | None, other: str | None) -> str | None:
    """Return some 120 characters of *value*, from a little before the first that *other* has not."""
    if value is None or len(value) <= 120:
        return value
    pairs = enumerate(zip(value, other or "", strict=False))
    alike = next((at for at, (one, two) in pairs if one != two), min(len(value), len(other or "")))
    start = max(0, alike - 20)
    return "…" * (start > 0) + value[start : start + 118] + "…" * (start + 118 < len(value))
