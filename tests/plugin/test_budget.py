"""NEARDUP_BUDGET: which requests are held back, and what that saves and loses on sites of several shapes."""

import json
import random
from datetime import date, timedelta
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request

from scrapy_neardup.plugin.budget import Budget, shape_of
from tests.helpers import forked

URL = "https://a.example/p/12?from=x"


def budget(how="skip", state=None):
    state = {} if state is None else state
    return Budget(how, lambda: state, lambda request: False)


def link(url, **options):
    request = Request(url, **options)
    budget().follows("https://a.example/", request, {})
    return request


def visited(spent, pages):
    """Ask for *pages*, URLs with what they show, until none is left; return what is lost, and requests sent.

    A page shown may have further pages, a third value. One is new if what it shows has not come; b"" fails.
    """
    skipped, come, sent, todo = set(), set(), 0, [(link(url), *shown) for url, *shown in pages]
    while todo:
        request, story, *further = todo.pop(0)
        if not spent.held(request):
            sent += 1
            if not story:
                continue
            spent.judged(request.url, "new", new=story not in come, story=story)
            come.add(story)
            todo[:0] = [(link(url), *shown) for url, *shown in (further[0]() if further else ())]
        elif later := spent.later(request):
            todo.append((later, story, *further))
        else:
            skipped.add(story)
    return skipped - come, sent


@given(st.lists(st.booleans(), max_size=200))
def test_a_shape_is_closed_by_copies_opened_by_a_new_page_and_all_that_wait_are_sent(events):
    spent, run, waiting = budget(), 0, []
    for new in events:
        spent.judged(URL, "new", new=new)
        run = 0 if new else run + 1
        held = spent.held(request := link(URL))
        assert (run > 0) if held else (run < (60 if True in events else 10))
        waiting = [] if new else [*waiting, *([spent.later(request)] if held else [])]
    spent.judged(URL, "new", new=True)
    assert not any(map(spent.held, waiting))


def test_all_that_wait_are_sent_if_counts_are_forgotten_in_the_middle_of_their_sample():
    waiting = [link(f"https://a.example/p/{number}?from=x") for number in range(1000)]
    state = {}
    spent = Budget("skip", lambda: state, lambda request: True)
    for looks in (2, 0):
        state.clear()
        for number in range(1060):  # of the first shape all are new, of the second none
            spent.judged(f"https://a.example/q/{number}" if number < 1000 else URL, "new", new=number < 1000)
        for _ in range(looks):
            waiting = [spent.later(request) for request in waiting if spent.held(request)]
    assert len(waiting) > 500
    assert not any(map(spent.held, waiting))


def test_a_trap_without_end_is_left_after_a_sample():
    def further():
        return [(f"https://a.example/t/{random.getrandbits(64)}", b"copy", further) for _ in range(3)]

    random.seed(1)
    pages = [(f"https://a.example/p/{number}", b"%d" % number) for number in range(100)]
    assert visited(budget(), [*pages, *further()])[1] < 500


@pytest.mark.parametrize("where", ["first", "anywhere", "last"])
def test_what_is_not_rare_is_not_missed_wherever_a_site_hides_it(where):
    """300 products whose variants are copies, but for 20: of 250 copies first, say. Three may be missed."""
    for seed, new in ((1, 3), (2, 20), (3, 20), (4, 20), (5, 0)):
        random.seed(seed)
        shown = {
            "first": range(new),
            "last": range(300 - new, 300),
            "anywhere": random.sample(range(300), new),
        }
        pages = []
        for number in range(300):
            url, story = f"https://a.example/p/{number}", b"%d" % number
            pages += [(url, story), (f"{url}?color=red", story + b"red" * (number in shown[where]))]
        missed, sent = visited(budget(), pages)
        assert not missed or new == 3
        assert new or sent < 420


def test_all_are_sent_if_those_that_were_drawn_fail():
    pages = [(f"https://a.example/p/{number}", b"%d" % number) for number in range(100)]
    pages += [
        (f"{url}?color=red", story if number < 50 else b"") for number, (url, story) in enumerate(pages)
    ]
    assert visited(budget(), pages) == (set(), 200)


@given(st.permutations(["a=1", "b=2", "c[]=3"]), st.integers(0, 10**6))
def test_a_shape_is_that_of_all_values(parameters, number):
    assert shape_of(f"https://A.example/shop/red-kettle-{number}?{'&'.join(parameters)}") == (
        "a.example/shop/*?a&b&c[]"
    )
    assert shape_of(f"https://a.example/p/{number}#x") == "a.example/p/*?"
    assert shape_of("https://a.example/p?board=1.0;sort=views;desc&q=a;b") == "a.example/p?board&q&sort"
    assert shape_of(URL) != shape_of("https://b.example/p/12?from=x")


