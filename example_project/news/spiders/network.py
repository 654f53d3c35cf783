"""Follows every link of the sites that it is started at, and stores their articles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor

from news.items import ArticleItem

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response


class NetworkSpider(Spider):
    """``scrapy crawl network -a start="https://one.example/ https://two.example/"``."""

    name = "network"

    def __init__(self, start: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = start.split()
        if not self.start_urls:
            raise ValueError('say where to begin: scrapy crawl network -a start="https://news.example/"')
        self.allowed_domains = sorted({urlsplit(url).hostname or "" for url in self.start_urls})
        self.links = LinkExtractor()

    async def start(self) -> AsyncIterator[Request]:
        for url in self.start_urls:
            yield self.visit(url)

    def parse(self, response: Response) -> Iterator[ArticleItem | Request]:
        if not isinstance(response, HtmlResponse):
            return
        if not is_listing(response.url):
            yield self.article(response)
        for link in self.links.extract_links(response):
            yield self.visit(link.url)

    def visit(self, url: str) -> Request:
        """Articles come before the listings of the same depth, which may lead to copies of them.

        Front and section pages are made of teasers and change all the time: they are not judged.
        """
        if is_listing(url):
            return Request(url, meta={"neardup": False})
        return Request(url, priority=1)

    def article(self, response: HtmlResponse) -> ArticleItem:
        main = response.css("article") or response.css("body")
        paragraphs = [paragraph.xpath("normalize-space()").get("") for paragraph in main.css("p")]
        return ArticleItem(
            url=response.url,
            site=urlsplit(response.url).netloc,
            language=response.css("html::attr(lang)").get(""),
            title=response.css("h1, article h2").xpath("normalize-space()").get(""),
            text="\n".join(filter(None, paragraphs)),
            neardup=response.meta.get("neardup_match"),
        )


def is_listing(url: str) -> bool:
    """Whether *url* is a front or section page. Change this to suit your sites."""
    return urlsplit(url).path.endswith("/")
