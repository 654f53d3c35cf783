"""The HTTP service: a `Detector` for clients in any language, within limits on size, time and number."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from hmac import compare_digest
from time import perf_counter
from typing import Annotated, Any, TypeAlias

from anyio import fail_after
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from pydantic import AfterValidator, BaseModel, Field, model_validator
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from .detector import Detector
from .errors import NearDupError
from .extraction import Extraction, Page, Workers
from .matching.sites import host_of
from .verdict import Verdict

#: Requests that are answered at a time, and seconds that the head and the body of one may take to arrive.
MOST_REQUESTS, HEAD_SECONDS, BODY_SECONDS = 64, 10.0, 30.0
_encodable = AfterValidator(lambda url: url.encode() and url)  # so it has no half of a character
Url: TypeAlias = Annotated[str, Field(min_length=1, max_length=8192), _encodable]


class Document(BaseModel, extra="forbid"):
    """A document: its URL, and its main text or its HTML."""

    url: Url
    text: str | None = None
    html: str | None = None
    scope: str = Field("", max_length=8192)

    @model_validator(mode="before")
    @classmethod
    def _has_few(cls, given: object) -> object:
        if isinstance(given, dict) and len(given) > len(cls.model_fields):  # else each is an error of its own
            raise ValueError("a document has a url, a text or html, and a scope, and nothing else")
        return given

    @model_validator(mode="after")
    def _has_one(self) -> Document:
        if (self.text is None) == (self.html is None):
            raise ValueError("give either text or html")
        return self


class Answer(BaseModel):
    """A verdict on a document; ``unjudged`` and a *reason* if no text was found in it."""

    url: str
    kind: str
    duplicate: bool = False
    stored: bool = False
    match: str | None = None
    distance: int | None = None
    similarity: float | None = None
    reason: str | None = None
    explanation: dict[str, Any] | None = None


Documents: TypeAlias = Annotated[list[Document], Field(min_length=1, max_length=1000)]


def is_loopback(host: str) -> bool:
    """Tell whether *host*, an address or a name, can be reached from this machine alone."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def application(detector: Detector, workers: Workers, *, most_bytes: int, token: str | None) -> FastAPI:
    """Return the ASGI application; it closes *workers* and *detector* as it ends.

    A body has at most *most_bytes* bytes. Without a *token* a request has to name this machine as its host,
    so that no web page of another name reaches the service.
    """
    registry = CollectorRegistry()
    judged = Counter("neardup_documents", "Documents judged", ["path", "kind"], registry=registry)
    seconds = Histogram("neardup_request_seconds", "Seconds of requests", ["status"], registry=registry)
    gauge = Gauge("neardup_index", "Size and health of the index", ["figure"], registry=registry)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        workers.start()
        yield
        await asyncio.to_thread(workers.close)
        try:
            await asyncio.to_thread(detector.close)
        except NearDupError as error:  # nothing that was acknowledged
            logging.getLogger(__name__).error("%s", error)

    kinds: dict[Any, Any] = dict.fromkeys((NearDupError, RequestValidationError, 400, 404, 405, 500), _failed)
    app = FastAPI(
        title="scrapy-neardup", lifespan=lifespan, docs_url=None, redoc_url=None, exception_handlers=kinds
    )
    app.add_middleware(_Guard, token=token, most_bytes=most_bytes, seconds=seconds)

    async def extracted(document: Document) -> Extraction:
        text = (document.html if document.text is None else document.text) or ""
        body = text.encode("utf-8", "replace")  # halves of characters
        page = Page(body, document.url, "text/html; charset=utf-8", document.text is not None)
        return await asyncio.wrap_future(workers.submit(page, host_of(document.url)))

    async def ask(path: str, judge: Callable[..., Verdict], batch: list[Document], why: bool) -> list[Answer]:
        answers = []
        for document in batch:  # one at a time, so that requests take turns
            answer, found = Answer(url=document.url, kind="unjudged"), await extracted(document)
            answer.reason = found.reason
            if found.signature is not None:
                call = partial(judge, found.signature, document.url, scope=document.scope)
                # Elsewhere no call waits for a disk or a network.
                verdict = await asyncio.to_thread(call) if detector.index.remote else call()
                answer.kind, answer.duplicate, answer.match = verdict.kind, verdict.is_duplicate, verdict.url
                answer.distance, answer.similarity = verdict.distance, verdict.similarity
                answer.stored = verdict.reservation is not None
                answer.explanation = verdict.explanation if why else None
            judged.labels(path, answer.kind).inc()
            answers.append(answer)
        return answers

    @app.post("/check")
    async def check(documents: Documents, explain: bool = False) -> list[Answer]:
        """Judge documents one after the other, without storing them."""
        return await ask("check", detector.check, documents, explain)

    @app.post("/add")
    async def add(documents: Documents, explain: bool = False) -> list[Answer]:
        """Judge documents one after the other, and store what is new. It is on disk when the answer comes."""
        answers = await ask("add", detector.add, documents, explain)
        await asyncio.to_thread(detector.flush)
        return answers

    @app.post("/forget")
    async def forget(urls: Annotated[list[Url], Field(min_length=1, max_length=1000)]) -> dict[str, int]:
        """Forget what is stored under URLs. That is on disk when the answer comes."""
        count = await asyncio.to_thread(lambda: sum(map(detector.forget, urls)))
        await asyncio.to_thread(detector.flush)
        return {"forgotten": count}

    @app.get("/metrics")
    def metrics() -> Response:
        """Say how the service is, as text for Prometheus."""
        for name, value in detector.gauges().items():
            gauge.labels(name).set(value)
        return Response(generate_latest(registry), media_type="text/plain; version=0.0.4; charset=utf-8")

    return app


