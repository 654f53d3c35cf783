"""What items say: which say the same, what is learned to say nothing, when the text of the page decides."""

import random
from dataclasses import field, make_dataclass
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from time import process_time

import numpy as np
import pytest

from scrapy_neardup.matching.items import MOST_BYTES, Difference, ItemNotes, RepeatedItems, pack, unpack
from scrapy_neardup.plugin.marks import match_of
from scrapy_neardup.verdict import Repeated, Verdict

TEXT = "The ferry keeps its winter timetable until the pier has been mended by the county. " * 6


@pytest.mark.parametrize(
    ("other", "found"),
    [
        ({"title": "Ferry", "text": TEXT + "Update: the pier opens on Friday, " * 9}, "undecided"),
        ({"title": "Train", "text": TEXT}, "differs"),
    ],
    ids=["versions of a story", "two things with one text"],
)
def test_items_of_one_site_that_differ_in_text_alone_are_versions(other, found):
    notes = ItemNotes()
    stored = [notes.describe(item) for item in ({"title": "Ferry", "text": TEXT}, other)]
    pages = [
        Repeated(f"https://a.example/{n}", pack([item]), 1, one_site=False, exact=False, pending=False)
        for n, item in enumerate(stored)
    ]
    copy = notes.describe({"title": "Ferry, by our agency", "text": TEXT})
    assert RepeatedItems(notes, pages).find(copy, several=False) == found


@pytest.mark.parametrize(("exact", "found"), [(True, "same"), (False, "differs")])
@pytest.mark.parametrize("other", ["Maria", "not", "foo_baz"])
def test_on_one_site_another_word_is_another_thing_unless_the_main_texts_are_equal(other, exact, found):
    notes = ItemNotes()
    one, item = (notes.describe({"text": f"{TEXT} {word} {TEXT}"}) for word in ("Anna", other))
    stored = Repeated("https://a.example/", pack([one]), 1, one_site=True, exact=exact, pending=None)
    assert RepeatedItems(notes, [stored]).find(item, several=False) == found


def test_who_says_a_long_text_is_part_of_what_is_said():
    one, other = (ItemNotes().describe({"review": {side: TEXT}}) for side in ("for", "against"))
    assert one != other


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ({"price": "19.99 €"}, {"price": "€24.99"}, "differs"),
        ({"price": "1.299,00 €"}, {"price": 1299.0}, "undecided"),
        ({"price": "1 299,50"}, {"price": "1,299.5 USD"}, "undecided"),
        ({"price": "from $19"}, {"price": "from $24"}, "differs"),
        ({"price": "₹5,00,000"}, {"price": "₹ 7,00,000"}, "differs"),
        ({"price": "$5 million"}, {"price": "$5 billion"}, "differs"),
        ({"price": "5 €"}, {"price": "5 $"}, "differs"),
        ({"price": "5-10 €"}, {"price": "5-20 €"}, "differs"),
        ({"price": "5万円"}, {"price": "5億円"}, "differs"),
        ({"price": "$.99"}, {"price": "$99"}, "differs"),
        ({"price": "١٢٫٥ ر.س"}, {"price": "12.50"}, "undecided"),
        ({"price": "EUR 5,-"}, {"price": "5 EUR*"}, "undecided"),
        ({"size": "3 kg"}, {"size": "5 kg"}, "differs"),
        ({"size": ".5"}, {"size": 5}, "differs"),
        ({"size": ".5 l"}, {"size": "0,50 l"}, "undecided"),
        ({"size": "0.125 kg"}, {"size": "125 kg"}, "differs"),
        ({"size": "5 MW"}, {"size": "5 mW"}, "differs"),
        ({"off": "5 %"}, {"off": "5 ‰"}, "differs"),
        ({"temperature": "-5 °C"}, {"temperature": "5 °C"}, "differs"),
        ({"temperature": "\u22125 °C"}, {"temperature": "5 °C"}, "differs"),
        ({"temperature": "5 °F"}, {"temperature": "5 °C"}, "differs"),
        ({"temperature": "\u22125 °C"}, {"temperature": "-5 °C"}, "undecided"),
        ({"price": "19.99"}, {"price": "on request"}, "undecided"),
        ({"price": "19.99"}, {"cost": "24.99"}, "undecided"),
        ({"id": 17}, {"id": 18}, "undecided"),
        ({"postId": 17}, {"postId": 18}, "undecided"),
        ({"number": 1234}, {"number": 18}, "undecided"),  # its URL has it
        ({"date": "2031-05-06"}, {"date": "2031-05-07"}, "undecided"),
        ({"date": "6.5.2031"}, {"date": "7.5.2031"}, "undecided"),
        ({"at": 1935000000}, {"at": 1935000999}, "undecided"),
        ({"at": "10:30"}, {"at": "11:30"}, "undecided"),
        ({"title": "Five dead", "by": "Ann, 37"}, {"title": "5 dead", "by": "Bea"}, "undecided"),
    ],
    ids=str,
)
def test_on_two_sites_another_amount_is_another_thing(one, other, found):
    notes = ItemNotes()
    stored = Repeated(
        "https://a.example/1234", pack([notes.describe(one)]), 1, one_site=False, exact=False, pending=None
    )
    repeated, item = RepeatedItems(notes, [stored]), notes.describe(other)
    assert repeated.find(item, several=False) == found
    if found == "differs":
        assert repeated.closest(item).differences[0].field in one


