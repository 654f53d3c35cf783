"""Finds rules for URLs in an audit: edits, such as dropping a parameter, that make only copies equal."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, combinations, starmap
from typing import Any, NamedTuple

from scrapy_neardup.matching.sites import rewritten, site_key, split_url

#: With 52 trials and no failure, the share that fails is at most 5 % (Wilson's bound, one-sided, at 95 %).
LEAST_PRECISION, _Z2 = 0.95, 1.645**2
#: An edit that holds for so many shapes of paths is for all of their hosts.
_SHAPES = 3
#: After some rules pages differ in one thing alone that have differed in two. Edits that are tried in each.
_ROUNDS, _EDITS = 3, 50
#: Edits that are counted at a time. Of more, as where each URL has a parameter of its own, the rarest go.
_COUNTED = 10_000
#: How many URLs of copies are compared with each other, the shortest ones.
_COMPARED = 5
#: What a rule may take out of a path: words and what stands between them, no numbers.
_WORDS = re.compile(r"[^\W\d]*(?:[-./:]+[^\W\d]*){0,3}")
_TOKENS = re.compile(r"\w+|\W")
#: Parameters: of the query, and those in the path with their semicolon.
_NAMES = re.compile(r"[?&]([^=&?]+)=|(;[^=/?;]+)=")
#: More than this is no query of a site that works.
_PARAMETERS = 30
#: A segment of a path that names something, rather than one of many things.
_NAME = re.compile(r"(?:[^\W\d_]{1,20}(?:\.[^\W\d_]+)?)?")
_TITLE = re.compile(r"[^\W\d_]+")


class Edit(NamedTuple):
    """A change of URLs."""

    #: What is taken out, names of parameters (``a&b``) or a part of scheme, host and path; what replaces it.
    name: str
    by: str
    #: What finds it, a regular expression, and the replacement, in which ``\\L`` makes all lower case.
    pattern: str
    to: str
    #: Strings of which each URL that is changed contains at least one.
    parts: tuple[str, ...]
    #: Whether it takes out parameters of queries.
    of_query: bool = False


class Rule(NamedTuple):
    """An edit of some URLs of a site, and what was measured."""

    edit: Edit
    #: Hosts, or hosts and paths as `_shape` has them.
    scope: tuple[str, ...]
    #: For how many pages it was tried, each having several URLs that become one; and how many URLs these are.
    support: int = 0
    urls: int = 0
    #: Two pairs of URLs that become one.
    examples: tuple[tuple[str, str], ...] = ()

    @property
    def precision(self) -> float:
        """The lower bound of the share of trials in which all pages are copies."""
        return self.support / (self.support + _Z2)

    @property
    def pattern(self) -> str:
        """The regular expression for what is replaced by ``edit.to``."""
        return f"^(?=https?://(?:{'|'.join(map(_expression, self.scope))})){self.edit.pattern}"

    @property
    def what(self) -> str:
        """What the rule does, in words."""
        return f"without {self.edit.name}" + f", but {self.edit.by}" * bool(self.edit.by)

    def facts(self) -> dict[str, Any]:
        """Return the rule as NEARDUP_RULES takes it."""
        measured = {"pages": self.support, "urls": self.urls, "precision": round(self.precision, 4)}
        why = {"what": self.what, "where": [*self.scope], **measured, "examples": [*map(list, self.examples)]}
        return {"url": self.pattern, "to": self.edit.to, "why": why}


class _Page(NamedTuple):
    #: The same for copies; None if it is not known, as of what is too short.
    content: object
    #: The page that it names as canonical, with title and length; empty if it names none.
    says: object
    #: The URL as it is.
    url: str


#: Columns of ``pages.jsonl`` that rules are learned from.
COLUMNS = ("url", "title", "verdict", "cluster", "declared", "tokens")
#: The pages of a site by their normalised URLs.
Pages = dict[str, _Page]


def find_rules(rows: Iterable[Mapping[str, Any]], least: float = LEAST_PRECISION) -> Iterator[Rule]:
    """Yield the rules, each of at least so much `precision`, for rows of ``pages.jsonl``, in their order."""
    for pages in by_site(rows, least).values():
        yield from _of_site(pages, least)


def by_site(rows: Iterable[Mapping[str, Any]], least: float = 0) -> dict[int, Pages]:
    """Return the pages of each site that have a URL, and that may have rules of *least* precision."""
    rows = [row for row in rows if row["url"].startswith(("http://", "https://"))]
    every: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        every[site_key(row["url"])].append(row)
    sites: dict[int, Pages] = {}
    for site, some in every.items():
        if (most := _trials(some)) < least * (most + _Z2):
            continue
        pages, names = sites.setdefault(site, {}), dict[object, set[str]]()
        for number, row in enumerate(some):
            url, content = row["url"], None
            says = row["declared"] and (row["declared"], row["title"], row["tokens"])
            if row["verdict"] != "wall" and (says or row["verdict"] != "too_short"):
                other = row["cluster"] is None or row["verdict"] == "part"  # which says less
                if not other and (mine := {*_TITLE.findall((row["title"] or "").lower())}):
                    name = names.setdefault(row["cluster"], mine)
                    other = not (mine <= name or name <= mine)  # by its name it is another page
                content = -1 - number if other else row["cluster"]
            page, key = _Page(content, says, url), normalised(url)
            # If it has changed between two visits, nobody knows what it has meanwhile.
            again = key in pages and differ([pages[key], page])
            pages[key] = page._replace(content=None) if again else page
    return sites


def _trials(rows: Sequence[Mapping[str, Any]]) -> int:
    """Return how many pages of a site an edit can be for: what `_possible` yields one for at the most."""
    same = Counter(row["cluster"] for row in rows if row["cluster"] is not None)
    same.update((row["declared"], row["title"], row["tokens"]) for row in rows if row["declared"])
    return max(sum("=" in row["url"] for row in rows), sum(count // 2 for count in same.values()))


def differ(pages: Sequence[_Page]) -> bool:
    """Tell whether *pages* are known to be different.

    Not if they have one title and length, and name one page as canonical: only short lines differ then.
    """
    same, left = {pages[0].content, pages[0].says}, pages[1:]
    while left:
        more = [page for page in left if page.content in same or (page.says and page.says in same)]
        if not more:
            return True
        same |= {each for page in more for each in (page.content, page.says)}
        left = [page for page in left if page.content not in same]
    return False


def normalised(url: str) -> str:
    """Return *url* with its parameters in order, and without a fragment."""
    parts = split_url(url)
    query = "&".join(sorted(filter(None, parts.query.split("&", _PARAMETERS)[:_PARAMETERS])))
    return f"{parts.scheme}://{parts.netloc}{parts.path}" + f"?{query}" * bool(query)


def _shape(url: str) -> str:
    """Return host and path of a normalised URL, `*` in place of what is no word."""
    host, *path = url.partition("?")[0].split("/")[2:]
    return "/".join([host, *(each if _NAME.fullmatch(each) else "*" for each in path)])


def _expression(shape: str) -> str:
    """Return the regular expression for a host, or for a host and path."""
    end = "[?#]|$" if "/" in shape else "[/?#]|$"
    return re.escape(shape).replace(r"\*", "[^/?#]*") + f"(?={end})"


def _of_site(pages: Pages, least: float) -> Iterator[Rule]:
    for _ in range(_ROUNDS):
        before = pages
        for edit, often in _edits(pages).most_common(_EDITS):
            if Rule(edit, (), often).precision < least:
                break
            for scope in _scopes(edit, pages, least):
                rule = tried(Rule(edit, scope), pages)
                if rule is not None and rule.precision >= least:
                    yield rule
                    pages = after(rule.pattern, edit.to, edit.parts, pages)
        if pages is before:
            return


def after(pattern: str, to: str, parts: tuple[str, ...], pages: Pages) -> Pages:
    """Return *pages* by their URLs after a rule for URLs with one of *parts* in them."""
    found: Pages = {}
    find = re.compile(pattern)
    for url, page in pages.items():
        new = rewritten(url, find, to, normalised) if any(part in url for part in parts) else url
        if new not in found or found[new].content is None:
            found[new] = page
    return found


def _edits(pages: Pages) -> Counter[Edit]:
    """Return the edits that may make URLs of copies one, with how often they could."""
    found: Counter[Edit] = Counter()
    for edit in _possible(pages):
        found[edit] += 1
        if len(found) > _COUNTED:
            found = Counter(dict(found.most_common(_COUNTED // 2)))
    return found


def _possible(pages: Pages) -> Iterator[Edit]:
    """Yield edits: for each URL those that take out a parameter, for each page those that join its URLs."""
    copies: dict[tuple[object, str], list[str]] = defaultdict(list)
    queries: dict[tuple[object, str], list[str]] = defaultdict(list)
    for url, page in pages.items():
        yield from map(_without, {query or path for query, path in _NAMES.findall(url)})
        place, _, query = url.partition("?")
        for same in {page.content, page.says} if page.content is not None else ():
            if same:
                copies[same, query].append(place)
                queries[same, place].append(query)
    for urls, differences in ((copies, _differences), (queries, _parameters)):
        for each in urls.values():
            few = sorted(each, key=lambda url: (-len(url), url))[-_COMPARED:]
            yield from {*chain.from_iterable(starmap(differences, combinations(few, 2)))}


@lru_cache(maxsize=1000)
def _without(name: str) -> Edit:
    """Return the edit that takes parameters out, ``a&b``, or that of a path, ``;a``."""
    start = r"([^?#]*?)" if name[0] == ";" else r"([^?#]*\?(?:[^#]*?&)?)"
    either = "|".join(map(re.escape, name.split("&")))
    pattern = rf"{start}(?:{either})=[^;&/?#]*"
    return Edit(name, "", pattern, r"\1", (*name.split("&"),), of_query=name[0] != ";")


def _parameters(query: str, other: str) -> Iterator[Edit]:
    """Yield the edit that makes one of two queries the other, if it has several parameters more."""
    more, less = {*query.split("&")}, {*other.split("&")} - {""}
    names = {part.partition("=")[0] for part in more - less if "=" in part}
    if less < more and len(names) > 1:
        yield _without("&".join(sorted(names)))


def _differences(place: str, kept: str) -> Iterator[Edit]:
    """Yield the edits that make the one of two URLs without queries the other."""
    if place.lower() == kept.lower():
        yield Edit("A", "a", "[^?#]*", r"\L", ("",))
        return
    one, other = place.split("/"), kept.split("/")
    for at, name in enumerate(one[:-2]):
        # Such as /category/red/p/1 and /p/1, or /category/blue/p/1.
        others = (one[:at] + one[at + 2 :], [*one[: at + 1], *other[at + 1 : at + 2], *one[at + 2 :]])
        if name.isalpha() and other in others:
            yield Edit(f"{name}/*/", "", rf"([^?#]*?/){name}/[^/?#]+/", r"\1", (f"{name}/",))
    one, other = _TOKENS.findall(place), _TOKENS.findall(kept)
    shorter = min(len(one), len(other))
    start = next((at for at in range(shorter) if one[at] != other[at]), shorter)
    shorter -= start
    end = next((at for at in range(shorter) if one[-1 - at] != other[-1 - at]), shorter)
    part, by = ("".join(each[start : len(each) - end]) for each in (one, other))
    if part and _WORDS.fullmatch(part) and _WORDS.fullmatch(by):
        head = r"(?<!\w)" if part[0].isalpha() else ""
        tail = "(?=[?#]|$)" if not end else r"(?!\w)" if part[-1].isalpha() else ""
        yield Edit(part, by, rf"([^?#]*?){head}{re.escape(part)}{tail}", rf"\1{by}", (part,))


def _scopes(edit: Edit, pages: Pages, least: float) -> list[tuple[str, ...]]:
    """Return what a rule may be for: all hosts where it has been tried, or shapes of paths."""
    found: Counter[str] = Counter()
    wrong: set[str] = set()
    for old, known in _joined(f"^{edit.pattern}", edit.to, edit.parts, pages):
        if len(known) > 1:
            names = {*map(_shape, old)}
            found.update(names)
            wrong |= names if differ(known) else set()
    if len(found) >= _SHAPES and not wrong:
        return [tuple(sorted({name.partition("/")[0] for name in found}))]
    often = [(name,) for name, count in found.items() if Rule(edit, (), count).precision >= least]
    return [scope for scope in often if scope[0] not in wrong]


def _joined(
    pattern: str, to: str, parts: tuple[str, ...], pages: Pages
) -> Iterator[tuple[list[str], list[_Page]]]:
    """Yield the URLs, with one of *parts*, that become one of several pages, and what is known of these."""
    joined: dict[str, list[str]] = defaultdict(list)
    find = re.compile(pattern)
    for url in pages:
        new = rewritten(url, find, to, normalised) if any(part in url for part in parts) else url
        if new != url:
            joined[new].append(url)
    for new, old in joined.items():
        every = [*old, new] if new in pages else old
        if len(every) > 1:
            yield old, [pages[url] for url in every if pages[url].content is not None]


def tried(rule: Rule, pages: Pages) -> Rule | None:
    """Return *rule* with what is measured; None if it joins different pages, or seldom shows."""
    unknown = urls = 0
    examples = []
    for _, known in _joined(rule.pattern, rule.edit.to, rule.edit.parts, pages):
        if len(known) < 2:
            unknown += 1
        elif differ(known):
            return None
        else:
            urls += len(known)
            examples.append((known[0].url, known[-1].url))
    support = len(examples)
    return None if unknown > support else rule._replace(support=support, urls=urls, examples=(*examples[:2],))


def for_discarder(
    rows: Iterable[Mapping[str, Any]], least: float = LEAST_PRECISION
) -> Iterator[dict[str, Any]]:
    """Yield the rules for parameters of queries, each as a file of duplicate-url-discarder holds it.

    Its patterns of URLs reach further than ours, so each rule is tried once more as it applies it.
    """
    for pages in by_site(rows).values():
        for rule in _of_site(pages, least):
            if not rule.edit.of_query:
                continue
            include = [each + "|/"["/" not in each] for each in rule.scope]
            places = (re.escape(each).replace(r"\*", ".*").replace(r"\|", "(?=[?#]|$)") for each in include)
            wide = rf"(?i)^(?=https?://(?:www\.)?(?:{'|'.join(places)})){rule.edit.pattern}"
            if not any(differ(known) for _, known in _joined(wide, rule.edit.to, ("",), pages) if known):
                pages = after(wide, rule.edit.to, ("",), pages)
                yield {
                    "order": 100, "urlPattern": {"include": include}, "processor": "queryRemoval",
                    "args": rule.edit.name.split("&"),
                }  # fmt: skip
