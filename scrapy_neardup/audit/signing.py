"""Signs texts on all cores, and files them as the store of an audit keeps them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from threading import Thread
from typing import Any, NamedTuple, TypeAlias, TypeVar
from zlib import crc32

import mmh3
import numpy as np

from scrapy_neardup.errors import NearDupError
from scrapy_neardup.fingerprint import Fingerprinter, Signature
from scrapy_neardup.fingerprint.main_text import MainText, length, main_text
from scrapy_neardup.index import Header
from scrapy_neardup.matching.records import entries
from scrapy_neardup.options import processors

_Item = TypeVar("_Item", bound=tuple[str, ...])
_Result = TypeVar("_Result")

#: How many texts, and about how many characters, a process gets at a time. Fewer texts than `ALONE` are
#: signed in this process, because starting others takes longer.
CHUNK, CHARACTERS = 64, 1 << 20
ALONE = 512
#: Characters of the words that stand for the title of a text, and those among which they are looked for.
_TITLE, _BEGINNING = 100, 800
#: A paragraph is long if it has so many words, or letters (see `length`) if it has some beyond ASCII.
WORDS, LETTERS = 20, 120
#: What no line has whose words are divided by single blanks.
_UNTIDY = ("  ", *(each for each in map(chr, range(0x3001)) if each.isspace() and each not in " \n"))
#: What a signing process does with a part of the texts; set as it starts.
_work: Callable[[list[Any]], Iterable[Any]]


class SignerDied(NearDupError):
    """A signing process has ended before its work."""


class Unsigned(NamedTuple):
    """A text to file, the title that its source gives it, the URL that says its site; "" for none."""

    text: str
    title: str
    url: str


#: Columns of the store: ``title``, and the signature as an index holds it, ``keys`` (the bytes of
#: uint64[keys]), ``record`` and ``wall``; of a text that is kept ``headline``, its title in UTF-8,
#: ``paragraphs``, the keys of the long ones, each once (bytes of uint64[n]), and ``text``, see `packed_text`.
Filed: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Filer:
    """Files texts as *header* says; they are signed with *fingerprinter*. Goes to other processes."""

    fingerprinter: Fingerprinter
    header: Header
    #: Whether bare signatures are wanted in place of all that, which are compared with an index.
    signatures: bool = False

    def __call__(self, texts: Sequence[Unsigned]) -> list[Filed]:
        """Sign texts and file them."""
        mains = [main_text(each.text)._replace(title=each.title) for each in texts]
        titles = [
            each.title or " ".join(main.text[:_BEGINNING].split())[:_TITLE]
            for each, main in zip(texts, mains, strict=True)
        ]
        signatures = [*self.fingerprinter.signatures(mains)]
        return self.filed(signatures, mains, titles, [each.url for each in texts])

    def filed(
        self,
        signatures: Sequence[Signature],
        texts: Sequence[MainText | None],
        titles: Sequence[str],
        urls: Sequence[str],
    ) -> list[Filed]:
        """File *texts* with their *signatures*, the *titles* of their pages and *urls* that say the site."""
        if self.signatures:
            return [{"signature": each} for each in signatures]
        documents = entries(signatures, urls, self.header)
        found = []
        for number, (signature, text, title) in enumerate(zip(signatures, texts, titles, strict=True)):
            keys, record = documents.keys[:, number].tobytes(), documents.records[number].tobytes()
            filed: Filed = {"title": title, "keys": keys, "record": record, "wall": signature.wall}
            if text is not None:
                filed["headline"] = text.title.replace("\0", " ").encode("utf-8", "surrogatepass")
                filed["paragraphs"] = np.array(sorted({*paragraph_keys(text.text)}), np.uint64).tobytes()
                filed["text"] = packed_text(text)
            found.append(filed)
        return found


def paragraph_keys(text: str) -> list[int]:
    """Return the key of each long paragraph of *text*: a 64-bit hash of its words, whatever their case."""
    keys, tidy = list[int](), not any(map(text.__contains__, _UNTIDY))
    for line in text.split("\n"):
        if len(line) < LETTERS // 3:  # no character counts for more than three letters
            continue
        words = (line.strip() if tidy else " ".join(line.split())).casefold()
        if words.count(" ") >= WORDS - 1 or (not line.isascii() and length(line) >= LETTERS):
            keys.append(mmh3.hash64(words.encode("utf-8", "surrogatepass"), signed=False)[0])
    return keys


def packed_text(text: MainText) -> bytes:
    """Return *text* with all its parts behind a checksum; to compress it would take a sixth of an audit."""
    whole = "\0".join([part.replace("\0", " ") for part in text]).encode("utf-8", "surrogatepass")
    return crc32(whole).to_bytes(4, "little") + whole


def unpacked(packed: bytes) -> MainText:
    """Return the text that `packed_text` has packed; raises ValueError or TypeError."""
    if crc32(whole := packed[4:]).to_bytes(4, "little") != packed[:4]:
        raise ValueError("a text has another checksum")
    return MainText(*whole.decode("utf-8", "surrogatepass").split("\0"))


def spread(
    items: Iterable[_Item],
    work: Callable[[list[_Item]], Iterable[_Result]],
    processes: int = 0,
) -> Generator[_Result, None, None]:
    """Yield what *work* makes of each of *items* (tuples of texts), in their order, holding few at a time.

    *processes* (0: one a core) do it; closing the generator ends them. Raises `SignerDied`.
    """
    rest = iter(items)
    first = list(islice(rest, ALONE))
    count = processes or processors()
    # A program that was frozen into an executable would start itself.
    alone = len(first) < ALONE or count == 1 or getattr(sys, "frozen", False)
    parts = _parts(chain(first, rest))
    del first  # which may be large
    if alone:
        yield from chain.from_iterable(map(work, parts))
        return
    waiting: deque[Future[list[_Result]]] = deque()
    # Processes that are forked would have the locks of this one's threads.
    pool = ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _begin, (work,))
    try:
        for part in parts:
            with _spawning():
                waiting.append(pool.submit(_do, part))
            if len(waiting) >= 4 * count:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    except BrokenProcessPool as error:
        raise SignerDied(
            "A signing process was ended, as by a lack of memory: run the audit again, and it goes on."
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _parts(items: Iterable[_Item]) -> Iterator[list[_Item]]:
    part: list[_Item] = []
    total = 0
    for item in items:
        part.append(item)
        total += sum(map(len, item))
        if len(part) == CHUNK or total >= CHARACTERS:
            yield part
            part, total = [], 0
    if part:
        yield part


@contextmanager
def _spawning() -> Iterator[None]:
    """Hide the script that has started the audit, which a spawned process would run once more.

    Such a process leaves Ctrl-C to its parent from its first moment on.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,)) if os.name == "posix" else ()
    main = sys.modules["__main__"].__dict__
    hidden: dict[str, Any] = {name: main[name] for name in ("__file__", "__spec__") if name in main}
    main.pop("__file__", None)
    main["__spec__"] = None
    try:
        yield
    finally:
        main.update(hidden)
        if os.name == "posix":
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(work: Callable[[list[Any]], Iterable[Any]]) -> None:
    """Make a signing process ready: it ends with its parent, also if that is killed."""
    global _work
    _work = work
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None  # it was spawned
    parent.join()
    os._exit(0)


def _do(items: list[Any]) -> list[Any]:
    return [*_work(items)]