@pytest.mark.parametrize(
    "options",
    [
        {"method": "POST"},
        {"dont_filter": True},
        {"meta": {"neardup": False}},
        {"cb_kwargs": {"item": {"name": "Lamp"}}},
        {"meta": {"item": {"name": "Lamp"}}},
    ],
)
def test_what_is_never_held_back(options):
    random.seed(1)
    spent = budget()
    for _ in range(100):
        spent.judged(URL, "new", new=False)
    assert spent.held(Request(URL)) is None  # nobody has yielded it: it is of start()
    assert "brought something new" in spent.held(link(URL))
    assert all(spent.held(link(URL, **options)) is None for _ in range(30))


def test_links_that_lead_on():
    spent = budget()

    def new(*urls):
        seen = {}
        return [spent.follows("https://a.example/list/1", Request(url), seen) for url in urls]

    # A link to the page itself, such as href="#", has the session of an earlier page.
    page = "https://a.example/t?id=1&sid=old"
    spent.follows(page, Request("https://a.example/t?id=1&sid=new"), seen := {})
    assert not spent.follows(page, Request(f"{page}#top"), seen)
    assert spent._varying == set()
    for session in range(2):  # the same links with another session each time
        links = [f"https://a.example/t?id={number}&sid={session}" for number in range(9)]
        assert new(*links)[1:] == [session == 0] * 8
    assert new("https://a.example/list/2?colour=red") == [False]  # a facet
    assert new("https://a.example/t?id=10&sid=7", "https://a.example/t?id=1&sid=7") == [True, False]


@given(st.lists(st.sampled_from(["copy", "copy", "copy", "other", "new"]), max_size=60), st.booleans())
def test_what_tells_twins_apart_is_closed_by_copies_of_twins_that_have_come(events, session):
    spent, run = budget(), 0
    url = "https://a.example/{}?sid={}" if session else "https://a.example/{}/print"
    for number, event in enumerate(events):
        first = url.format(number, 1) if session else f"https://a.example/{number}"
        spent.judged(first, "new", new=True, story=bytes([number + 1]))
        story = bytes([number + 1 if event == "copy" else 255])
        spent.judged(url.format(number, 2), "new", new=event == "new", story=story)
        run = run + 1 if event == "copy" else run if event == "other" else 0
    twin, lone = url.format(0, 3), url.format("lone", 3)
    held = [bool(spent.held(link(each))) for each in (lone, twin)]
    if run >= (60 if "new" in events else 10):
        assert held == [False, True]
    if len(events) < 10:
        assert held == [False] * 2


def test_what_a_page_shows_under_another_session_is_no_new_page_and_what_was_sent_by_post_is_no_twin():
    random.seed(1)
    spent = budget()
    for number in range(20):  # such as pages with items whose text is too short to be a copy
        spent.judged(f"https://a.example/p?sid={number}", "new", new=True, story=b"shown")
        spent.judged("https://a.example/q?n=1#POST-7f", "new", new=True, story=b"posted")
    assert [spent.held(link(f"https://a.example/p?sid={each}")) is None for each in "xy"] == [False, False]
    assert [spent.held(link(f"https://a.example/q?n={each}")) is None for each in "xy"] == [True, True]


def test_items_that_have_come_under_any_url_are_not_new():
    random.seed(1)
    state = {}
    budget(state=state).note_items(1)
    spent = budget(state=state)  # the crawl was resumed
    for number in range(100):  # such as a letter in its thread, and alone
        for url in (f"https://a.example/p/{number}", f"https://a.example/letter?id={number}"):
            spent.judged(url, "new", new=True, story=b"%d" % number)
    assert spent.held(link("https://a.example/letter?id=x"))
    assert spent.held(link("https://a.example/p/x")) is None


def test_skipped_and_deferred():
    for how in ("defer", "skip"):
        spent = budget(how)
        for _ in range(100):
            spent.judged(URL, "new", new=False)
        spent.held(request := link(URL, priority=3, cb_kwargs={"a": 1}))
        later = spent.later(request)
        assert (later.dont_filter, later.cb_kwargs) == (True, {"a": 1})
        assert later.priority < -1000
        assert spent.held(later) is None  # the only one is drawn, or not skipped


