"""The news network as data: which URL shows which story, in which template, and what is expected of it."""

from __future__ import annotations

import html
import json
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from string import Template
from typing import Any

FOLDER = Path(__file__).parent / "network"


@dataclass(frozen=True, slots=True)
class Article:
    """A story: its headers, and its paragraphs."""

    language: str
    title: str
    byline: str
    date: str
    summary: str
    paragraphs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """One row of the table ``network/sites.json``."""

    site: str
    path: str
    #: What it ought to be judged; then what else is right, or is known to happen.
    expect: tuple[str, ...]
    note: str
    row: dict[str, Any]
    #: The article that it shows; a path with a query shows that of the row without it. Empty if it shows
    #: none.
    story: str = ""

    @property
    def plain_path(self) -> str:
        """The path without its query: rows that have one show the page of the row that has none."""
        return self.path.partition("?")[0]


class Site:
    """One newspaper: its pages and its templates."""

    def __init__(self, description: dict[str, Any], pages: list[Page]) -> None:
        self.key: str = description["key"]
        self.name: str = description["name"]
        self.language: str = description["language"]
        self.tagline: str = description["tagline"]
        self.listings: dict[str, str] = description["listings"]
        self.words: dict[str, str] = description["words"]
        self.pages = pages
        self.by_path = {page.path: page for page in pages if "?" not in page.path}
        self.templates = {
            file.stem: Template(file.read_text("utf-8"))
            for file in (FOLDER / "templates" / self.key).iterdir()
        }

    def render(self, path: str, base_url: str) -> str | None:
        """Return the HTML of the page at *path* (no query), or None if there is none."""
        page = self.by_path.get(path)
        if path in self.listings:
            return self._listing(path)
        if page is None:
            return None
        if "raw" in page.row:
            return self._raw(page)
        if "article" in page.row:
            return self._article(page, base_url)
        return None

    def _listing(self, path: str) -> str:
        pages = [page for page in self.pages if page.row.get("on") == path]
        main = "\n".join(self._teaser(page) for page in pages)
        return self._shell(self.listings[path], self.tagline, main, kind="website", path=path)

    def _raw(self, page: Page) -> str:
        text = (FOLDER / "pages" / f"{page.row['raw']}.html").read_text("utf-8")
        return text if text.startswith("<!DOCTYPE") else self._shell(self.name, "", text, path=page.path)

    def _article(self, page: Page, base_url: str) -> str:
        article = load_article(page)
        paragraphs = [f"<p>{html.escape(text, quote=False)}</p>" for text in article.paragraphs]
        fields = {
            "site": self.name,
            "language": article.language,
            "title": html.escape(article.title, quote=False),
            "byline": html.escape(article.byline, quote=False),
            "date": article.date,
            "summary": html.escape(article.summary, quote=False),
            "lead": "\n".join(paragraphs[:2]),
            "rest": "\n".join(paragraphs[2:]),
            "slug": page.row["article"],
            "canonical": base_url + (page.row.get("print_of") or page.path),
        }
        if "print_of" in page.row:
            return self.templates["print"].substitute(fields)
        fields["print_link"] = "".join(
            f'<a href="{other.path}">{self.words["print"]}</a>'
            for other in self.pages
            if other.row.get("print_of") == page.path
        )
        fields["related_title"] = self.words["related"]
        fields["related"] = self._teasers(page.path, page.path + "#related", 2)
        fields["comments"] = self._comments(article.language, page.path)
        main = self.templates["article"].substitute(fields)
        return self._shell(
            article.title, article.summary, main, language=article.language, path=page.path, base_url=base_url
        )

    def _shell(
        self,
        title: str,
        summary: str,
        main: str,
        *,
        path: str,
        base_url: str = "",
        language: str | None = None,
        kind: str = "article",
    ) -> str:
        return self.templates["page"].substitute(
            site=self.name,
            tagline=self.tagline,
            language=language or self.language,
            title=html.escape(title),
            summary=html.escape(summary),
            type=kind,
            canonical=base_url + path,
            nav="".join(f'<a href="{href}">{label}</a> ' for href, label in self.listings.items()),
            main=main,
            sidebar=self._teasers(path, path, 4),
        )

    def _teasers(self, shown: str, seed: str, count: int) -> str:
        """Links to *count* other stories of the front page, chosen by *seed*: no two sidebars are equal."""
        front = [page for page in self.pages if page.row.get("on") == "/" and "article" in page.row]
        front = [page for page in front if page.path != shown]
        return "\n".join(self._teaser(page) for page in rotate(front, seed)[:count])

    def _teaser(self, page: Page) -> str:
        shown = self.by_path[page.plain_path]
        title, summary = page.row.get("link", ""), ""
        if "article" in shown.row:
            article = load_article(shown)
            title, summary = article.title, article.summary
        elif "redirect" in shown.row:
            target = load_article(self.by_path[shown.row["redirect"]])
            title, summary = target.title, target.summary
        return self.templates["teaser"].substitute(
            href=html.escape(page.path), title=html.escape(title), summary=html.escape(summary)
        )

    def _comments(self, language: str, seed: str) -> str:
        comments = json.loads((FOLDER / "comments.json").read_text("utf-8"))[language]
        return "\n".join(
            self.templates["comment"].substitute(name=name, when=when, text=text)
            for name, when, text in rotate(comments, seed)[:2]
        )


def load_network() -> list[Site]:
    """Read the table of sites and pages."""
    table = json.loads((FOLDER / "sites.json").read_text("utf-8"))
    pages = [
        Page(
            site=row["site"],
            path=row["path"],
            expect=tuple(row["expect"]) if isinstance(row["expect"], list) else (row["expect"],),
            note=row.get("note", ""),
            row=row,
        )
        for row in table["pages"]
    ]
    stories = {(page.site, page.path): page.row["article"] for page in pages if "article" in page.row}
    pages = [replace(page, story=stories.get((page.site, page.plain_path), "")) for page in pages]
    return [Site(site, [page for page in pages if page.site == site["key"]]) for site in table["sites"]]


def load_article(page: Page) -> Article:
    """Read the story of *page* and make the edits that its row asks for."""
    text = (FOLDER / "articles" / f"{page.row['article']}.txt").read_text("utf-8")
    if "values" in page.row:
        text = Template(text).substitute(page.row["values"])
    head, _, body = text.strip().partition("\n\n")
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    paragraphs = body.split("\n\n")
    for edit in page.row.get("edits", []):
        ((name, value),) = edit.items()
        if name == "byline":
            fields["byline"] = value
        elif name == "keep":
            del paragraphs[value:]
        elif name == "insert":
            paragraphs.insert(*value)
        elif name == "replace":
            old, new = value
            if sum(paragraph.count(old) for paragraph in paragraphs) != 1:
                raise ValueError(f"{page.path}: {old!r} must occur once in {page.row['article']}.txt")
            paragraphs = [paragraph.replace(old, new) for paragraph in paragraphs]
        else:
            raise ValueError(f"{page.path}: unknown edit {name!r}")
    return Article(paragraphs=tuple(paragraphs), **fields)


def rotate(values: list[Any], seed: str) -> list[Any]:
    """Return *values* begun at a place that depends on *seed* alone."""
    start = zlib.crc32(seed.encode()) % len(values)
    return values[start:] + values[:start]
