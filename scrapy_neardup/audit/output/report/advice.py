"""What to do about a pattern, in one line: by what was measured first, by its name second."""

from __future__ import annotations

import re

from .spellings import SAME_URL

TRACKING = re.compile(
    r"utm_\w+|gclid|fbclid|msclkid|dclid|yclid|igshid|mc_[ce]id|_ga|_gl|mkt_tok|cmp(?:id)?|campaign|ref(?:errer|src)?"
    r"|source|src|trk\w*|partner|affiliate(?:id)?|aff",
    re.IGNORECASE,
)
SESSION = re.compile(
    r"(?:php|j|asp\.net_?)?sess(?:ion)?_?id|sid|s_?id|token|cftoken|cfid|zenid", re.IGNORECASE
)
PRESENTATION = re.compile(
    r"sort\w*|order(?:by|dir)?|dir|view\w*|display|layout|theme|print\w*|format|lang|locale|amp|mobile|limit|per_?page"
    r"|show\w*|replytocom|share|highlight|hl",
    re.IGNORECASE,
)
PAGING = re.compile(r"p|page\w*|pg|offset|start|from|cursor", re.IGNORECASE)

#: Fewer comparisons than this settle nothing.
ENOUGH = 3

OF_SPELLING = {
    "http and https": "Redirect http to https; crawl https only.",
    "with and without www.": "Redirect one host to the other; crawl one of them.",
    "mobile host (m., mobile., amp.)": "Leave it out of the crawl; its pages should name canonical ones.",
    "double slashes": "Repair the links that have them; redirect to single slashes.",
    "percent-encoding": "Canonicalise URLs before requesting them; link one spelling.",
    "letter case": "The server ignores case: redirect to one spelling, and link only that.",
    "index file (/index.html)": "Redirect the index file to its folder; link the folder.",
    "AMP, print or mobile version": "Leave them out of the crawl; they should name their canonical pages.",
    "trailing slash": "Redirect one form to the other; link only that.",
    "file extension (.html)": "Redirect one form to the other; link only that.",
    "order of parameters": "Sort parameters before requesting (w3lib: canonicalize_url).",
    SAME_URL: "Stored more than once: is the crawl filtering requests it has made?",
}


def of_parameter(name: str, compared: int, same: int, share: float) -> str:
    """Advise on a parameter: *same* of *compared* pages whose URLs differ in it alone have one text.

    *share* of all pages with it are repeats.
    """
    if compared < ENOUGH:
        if TRACKING.fullmatch(name):
            return "By its name for tracking: strip it before requesting."
        if SESSION.fullmatch(name):
            return "By its name a session: strip it, or every visit makes new URLs."
        if share >= 0.8:
            return "Nearly all pages with it repeat others: check whether they are needed."
        return "Too few pages differ in it alone to tell: look at the example."
    measured = f"alone, it left the text the same in {same:,} of {compared:,} comparisons"
    if same >= 0.9 * compared:
        if TRACKING.fullmatch(name):
            return f"Tracking: strip it before requesting ({measured})."
        if SESSION.fullmatch(name):
            return f"Session: strip it, every visit makes new URLs ({measured})."
        if PRESENTATION.fullmatch(name):
            return f"Presentation: request one value only ({measured})."
        if PAGING.fullmatch(name):
            return f"Paging that repeats itself: stop when a page repeats the last ({measured})."
        return f"Strip it, or name the URL without it as canonical ({measured})."
    if same <= 0.1 * compared:
        return f"Keep it, it selects the content ({measured}); the repeats have another cause."
    return f"Keep it for now and see which values repeat ({measured})."


def of_path(name: str, share: float, source: str, from_source: float) -> str:
    """Advise on a path pattern: *share* are repeats, *from_source* of these repeat pages under *source*."""
    if source and source != name and from_source >= 0.6:
        where = f"{from_source:.0%} of its repeats are of {source}"
        if share >= 0.9:
            return f"Leave it out of the crawl: {where}."
        return f"Crawl one of the two: {where}."
    if source == name and from_source >= 0.6:
        if "{" not in name:
            return "One path, stored under several URLs: see its parameters and spellings."
        if share >= 0.5:
            return "Its pages repeat each other: the variable part hardly selects the content."
        return "Some of its pages repeat each other: look at the example."
    if share >= 0.9:
        return "Nearly all of it repeats pages elsewhere: leave it out of the crawl."
    return "It repeats pages of several other places: look at the example."


def of_thin(short: int, pages: int, empty: int) -> str:
    """Say how many of the *pages* of a path are *short*, and how many of these are *empty*."""
    without = f", {empty:,} of them without any text" if empty else ""
    if short == pages:
        return f"All {pages:,} have next to no text of their own{without}."
    return f"{short:,} of {pages:,} have next to no text of their own{without}."
