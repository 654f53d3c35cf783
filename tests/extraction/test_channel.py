"""Messages between the crawl and its worker processes."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import struct
import threading
import time

import pytest

from scrapy_neardup import Fingerprinter
from scrapy_neardup.extraction import Extraction
from scrapy_neardup.extraction.channel import Channel


@pytest.mark.parametrize("size", [0, 1, 4000, 4096, 5000, 3_000_000])
@pytest.mark.parametrize("message", [None, ("https://a.example/\ud800", None), "x" * 10_000])
def test_messages_and_their_bodies_arrive_whatever_their_size(size: int, message: object) -> None:
    body = bytes(range(256)) * (size // 256) + b"." * (size % 256)
    ours, theirs = map(Channel, socket.socketpair())
    sender = threading.Thread(target=ours.send, args=(message, body), daemon=True)
    sender.start()
    assert theirs.receive() == (message, body)
    sender.join(5)
    ours.close()
    theirs.close()


@pytest.mark.parametrize("arrived", [0, 7, 20, 4500, 5000])
def test_an_end_that_is_closed_before_a_message_is_complete_is_an_end_of_file(arrived: int) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        Channel(ours).send("message", bytes(5000))
        message = theirs.recv(arrived, socket.MSG_WAITALL) if arrived else b""
    again, theirs = socket.socketpair()
    with theirs:
        again.sendall(message)
        again.close()
        with pytest.raises(EOFError):
            Channel(theirs).receive()


def test_signals_while_a_message_arrives_change_nothing() -> None:
    ours, theirs = socket.socketpair()
    whole = pickle.dumps("message")
    whole = struct.pack("<QQ", len(whole), 300_000) + whole + bytes(300_000)

    def send_slowly() -> None:
        for start in range(0, len(whole), 10_000):
            ours.sendall(whole[start : start + 10_000])
            os.kill(os.getpid(), signal.SIGUSR1)
            time.sleep(0.002)

    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    sender = threading.Thread(target=send_slowly, daemon=True)
    try:
        sender.start()
        assert Channel(theirs).receive() == ("message", bytes(300_000))
    finally:
        theirs.close()
        sender.join(5)
        signal.signal(signal.SIGUSR1, before)
        ours.close()


def test_signatures_and_extractions_are_the_same_after_pickling() -> None:
    signature = Fingerprinter(seed=7).signature("The council agreed on 7 plans for the harbour. " * 20)
    extraction = Extraction(signature, None, 0.25, detail="d", digest=b"1")
    for each in (signature, extraction, Extraction(None, "timeout", 1.0)):
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps(each, protocol)) == each