class Shop:
    """A category with facets and sort parameters, whose products are linked with where they were found."""

    start, items = "/c/all", 14
    values = {"colour": ("red", "blue", "green"), "sort": ("price", "name", "new"), "view": ("grid", "list")}

    def __init__(self, text):
        self.text = text

    def show(self, path, query):
        """Return what makes the page another than all others, its HTML, and the links of the page."""
        if path.startswith("/p/"):
            number = int(path[3:])
            return path, f"<h1>Lamp {number}</h1><i>{number}.90</i><p>{self.text(number)}</p>", ["/c/all"]
        colour, sort = query.get("colour", ""), query.get("sort", "")
        names = self.values["colour"]
        found = [each for each in range(self.items) if not colour or names[each % 3] == colour]
        random.Random(sort).shuffle(found)
        source = f"?from={'-'.join(query.values())}" if query else ""
        links = [f"/p/{each}{source}" for each in found]
        for name, values in self.values.items():
            links += [f"/c/all?{urlencode(sorted({**query, name: each}.items()))}" for each in values]
        teasers = "".join(f"<p>{self.text(each, 25)}</p>" for each in found)
        return (path, colour, sort), f"<h1>Lamps</h1>{teasers}", links


class Limited(Shop):
    """A shop in two colours that soon says "too many requests" in place of one."""

    start, asked = "/", 0

    def show(self, path, query):
        self.asked += 1
        if path == "/":
            return path, "", [f"/p/{each}{colour}" for each in range(200) for colour in ("", "?colour=red")]
        if query and self.asked > 90:
            return 0, "<p>Too many requests.</p>", []
        return path, f"<h1>Lamp {path}</h1><p>{self.text(int(path[3:]))}</p>", ["/"]


class Gallery(Shop):
    """Pictures in two sizes, which differ in nothing but the URL of a file."""

    start, items = "/", 200

    def show(self, path, query):
        if path == "/":
            return path, "", [f"/p/{each}{size}" for each in range(200) for size in ("?size=big", "")]
        return path, f"<h1>Picture</h1><img src='https://b.example{path}.jpg?{random.random()}'>", []


class Forum(Shop):
    """Boards with ?sort= and ?page=, threads in two orders, and another session in the links of each page."""

    start, items = "/", 60

    def show(self, path, query):
        session = f"sid={random.getrandbits(32):x}"
        if path == "/thread":
            number, order = int(query["t"]), query.get("order", "")
            posts = [f"<p>{self.text(1000 * number + each, 60)}</p>" for each in range(5)]
            body = "".join(posts[::-1] if order else posts)
            links = ["#top", f"/thread?t={number}&order=desc&{session}", f"/board?b={number // 15}&{session}"]
            return (path, number), f"<h1>Thread {number}</h1>{body}", links
        if path == "/":
            return path, "<h1>Forum</h1>", [f"/board?b={each}&{session}" for each in range(4)]
        board, sort, page = int(query["b"]), query.get("sort", "new"), int(query.get("page", 0))
        threads = [*range(15 * board, 15 * board + 15)]
        random.Random(sort).shuffle(threads)
        threads = threads[5 * page : 5 * page + 5]
        links = [f"/thread?t={each}&{session}" for each in threads]
        links += [f"/board?b={board}&sort={sort}&page={each}&{session}" for each in range(3)]
        links += [f"/board?b={board}&sort={each}&{session}" for each in ("new", "views", "author")]
        teasers = "".join(f"<p>{self.text(1000 * each, 25)}</p>" for each in threads)
        return (path, board, sort, page), f"<h1>Board {board}</h1>{teasers}", [*links, f"/?{session}"]


class Calendar(Shop):
    """Weeks and days without end in both directions; some days of one year have an event."""

    start, items = "/week?w=2026-06-01", 40

    def show(self, path, query):
        if path.startswith("/event/"):
            number = int(path[7:])
            return path, f"<h1>Event {number}</h1><p>{self.text(number)}</p>", [self.start]
        events = {str(date(2026, 1, 1) + timedelta(9 * number)): number for number in range(self.items)}
        frame = f"<p>{self.text(5000, 50)}</p>"
        if path == "/day":
            found = events.get(query["d"])
            if found is None:
                return "a day", f"<h1>{query['d']}</h1><p>No events</p>{frame}", [self.start]
            body = f"<h1>{query['d']}</h1><p>{self.text(found, 30)}</p>{frame}"
            return query["d"], body, [f"/event/{found}"]
        first = date.fromisoformat(query["w"])
        days = [str(first + timedelta(each)) for each in range(7)]
        shown = [each for each in days if each in events]
        links = [f"/day?d={each}" for each in days] + [f"/event/{events[each]}" for each in shown]
        links += [f"/week?w={first + timedelta(each)}" for each in (-7, 7)]
        titles = "".join(f"<p>{self.text(events[each], 12)}</p>" for each in shown)
        return tuple(shown) or "a week", f"<h1>Week of {first}</h1>{titles}{frame}", links


