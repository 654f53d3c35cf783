"""Serve pages on loopback from memory, until the standard input closes.

    python -m suite.site PAGES.jsonl LIMIT

PAGES.jsonl has a page a line, /N is page N. Prints the port. Stops by itself after LIMIT seconds.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

MAX_REQUEST = 1 << 16


async def serve(pages: list[str], limit: float) -> None:
    bodies = [page.encode("utf-8", "surrogatepass") for page in pages]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                body = bodies[int(head.split(b" ", 2)[1][1:])]
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n"
                    % len(body)
                )
                writer.write(body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the crawl hangs up
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=MAX_REQUEST, backlog=128)
    async with server:
        print(server.sockets[0].getsockname()[1], flush=True)
        loop = asyncio.get_running_loop()
        # A thread of asyncio's own would keep the process from ending; so the pipe is watched.
        closed = loop.create_future()
        loop.add_reader(sys.stdin.fileno(), lambda: closed.done() or closed.set_result(None))
        await asyncio.wait([closed], timeout=limit)


def main() -> None:
    pages = [json.loads(line) for line in Path(sys.argv[1]).read_text("utf-8").splitlines()]
    asyncio.run(serve(pages, float(sys.argv[2])))


if __name__ == "__main__":
    main()
