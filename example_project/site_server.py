"""Serves the news network on loopback, one port for each site, until its ``with`` block ends."""

from __future__ import annotations

import threading
import zlib
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from site_pages import FOLDER, Page, Site, load_network

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

DEFAULT_PORT = 8731


class NewsNetwork:
    """The sites of ``network/`` at 127.0.0.1, on consecutive ports from *port*.

    The ports are fixed because a page is recognised on the next run by its URL.
    """

    def __init__(self, port: int = DEFAULT_PORT) -> None:
        self.sites = load_network()
        self.requests: list[str] = []
        self._servers: list[_SiteServer] = []
        try:
            for offset, site in enumerate(self.sites):
                self._servers.append(_SiteServer(site, port + offset, self.requests))
        except (OSError, OverflowError) as error:
            taken = port + len(self._servers)
            self._close()
            raise SystemExit(
                f"demo: cannot serve on 127.0.0.1:{taken} ({error}); "
                f"choose the first of {len(self.sites)} free ports with --port"
            ) from error

    def urls(self) -> list[str]:
        """Return the front page of each site."""
        return [f"{server.base_url}/" for server in self._servers]

    def pages(self) -> dict[str, Page]:
        """Return the expected pages by URL."""
        return {server.base_url + page.path: page for server in self._servers for page in server.site.pages}

    def site_of(self, url: str) -> str:
        """Return the key of the site that serves *url*; its host if none does."""
        for server in self._servers:
            if url.startswith(f"{server.base_url}/"):
                return server.site.key
        return urlsplit(url).netloc

    def __enter__(self) -> Self:
        for server in self._servers:
            threading.Thread(target=server.serve_forever, name=f"site {server.site.key}", daemon=True).start()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        for server in self._servers:
            server.shutdown()
        self._close()

    def _close(self) -> None:
        for server in self._servers:
            server.server_close()


class _SiteServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, site: Site, port: int, requests: list[str]) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.site = site
        self.base_url = f"http://127.0.0.1:{port}"
        self.requests = requests
        self.failures = {page.path: page.row.get("fails", 0) for page in site.pages}


class _Handler(BaseHTTPRequestHandler):
    server: _SiteServer
    protocol_version = "HTTP/1.1"
    timeout = 10

    def do_GET(self) -> None:
        self.server.requests.append(self.server.base_url + self.path)
        path = urlsplit(self.path).path
        page = self.server.site.by_path.get(path)
        if self.server.failures.get(path, 0) > 0:
            self.server.failures[path] -= 1
            self._send(
                HTTPStatus.SERVICE_UNAVAILABLE, "text/html; charset=utf-8", b"<h1>Back in a moment</h1>"
            )
        elif page is not None and "redirect" in page.row:
            self._send(
                HTTPStatus.MOVED_PERMANENTLY, "text/html; charset=utf-8", b"", location=page.row["redirect"]
            )
        elif page is not None and "file" in page.row:
            self._send(HTTPStatus.OK, "application/pdf", (FOLDER / "pages" / page.row["file"]).read_bytes())
        elif path == "/robots.txt":
            self._send(HTTPStatus.OK, "text/plain; charset=utf-8", (FOLDER / "robots.txt").read_bytes())
        elif path.startswith("/img/"):
            self._send(HTTPStatus.OK, "image/svg+xml", picture(path))
        else:
            text = self.server.site.render(path, self.server.base_url)
            status = HTTPStatus.NOT_FOUND if text is None else HTTPStatus.OK
            self._send(status, "text/html; charset=utf-8", (text or "<h1>404 Not Found</h1>").encode())

    def _send(
        self, status: HTTPStatus, content_type: str, body: bytes, *, location: str | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        if location is not None:
            self.send_header("Location", location)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing: the crawl is the subject."""


def picture(path: str) -> bytes:
    """Return a landscape in colours that depend on *path*, as SVG."""
    hue = zlib.crc32(path.encode()) % 360
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 300" preserveAspectRatio="xMidYMid slice">'
        f'<rect width="600" height="300" fill="hsl({hue},45%,78%)"/>'
        f'<circle cx="{90 + hue}" cy="80" r="34" fill="hsl({(hue + 40) % 360},80%,88%)"/>'
        f'<path d="M0 210 L140 120 260 200 390 90 600 220 V300 H0Z" fill="hsl({hue},30%,52%)"/>'
        f'<path d="M0 250 Q160 200 320 245 T600 235 V300 H0Z" fill="hsl({(hue + 190) % 360},30%,36%)"/></svg>'
    ).encode()
