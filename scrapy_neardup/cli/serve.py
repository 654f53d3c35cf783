"""``scrapy-neardup serve``: the detector as an HTTP service."""

from __future__ import annotations

import signal
import socket
import sys
from pathlib import Path
from typing import Any

import click

from .output import existing_file, needing, print_line
from .parameters import path_argument, read_assignments, set_option

#: Connections at a time, and seconds beyond the limit on a page that requests may take when it ends.
_CONNECTIONS, _GRACE = 1024, 15
_SHORTEST_TOKEN = 16


@click.command()
@path_argument
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), default=8780, show_default=True, help="0: any.")
@click.option("--token-file", type=existing_file, help="File with the token that requests send.")
@set_option
def serve(path: Any, host: str, port: int, token_file: Path | None, assignments: tuple[str, ...]) -> None:
    """Answer over HTTP what a document repeats.

    PATH is the directory of the index, which is begun if there is none, or the URL of one on a server.
    /openapi.json says what can be asked. It ends at SIGTERM or Ctrl-C, when all requests are answered.
    """
    from scrapy_neardup.detector import Detector
    from scrapy_neardup.errors import ConfigurationError
    from scrapy_neardup.options import OF_THE_DETECTOR, DetectionOptions

    with needing("serve"):
        import uvicorn

        from scrapy_neardup.serve import Connection, application, is_loopback
    token = None if token_file is None else token_file.read_text("utf-8").strip()
    if token is not None and len(token) < _SHORTEST_TOKEN:
        raise ConfigurationError(f"{token_file} has no token of at least {_SHORTEST_TOKEN} characters.")
    if token is None and not is_loopback(host):
        raise ConfigurationError(f"{host} can be reached by others: give --token-file, or leave out --host.")
    given = read_assignments(assignments)
    options = DetectionOptions(**given)
    sixth = ":" in host
    with socket.create_server((host, port), family=socket.AF_INET6 if sixth else socket.AF_INET) as listener:
        how = {name: given[name] for name in OF_THE_DETECTOR if name in given}
        detector = Detector.open(path, extractor=options.extractor_identity, **how)
        workers = options.extracting(detector.fingerprinter)
        app = application(detector, workers, most_bytes=options.max_body_size, token=token)
        config = uvicorn.Config(
            app, http=Connection, access_log=False, limit_concurrency=_CONNECTIONS, log_level="warning",
            timeout_graceful_shutdown=int(options.extract_timeout) + _GRACE,
        )  # fmt: skip
        signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # uvicorn sends it once more when it has ended
        print_line(f"Listening at http://{f'[{host}]' if sixth else host}:{listener.getsockname()[1]}")
        sys.stdout.flush()
        uvicorn.Server(config).run(sockets=[listener])
