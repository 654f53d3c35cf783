"""A loopback site of many stories, each on two pages in different templates."""

from __future__ import annotations

import random
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

_SYLLABLES = [a + b for a in "bdfgklmnprst" for b in "aeiou"]


def story(number: int) -> str:
    """Return the text of one story: 12 paragraphs of words that no other story has."""
    dice = random.Random(number)
    words = ["".join(dice.choices(_SYLLABLES, k=3)) for _ in range(150)]
    return "\n".join(" ".join(dice.choices(words, k=40)).capitalize() + "." for _ in range(12))


def page(number: int, template: str) -> bytes:
    """Return the HTML of one page."""
    paragraphs = "".join(f"<p>{paragraph}</p>" for paragraph in story(number).split("\n"))
    return (
        f"<!doctype html><html><head><title>{template} {number}</title></head><body>"
        f"<header><nav><a href=/>Home of {template}</a></nav></header>"
        f"<main><article><h1>Story {number}</h1>{paragraphs}</article></main></body></html>"
    ).encode()


class Site:
    """Serves /a/N and /b/N for every story N; stops at exit."""

    def __enter__(self) -> Self:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                _, template, number = self.path.split("/")
                body = page(int(number), template)
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, request: object, client_address: object) -> None:
                pass  # a killed crawl hangs up

        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.base = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
