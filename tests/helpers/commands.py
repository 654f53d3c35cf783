"""The command line as a process of its own."""

from __future__ import annotations

import sys

_PROGRAM = """
import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
from scrapy_neardup.cli import main

main()
"""
#: ``scrapy-neardup``, which heeds Ctrl-C even where the tests are a job in the background, which ignores it.
COMMAND = [sys.executable, "-c", _PROGRAM]
