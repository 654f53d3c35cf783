"""A loopback HTTP server of pages that a test makes."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from typing_extensions import Self

SYLLABLES = [a + b for a in "bdfgklmnprst" for b in "aeiou"]


def words(seed: int, count: int = 200) -> str:
    """A text of its own for each *seed*."""
    rng = random.Random(seed)
    return " ".join("".join(rng.choices(SYLLABLES, k=3)) for _ in range(count))


def html(text: str, links: tuple[str, ...] = (), title: str = "Title", head: str = "") -> bytes:
    anchors = "".join(f'<a href="{link}">x</a>' for link in links)
    head = f"<title>{title}</title>{head}"
    return f"<html><head>{head}</head><body><p>{text}</p>{anchors}</body></html>".encode()


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # a killed crawl hangs up


class Site:
    """An HTTP server on a free port of 127.0.0.1; it stops at exit.

    A page is HTML, or (status, headers, body), or a function that returns one of these.
    """

    def __init__(self) -> None:
        self.pages: dict[str, Any] = {}
        self.hits: Counter[str] = Counter()
        self.barrier: threading.Barrier | None = None
        #: From path and body of a POST to the text of the page, or to a page.
        self.answer: Callable[[str, bytes], Any] | None = None
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                site.hits[self.path] += 1
                if self.path.startswith("/together/") and site.barrier is not None:
                    site.barrier.wait(20)
                self.answer(site.page(self.path.partition("?")[0]))

            def do_POST(self) -> None:
                site.hits[self.path] += 1
                body = self.rfile.read(int(self.headers["Content-Length"]))
                assert site.answer is not None
                page = site.answer(self.path, body)
                self.answer(html(page) if isinstance(page, str) else page)

            def answer(self, page: Any) -> None:
                page = page() if callable(page) else page
                status, headers, body = page if isinstance(page, tuple) else (200, {}, page)
                self.send_response(status)
                for name, value in {"Content-Type": "text/html; charset=utf-8", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def page(self, path: str) -> Any:
        return self.pages.get(path, (404, {}, b"<html>none</html>"))

    def article(self, path: str, seed: int = 0, links: tuple[str, ...] = (), count: int = 200) -> str:
        self.pages[path] = html(words(seed, count), links)
        return self.url + path

    def articles(self, count: int, repeat: int = 10**9) -> list[str]:
        """URLs of *count* pages, of which every *repeat*-th has the same text."""
        return [self.article(f"/{number}", number % repeat) for number in range(count)]

    def copies(self, count: int) -> list[str]:
        """URLs of *count* equal pages, none of which is answered before all are asked for."""
        self.barrier = threading.Barrier(count)
        return [self.article(f"/together/{number}") for number in range(count)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.server.shutdown()
        self.server.server_close()