class Connection(AutoHTTPProtocol):  # type: ignore[misc,valid-type]
    """A connection that ends when for `HEAD_SECONDS`, or twice that, no request or no reader has come."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch(self, 0)

    def _watch(self, before: Any, unread_before: int) -> None:
        unread = self.transport.get_write_buffer_size()
        if self.cycle is before and unread and unread_before:
            self.transport.abort()  # to close it would wait for the reader
        elif self.cycle is before and not unread and (before is None or self.cycle.response_complete):
            self.transport.close()
        if not self.transport.is_closing():
            self.loop.call_later(HEAD_SECONDS, self._watch, self.cycle, unread)


class _Guard:
    """Hears few requests at a time, and those whose head is as it has to be; times all."""

    def __init__(self, app: ASGIApp, token: str | None, most_bytes: int, seconds: Histogram) -> None:
        self._app, self._token, self._most_bytes, self._seconds = app, token, most_bytes, seconds
        self._busy = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = perf_counter(), 500

        async def reading() -> Message:
            with fail_after(started + BODY_SECONDS - perf_counter()):
                return await receive()

        async def sending(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        app = self._refusal(Request(scope)) or self._app
        self._busy += 1
        try:
            await app(scope, reading, sending)
        finally:
            self._busy -= 1
            self._seconds.labels(status).observe(perf_counter() - started)

    def _refusal(self, request: Request) -> Response | None:
        """Return the answer to a request that is not heard; else None."""
        headers, posted = request.headers, request.method == "POST"
        sent, length = headers.get("authorization", "").encode(), headers.get("content-length", "")
        if self._token is None and not is_loopback(re.sub(r":\d*$", "", headers.get("host", "")).strip("[]")):
            return _refused(400, "Without a token the Host has to be localhost or an address like 127.0.0.1.")
        if self._token is not None and not compare_digest(sent, f"Bearer {self._token}".encode()):
            return _refused(401, "Send the token of the service: Authorization: Bearer TOKEN.")
        if posted and headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return _refused(415, "Send JSON: Content-Type: application/json.")
        if posted and not (length.isdecimal() and int(length) <= self._most_bytes):
            return _refused(413, f"Send a Content-Length of at most {self._most_bytes} bytes.")
        if self._busy >= MOST_REQUESTS:
            return _refused(503, f"{self._busy} requests are being answered: try again in a second.")
        return None


def _refused(status: int, sentence: str) -> Response:
    return JSONResponse({"detail": sentence[:1000].encode("utf-8", "replace").decode()}, status)


async def _failed(request: Request, error: Any) -> Response:
    if isinstance(error, NearDupError):
        return _refused(503, str(error))
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            return _refused(400, f"The body is no JSON: {first['ctx']['error']}.")
        told = first["msg"].removeprefix("Value error, ")
        return _refused(422, f"{'.'.join(map(str, first['loc']))}: {told}.")
    detail = getattr(error, "detail", "The log of the service says what has failed")
    return _refused(getattr(error, "status_code", 500), f"{detail}: /openapi.json says what can be asked.")
