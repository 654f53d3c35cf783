"""The HTTP service: it says what the detector says, bears bad input, and loses nothing acknowledged."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="the service is not installed: pip install 'scrapy-neardup[serve]'")

import httpx
import uvicorn
from click.testing import CliRunner

from scrapy_neardup import Detector, serve
from scrapy_neardup.cli import main
from tests.audit.corpora import text
from tests.helpers.processes import COMMAND

PAGE = (Path(__file__).parents[1] / "docs" / "service.md").read_text("utf-8")
EXAMPLE = re.compile(r"^```sh\n(.*?)^```\n+```json\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PATHS = {"/check", "/add", "/forget", "/metrics"}
JSON = {"Content-Type": "application/json"}


def document(number: int, **others: Any) -> dict[str, Any]:
    return {"url": f"https://a.example/{number}", "text": text(number), **others}


@contextmanager
def running(index: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    command = [*COMMAND, "serve", str(index), "--port", "0", "--set", "WORKERS=1", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().removeprefix("Listening at ").strip()
            with httpx.Client(base_url=url, timeout=30) as client:
                yield process, client
            process.terminate()
            process.wait(30)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with running(tmp_path_factory.mktemp("service") / "index", "--set", "EXTRACT_TIMEOUT=2") as (_, client):
        yield client


def kinds(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [each["kind"] for each in answer.json()]


def test_it_says_what_the_detector_says(client: httpx.Client) -> None:
    html = f"<html><body><article><p>{text(1)}</p></article></body></html>"
    tags = text(2).replace(" ", " <b hidden> ")  # a text is no HTML
    batch = [
        *[document(1)] * 2,
        document(2, text=tags),
        {"url": "https://b.example/1", "html": html},
        {"url": "https://b.example/2", "text": tags.upper()},
        {"url": "https://b.example/1", "text": text(1), "scope": "other"},
        {"url": "https://c.example/", "text": "Too short. \ud800"},
        {"url": "https://c.example/", "html": "<p>"},
        {"url": "https://d.example/", "text": text(1).replace(text(1)[-9:], "") + " and so on"},
    ]
    assert kinds(client.post("/check", json=batch[:2])) == ["unique", "unique"]
    answer = client.post("/add?explain=true", content=json.dumps(batch), headers=JSON)
    with Detector.open() as detector:
        told = [
            detector.add(each.get("text", text(1)), each["url"], scope=each.get("scope", ""))
            for each in batch
            if each.get("html") != "<p>"
        ]
    judged = answer.json()
    unjudged = judged.pop(-2)
    assert (unjudged["kind"], unjudged["reason"]) == ("unjudged", "no_text")
    for verdict, each in zip(told, judged, strict=True):
        assert (each["kind"], each["match"]) == (verdict.kind, verdict.url)
        assert each["duplicate"] == verdict.is_duplicate
        assert each["stored"] == (verdict.reservation is not None)
    assert {"exact", "near", "unique", "revisit", "too_short"} == set(kinds(answer)) - {"unjudged"}
    assert judged[3]["explanation"]["found_by"]
    assert client.post("/forget", json=["https://a.example/1", "unknown"]).json() == {"forgotten": 1}
    assert kinds(client.post("/check", json=batch[:1])) == ["unique"]
    assert client.get("/openapi.json").json()["paths"].keys() == PATHS
    assert client.get("/check").status_code == 405
    metrics = client.get("/metrics").text
    assert 'neardup_documents_total{kind="near",path="add"} 1.0' in metrics
    assert re.search(r'neardup_index{figure="documents"} [1-9]', metrics)


@pytest.mark.parametrize(
    ("status", "path", "headers", "body"),
    [
        (400, "/check", JSON, b"{"),
        (400, "/check", JSON, b"[" * 100_000),
        (400, "/check", JSON, b"\xff\xfe[]"),
        (400, "/check", JSON | {"Host": "evil.example:80"}, b"[]"),
        (404, "/", JSON, b"[]"),
        (413, "/add", JSON, b" " * ((5 << 20) + 1)),
        (413, "/add", JSON, [b"[]"]),  # chunked, so nobody knows how long it is
        (415, "/add", {"Content-Type": "text/plain"}, b"[]"),
        (422, "/add", JSON, b"[]"),
        (422, "/add", JSON, b"{}"),
        (422, "/add", JSON, json.dumps([document(1)] * 1001).encode()),
        (422, "/add", JSON, json.dumps([document(1, html="<p>")]).encode()),
        (422, "/add", JSON, json.dumps([document(1, why="not")]).encode()),
        (422, "/add", JSON, json.dumps([document(1, url="\ud800")]).encode()),
        (422, "/add", JSON, json.dumps([document(1, **{"\ud800": ""})]).encode()),
        (422, "/add", JSON, json.dumps([document(1, text=7)]).encode()),
        (422, "/add", JSON, json.dumps([document(1, **dict.fromkeys(map(str, range(300_000))))]).encode()),
        (422, "/forget", JSON, b'["", 1]'),
    ],
)
def test_bad_input_is_answered_by_a_sentence(
    client: httpx.Client, status: int, path: str, headers: dict[str, str], body: Any
) -> None:
    answer = client.post(path, headers=headers, content=body)
    assert (answer.status_code, answer.elapsed.seconds < 5) == (status, True)
    assert re.fullmatch(r"[^\n]+\.", answer.json()["detail"])


def test_a_text_that_takes_too_long_is_not_judged_and_holds_up_nobody(client: httpx.Client) -> None:
    slow = {"url": "https://slow.example/", "text": "\ufdfa " * 800_000}
    body = json.dumps([slow], ensure_ascii=False).encode()
    (answer,) = client.post("/check", headers=JSON, content=body).json()
    assert (answer["kind"], answer["reason"]) == ("unjudged", "timeout")
    assert kinds(client.post("/check", json=[document(99)])) == ["unique"]


@pytest.mark.skipif(
    not (shutil.which("curl") and shutil.which("jq")) and "CI" not in os.environ,
    reason="curl or jq is missing: apt install curl jq",
)
def test_the_examples_of_the_documentation(tmp_path: Path) -> None:
    examples = EXAMPLE.findall(PAGE)
    assert len(examples) == 2
    with running(tmp_path / "index") as (_, client):
        for script, expected in examples:
            script = script.replace("http://127.0.0.1:8780", str(client.base_url).rstrip("/"))
            done = subprocess.run(
                ["bash", "-euc", script], capture_output=True, text=True, timeout=30, check=True
            )
            assert json.loads(done.stdout) == json.loads(expected)


def test_others_are_let_in_with_a_token_alone(tmp_path: Path) -> None:
    token = tmp_path / "token"
    for arguments in (["--host", "0.0.0.0"], ["--token-file", str(token)]):
        token.write_text("short")
        result = CliRunner().invoke(main, ["serve", str(tmp_path / "index"), *arguments])
        assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert not (tmp_path / "index").exists()
    token.write_text("a token of 20 signs.\n")
    with running(tmp_path / "index", "--host", "0.0.0.0", "--token-file", str(token)) as (_, client):
        bearer = {"Authorization": "Bearer a token of 20 signs."}
        other = {"Authorization": "Bearer \xff".encode("latin-1")}
        assert client.get("/metrics").status_code == 401
        assert client.post("/check", json=[], headers=other).status_code == 401
        assert client.post("/check", json=[document(1)], headers=bearer).status_code == 200
        assert client.get("/metrics", headers=bearer | {"Host": "neardup.example"}).status_code == 200


def test_a_port_that_is_taken_is_told_with_the_remedy(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = CliRunner().invoke(main, ["serve", str(tmp_path / "index"), "--port", port])
    assert result.exit_code == 2
    assert result.output.endswith("give another --port.\n")
    assert not (tmp_path / "index").exists()


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = CliRunner().invoke(main, ["serve", str(tmp_path / "index")])
    assert result.exit_code == 2
    assert "scrapy-neardup[serve]" in result.output


class Stuck:
    """Workers that are never done."""

    def submit(self, page: object, source: str) -> Future[Any]:
        return Future()


async def test_more_requests_than_can_be_answered_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    async def drip() -> AsyncIterator[bytes]:
        yield b"["
        await asyncio.sleep(5)

    monkeypatch.setattr(serve, "MOST_REQUESTS", 2)
    monkeypatch.setattr(serve, "BODY_SECONDS", 0.2)
    with Detector.open("memory:") as detector:
        app = serve.application(detector, Stuck(), most_bytes=1000, token=None)  # type: ignore[arg-type]
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            slow = await client.post("/check", headers=JSON | {"Content-Length": "9"}, content=drip())
            assert slow.status_code == 400
            body = [{"url": "a", "text": "b"}]
            waiting = [asyncio.create_task(client.post("/check", json=body)) for _ in range(2)]
            await asyncio.sleep(0.1)
            assert (await client.post("/check", json=body)).status_code == 503
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
            assert (await client.get("/metrics")).status_code == 200
            monkeypatch.setattr(detector, "forget", lambda url: detector.index.unknown)
            with pytest.raises(AttributeError):  # which goes to the log, too
                await client.post("/forget", json=["a"])


async def test_connections_without_a_request_or_a_reader_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "HEAD_SECONDS", 0.2)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(0.6)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": bytes(10**7 * (scope["path"] == "/long"))})

    config = uvicorn.Config(app, lifespan="off", timeout_keep_alive=60)
    config.load()
    state, loop = uvicorn.server.ServerState(), asyncio.get_running_loop()
    head = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    async with await loop.create_server(
        lambda: serve.Connection(config, state, {}), "127.0.0.1", 0
    ) as server:
        for sent, status in ((b"", b""), (head[:9], b""), (head, b"200"), (head + head[:9], b"200")):
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(sent)
            assert (await asyncio.wait_for(reader.read(), 5))[9:12] == status
            writer.close()
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname(), limit=1)
        writer.write(head.replace(b"/", b"/long", 1) * 2)  # and nobody reads
        await asyncio.sleep(0.3)
        assert state.connections
        for _ in range(50):
            await asyncio.sleep(0.1 * bool(state.connections))
        assert not state.connections


@pytest.mark.parametrize("kill", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_what_it_has_acknowledged_outlives_its_end(tmp_path: Path, kill: bool) -> None:
    numbers = iter(range(100_000))
    stored, forgotten = set[int](), set[int]()
    for round_ in range(2 if kill else 1):
        with running(tmp_path / "index") as (process, client), ThreadPoolExecutor(8) as pool:

            def add(number: int, client: httpx.Client = client) -> None:
                try:
                    batch = [document(number), document(number + 100_000)]
                    assert kinds(client.post("/add", json=batch)) == ["unique", "unique"]
                    stored.add(number)
                    if not number % 5:
                        stored.discard(number)
                        client.post("/forget", json=[batch[0]["url"]]).raise_for_status()
                        forgotten.add(number)
                except httpx.TransportError:
                    pass

            jobs = [pool.submit(add, next(numbers)) for _ in range(300)]
            jobs[40 + 25 * round_].result()
            process.kill() if kill else process.terminate()
            status = process.wait(30)
            for job in jobs:
                job.result()
        assert status == (-9 if kill else 0)
    assert len(stored) > 30
    assert forgotten
    with Detector.open(tmp_path / "index") as detector:
        for number in stored:
            for each in (number, number + 100_000):
                assert detector.check(text(each), document(each)["url"]).unchanged
        for number in forgotten:
            assert detector.check(text(number), document(number)["url"]).kind == "unique"
