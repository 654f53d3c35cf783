"""What goes into an extraction and what comes out: the types that the worker processes exchange."""

from __future__ import annotations

import hashlib
import pickle
import socket
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from scrapy_neardup.arguments import require_type
from scrapy_neardup.fingerprint import Fingerprinter, MainText, Signature

from .parsing import ContentArea

#: At most so many bytes of a body are looked at, see `Page.glance`.
_LOOKED_AT = 128
#: ``no_text``: the page has no main text. ``not_text``: an image, a PDF, an archive. ``timeout``: over the
#: time limit. ``crash``: the worker process died, or was closed. ``memory``: over the memory limit.
#: ``failed``: the extractor raised an exception.
Reason = Literal["no_text", "not_text", "timeout", "crash", "memory", "failed"]


class Extractor(Protocol):
    """Main text of an HTML page: paragraphs, one a line, perhaps as a `MainText`; None or "" if it has none.

    The answer must depend on the page alone: of two with the same body only one is extracted.
    """

    @property
    def identity(self) -> str:
        """Name, version and options."""

    def __call__(self, html: str, url: str | None) -> str | MainText | None: ...


@dataclass(frozen=True, slots=True)
class Page:
    """A downloaded page, as received."""

    body: bytes
    url: str
    #: The HTTP header, for the charset that it may declare.
    content_type: str | None
    #: Whether the body is no HTML but the main text itself, in UTF-8.
    is_text: bool = False

    def __post_init__(self) -> None:
        # A worker that could not be handed the page would never answer.
        require_type("The body of a page", self.body, bytes, "as received, bytes")
        require_type("The URL of a page", self.url, str, "text, a str")
        require_type("A Content-Type", self.content_type, (str, type(None)), "text, a str, or None")

    @property
    def glance(self) -> tuple[object, ...]:
        """Equal if `digest` is, and had without reading all of a large page."""
        return len(self.body), self.body[:: 1 + len(self.body) // _LOOKED_AT], self.content_type, self.is_text

    @property
    def digest(self) -> bytes:
        """Identifies what its extraction depends on, 32 bytes."""
        digest = hashlib.sha256(self.body)  # in hardware, and so the fastest
        digest.update(b"\1" if self.is_text else b"\0")
        digest.update((self.content_type or "").encode("utf-8", "surrogatepass"))
        return digest.digest()


class Extraction(NamedTuple):
    """The signature of a page's main text, if it was asked for, or why there is none."""

    signature: Signature | None
    #: Why there is no text; None if there is one.
    reason: Reason | None
    #: Time in the worker process; 0 for a body that was seen before.
    seconds: float
    #: The page nests too deeply for the configured extractor, so all its visible text was used.
    fallback: bool = False
    #: What happened, for the log: one line, about the same for every page with the same trouble.
    detail: str | None = None
    #: The main text, if it was asked for.
    text: MainText | None = None
    #: What the head of the page links as canonical: a reference, as it stands there.
    canonical: str = ""
    #: The digest of the page, if a worker process has come to its end.
    digest: bytes = b""


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker is to do."""

    #: None for those who want texts alone.
    fingerprinter: Fingerprinter | None
    #: Seconds a page may take.
    timeout: float
    #: Bytes a page may take, beyond what an idle worker has.
    memory: int
    #: Whether the main text is wanted, too.
    keep_text: bool = False
    #: Where on a page the main text is looked for.
    area: ContentArea = field(default_factory=ContentArea)


def send(to: socket.socket, what: object, body: bytes = b"") -> bool:
    """Send an object, pickled, and bytes that are not copied; return whether there was somebody to read them.

    Mostly in one call of the system: in each a thread gives the lock of Python away, and waits for it again.
    """
    message = pickle.dumps(what), body
    try:
        sent = to.sendmsg(message)
    except ConnectionError:
        return False
    if sent < sum(map(len, message)):
        with suppress(ConnectionError):  # it ended while reading; its answer, or none, says why
            to.sendall(b"".join(message)[sent:])
    return True