@pytest.fixture
def visit(site, pages, text, crawl):
    """Crawl a site; return the result, what was shown, and how many requests have brought copies."""

    async def run(kind, **settings):
        made, asked = kind(text), []

        def get(self):
            parts = urlsplit(self.path)
            what, body, links = made.show(parts.path, dict(parse_qsl(parts.query)))
            asked.append(what)
            anchors = "".join(f"<a href='{each}'>x</a>" for each in links)
            self.answer(f"<html><head><title>x</title></head><body>{body}{anchors}</body></html>".encode())

        class Spider(pages):
            def parse(self, response):
                name = response.css("h1::text").get()
                if name and response.url.split("/")[3].startswith(("p", "thread", "event")):
                    yield {"name": name, "files": [{"url": response.css("img::attr(src)").get()}]}
                yield from response.follow_all(css="a")

        site.server.RequestHandlerClass.do_GET = get
        result = await crawl(Spider, settings, urls=[site.url + made.start], at_once=16)
        return result, {*asked}, len(asked) - len({*asked})

    return run


async def test_requests_for_copies_are_saved_and_no_page_is_lost(visit):
    _, all_shown, all_copies = await visit(Shop)
    result, shown, copies = await visit(Shop, NEARDUP_BUDGET="skip")
    print(f"{len(all_shown)} pages, {1 - copies / all_copies:.2f} of {all_copies} copies saved")
    assert copies <= 0.4 * all_copies
    assert shown == all_shown
    skips = [line for line in result.report if line["action"] == "skip"]
    assert len(skips) == result["budget/skipped"] > 60
    assert all("brought something new" in line["why"]["budget"] for line in skips)
    deferring, shown, copies = await visit(Shop, NEARDUP_BUDGET="defer")
    assert (shown, copies) == (all_shown, all_copies)
    assert deferring["budget/deferred"] > 50


async def test_what_is_answered_in_place_of_pages_tells_nothing_of_them(visit):
    result, _, _ = await visit(Limited, NEARDUP_BUDGET="skip")
    assert (result["budget/skipped"], result["too_short"] > 50) == (0, True)


async def test_pictures_without_text_are_pages_of_their_own(visit):
    _, shown, copies = await visit(Gallery, NEARDUP_BUDGET="skip")
    assert len(shown) == 201
    assert copies < 150


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", [Forum, Calendar])
async def test_a_trap_without_end_is_left_with_all_that_is_in_it(visit, kind):
    """Without a budget the crawl of the forum sees 17 of its 97 pages in 1,500 requests."""
    result, shown, copies = await visit(kind, CLOSESPIDER_PAGECOUNT=6000, NEARDUP_BUDGET="skip")
    print(f"{kind.__name__}: {len(shown)} pages, {copies} copies, {result['budget/skipped']} skipped")
    assert result.stats["finish_reason"] == "finished"
    assert len({item["name"] for item in result.items}) == kind.items


def test_what_was_skipped_is_a_feed_for_a_later_crawl(tmp_path):
    told = [("skip", "/1"), ("defer", "/2"), ("skip", "/1"), ("drop_items", "/3"), ("skip", "/4")]
    lines = [json.dumps({"action": action, "url": url}) for action, url in told]
    (tmp_path / "report.jsonl").write_text("\n".join([*lines, lines[0][:9]]))

    def skipped(name):
        return forked.scrapy("neardup", "skipped", tmp_path / name, cwd=tmp_path)

    found = skipped("report.jsonl")
    assert [json.loads(line)["url"] for line in found.stdout.splitlines()] == ["/1", "/4"]
    assert (found.returncode, skipped("none").returncode) == (0, 2)


async def test_a_crawl_without_copies_skips_nothing(site, crawl, pages):
    urls = [site.article(f"/p/{number}", number) for number in range(120)]
    site.article("/", 999, links=tuple(urls))
    result = await crawl(pages, {"NEARDUP_BUDGET": "skip"}, urls=[site.url + "/"])
    assert (len(result.items), result["budget/skipped"]) == (121, 0)


async def test_what_waits_for_others_leaves_its_place_to_them(site, crawl, pages, monkeypatch):
    first, other = site.articles(2)
    monkeypatch.setattr(Budget, "waits", lambda _, request: request.url == first and not site.hits["/1"])
    settings = {"NEARDUP_BUDGET": "skip", "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue"}
    result = await crawl(pages, settings, urls=[first, other])
    assert result.spider.seen == [other, first]