SPECS = (
    "Width 40 units, height 60 units, depth 22 units, weight 3 units, volume 17 units, power 800 units, " * 9
)
CHINESE = "这个水壶容量为3升,适合家庭使用。" * 20
LATER, NOW = datetime(2031, 5, 7, 19, tzinfo=timezone.utc), datetime.now(timezone.utc)
SIZES = [{"size": "S", "price": 10}, {"size": "M", "price": 12}]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (SIZES, [{"size": "S", "price": 12}, {"size": "M", "price": 10}]),
        (SIZES, SIZES[:1]),
        ({"price": {"amount": 5, "currency": "EUR"}}, {"price": {"amount": 5, "currency": "CHF"}}),
        (["Ann", "Bea", "Cora"], ["Bea", "Ann", "Cora"]),
        (SPECS, SPECS.replace("40", "x").replace("60", "40").replace("x", "60")),
        ([TEXT, TEXT], [TEXT.upper()[::-1], TEXT.upper()[::-1]]),
        (
            TEXT[:240],
            TEXT[:240].replace("winter", "summer").replace("pier", "mill").replace("county", "king"),
        ),
        (CHINESE, CHINESE.replace("3", "5")),
        (CHINESE, CHINESE.replace("水壶", "茶杯").replace("家庭", "公司")),
        ("红色水壶", "蓝色水壶"),
        ("word " * 20_000 + "red", "word " * 20_000 + "blue"),
        ("שלום", "שלומ"),
        ("/etc/hosts", "/etc/passwd"),
        ("Red kettle", "Red kettle XL"),
        ("Blue", "Blue | Green"),
        ("10²", "102"),
        ("10 m²", "10 m2"),
        ("5 MW", "5 mW"),
        ("-5 °C", "5 °C"),
        ("€5", "$5"),
        ("★★★", "★★"),
        *((np.zeros(n), np.eye(1, n, 700)[0]) for n in (1500, 2500)),
        (LATER, LATER.replace(hour=20)),
        (LATER.date(), LATER.replace(day=5, month=7).date()),
        (True, False),
        (False, None),
        (0, ""),
    ],
)
def test_values_that_visibly_differ_do_not_say_the_same(one, other):
    notes = ItemNotes()
    assert notes.difference(notes.describe({"a": one}), notes.describe({"a": other}))


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("title", "Red kettle", "Red kettle | Shop"),
        ("title", "Red kettle", "RED KETTLE"),
        ("at", NOW, (NOW - timedelta(seconds=9)).isoformat()),
        ("at", NOW.timestamp(), int(NOW.timestamp() * 1000)),
        ("meta", {"at": str(NOW), "is": 1}, {"at": format_datetime(NOW, usegmt=True), "is": 1}),
        ("image", ["https://a.example/1.png"], "/pictures/2.png"),
        ("a", [], None),
        ("a", " x\xa0y", "x y"),
        ("a", "Cafe\u0301", "Café"),
        ("text", TEXT, f"{TEXT} Printed for you"),
        ("text", CHINESE, f"{CHINESE}谢谢"),
        ("neardup_verdict", "unique", "exact"),
        ("copy_of", None, match_of(Verdict("exact"), "tag")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_says_nothing(name, one, other, monkeypatch):
    monkeypatch.setattr("time.time", NOW.timestamp)
    notes = ItemNotes()
    assert not notes.difference(*(notes.describe({name: each}) for each in (one, other)))


@pytest.mark.parametrize(
    "titles", [("Shop", "Red kettle | Shop"), ("Cups | B", "Cups | C"), ("Cup", "Cup | 12")]
)
def test_another_title_of_the_same_site_says_another_thing(titles):
    notes = ItemNotes()
    assert notes.difference(*(notes.describe({"title": each}) for each in titles))


def test_an_item_is_found_among_all_of_many_pages():
    """As by comparing pairs; where none says the same, the one with most equal fields is told."""
    dice, notes = random.Random(5), ItemNotes(["views"])

    def item():
        site = dice.choice(["", " | Shop"])
        return {
            "title": f"Cup {dice.choice('abc')}{site}",
            "size": dice.randrange(3),
            "text": TEXT + dice.choice(["", "Sold out", SPECS]),
            "views": dice.random(),
        }

    made = [[notes.describe(item()) for _ in range(dice.randrange(9))] for _ in range(9)]
    pages = [
        Repeated(f"https://a.example/{n}", pack(items), 1, one_site=True, exact=True, pending=False)
        for n, items in enumerate(made)
    ]
    repeated, seen = RepeatedItems(notes, pages), set()
    for _ in range(200):
        new = notes.describe(item())
        counts = [len(notes.difference(new, each)) for items in made for each in items]
        seen.add(found := repeated.find(new, several=False))
        assert found == ("differs" if min(counts) else "same")
    assert seen == {"same", "differs"}
    nearest = repeated.closest(notes.describe({"title": "Cup a", "size": 2, "text": "x", "views": 1}))
    assert nearest.fields == 3
    assert {each.field for each in nearest.differences} == {"text"}


def test_an_item_with_many_fields_or_too_many_bytes_is_packed_or_left_out():
    notes = ItemNotes()
    many = notes.describe({f"field {n}": n for n in range(400)})
    assert unpack(pack([many])) == ([many], b"")
    assert notes.difference(many, notes.describe({f"field {n}": n + (n == 399) for n in range(400)}))
    items = [notes.describe({f"{n}": f"{m}" for n in range(20)}) for m in range(80)]
    note = pack(items)
    packed, _ = unpack(note)
    assert packed == items[: len(packed)]
    assert 20 < len(packed) < 64
    assert len(note) <= MOST_BYTES


def test_items_of_any_size_and_shape_are_described_at_once():
    """Nothing else happens in a crawl meanwhile: fields hold pages of 5 MB, and objects that refer back."""
    thing = make_dataclass("Thing", ["name", "parent", ("parts", list, field(default_factory=list))])
    whole = thing("whole", None)
    whole.parts += [thing(f"{n}", whole) for n in range(40)]
    values = ["a1" * 2_500_000, "a 1 " * 1_200_000, [*range(300_000)], whole.parts[0]]
    start, notes = process_time(), ItemNotes()
    found = [
        notes.describe(each) for each in (*({"a": value} for value in values), dict.fromkeys(range(300_000)))
    ]
    assert process_time() - start < 2
    assert all(map(pack, zip(found)))


def test_what_is_shown_is_forgotten_in_time_and_an_item_may_hold_itself():
    notes, loop = ItemNotes(), []
    loop.append(loop)
    first, *_, last = (notes.describe({"a": value}) for value in (loop, *range(1 << 14)))
    assert notes.difference(last, first) == [Difference("a", str((1 << 14) - 1), None)]
    shorter, longer = (notes.describe({"a": "word " * 80 + end}) for end in ("", "and an end"))
    (found,) = notes.difference(longer, shorter, exact=False)
    assert found == Difference("a", f"…{'word ' * 4}and an end", f"…{'word ' * 4}")


IDENTIFIERS = [f"7f3a{n}91c2e{n}04be{n}719d" for n in range(6)]


@pytest.mark.parametrize(
    ("values", "learned"),
    [
        (IDENTIFIERS, True),
        ([each for pair in zip(IDENTIFIERS, ["red", "blue", "green"], strict=False) for each in pair], False),
        ([each for pair in zip(["red", "blue", "green"], IDENTIFIERS, strict=False) for each in pair], False),
        (["B07XK2N5P9", "B08YL3M6Q0", "B01AB2C3D4", "B02ZX9Y8W7", "B03QW1E2R3", "B04TY5U6I7"], False),
        (["10", "12", "14", "15", "16", "18"], False),
        (["KT-100", "KT-101", "KT-102", "KT-103", "KT-104", "KT-105"], False),
        (["red kettle", "blue kettle", "green kettle", "pot", "pan", "lid"], False),
    ],
)
def test_only_identifiers_are_learned_to_say_nothing(values, learned):
    notes = ItemNotes()
    for page, (stored, new) in enumerate(zip(values[::2], values[1::2], strict=True)):
        notes.learn([Difference("a", new, stored)], f"https://a.example/{page}")
    assert notes.learned == ({"a"} if learned else set())
